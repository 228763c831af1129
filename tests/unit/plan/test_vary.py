"""Ranges as people write them, and what a quantity changes."""

import numpy as np
import pytest

from crawltwin.model import InputError, ScaledStream, examples
from crawltwin.plan.what_if.axes import Axis, read_axis


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("capacity=1:4", (1, 2, 3, 4)),
        ("capacity=1:10:3", (1, 4, 7, 10)),
        ("capacity=1:9:3", (1, 4, 7)),
        ("capacity=1:100:3log", (1, 10, 100)),
        ("capacity=7", (7,)),
        ("service.scale=0.5,1,2", (0.5, 1.0, 2.0)),
        ("service.scale=0.1:0.5:0.1", (0.1, 0.2, 0.1 + 2 * 0.1, 0.1 + 3 * 0.1, 0.5)),
        ("service.scale=1:3:3lin", (1.0, 2.0, 3.0)),
        ("service.scale=0.01:100:5log", (0.01, 0.1, 1.0, 10.0, 100.0)),
        ("admission=partial,overflow", ("partial", "overflow")),
    ],
)
def test_ranges(text, values):
    assert read_axis(text).values == values


def test_a_plain_real_range_has_ten_values_spaced_by_ratio():
    values = np.array(read_axis("service.scale=0.1:15").values)
    assert (values.size, values[0], values[-1]) == (10, 0.1, 15.0)
    np.testing.assert_allclose(values[1:] / values[:-1], 150 ** (1 / 9), rtol=1e-10)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("capcity=1:3", "the quantity must be one of .* Did you mean 'capacity'"),
        ("capacity", "--vary must be NAME=RANGE; got 'capacity'"),
        ("capacity=1.5", "capacity must be whole numbers.*got '1.5'"),
        ("capacity=9:1", "capacity must run upwards; got '9:1'. Write 1:9"),
        ("capacity=1:9:0", "the step of capacity must be greater than 0; got 0"),
        ("service.scale=nan", "service.scale must be finite; got 'nan'"),
        ("service.scale=0:1:5log", "service.scale must begin above 0"),
        ("service.scale=1:2:3:4", "service.scale must be a:b or a:b:step"),
        ("capacity=1:1000000", "capacity must have 1 to 100,000 values; got 1,000,000"),
        ("admission=maybe", "admission must be among partial, all-or-nothing, overflow; got 'maybe'"),
    ],
)
def test_complaints(text, complaint):
    with pytest.raises(InputError, match=complaint):
        read_axis(text)


@pytest.mark.parametrize("name", ["paper", "independent", "thinned", "marked", "scaled", "fetching"])
def test_scaled_arrivals_bring_proportionally_more(name):
    scenario = examples.load(name)
    faster = Axis("arrivals.scale", (3.0,)).change(scenario, 3.0)
    assert type(faster.arrivals) is type(scenario.arrivals)
    for robots in scenario.arrivals.robot_numbers:
        brought = scenario.arrivals.page_rate(robots)
        assert faster.arrivals.page_rate(robots) == pytest.approx(3 * brought, rel=1e-12)


def test_means_and_scales():
    scenario = examples.load("paper")
    assert Axis("service.mean", (2.0,)).change(scenario, 2.0).service.mean == pytest.approx(2.0)
    assert Axis("service.scale", (2.0,)).change(scenario, 2.0).service.mean == pytest.approx(scenario.service.mean / 2)
    assert Axis("obsolescence.mean", (9.0,)).change(scenario, 9.0).obsolescence.mean == pytest.approx(9.0)
    assert Axis("cost.loss", (7.0,)).change(scenario, 7.0).cost.loss == 7.0
    assert Axis("cost.loss", (7.0,)).change(scenario, 7.0).cost.robots == scenario.cost.robots


def test_robots():
    scenario = examples.load("paper").replace(policy=None)
    assert Axis("robots", (2,)).change(scenario, 2).arrivals.robot_numbers == (1, 2)
    with pytest.raises(InputError, match=r"robots must be among those that the arrivals know \(1, 2, 3, 4\); got 5"):
        Axis("robots", (5,)).change(scenario, 5)
    measured = examples.load("measured").replace(policy=None)
    more = Axis("robots", (6,)).change(measured, 6).arrivals
    assert isinstance(more, ScaledStream)
    assert more.robot_numbers == (1, 2, 3, 4, 5, 6)
    fetching = examples.load("fetching").replace(policy=None)
    assert Axis("robots", (6,)).change(fetching, 6).arrivals.robot_numbers == (1, 2, 3, 4, 5, 6)


def test_pages_that_never_become_obsolete_cannot_become_so_faster():
    scenario = examples.load("paper").replace(obsolescence=None)
    with pytest.raises(InputError, match="obsolescence must be given to be varied"):
        Axis("obsolescence.scale", (2.0,)).change(scenario, 2.0)
