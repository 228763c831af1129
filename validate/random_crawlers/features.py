"""Random crawlers that go beyond the paper: several indexers, hysteresis, polling, robots that finish their fetch.

Scenario `index` of a seed is a function of the two numbers alone. Six kinds of arrivals and the three admission rules
take turns, so that any 24 neighbours hold every combination. Policies name two numbers of robots at least.
Independently of these a crawler has two or three indexers (chance 0.5), resume points below its thresholds (0.7), a
controller that looks only now and then (0.4), a cost of each switch (0.5); robots that fetch have a start-up time (0.4)
and spells of the web (0.4).

The limits are those of `scenarios` beside it: the capacity is lowered until the chain is small, rates are of
order one, and the controller looks after one to six pages on average, so that equilibrium is reached soon.
"""

from __future__ import annotations

import math

import numpy as np

from crawltwin.model import (
    ControlledArrivals,
    CostWeights,
    FetchingRobots,
    LevelPolicy,
    PhaseType,
    Policy,
    Scenario,
    ThresholdPolicy,
    exponential,
)
from crawltwin.model.arrivals.spells import Spells
from crawltwin.model.scenario import Admission
from validate.random_crawlers.parts import LARGEST_CAPACITY, MOST_STATES, draw_arrivals, draw_phase_type, draw_policy

FEATURE_KINDS = ("modes", "fetching", "independent", "fetching", "thinned", "marked", "fetching", "scaled")
"""The kinds of arrivals, in the order in which they take turns: fetching three times in eight."""


def random_feature_scenario(seed: int, index: int) -> Scenario:
    """The scenario of that index in the series of that seed.

    Cost: a few milliseconds.

    Examples
    --------
    >>> [random_feature_scenario(1, index).arrivals.kind for index in (0, 1)]
    ['modes', 'fetching']
    """
    rng = np.random.default_rng(np.random.SeedSequence([seed, index, len(FEATURE_KINDS)]))
    admissions: tuple[Admission, ...] = ("partial", "all-or-nothing", "overflow")
    admission = admissions[(index // len(FEATURE_KINDS)) % len(admissions)]
    kind = FEATURE_KINDS[index % len(FEATURE_KINDS)]
    arrivals = _fetching(rng) if kind == "fetching" else draw_arrivals(rng, kind)
    indexers = int(rng.integers(2, 4)) if rng.random() < 0.5 else 1
    service, obsolescence = draw_phase_type(rng, 1.0), draw_phase_type(rng, float(rng.uniform(1.0, 8.0)))
    no_ageing = rng.random() < 0.1
    capacity = int(rng.integers(indexers, LARGEST_CAPACITY + 1))
    policy = draw_policy(rng, arrivals.robot_numbers, capacity)
    while len(set(policy.robots_used)) == 1:
        policy = draw_policy(rng, arrivals.robot_numbers, capacity)
    busiest = max(arrivals.page_rate(robots) for robots in policy.robots_used)
    policy = _with_memory(rng, policy, busiest)
    load = float(rng.uniform(0.4, 2.5))
    service = service.scaled(service.mean * busiest / load / indexers)
    fresh = load / busiest * float(rng.uniform(1.0, 8.0))
    weights = [float(weight) for weight in rng.uniform(1, 100, 5)]
    weights.append(float(rng.uniform(1, 20)) if rng.random() < 0.5 else 0.0)
    found = Scenario(
        title=f"random crawler beyond the paper {index} of seed {seed}",
        capacity=capacity,
        arrivals=arrivals,
        service=service,
        obsolescence=None if no_ageing else obsolescence.scaled(obsolescence.mean / fresh),
        policy=policy,
        cost=CostWeights(*weights),
        admission=admission,
        indexers=indexers,
    )
    while found.capacity > indexers and chain_size(found) > MOST_STATES:
        found = found.replace(capacity=found.capacity - 1, policy=_lowered(found.policy_in_force, found.capacity - 1))
    return found


def chain_size(scenario: Scenario) -> int:
    """An upper bound of the number of states of the explicit chain."""
    c, services = scenario.indexers, scenario.service.order
    clocks = 1 if scenario.obsolescence is None else scenario.obsolescence.order
    modes = len(scenario.policy_in_force.robots_used) if scenario.policy_in_force.features else 1
    busy = [math.comb(level + services - 1, services - 1) for level in range(c + 1)]
    waiting = sum(int(clocks**number) for number in range(1, scenario.top_level - c + 1))
    return modes * scenario.arrivals.phases * (sum(busy) + busy[c] * waiting)


def _fetching(rng: np.random.Generator) -> ControlledArrivals:
    """Two to four robots; fetch times of one or two phases and mean one; up to three pages."""
    robots = int(rng.integers(2, 5))
    fetch: PhaseType = draw_phase_type(rng, 1.0)
    while fetch.order > 2:
        fetch = draw_phase_type(rng, 1.0)
    pages = rng.dirichlet(np.ones(int(rng.integers(1, 4))))
    start_up = exponential(float(rng.uniform(0.2, 3.0))) if rng.random() < 0.4 else None
    spells = None
    if rng.random() < 0.4:
        away, back = (float(rate) for rate in rng.uniform(0.1, 1.0, 2))
        spells = Spells([[-away, away], [back, -back]], [1.0, float(rng.uniform(0.1, 0.8))])
    return FetchingRobots(robots, fetch, tuple(float(share) for share in pages), start_up, spells)


def _with_memory(rng: np.random.Generator, policy: Policy, page_rate: float) -> Policy:
    """The policy with resume points (thresholds only) and looks, each by chance."""
    below, polled = rng.random() < 0.7, rng.random() < 0.4
    gaps, looks = rng.integers(1, 4, 16), float(rng.uniform(1.0, 6.0)) / page_rate
    every = looks if polled else 0.0
    if isinstance(policy, LevelPolicy):
        return LevelPolicy(policy.table, every)
    own = policy.as_thresholds()
    resume = [-1 if limit < 0 else max(limit - int(gap), 0) for limit, gap in zip(own.thresholds, gaps, strict=False)]
    return ThresholdPolicy(
        own.robots, own.thresholds, np.maximum.accumulate(resume).tolist() if below and resume else None, every
    )


def _lowered(policy: Policy, capacity: int) -> Policy:
    """The policy for a smaller capacity: what lay above it lies at it."""
    if isinstance(policy, LevelPolicy):
        return LevelPolicy(policy.table[: capacity + 1], policy.check_every)
    own = policy.as_thresholds()
    limits = [min(limit, capacity) for limit in own.thresholds]
    return ThresholdPolicy(own.robots, limits, [min(again, capacity) for again in own.resume], own.check_every)
