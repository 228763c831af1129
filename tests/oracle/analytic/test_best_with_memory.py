"""Best thresholds and resume points against every controller of tiny systems, written state by state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from analytic import optimize
from crawltwin.model import BMAP, CostWeights, Scenario, ThresholdPolicy
from crawltwin.model.arrivals.fetching import FetchingRobots
from crawltwin.model.arrivals.kinds import ScaledStream
from crawltwin.model.laws import families
from tests.oracle.analytic.tiny_crawler import TinyCrawler

WEIGHTS = CostWeights(loss=8.0, obsolescence=5.0, robots=1.5, starvation=12.0, switching=0.7)


def cost(found: dict[str, float], weights: CostWeights) -> float:
    return (
        sum(
            getattr(weights, weight) * found[rate]
            for weight, rate in (("loss", "lost"), ("obsolescence", "obsolete"), ("switching", "switches"))
        )
        + weights.robots * found["robots"]
        + weights.starvation * found["starvation"]
    )


def tiny(kind: str, K: int, c: int, every: float = 0.0, seed: int = 0) -> tuple[Scenario, TinyCrawler]:
    rng = np.random.default_rng(seed)
    service, stale, fetch = rng.uniform(0.8, 2.0), rng.uniform(0.1, 0.6), rng.uniform(0.5, 1.2)
    crawler = TinyCrawler(K, c, service, stale, check_every=every)
    if kind == "fetching":
        arrivals = FetchingRobots(2, families.exponential(1 / fetch))
        crawler = replace(crawler, fetch_rate=fetch)
    else:
        arrivals = ScaledStream(BMAP([[[-fetch]], [[fetch]]]), 2)
        crawler = replace(crawler, rate=lambda robots: robots * fetch)
    scenario = Scenario(
        capacity=K, indexers=c, arrivals=arrivals, service=families.exponential(1 / service),
        obsolescence=families.exponential(1 / stale), cost=WEIGHTS,
    )  # fmt: skip
    return scenario, crawler


def by_hand(crawler: TinyCrawler, policy: ThresholdPolicy) -> float:
    def rule(robots: int, level: int) -> int:
        return policy.robots[policy.mode_after(policy.robots.index(robots), level)]

    first = policy.robots[0]
    return cost(crawler.averages((first, 0, first if crawler.fetch_rate else 0), rule), WEIGHTS)


def every_policy(K: int) -> list[ThresholdPolicy]:
    pairs = [ThresholdPolicy([2, 1], [j], [u]) for j in range(K) for u in range(j + 1)]
    return [ThresholdPolicy([1]), ThresholdPolicy([2]), *pairs]


@pytest.mark.parametrize(("kind", "K", "c", "every"), [
    ("scaled", 4, 1, 0.0), ("scaled", 4, 2, 0.0), ("fetching", 4, 1, 0.0), ("fetching", 3, 2, 0.0),
    ("scaled", 3, 1, 0.8), ("fetching", 3, 1, 0.8),
])  # fmt: skip
def test_the_best_of_all_thresholds_and_resume_points(kind: str, K: int, c: int, every: float) -> None:
    scenario, crawler = tiny(kind, K, c, every)
    found = optimize(scenario, resume=True, check_every=every)
    costs = {policy.short: by_hand(crawler, policy) for policy in every_policy(K)}
    assert found.best.cost == pytest.approx(min(costs.values()), rel=1e-10)
    assert len(found.tables) == len(costs)
    pairs = zip(found.listed or (), found.costs, strict=True)
    evaluated = {policy.short.partition(":")[0]: value for policy, value in pairs}
    assert evaluated == pytest.approx(costs, rel=1e-10)


@pytest.mark.parametrize("kind", ["scaled", "fetching"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_controller_of_level_and_mode_is_below_the_bound(kind: str, seed: int) -> None:
    """Every rule from (robots in force, level) to robots, not thresholds alone: 2^(2 (K + 1)) of them."""
    K = 2
    scenario, crawler = tiny(kind, K, 1, seed=seed)
    bound = optimize(scenario).lower_bound
    assert bound is not None
    costs = []
    for chosen in product((1, 2), repeat=2 * (K + 1)):
        rule: Callable[[int, int], int] = lambda robots, level, chosen=chosen: chosen[(robots - 1) * (K + 1) + level]  # noqa: E731
        for first in (1, 2):
            try:
                costs.append(cost(crawler.averages((first, 0, first if crawler.fetch_rate else 0), rule), WEIGHTS))
            except np.linalg.LinAlgError:
                continue
    assert min(costs) >= bound - 1e-9 * abs(bound)
    if kind == "scaled":
        # Poisson pages, exponential times: level and mode are all there is to see, so the bound is reached.
        assert min(costs) == pytest.approx(bound, rel=1e-6)
