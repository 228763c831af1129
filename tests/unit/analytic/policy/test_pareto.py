"""The front: nothing on it is beaten, everything off it is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from analytic import constrain, optimize, pareto, solve
from analytic.policy.front import CRITERIA, not_dominated
from analytic.policy.tables import monotone_tables
from crawltwin.model import BMAP, InputError, LevelPolicy, ModeMatrices, examples
from tests.random_models import random_scenario


@given(arrays(np.float64, st.tuples(st.integers(1, 30), st.integers(1, 4)), elements=st.integers(0, 5).map(float)))
def test_front_by_definition(points):
    kept = not_dominated(points)
    beaten = [any((other <= point).all() and (other < point).any() for other in points) for point in points]
    np.testing.assert_array_equal(kept, ~np.array(beaten))


def test_the_best_policy_is_on_the_front():
    optimum = optimize(examples.load("paper"))
    front = pareto(optimum)
    frame = front.to_frame()
    assert front.complete
    assert frame.iloc[0]["robots"] == optimum.best.robots
    assert frame.iloc[0]["thresholds"] == optimum.best.thresholds
    assert (np.diff(frame["cost"]) >= 0).all()
    assert list(frame.columns) == ["robots", "thresholds", *CRITERIA, "cost"]


def test_one_criterion_has_one_best_value():
    optimum = optimize(examples.load("paper"))
    front = pareto(optimum, ["mean_active_robots"])
    assert front.to_frame()["robots"].tolist() == [(1,)]
    front = pareto(optimum, ["success_probability"])
    assert front.values.max() == pytest.approx(front.values.min())
    assert front.values[0, 0] == pytest.approx((optimum.rates[:, 3] / optimum.rates[:, 0]).max())


def test_a_front_of_what_was_evaluated_says_so():
    front = pareto(optimize(examples.load("paper"), method="bound"))
    assert not front.complete
    assert front.to_json()["complete"] is False


def independent_front(scenario):
    """Tables that no other beats, each solved on its own by the explicit chain; rounding does not decide."""
    tables = [tuple(table) for table in monotone_tables(scenario.arrivals.robot_numbers, scenario.capacity).tolist()]
    solved = [solve(scenario.replace(policy=LevelPolicy(table)), method="direct").measures for table in tables]
    values = np.array([[measures[name] or 0.0 for name in CRITERIA] for measures in solved])
    slack = 1e-9 * values.max(axis=0)
    return {
        table
        for table, own in zip(tables, values, strict=True)
        if not ((values <= own + slack).all(axis=1) & (values < own - slack).any(axis=1)).any()
    }


@pytest.mark.parametrize("seed", [13, 27, 50, 4, 51, 66])
def test_rounding_keeps_no_beaten_policy_on_the_front(seed):
    """Without a tolerance the first three list 1, 1 and 2 policies too many: ties in one criterion but for 1e-16."""
    scenario = random_scenario(seed, max_capacity=4)
    front = pareto(optimize(scenario))
    assert {tuple(table) for table in front.tables.tolist()} == independent_front(scenario)


def test_policies_that_tie_everywhere_are_all_listed():
    same = BMAP.poisson(0.5)
    scenario = examples.load("mm1k").replace(arrivals=ModeMatrices({1: same, 2: same}), policy=None)
    front = pareto(optimize(scenario), ["loss_probability", "starvation_probability"])
    assert len(front.tables) == len(optimize(scenario).tables) == 7


def test_a_scenario_is_optimised_first():
    front = pareto(examples.load("mm1k"), ["loss_probability"])
    assert front.tables.tolist() == [[1] * 6]
    assert constrain(examples.load("mm1k"), at_most={"loss_probability": 1.0}).best.robots == (1,)


def test_to_json_has_each_criterion():
    answer = pareto(optimize(examples.load("paper")), ["loss_probability", "starvation_probability"]).to_json()
    assert answer["compared"] == 84
    assert set(answer["policies"][0]) == {
        "robots",
        "thresholds",
        "loss_probability",
        "starvation_probability",
        "cost",
    }


@pytest.mark.parametrize(("criteria", "got"), [([], "none"), (["speed", "cost"], "speed, cost")])
def test_unknown_criteria(criteria, got):
    with pytest.raises(InputError, match=f"criteria must be among .*; got {got}"):
        pareto(optimize(examples.load("mm1k")), criteria)
