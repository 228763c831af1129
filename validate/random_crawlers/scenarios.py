"""Random crawlers, always valid and of modest size: the ground on which the whole product is calibrated.

Crawlers as in the paper are drawn here, those with several indexers, hysteresis, polling and robots that finish their
fetch in `validate.random_crawlers.features`.

Scenario `index` of a seed is a function of the two numbers alone. Kinds of arrivals and admission rules take turns, so
that any 15 neighbours hold every combination of the five kinds with the three rules; everything else is drawn: phases
and rates, batch sizes, phase types of service and obsolescence, capacity, thresholds (or a free table), costs.

Two limits keep every scenario fit for a calibration. Size: the capacity is lowered until the explicit chain has at most
`MOST_STATES` states. Pace: rates are of order one and the offered load lies between 0.4 and 2.5, so that equilibrium is
reached within some hundred events and no fate is so rare that a normal law could not be expected.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from crawltwin.model import ADMISSIONS, CostWeights, Scenario
from crawltwin.model.scenario import Admission
from validate.random_crawlers.features import random_feature_scenario
from validate.random_crawlers.parts import (
    KINDS,
    LARGEST_CAPACITY,
    MOST_STATES,
    draw_arrivals,
    draw_phase_type,
    draw_policy,
)

Family = Literal["paper", "features"]
FAMILIES: tuple[Family, ...] = ("paper", "features")
"""Random crawlers as in the paper, and those that go beyond it."""


def random_scenario(seed: int, index: int, family: Family = "paper") -> Scenario:
    """The scenario of that index in the series of that seed; each family has a series of its own.

    Cost: a millisecond.

    Examples
    --------
    >>> random_scenario(1, 0) == random_scenario(1, 0)
    True
    >>> [random_scenario(1, index).arrivals.kind for index in range(5)]
    ['modes', 'independent', 'thinned', 'marked', 'scaled']
    """
    if family == "features":
        return random_feature_scenario(seed, index)
    rng = np.random.default_rng(np.random.SeedSequence([seed, index]))
    admission: Admission = ("partial", "all-or-nothing", "overflow")[(index // len(KINDS)) % len(ADMISSIONS)]
    arrivals = draw_arrivals(rng, KINDS[index % len(KINDS)])
    service, obsolescence = draw_phase_type(rng, 1.0), draw_phase_type(rng, float(rng.uniform(1.0, 8.0)))
    no_ageing = rng.random() < 0.1
    capacity = int(rng.integers(1, LARGEST_CAPACITY + 1))
    extra = arrivals.max_batch - 1 if admission == "overflow" else 0
    phases = 1 if no_ageing else obsolescence.order
    while capacity > 1 and _states(arrivals.phases, service.order, phases, capacity + extra) > MOST_STATES:
        capacity -= 1
    policy = draw_policy(rng, arrivals.robot_numbers, capacity)
    load = float(rng.uniform(0.4, 2.5))
    busiest = max(arrivals.mode(robots).page_rate for robots in policy.robots_used)
    # The cost is drawn last: the order of the draws makes the series.
    fresh = 0.0 if no_ageing else load / busiest * float(rng.uniform(1.0, 8.0))
    return Scenario(
        title=f"random crawler {index} of seed {seed}",
        capacity=capacity,
        arrivals=arrivals,
        service=service.scaled(service.mean / (load / busiest)),
        obsolescence=None if no_ageing else obsolescence.scaled(obsolescence.mean / fresh),
        policy=policy,
        cost=CostWeights(*[float(weight) for weight in rng.uniform(1, 100, 5)]),
        admission=admission,
    )


def _states(arrival: int, service: int, obsolescence: int, top: int) -> int:
    return arrival * (1 + service * sum(int(obsolescence**waiting) for waiting in range(top)))
