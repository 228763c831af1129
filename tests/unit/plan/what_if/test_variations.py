"""Other weights: the best policy of each point, with weights at the ends of what is allowed."""

import warnings
from dataclasses import replace

import pytest

from analytic import optimize
from crawltwin.model import examples
from crawltwin.plan.what_if.axes import Axis
from crawltwin.plan.what_if.variations import weight_sweep


@pytest.mark.parametrize("weight", [5.0, 1e99])
def test_every_point_has_the_policy_that_optimize_finds_for_its_weight(weight):
    scenario = examples.load("paper")
    axes = [Axis("cost.loss", (weight,)), Axis("cost.robots", (20.0, 200.0))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = weight_sweep(optimize(scenario), axes).rows
    for row in rows:
        point = {name.removeprefix("cost."): value for name, value in row["point"].items()}
        own = optimize(scenario.replace(cost=replace(scenario.cost, **point))).best
        assert row["best"]["cost"] == pytest.approx(own.cost, rel=1e-6)
