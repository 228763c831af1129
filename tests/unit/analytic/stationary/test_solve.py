"""The dispatcher, its result, and the cases at the edge."""

from __future__ import annotations

import numpy as np
import pytest

from analytic import METHODS, solve
from analytic.chain.flows import admitted
from analytic.chain.primitives import Chain
from analytic.linear.elimination import MMatrix
from crawltwin.model import (
    BMAP,
    MEASURES,
    ConvergenceError,
    InputError,
    ModeMatrices,
    Scenario,
    ThresholdPolicy,
    TooLargeError,
    erlang,
    examples,
    exponential,
    hyperexponential,
)


def test_measures_have_the_contracts_names():
    solution = solve(examples.load("paper"))
    assert list(solution.measures) == list(MEASURES)
    assert len(solution.measures["level_distribution"]) == 6
    answer = solution.to_json()
    assert {"method", "states", "residual", "error_estimate", "seconds"} <= answer["solver"].keys()
    assert answer["solver"]["flow_balance"] < 1e-14
    frame = solution.to_frame()
    assert set(frame.columns) == {"measure", "level", "value", "unit"}
    assert len(frame) == len(MEASURES) - 1 + 6
    assert "cost" in repr(solution)
    assert "lumped exactly to an exponential distribution" in solution.notes[0]


def test_measures_that_do_not_exist():
    calm = examples.load("mm1k").replace(obsolescence=None, cost=None)
    solution = solve(calm)
    assert solution.measures["mean_sojourn_obsolete"] is None
    assert "cost" not in solution.measures
    assert solution.measures["obsolescence_probability"] == 0
    assert solution.sojourn.quantile(0.5, "obsolete") is None
    assert solution.sojourn.transform(1.0, "obsolete") is None
    # All or nothing with pairs and one place: no page ever enters.
    shut = calm.replace(
        capacity=1,
        admission="all-or-nothing",
        arrivals=ModeMatrices({1: BMAP.poisson(1.0, [0.0, 1.0])}),
        cost=examples.load("paper").cost,
    )
    measures = solve(shut).measures
    assert measures["loss_probability"] == 1
    assert measures["mean_sojourn_served"] is None
    assert measures["cost"] is None


def test_mode_probabilities_are_equation_7():
    solution = solve(examples.load("paper"))
    levels = solution.measures["level_distribution"]
    assert solution.mode_probabilities[3] == pytest.approx(sum(levels[:3]))
    assert solution.mode_probabilities[1] == pytest.approx(sum(levels[3:]))
    assert solution.measures["mean_active_robots"] == pytest.approx(3 * sum(levels[:3]) + sum(levels[3:]))


def test_one_place_is_an_erlang_loss_system():
    # K = 1, partial admission, Poisson batches: renewal of idle and busy periods.
    rate, sizes, service = 0.7, [0.2, 0.5, 0.3], erlang(3, 1.4)
    scenario = Scenario(
        capacity=1,
        arrivals=ModeMatrices({1: BMAP.poisson(rate, sizes)}),
        service=service,
        obsolescence=hyperexponential([0.5, 0.5], [1.0, 3.0]),
        policy=ThresholdPolicy([1]),
    )
    for method in ("direct", "block", "auto"):
        measures = solve(scenario, method=method).measures
        idle = 1 / (1 + rate * service.mean)
        assert measures["starvation_probability"] == pytest.approx(idle, rel=1e-12)
        assert measures["success_probability"] == pytest.approx(idle / 2.1, rel=1e-12)
        assert measures["obsolescence_probability"] == 0
        assert measures["mean_sojourn_served"] == pytest.approx(service.mean, rel=1e-12)


def test_batches_larger_than_the_capacity():
    base = examples.load("mm1k").replace(capacity=2, arrivals=ModeMatrices({1: BMAP.poisson(0.5, [0, 0, 0, 0, 1.0])}))
    partial, whole, over = (
        solve(base.replace(admission=rule)).measures for rule in ("partial", "all-or-nothing", "overflow")
    )
    assert whole["loss_probability"] == 1
    assert partial["loss_probability"] > 3 / 5
    assert len(over["level_distribution"]) == 2 + 5 - 1 + 1
    assert over["loss_probability"] < partial["loss_probability"]


@pytest.mark.parametrize(
    ("size", "room", "rule", "enter"),
    [
        (3, 5, "partial", 3),
        (3, 2, "partial", 2),
        (3, 0, "partial", 0),
        (3, 3, "all-or-nothing", 3),
        (3, 2, "all-or-nothing", 0),
        (3, 1, "overflow", 3),
        (3, 0, "overflow", 0),
        (3, -2, "overflow", 0),
    ],
)
def test_admission_rules(size, room, rule, enter):
    assert admitted(size, room, rule) == enter


def test_single_arrivals_make_the_rules_equal():
    base = examples.load("mm1k")
    costs = {
        rule: solve(base.replace(admission=rule)).measures["cost"] for rule in ("partial", "all-or-nothing", "overflow")
    }
    assert len({round(cost, 12) for cost in costs.values()}) == 1


def test_every_method_agrees_or_says_why_not():
    paper, twin = examples.load("paper"), examples.load("hyperexponential")
    single = examples.load("mm1k")
    for scenario in (paper, twin, single):
        reference = solve(scenario, method="direct").measures["cost"]
        for method in METHODS:
            outcome = cost_or_refusal(scenario, method)
            if isinstance(outcome, str):
                assert method in ("qbd", "banded", "matrix-free", "window")
                assert "Use --method" in outcome
            else:
                assert outcome == pytest.approx(reference, rel=1e-9)


def cost_or_refusal(scenario, method):
    try:
        return solve(scenario, method=method).measures["cost"]
    except InputError as error:
        return str(error)


def test_unknown_method_is_refused():
    with pytest.raises(InputError, match="method must be one of auto, direct"):
        solve(examples.load("paper"), method="magic")


def test_too_large_is_refused_before_it_is_built():
    wide = examples.load("hyperexponential").replace(capacity=40)
    with pytest.raises(TooLargeError, match=r"at most 400,000 states; got 4,398,046,511,102"):
        solve(wide, method="direct")
    medium = examples.load("hyperexponential").replace(capacity=12)
    with pytest.raises(TooLargeError, match="widest level must have at most"):
        solve(medium, method="block")
    with pytest.raises(TooLargeError, match="at most 2,000,000 levels; got 10,000,000"):
        solve(examples.load("mm1k").replace(capacity=10_000_000))
    many = BMAP.poisson(1.0, [0.01] * 100)
    huge = examples.load("mm1k").replace(capacity=100_000, service=erlang(10, 1.0), arrivals=ModeMatrices({1: many}))
    with pytest.raises(TooLargeError, match="the band must fit"):
        solve(huge)


def test_flows_count_what_enters_and_what_is_lost():
    chain = Chain.of(examples.load("paper").replace(policy=ThresholdPolicy([4]), admission="partial"))
    # Four robots: batches of 1 and 4. With three places left the batch of four loses one page.
    flow = chain.flows[2]
    assert {outcome.size: outcome.admitted for outcome in flow.outcomes} == {1: 1, 4: 3}
    np.testing.assert_allclose(flow.pages.loss_rates, [0.75, 1.5])
    np.testing.assert_allclose(flow.pages.page_rates, [0.25 + 3.0, 0.5 + 6.0])
    assert chain.states == sum(chain.level_states(level) for level in range(6))


def test_m_matrix_solves_from_both_sides():
    rng = np.random.default_rng(0)
    N, r = rng.random((6, 6)), rng.random(6)
    np.fill_diagonal(N, 0.0)
    A = np.diag(r + N.sum(axis=1)) - N
    factored = MMatrix.from_parts(N, r)
    right = rng.random((6, 2))
    np.testing.assert_allclose(factored.solve(right), np.linalg.solve(A, right), rtol=1e-12)
    np.testing.assert_allclose(factored.solve(right[:, 0]), np.linalg.solve(A, right[:, 0]), rtol=1e-12)
    np.testing.assert_allclose(factored.solve_left(right.T), np.linalg.solve(A.T, right).T, rtol=1e-12)


def test_exponential_service_with_no_obsolescence_needs_no_clock():
    scenario = examples.load("paper").replace(obsolescence=None, service=exponential(0.5))
    assert solve(scenario).solver.states == 2 + 5 * 2


def test_rates_beyond_floating_point_are_said():
    steep = examples.load("mm1k").replace(obsolescence=None, arrivals=ModeMatrices({1: BMAP.poisson(1e150)}))
    levels = solve(steep).measures["level_distribution"]
    assert levels[-1] == pytest.approx(1, rel=1e-12)
    assert levels[-2] == pytest.approx(1e-150, rel=1e-12)
    beyond = steep.replace(arrivals=ModeMatrices({1: BMAP.poisson(1e300)}), service=exponential(1e99))
    with pytest.raises(ConvergenceError, match="too many orders of magnitude apart"):
        solve(beyond)


def test_sizes_beyond_words_are_refused_in_words():
    endless = examples.load("hyperexponential").replace(capacity=20_000)
    for method in ("direct", "block", "matrix-free"):
        with pytest.raises(TooLargeError, match=r"about 10\^"):
            solve(endless, method=method)


def test_stiff_services_have_quantiles():
    # One page in a thousand takes a thousand times a billion times as long: the median is the quick one's.
    scenario = examples.load("mm1k").replace(
        capacity=2, service=hyperexponential([0.999, 0.001], [1e9, 1e-3]), obsolescence=None
    )
    law = solve(scenario).sojourn
    assert float(law.cdf(law.quantile(0.5, "served"), "served")) == pytest.approx(0.5, abs=1e-9)
