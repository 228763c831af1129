"""Table 1 of the paper, from `optimize`, to within one unit of the last printed digit."""

from __future__ import annotations

from itertools import product
from math import comb

import pytest

from analytic import optimize, solve
from analytic.policy.tables import monotone_tables
from crawltwin.model import BMAP, InputError, LevelPolicy, ScaledStream, ThresholdPolicy, TooLargeError, examples

TABLE_1 = {
    (1,): ((), 149.91),
    (2,): ((), 110.0),
    (3,): ((), 89.40),
    (4,): ((), 130.31),
    (2, 1): ((2,), 103.54),
    (3, 1): ((2,), 63.54),
    (4, 1): ((1,), 74.47),
    (3, 2): ((2,), 76.21),
    (4, 2): ((1,), 86.13),
    (4, 3): ((0,), 94.14),
    (3, 2, 1): ((2, 2), 63.54),
    (4, 2, 1): ((1, 2), 73.69),
    # The row "4 or 3 or 1" is printed as 80.50, the value of the row below it: with two thresholds that allow
    # (0, 2) the cost cannot be above that of the row "4 or 3 or 2 or 1" at (0, 2, 2), the same policy.
    (4, 3, 1): ((0, 2), 67.52),
    (4, 3, 2): ((0, 2), 80.50),
    (4, 3, 2, 1): ((0, 2, 2), 67.52),
}


@pytest.fixture(scope="module")
def optimum():
    return optimize(examples.load("paper"))


@pytest.mark.parametrize("robots", TABLE_1)
def test_every_row(optimum, robots):
    thresholds, printed = TABLE_1[robots]
    found = next(item for item in optimum.policies if item.robots == robots)
    assert found.thresholds == thresholds
    assert abs(found.cost - printed) < 0.0101  # one unit of the last printed digit; 110.0 is printed with one


def test_best_and_profit(optimum):
    assert (optimum.best.robots, optimum.best.thresholds) == ((3, 1), (2,))
    assert 28 < optimum.profit < 29
    assert optimum.fixed == {item.robots[0]: item.cost for item in optimum.policies if len(item.robots) == 1}


def test_costs_are_those_of_solve(optimum):
    scenario = examples.load("paper")
    for item in optimum.policies:
        solution = solve(scenario.replace(policy=ThresholdPolicy(item.robots, item.thresholds)), method="block")
        assert item.cost == pytest.approx(solution.measures["cost"], rel=1e-12)


def test_curve_is_figure_1(optimum):
    curve = optimum.curve([1, 3])
    assert list(curve["j1"]) == [0, 1, 2, 3, 4]
    assert int(curve["cost"].idxmin()) == 2
    scenario = examples.load("paper")
    for threshold, cost in zip(curve["j1"], curve["cost"], strict=True):
        solution = solve(scenario.replace(policy=ThresholdPolicy([3, 1], [int(threshold)])))
        assert cost == pytest.approx(solution.measures["cost"], rel=1e-12)


def test_every_policy_by_brute_force():
    # All 2^4 tables of a small scenario, solved one by one, against the enumeration's best.
    scenario = examples.load("marked").replace(capacity=3, policy=None)
    best = min(
        solve(scenario.replace(policy=LevelPolicy([a, b, c, d]))).measures["cost"]
        for a in (3, 2, 1)
        for b in (3, 2, 1)
        for c in (3, 2, 1)
        for d in (3, 2, 1)
        if a >= b >= c >= d
    )
    assert optimize(scenario).best.cost == pytest.approx(best, rel=1e-12)


def test_phase_type_obsolescence_is_optimised_too():
    scenario = examples.load("hyperexponential").replace(capacity=2)
    optimum = optimize(scenario)
    again = solve(scenario.replace(policy=optimum.best.policy), method="direct")
    assert optimum.best.cost == pytest.approx(again.measures["cost"], rel=1e-11)


def test_answers_can_be_saved(optimum):
    answer = optimum.to_json()
    assert {key: answer["best"][key] for key in ("robots", "thresholds", "cost")} == {
        "robots": [3, 1],
        "thresholds": [2],
        "cost": optimum.best.cost,
    }
    assert len(answer["policies"]) == 15
    assert list(optimum.to_frame().columns)[:3] == ["robots", "thresholds", "cost"]


def test_cost_is_needed():
    with pytest.raises(InputError, match="cost must be given to optimise"):
        optimize(examples.load("paper").replace(cost=None))


def test_what_would_not_end_is_refused():
    with pytest.raises(TooLargeError, match="capacity of 3,000; got 1,000,000,000"):
        optimize(examples.load("paper").replace(capacity=10**9, policy=None))
    with pytest.raises(TooLargeError, match="at most 10 numbers of robots is compared; got 20"):
        optimize(examples.load("paper").replace(policy=None, arrivals=ScaledStream(BMAP.poisson(0.2), 20)))


def test_every_table_that_never_rises_is_there_once():
    for robots, capacity in (([2], 3), ([1, 3], 4), ([1, 2, 4], 3)):
        found = {tuple(table) for table in monotone_tables(robots, capacity).tolist()}
        expected = {t for t in product(robots, repeat=capacity + 1) if list(t) == sorted(t, reverse=True)}
        assert found == expected
        assert len(found) == comb(capacity + len(robots), len(robots) - 1)
