"""How much one replication is, estimated before the first event is drawn: jumps of phases, which cost the time."""

from __future__ import annotations

import numpy as np

from crawltwin.model import ControlledArrivals, FetchingRobots, PhaseType, Scenario, TooLargeError, checks
from simulate.engine.length import Length
from simulate.engine.tables import arrival_tables

MOST_JUMPS = 1e12
"""Jumps of a replication that are still begun: about a day of the compiled engine."""


def expected_jumps(scenario: Scenario, length: Length) -> float:
    """Jumps of the robots with as many of them as an empty system has, and of the times that their pages draw."""
    policy = scenario.policy_in_force.as_thresholds()
    robots = policy.robots[policy.mode_after(0, 0)]
    page_rate, jump_rate = _fetching(scenario.arrivals, robots) or _walking(scenario.arrivals, robots)
    if policy.check_every:
        jump_rate += 1 / policy.check_every
    time = length.time if length.time is not None else (length.pages or 0) / page_rate
    phases = _phases(scenario.service) + (0.0 if scenario.obsolescence is None else _phases(scenario.obsolescence))
    return time * (jump_rate + page_rate * phases)


def _walking(arrivals: ControlledArrivals, robots: int) -> tuple[float, float]:
    """Rates of pages and of jumps."""
    tables = arrival_tables(arrivals, robots)
    jumps, factor = tables.jumps[tables.table_of[robots]], tables.factor_of[robots]
    shares = np.diff(jumps.cumulative, prepend=0.0)
    shares[jumps.begin[:-1]] = jumps.cumulative[jumps.begin[:-1]]
    brought = np.add.reduceat(shares * jumps.size, jumps.begin[:-1])
    jump_rate = factor * sum(float(p @ jumps.rate[rows]) for rows, p in tables.starts)
    page_rate = factor * sum(float(p @ (jumps.rate[rows] * brought[rows])) for rows, p in tables.starts)
    return page_rate, jump_rate


def _fetching(arrivals: ControlledArrivals, robots: int) -> tuple[float, float] | None:
    """The same for robots that finish their fetch; None for others."""
    if not isinstance(arrivals, FetchingRobots):
        return None
    spells = arrivals.spells
    pace = 1.0 if spells is None else spells.mean_pace
    changes = 0.0 if spells is None else float(spells.shares @ -np.diag(spells.generator))
    return arrivals.page_rate(robots), robots * pace / arrivals.fetch.mean * _phases(arrivals.fetch) + changes


def _phases(law: PhaseType) -> float:
    """Mean number of phases that a time of a phase type goes through."""
    times = np.linalg.solve(-law.subgenerator.T, law.initial)
    return float(times @ -np.diag(law.subgenerator))


def check_effort(scenario: Scenario, length: Length) -> None:
    """Refuse a replication that would not end within a day."""
    jumps = expected_jumps(scenario, length)
    if not jumps <= MOST_JUMPS:
        told = checks.count(int(jumps)) if np.isfinite(jumps) else "too many to count"
        raise TooLargeError(
            f"a replication must have at most {checks.count(int(MOST_JUMPS))} jumps of phases; got {told}. "
            "Make it shorter, or look for rates that are many orders apart: `crawltwin solve` needs no events"
        )
