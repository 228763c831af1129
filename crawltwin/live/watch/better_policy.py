"""A new policy when the pace has changed, and only one that is better by more than its doubt.

The scenario of the plan stays; its arrivals go faster or slower by the factor that was seen. The pace is known only up
to its error, so the gain of the new policy over the present one is taken at both ends of its interval as well: the
smallest of the three must be positive.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from crawltwin.model import Scenario, ThresholdPolicy
from crawltwin.model.arrivals.fetching import FetchingRobots
from crawltwin.model.arrivals.kinds import ControlledArrivals, ModeMatrices
from crawltwin.model.errors import InputError

REACH = 2.0
"""Standard errors of the pace that the gain must survive."""
MOST_POLICIES = 400


@dataclass(frozen=True)
class Improvement:
    """A policy that is worth writing.

    Attributes
    ----------
    policy : ThresholdPolicy
    cost, before : float
        Cost of it and of the present policy at the pace that was seen.
    gain, doubt : float
        What it saves, and by how much that may be off because of the pace.
    """

    policy: ThresholdPolicy
    cost: float
    before: float
    gain: float
    doubt: float


def faster(arrivals: ControlledArrivals, factor: float) -> ControlledArrivals:
    """The same arrivals at `factor` times the pace."""
    if isinstance(arrivals, FetchingRobots):
        return replace(arrivals, fetch=arrivals.fetch.scaled(factor))
    return ModeMatrices({robots: mode.scaled(factor) for robots, mode in arrivals.modes.items()})


def cost_of(scenario: Scenario) -> float:
    """The cost by the chain."""
    from analytic import solve

    found = solve(scenario).measures["cost"]
    return math.inf if found is None else float(found)


def improve(
    scenario: Scenario,
    present: ThresholdPolicy,
    factor: float,
    error: float,
    cost: Callable[[Scenario], float] = cost_of,
) -> Improvement | None:
    """A better policy at `factor` (standard error `error`) times the scenario's pace; None where none surely is.

    Parameters
    ----------
    scenario : Scenario
        With a cost.
    present : ThresholdPolicy
        What is obeyed now.
    """
    if scenario.cost is None:
        raise InputError("the scenario must have a cost to tell a better policy; got none. Add [cost] to it")

    def at(pace: float, policy: ThresholdPolicy) -> float:
        return cost(scenario.replace(arrivals=faster(scenario.arrivals, pace), policy=policy))

    low, high = max(factor - REACH * error, 0.05 * factor), factor + REACH * error
    candidates = _candidates(scenario, present)
    best = min(candidates, key=lambda policy: at(factor, policy))
    gains = [at(pace, present) - at(pace, best) for pace in (factor, low, high)]
    if best == present or min(gains) <= 0:
        return None
    after = at(factor, best)
    return Improvement(best, after, after + gains[0], gains[0], gains[0] - min(gains))


def _candidates(scenario: Scenario, present: ThresholdPolicy) -> Sequence[ThresholdPolicy]:
    """Policies with one threshold between two numbers of robots that are known, or with none; looks as at present."""
    numbers = sorted(scenario.arrivals.robot_numbers, reverse=True)
    every = present.check_every
    found = [ThresholdPolicy([one], check_every=0.0) for one in numbers]
    pairs = list(combinations(numbers, 2))
    step = max(1, math.ceil(len(pairs) * scenario.capacity / MOST_POLICIES))
    found += [
        ThresholdPolicy(pair, [limit], check_every=every)
        for pair in pairs
        for limit in range(0, scenario.capacity, step)
    ]
    return found
