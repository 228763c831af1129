"""`solve` against a chain and a tagged page written down state by state: nothing shared but the scenario."""

from __future__ import annotations

import numpy as np
import pytest

from analytic import solve
from crawltwin.model import ThresholdPolicy, examples
from tests.oracle.brute_force import full_chain
from tests.oracle.tagged_page import tagged_page
from tests.random_models import random_scenario


def by_hand(scenario):
    K, rule, policy = scenario.capacity, scenario.admission, scenario.policy
    service = (scenario.service.initial, scenario.service.subgenerator)
    stale = scenario.obsolescence
    obsolescence = None if stale is None else (stale.initial, stale.subgenerator)

    def arrivals(level):
        return scenario.arrivals.mode(policy.robots_at(level)).D

    def admitted(level, batch):
        room = max(K - level, 0)
        if rule == "partial":
            return min(batch, room)
        return batch if (batch <= room if rule == "all-or-nothing" else room > 0) else 0

    chain = full_chain(arrivals, service, obsolescence, K, rule)
    Q = chain.generator.toarray()
    system = np.vstack([Q.T, np.ones(len(Q))])
    p = np.linalg.lstsq(system, np.eye(len(Q) + 1)[-1], rcond=None)[0]
    levels = np.bincount(chain.levels, weights=p, minlength=scenario.top_level + 1)
    rate = p @ chain.arrival_rates
    page = tagged_page(chain, p, arrivals, service, obsolescence, admitted)
    robots = np.array([policy.robots_at(level) for level in range(len(levels))])
    measures = {
        "arrival_rate": rate,
        "loss_probability": p @ chain.loss_rates / rate,
        "obsolescence_probability": p @ chain.obsolescence_rates / rate,
        "starvation_probability": levels[0],
        "mean_active_robots": levels @ robots,
        "mean_pages": levels @ np.arange(len(levels)),
        "mean_sojourn_served": page.moment(1, page.served),
        "level_distribution": levels,
    }
    if measures["obsolescence_probability"] > 1e-12:
        measures["mean_sojourn_obsolete"] = page.moment(1, page.obsolete)
    return measures, page


def compare(scenario, methods=("auto", "direct")):
    expected, page = by_hand(scenario)
    for method in methods:
        solution = solve(scenario, method=method)
        for name, value in expected.items():
            np.testing.assert_allclose(solution.measures[name], value, rtol=1e-8, atol=1e-12, err_msg=name)
        assert solution.sojourn.moment(2, "served") == pytest.approx(page.moment(2, page.served), rel=1e-8)
        assert solution.sojourn.transform(0.3, "all").real == pytest.approx(page.transform(0.3), rel=1e-9)


@pytest.mark.parametrize("seed", range(16))
def test_random_models(seed):
    compare(random_scenario(100 + seed, max_capacity=3, max_batch=2))


@pytest.mark.parametrize("thresholds", [[-1], [0], [2], [3]])
@pytest.mark.parametrize("rule", ["partial", "all-or-nothing", "overflow"])
def test_thresholds_up_to_the_capacity(rule, thresholds):
    """Under overflow a threshold at the capacity still switches: above it, where only whole batches lead."""
    scenario = examples.load("paper").replace(
        capacity=3, admission=rule, policy=ThresholdPolicy([3, 1], thresholds), cost=None
    )
    compare(scenario)


def test_a_threshold_at_the_capacity_matters_only_under_overflow():
    base = examples.load("paper").replace(capacity=3, policy=ThresholdPolicy([3, 1], [3]))
    fixed = base.replace(policy=ThresholdPolicy([3]))
    for rule in ("partial", "all-or-nothing"):
        switched, always = (solve(scenario.replace(admission=rule)).measures for scenario in (base, fixed))
        assert switched["cost"] == pytest.approx(always["cost"], rel=1e-12)
    assert solve(base.replace(admission="overflow")).measures["mean_active_robots"] < 2.99
