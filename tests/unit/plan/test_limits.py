"""Limits before weights: the policy with the least of what is to be small among those that keep the limits."""

import numpy as np
import pytest

from analytic import optimize, solve
from crawltwin.model import ModeMatrices, ThresholdPolicy, examples
from crawltwin.plan.choosing import choose_within, share_in_time
from crawltwin.plan.limits import IndexWithin, Limits

SCENARIO = examples.load("paper").replace(policy=None)
ALL_ROBOTS = SCENARIO.replace(
    arrivals=ModeMatrices({4: SCENARIO.arrivals.mode(4)}), policy=ThresholdPolicy([4]), cost=None
)


@pytest.fixture(scope="module")
def optimum():
    return optimize(SCENARIO)


@pytest.fixture(scope="module")
def today(optimum):
    at = np.flatnonzero((optimum.tables == 4).all(axis=1))
    return optimum.rates[at]


def _every(optimum):
    """Every threshold policy, each solved on its own by the direct method."""
    for table in optimum.tables.tolist():
        robots = sorted(set(table), reverse=True)
        thresholds = [max(k for k, own in enumerate(table) if own >= r) for r in robots[:-1]]
        policy = ThresholdPolicy(robots, thresholds)
        yield policy, solve(SCENARIO.replace(policy=policy), method="direct").measures


@pytest.mark.parametrize("aim", ["robots", "starvation", "cost"])
def test_the_choice_is_the_best_of_all_policies_that_keep_the_limits(optimum, today, aim):
    limits = Limits(lose_at_most=0.3, stale_at_most=0.2, minimise=aim)
    chosen, limited = choose_within(optimum, limits, today)
    name = {"robots": "mean_active_robots", "starvation": "starvation_probability", "cost": "cost"}[aim]
    kept = [
        measures
        for _, measures in _every(optimum)
        if measures["loss_probability"] <= 0.3 and measures["obsolescence_probability"] <= 0.2
    ]
    mine = solve(SCENARIO.replace(policy=chosen.best.policy), method="direct").measures
    assert limited.kept
    assert limited.keeping == len(kept)
    assert mine["loss_probability"] <= 0.3
    assert mine[name] == pytest.approx(min(measures[name] for measures in kept), rel=1e-8)


def test_pages_in_time(optimum, today):
    limits = Limits(index_within=IndexWithin(4.0, 0.9))
    chosen, limited = choose_within(optimum, limits, today)
    law = solve(SCENARIO.replace(policy=chosen.best.policy)).sojourn
    assert limited.kept
    assert law.quantile(0.9, "served") <= 4.0
    assert limited.in_time == pytest.approx(float(law.cdf(4.0, "served")))
    # Every policy with fewer robots is late.
    least = solve(SCENARIO.replace(policy=chosen.best.policy)).measures["mean_active_robots"]
    for policy, measures in _every(optimum):
        if measures["mean_active_robots"] < least * (1 - 1e-8):
            assert share_in_time(SCENARIO.replace(policy=policy), limits.index_within) < 0.9


def test_a_share_of_todays_pages(optimum, today):
    limits = Limits(index_at_least=0.95, minimise="robots")
    chosen, limited = choose_within(optimum, limits, today)
    mine = solve(SCENARIO.replace(policy=chosen.best.policy)).measures
    full = solve(ALL_ROBOTS).measures
    indexed = [one["arrival_rate"] * one["success_probability"] for one in (mine, full)]
    assert limited.kept
    assert indexed[0] / indexed[1] >= 0.95
    assert mine["mean_active_robots"] < 4


def test_limits_that_nothing_keeps(optimum, today):
    chosen, limited = choose_within(optimum, Limits(lose_at_most=1e-9), today)
    assert not limited.kept
    assert "No policy keeps all limits" in limited.in_words()
    least = min(measures["loss_probability"] for _, measures in _every(optimum))
    mine = solve(SCENARIO.replace(policy=chosen.best.policy)).measures["loss_probability"]
    assert mine == pytest.approx(least, rel=1e-9)  # the one that comes nearest
