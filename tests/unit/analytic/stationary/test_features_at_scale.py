"""Sweeps, windows and bands with several indexers, hysteresis, polling and fetching robots."""

from __future__ import annotations

import numpy as np
import pytest

from analytic import solve
from analytic.chain.primitives import Chain
from analytic.stationary.window import solve_window
from crawltwin.model import Scenario, ThresholdPolicy, erlang, exponential, hyperexponential
from crawltwin.model.arrivals.fetching import FetchingRobots

ROBOTS = FetchingRobots(3, exponential(0.8), (0.8, 0.2))


def crawler(**more):
    plain = Scenario(
        capacity=10,
        arrivals=ROBOTS,
        service=exponential(0.55),
        obsolescence=hyperexponential([0.3, 0.7], [0.1, 0.6]),
        policy=ThresholdPolicy([3, 1], [6], resume=[3]),
        indexers=2,
    )
    return plain.replace(**more)


CASES = {
    "hysteresis": crawler(),
    "polling": crawler(policy=ThresholdPolicy([3, 1], [6], resume=[3], check_every=0.5)),
    "start-up": crawler(arrivals=FetchingRobots(3, exponential(0.8), (1.0,), exponential(1.0))),
    "overflow": crawler(admission="overflow", capacity=9),
    "stages": crawler(obsolescence=erlang(2, 3.0), service=erlang(2, 0.5), capacity=9),
}


@pytest.mark.parametrize("name", CASES)
def test_sweeps_are_the_explicit_chain(name):
    exact, swept = (solve(CASES[name], method) for method in ("direct", "matrix-free"))
    for measure, value in exact.measures.items():
        if value is not None:
            np.testing.assert_allclose(swept.measures[measure], value, rtol=1e-8, err_msg=measure)
    for fate in ("served", "obsolete"):
        assert swept.sojourn.quantile(0.9, fate) == pytest.approx(exact.sojourn.quantile(0.9, fate), rel=1e-7)


@pytest.mark.parametrize("name", CASES)
def test_no_true_error_of_a_window_is_larger_than_its_estimate(name):
    found = solve_window(Chain.of(CASES[name]), tolerance=1e-3)
    exact = solve(CASES[name], "matrix-free").measures
    assert not found.exact or name == "stages"  # orders of stages are forgotten late
    for measure, value in found.measures.items():
        error = np.abs(np.asarray(value) - np.asarray(exact[measure]))
        assert (error <= np.asarray(found.errors[measure]) + 1e-12).all(), measure


def test_levels_above_the_cut_have_other_modes():
    """The window leaves the highest levels out; the mode changes among them."""
    scenario = crawler(capacity=60, policy=ThresholdPolicy([1, 3], [50], resume=[48]), service=exponential(0.3))
    found = solve(scenario, "window")
    short = solve(scenario.replace(capacity=16, policy=ThresholdPolicy([1])), "matrix-free")
    assert found.measures["mean_pages"] == pytest.approx(short.measures["mean_pages"], rel=1e-4)
    assert len(found.measures["level_distribution"]) == 61
    assert found.measures["switch_rate"] < 1e-12


def test_a_long_band_with_hysteresis_follows_its_fluid_limit():
    """Eight indexers, ten thousand places: the backlog swings between the resume point and the threshold."""
    scenario = Scenario(
        capacity=10_000,
        arrivals=FetchingRobots(4, exponential(0.2)),
        service=exponential(1.0),
        policy=ThresholdPolicy([4, 1], [6000], resume=[3000]),
        indexers=8,
    )
    found = solve(scenario).measures
    # Up at rate 20 - 8 with four robots, down at rate 8 - 5 with one: two switches in each cycle.
    cycle = 3000 / 12 + 3000 / 3
    assert found["switch_rate"] == pytest.approx(2 / cycle, rel=0.01)
    assert found["mean_active_robots"] == pytest.approx((4 * 250 + 1000) / cycle, rel=0.01)
    assert found["mean_pages"] == pytest.approx(4500, rel=0.01)
