"""Random crawlers with every feature: fetching robots, several indexers, hysteresis, polling."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from crawltwin.model import CostWeights, Scenario, ThresholdPolicy, exponential
from crawltwin.model.arrivals.fetching import FetchingRobots
from crawltwin.model.arrivals.spells import Spells
from tests.random_models import random_phase_type, random_scenario


def random_crawler(seed: int, *, capacity: int = 4, clock: int = 2, **fixed: Any) -> Scenario:
    """A small scenario whose features are drawn from the seed; `fixed` overrides fields of the scenario."""
    rng = np.random.default_rng(1000 + seed)
    indexers = int(rng.integers(1, 4))
    most = max(capacity, indexers)
    if rng.random() < 0.6:
        robots = int(rng.integers(2, 4))
        arrivals: Any = FetchingRobots(
            robots,
            random_phase_type(rng, int(rng.integers(1, 3)), rng.uniform(0.3, 1.0)),
            tuple(rng.dirichlet(np.ones(int(rng.integers(1, 3))))),
            exponential(rng.uniform(0.2, 2.0)) if rng.random() < 0.4 else None,
            Spells([[-0.4, 0.4], [0.7, -0.7]], [1.0, 0.3]) if rng.random() < 0.3 else None,
        )
    else:
        arrivals = random_scenario(seed, max_capacity=4, max_batch=2, max_clock=2).arrivals
    known = arrivals.robot_numbers
    modes = int(rng.integers(1, 4))
    thresholds = sorted(rng.integers(0, most, modes - 1).tolist())
    resume = [int(rng.integers(0, limit + 1)) for limit in thresholds]
    policy = ThresholdPolicy(
        rng.choice(known, modes).tolist(),
        thresholds,
        sorted(min(a, b) for a, b in zip(resume, thresholds, strict=True)),
        check_every=float(rng.uniform(0.2, 3.0)) if rng.random() < 0.4 else 0.0,
    )
    scenario = Scenario(
        capacity=most,
        arrivals=arrivals,
        service=random_phase_type(rng, int(rng.integers(1, 3)), rng.uniform(0.4, 1.5)),
        obsolescence=None if rng.random() < 0.15 else random_phase_type(rng, clock, rng.uniform(0.2, 0.6)),
        policy=policy,
        cost=CostWeights(loss=5, obsolescence=10, response=2, robots=1, starvation=3, switching=0.7),
        admission=str(rng.choice(["partial", "all-or-nothing", "overflow"])),
        indexers=indexers,
    )
    return replace(scenario, **fixed)
