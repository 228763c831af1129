"""The front: nothing on it is beaten, everything off it is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from analytic import optimize, pareto
from analytic.pareto import CRITERIA, not_dominated
from crawltwin.model import InputError, examples


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
