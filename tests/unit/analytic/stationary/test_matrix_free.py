"""The matrix-free solver against the chain written down state by state, and at its edges."""

from fractions import Fraction

import numpy as np
import pytest

from analytic.chain.primitives import Chain
from analytic.chain.summary import basic_measures
from analytic.sojourn.levels import LevelSojournTimes
from analytic.stationary.choice import solve
from analytic.stationary.matrix_free import solve_matrix_free
from crawltwin.model import (
    BMAP,
    ConvergenceError,
    InputError,
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
from tests.oracle.brute_force import full_chain
from tests.oracle.exact import stationary_digits, stationary_fractions

HYPER = examples.load("hyperexponential")
CYCLE3 = PhaseType([0.5, 0.3, 0.2], [[-1.0, 0.9, 0], [0, -1.2, 1.1], [0.8, 0, -1.0]])
CASES = {
    "hyperexponential": HYPER,
    "erlang": HYPER.replace(obsolescence=erlang(2, 5.0)),
    "erlang of three": HYPER.replace(obsolescence=erlang(3, 2.0), capacity=4),
    "nearly defective": HYPER.replace(obsolescence=PhaseType([1.0, 0.0], [[-1.0, 1.0], [0.0, -1.0 - 1e-9]])),
    "three classes": HYPER.replace(obsolescence=hyperexponential([0.5, 0.3, 0.2], [2.0, 0.5, 0.02]), capacity=4),
    "cycle of two": HYPER.replace(obsolescence=PhaseType([0.3, 0.7], [[-0.6, 0.4], [0.1, -0.5]])),
    "cycle of three": HYPER.replace(obsolescence=CYCLE3, capacity=4),
    "all or nothing": HYPER.replace(admission="all-or-nothing", policy=ThresholdPolicy([4], [])),
    "overflow": HYPER.replace(admission="overflow", policy=ThresholdPolicy([4], []), capacity=3),
    "overflow, cycle": HYPER.replace(admission="overflow", obsolescence=CYCLE3, capacity=2),
    "batches larger than the system": HYPER.replace(policy=ThresholdPolicy([4], []), capacity=2),
    "no buffer": HYPER.replace(capacity=1, policy=ThresholdPolicy([3], [])),
    "one clock phase": HYPER.replace(obsolescence=exponential(5.0)),
    "no obsolescence": HYPER.replace(obsolescence=None),
    "one robot": Scenario(
        5, ModeMatrices({1: BMAP.poisson(1.5)}), exponential(1.0), hyperexponential([0.4, 0.6], [2, 0.1])
    ),
}


def written_down(scenario: Scenario):
    policy, K = scenario.policy_in_force, scenario.capacity
    stale = scenario.obsolescence
    return full_chain(
        lambda level: scenario.arrivals.mode(policy.robots_at(level)).D,
        (scenario.service.initial, scenario.service.subgenerator),
        None if stale is None else (stale.initial, stale.subgenerator),
        K,
        scenario.admission,
    )


@pytest.mark.parametrize("name", CASES)
def test_same_measures_as_the_chain_written_down(name: str) -> None:
    scenario = CASES[name]
    full = written_down(scenario)
    p = np.array([float(x) for x in stationary_digits(full.generator, 40)])
    chain = Chain.of(scenario)
    found = solve_matrix_free(chain, tolerance=1e-12)
    levels = np.bincount(full.levels, weights=p, minlength=chain.top + 1)
    np.testing.assert_allclose(found.summary.level_distribution, levels, rtol=1e-10)
    measures = basic_measures(chain, found.summary)
    assert measures["arrival_rate"] == pytest.approx(p @ full.arrival_rates, rel=1e-11)
    assert measures["loss_probability"] == pytest.approx(p @ full.loss_rates / (p @ full.arrival_rates), rel=1e-10)
    assert found.summary.obsolescence_flow.sum() == pytest.approx(p @ full.obsolescence_rates, rel=1e-10)
    assert found.residual < 1e-10


@pytest.mark.parametrize(
    "name", ["hyperexponential", "erlang", "cycle of three", "overflow", "no buffer", "one clock phase"]
)
def test_sojourn_times_agree_with_the_explicit_tagged_chain(name: str) -> None:
    scenario = CASES[name]
    explicit = solve(scenario, "direct").sojourn
    chain = Chain.of(scenario)
    law = LevelSojournTimes(chain, solve_matrix_free(chain, tolerance=1e-12))
    for fate in ("served", "obsolete", "all"):
        assert law.probability(fate) == pytest.approx(explicit.probability(fate), rel=1e-10, abs=1e-15)
        for k in (1, 2, 3):
            expected, got = explicit.moment(k, fate), law.moment(k, fate)
            assert (got is None) == (expected is None)
            if expected is not None and got is not None:
                assert got == pytest.approx(expected, rel=1e-9)
        for p in (0.5, 0.95):
            expected, got = explicit.quantile(p, fate), law.quantile(p, fate)
            assert (got is None) == (expected is None)
            if expected is not None and got is not None:
                assert got == pytest.approx(expected, rel=1e-8)
    np.testing.assert_allclose(law.cdf([0.0, 1.0, 4.0], "all"), explicit.cdf([0.0, 1.0, 4.0], "all"), atol=1e-12)


def extreme(switching: float, fast: float) -> Scenario:
    """Two arrival phases that hardly ever change, and one obsolescence phase `fast` times as fast as the other."""
    D0 = np.array([[-1.0 - switching, switching], [2 * switching, -0.2 - 2 * switching]])
    return Scenario(
        3,
        ModeMatrices({1: BMAP([D0, np.diag([0.7, 0.2]), np.diag([0.3, 0.0])])}),
        exponential(0.5),
        hyperexponential([0.5, 0.5], [0.3, 0.3 * fast]),
    )


@pytest.mark.parametrize(("switching", "fast"), [(1e-9, 2.0), (0.1, 1e6), (1e-9, 1e6), (0.1, 1e-6)])
def test_nearly_decomposable_and_stiff_chains_are_right_in_every_level(switching: float, fast: float) -> None:
    scenario = extreme(switching, fast)
    full = written_down(scenario)
    p = stationary_fractions(full.generator)
    chain = Chain.of(scenario)
    found = solve_matrix_free(chain, tolerance=1e-12)
    exact = [Fraction(0)] * (chain.top + 1)
    phases = [Fraction(0), Fraction(0)]
    for state, level, mass in zip(full.states, full.levels, p):
        exact[level] += mass
        phases[state[0]] += mass
    np.testing.assert_allclose(found.summary.level_distribution, [float(x) for x in exact], rtol=1e-10)
    arrival = found.summary.controls.sum(axis=0)
    np.testing.assert_allclose(arrival, [float(x) for x in phases], rtol=1e-10)


def test_a_warm_start_gives_the_same_answer_in_fewer_sweeps() -> None:
    chain = Chain.of(HYPER.replace(capacity=8))
    cold = solve_matrix_free(chain)
    other = Chain.of(HYPER.replace(capacity=8, policy=ThresholdPolicy([3, 1], [3])))
    warm = solve_matrix_free(other, start=cold.levels)
    again = solve_matrix_free(other)
    np.testing.assert_allclose(warm.summary.level_distribution, again.summary.level_distribution, rtol=1e-9)
    assert warm.sweeps <= again.sweeps
    assert solve_matrix_free(chain, start=cold.levels).sweeps < cold.sweeps / 2


def test_plain_and_mixed_sweeps_agree() -> None:
    chain = Chain.of(HYPER.replace(capacity=9, policy=ThresholdPolicy([4], [])))
    plain, mixed = solve_matrix_free(chain, mixing=0), solve_matrix_free(chain)
    np.testing.assert_allclose(plain.summary.level_distribution, mixed.summary.level_distribution, rtol=1e-9)
    assert mixed.sweeps < plain.sweeps


def test_a_nested_start_gives_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = Chain.of(HYPER.replace(capacity=9))
    cold = solve_matrix_free(chain)
    monkeypatch.setattr("analytic.stationary.matrix_free.NEST_ABOVE", 100)
    nested = solve_matrix_free(chain)
    assert nested.sweeps < cold.sweeps
    np.testing.assert_allclose(nested.summary.level_distribution, cold.summary.level_distribution, rtol=1e-9)


def test_levels_are_normalised_and_not_negative() -> None:
    found = solve_matrix_free(Chain.of(HYPER))
    assert sum(float(level.sum()) for level in found.levels) == pytest.approx(1.0, abs=1e-13)
    assert min(float(level.min()) for level in found.levels) >= 0


def test_progress_is_told() -> None:
    told: list[tuple[str, float]] = []
    solve_matrix_free(Chain.of(HYPER), progress=lambda word, share: told.append((word, share)))
    assert told
    assert all(0 <= share <= 1 for _, share in told)


def test_too_large_is_refused_before_anything_is_built() -> None:
    # Two arrival phases; with i pages two service phases and 2^(i - 1) strings of clocks.
    states = 2 + sum(2 * 2 * 2 ** (i - 1) for i in range(1, 41))
    with pytest.raises(TooLargeError, match=f"level vectors must fit in .* got .* GiB for {states:,} states"):
        solve_matrix_free(Chain.of(HYPER.replace(capacity=40)))


def test_the_cap_is_an_error_not_an_answer() -> None:
    with pytest.raises(ConvergenceError, match="must reach a relative change of 1e-11 in 2 sweeps; got"):
        solve_matrix_free(Chain.of(HYPER), max_sweeps=2)


def test_a_distribution_function_of_too_many_steps_is_refused_on_a_large_chain(monkeypatch) -> None:
    monkeypatch.setattr("analytic.sojourn.levels.MAX_INVERTED", 0)
    chain = Chain.of(extreme(0.1, 1e6))
    law = LevelSojournTimes(chain, solve_matrix_free(chain))
    with pytest.raises(TooLargeError, match="must take at most 100,000 steps"):
        law.survival(10.0, "served")


def test_wrong_questions_to_a_law() -> None:
    chain = Chain.of(HYPER)
    law = LevelSojournTimes(chain, solve_matrix_free(chain))
    with pytest.raises(InputError, match="k must be at least 1; got 0"):
        law.moment(0)
    with pytest.raises(InputError, match=r"p must be in \[0, 1\); got 1"):
        law.quantile(1)
    with pytest.raises(InputError, match="fate must be one of served, obsolete, all; got 'lost'"):
        law.moment(1, "lost")  # type: ignore[arg-type]


def test_solve_by_name() -> None:
    solution = solve(HYPER, "matrix-free")
    reference = solve(HYPER, "direct")
    for name, value in reference.measures.items():
        if value is None:
            assert solution.measures[name] is None
            continue
        assert solution.measures[name] == pytest.approx(value, rel=1e-9), name
    assert solution.solver.method == "matrix-free"
    assert solution.solver.states == 126
