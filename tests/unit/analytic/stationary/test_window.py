"""Ordered windows: exact when everybody fits, honest when not."""

from importlib import import_module

import numpy as np
import pytest

from analytic.chain.primitives import Chain
from analytic.chain.summary import basic_measures
from analytic.linear.extrapolation import limit, limits
from analytic.sojourn.levels import LevelSojournTimes
from analytic.stationary.choice import solve
from analytic.stationary.matrix_free import solve_matrix_free
from analytic.stationary.window import _cut, relative_error, solve_window
from crawltwin.model import (
    BMAP,
    InputError,
    LevelPolicy,
    ModeMatrices,
    PhaseType,
    Scenario,
    ThresholdPolicy,
    TooLargeError,
    erlang,
    examples,
    exponential,
    hyperexponential,
)
from tests.oracle.closed_forms import hyperexponential_queue

HYPER = examples.load("hyperexponential")
CASES: dict[str, Scenario] = {
    "three, then one": HYPER.replace(capacity=12),
    "overload": HYPER.replace(capacity=11, policy=ThresholdPolicy([4], [])),
    "erlang": HYPER.replace(capacity=12, obsolescence=erlang(2, 5.0)),
    "erlang, overload": HYPER.replace(capacity=10, policy=ThresholdPolicy([4], []), obsolescence=erlang(2, 5.0)),
    "three classes": HYPER.replace(capacity=8, obsolescence=hyperexponential([0.5, 0.3, 0.2], [2.0, 0.5, 0.02])),
    "cycle": HYPER.replace(capacity=10, obsolescence=PhaseType([0.8, 0.2], [[-2.0, 0.5], [0.05, -0.15]])),
    "all or nothing": HYPER.replace(capacity=10, policy=ThresholdPolicy([4], []), admission="all-or-nothing"),
    "overflow": HYPER.replace(capacity=8, policy=ThresholdPolicy([2, 1], [4]), admission="overflow"),
}


def exact_measures(chain: Chain) -> dict[str, object]:
    found = solve_matrix_free(chain, tolerance=1e-12)
    law = LevelSojournTimes(chain, found)
    measures: dict[str, object] = dict(basic_measures(chain, found.summary))
    measures["mean_sojourn_served"] = law.moment(1, "served")
    measures["mean_sojourn_obsolete"] = law.moment(1, "obsolete")
    measures["level_distribution"] = found.summary.level_distribution
    return measures


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("tolerance", [1e-2, 1e-3])
def test_no_true_error_is_larger_than_its_estimate(name: str, tolerance: float) -> None:
    chain = Chain.of(CASES[name])
    found = solve_window(chain, tolerance=tolerance)
    for measure, expected in exact_measures(chain).items():
        error = np.abs(np.asarray(found.measures[measure]) - np.asarray(expected))
        assert (error <= np.asarray(found.errors[measure]) + 1e-14).all(), measure
    assert found.relative_error <= tolerance
    assert found.reached


def test_the_widest_window_is_the_exact_chain() -> None:
    chain = Chain.of(HYPER)
    found = solve_window(chain, tolerance=1e-9)
    assert found.exact
    assert found.windows[-1] == 3
    for measure, expected in exact_measures(chain).items():
        np.testing.assert_allclose(found.measures[measure], np.asarray(expected), rtol=1e-8)


def test_one_counted_page_forgets_nothing() -> None:
    chain = Chain.of(HYPER)
    all_in_order, but_one = solve_matrix_free(chain), solve_matrix_free(chain, window=3)
    np.testing.assert_allclose(but_one.summary.level_distribution, all_in_order.summary.level_distribution, rtol=1e-9)
    assert but_one.states == all_in_order.states


@pytest.mark.parametrize(
    ("admission", "capacity", "exact"), [("partial", 9, 7), ("all-or-nothing", 9, 4), ("overflow", 7, 5)]
)
def test_pages_of_one_batch_need_no_order(admission: str, capacity: int, exact: int) -> None:
    # Only batches of 4 pages: behind a window as long as the queue that a batch can find there is nobody else.
    batches = BMAP([[[-0.9]], [[0.0]], [[0.0]], [[0.0]], [[0.9]]])
    clock = hyperexponential([0.6, 0.4], [0.5, 0.04])
    chain = Chain.of(Scenario(capacity, ModeMatrices({1: batches}), exponential(1.0), clock, admission=admission))
    assert chain.exact_window == exact
    truth = exact_measures(chain)
    found = solve_window(chain, tolerance=1e-9)
    assert found.exact
    assert found.windows[-1] == exact
    for measure, expected in truth.items():
        np.testing.assert_allclose(found.measures[measure], np.asarray(expected), rtol=1e-7, atol=1e-15)
    shorter = solve_matrix_free(chain, window=exact - 1, tolerance=1e-11)
    assert basic_measures(chain, shorter.summary)["starvation_probability"] != pytest.approx(
        truth["starvation_probability"], rel=1e-8
    )


def test_no_order_at_all_is_random_service_with_the_same_flows() -> None:
    chain = Chain.of(HYPER)
    found = solve_matrix_free(chain, window=0)
    measures = basic_measures(chain, found.summary)
    fates = ("loss_probability", "obsolescence_probability", "success_probability")
    assert sum(measures[fate] for fate in fates) == pytest.approx(1.0, abs=1e-12)
    exact = exact_measures(chain)
    assert measures["obsolescence_probability"] != pytest.approx(exact["obsolescence_probability"], rel=1e-4)


def test_a_limit_on_states_leaves_an_honest_answer_and_says_so() -> None:
    scenario = HYPER.replace(capacity=12, policy=ThresholdPolicy([4], []))
    chain = Chain.of(scenario)
    found = solve_window(chain, tolerance=1e-6, max_states=6000)
    assert not found.reached
    assert found.states <= 6000
    for measure, expected in exact_measures(chain).items():
        error = np.abs(np.asarray(found.measures[measure]) - np.asarray(expected))
        assert (error <= np.asarray(found.errors[measure])).all(), measure


def test_sojourn_times_of_windows_are_extrapolated_with_estimates() -> None:
    chain = Chain.of(HYPER.replace(capacity=11))
    law = solve_window(chain, tolerance=1e-3).sojourn
    exact = LevelSojournTimes(chain, solve_matrix_free(chain, tolerance=1e-12))
    for fate in ("served", "obsolete", "all"):
        assert law.probability(fate) == pytest.approx(exact.probability(fate), rel=1e-3)
        for k in (1, 2):
            found = law.moment_limit(k, fate)
            assert found is not None
            assert abs(float(found.value) - exact.moment(k, fate)) <= float(found.error)
            assert law.moment(k, fate) == pytest.approx(exact.moment(k, fate), rel=1e-3)
        quantile = law.quantile_limit(0.9, fate)
        assert quantile is not None
        assert abs(float(quantile.value) - exact.quantile(0.9, fate)) <= float(quantile.error) + 1e-9
    np.testing.assert_allclose(law.cdf([1.0, 2.0], "served"), exact.cdf([1.0, 2.0], "served"), rtol=1e-3)


def test_levels_that_hold_nothing_are_left_out_and_still_answered() -> None:
    chain = Chain.of(HYPER.replace(capacity=60))
    found = solve_window(chain, tolerance=1e-2)
    levels = np.asarray(found.measures["level_distribution"])
    errors = np.asarray(found.errors["level_distribution"])
    assert levels.size == 61
    assert (levels > 0).all()
    assert (np.diff(levels[5:]) < 0).all()
    assert levels[45:].sum() < 1e-15
    assert (errors[45:] >= levels[45:]).all()
    assert found.summary.level_distribution.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    "scenario", [HYPER.replace(capacity=1, policy=ThresholdPolicy([3], [])), HYPER.replace(capacity=2)]
)
def test_without_a_queue_to_order_the_window_is_exact_at_once(scenario: Scenario) -> None:
    found = solve_window(Chain.of(scenario))
    assert found.exact
    reference = solve(scenario, "direct")
    for name, value in found.measures.items():
        expected = reference.measures[name]
        assert value == pytest.approx(expected, rel=1e-7), name


def test_one_clock_phase_has_no_order_to_keep() -> None:
    scenario = examples.load("paper").replace(capacity=8)
    found = solve_window(Chain.of(scenario))
    reference = solve(scenario, "banded")
    for name in ("loss_probability", "mean_pages", "mean_sojourn_served"):
        assert found.measures[name] == pytest.approx(reference.measures[name], rel=1e-7)


def test_a_second_hump_high_above_is_not_cut_off() -> None:
    # One robot and hardly any load up to 26 pages, a flood above: two humps with almost nothing in between.
    modes = ModeMatrices({1: BMAP.poisson(0.4), 2: BMAP.poisson(30.0)})
    robots = [1] * 27 + [2] * 14
    clock = hyperexponential([0.5, 0.5], [0.05, 0.01])
    scenario = Scenario(40, modes, exponential(1.0), clock, policy=LevelPolicy(robots))
    rates = [0.4 if level <= 26 else 30.0 for level in range(41)]
    expected = hyperexponential_queue(rates, 1.0, [0.5, 0.5], [0.05, 0.01])["level_distribution"]
    assert expected[26] < expected[40]
    assert _cut(Chain.of(scenario), 10**6).top == 40


def test_too_many_phases_are_refused_before_anything_is_solved() -> None:
    clock = hyperexponential([0.4, 0.2, 0.2, 0.1, 0.1], [5.0, 2.0, 1.0, 0.3, 0.05])
    with pytest.raises(
        TooLargeError, match=r"windows of up to 4 ordered pages must have at most 3,000,000 states; got"
    ):
        solve_window(Chain.of(HYPER.replace(capacity=200, obsolescence=clock)))


def test_wrong_tolerance_is_refused() -> None:
    with pytest.raises(InputError, match=r"tolerance must be in \(0, 1\); got 0"):
        solve_window(Chain.of(HYPER), tolerance=0)


def test_a_geometric_sequence_is_found_and_a_wild_one_is_not_trusted() -> None:
    exact = limit([2 - 0.6**k for k in range(7)], noise=0.0, remaining=400)
    assert exact.value == pytest.approx(2.0, abs=1e-12)
    wild = limit([1.0, 1.3, 0.9, 1.2, 0.8, 1.1], noise=0.0, remaining=50)
    assert wild.value == pytest.approx(1.1)
    assert wild.error > 1.0
    assert np.isinf(limit([1.0, 0.5], noise=0.0, remaining=5).error)


def test_measures_share_their_estimates() -> None:
    # The second measure looks perfectly geometric; the first does not, and both have the same cause of error.
    rough = [1 + 0.5**k * (1 + 0.3 * np.sin(k)) for k in range(7)]
    smooth = [2 + 0.5**k for k in range(7)]
    values = [{"rough": np.asarray(a), "smooth": np.asarray(b)} for a, b in zip(rough, smooth)]
    together, common = limits(values, 0.0, 50)
    alone = limit(smooth, 0.0, 50)
    assert common.share > 0.05
    assert together["smooth"].error > alone.error


def test_tiny_probabilities_are_judged_by_their_absolute_error() -> None:
    assert relative_error({"loss_probability": 1e-30}, {"loss_probability": 1e-30}) < 1e-8
    assert relative_error({"mean_pages": 2.0}, {"mean_pages": 1e-3}) == pytest.approx(5e-4)


def test_solve_by_name_and_what_it_says() -> None:
    scenario = HYPER.replace(capacity=9)
    solution = solve(scenario, "window")
    assert solution.solver.method == "window"
    reference = solve(scenario, "matrix-free")
    assert abs(solution.measures["cost"] - reference.measures["cost"]) <= solution.errors["cost"]
    assert len(solution.errors["level_distribution"]) == 10
    assert any("ordered pages" in note for note in solution.notes)
    assert solution.solver.error_estimate <= 1e-4


def test_auto_goes_to_the_window_when_the_exact_chain_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    # The package exports a function of the same name as this module.
    monkeypatch.setattr(import_module("analytic.stationary.choice"), "EXACT_STATES", 5000)
    solution = solve(HYPER.replace(capacity=12))
    assert solution.solver.method == "window"
    assert "do not fit" in solution.solver.why
