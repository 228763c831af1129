"""The model learnt anew from the newest deliveries, with the doubt of what they tell.

How much is learnt depends on what the log tells:

- A record of `crawltwin.live.scrapy` tells fetches, indexing and lifetimes, whatever policy was obeyed: all three laws
  are fitted anew.
- Another log of a crawl that ran one number of robots all the time: what that number brings is fitted anew, and the
  other numbers of robots bring as much more or less than it as the scenario says.
- A log of a crawl under thresholds does not tell how many robots brought which page. The scenario's arrivals keep their
  form and go faster or slower.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from crawltwin.live.demo.fitted import fit_record
from crawltwin.live.record import Record
from crawltwin.live.watch.follow import new_lines
from crawltwin.model import Scenario, ThresholdPolicy
from crawltwin.model.arrivals.kinds import ModeMatrices
from crawltwin.model.errors import InputError
from fitting import FitOptions, RawLog, fit
from fitting.readers.input.json_objects import objects
from fitting.readers.times.stamps import SECOND

if TYPE_CHECKING:
    from crawltwin.model.policies.policy import Policy

REACH = 2.0
"""Standard errors of what was learnt that a better policy must survive."""
FACTOR = 100.0
"""Paces beyond so many times the scenario's, or below one part of so many, are not looked for."""
RECORD_LINES = 40_000
"""Lines of a record that are read again at the most: each page has about five."""
QUICK = FitOptions(max_branches=3, max_stages=5, repetitions=20, refits=0)


@dataclass(frozen=True)
class Relearnt:
    """A model, the same model moved by its doubt in each direction, and how it was learnt, in words."""

    scenario: Scenario
    variants: tuple[Scenario, ...]
    words: str


def retimed(scenario: Scenario, factor: float, error: float) -> Relearnt:
    """The scenario at `factor` times its pace; `error` is the relative standard error of the factor."""

    def at(pace: float) -> Scenario:
        return scenario.replace(arrivals=scenario.arrivals.scaled(pace))

    slow, fast = (factor * move for move in moved_factors(error))
    return Relearnt(at(factor), (at(slow), at(fast)), f"the scenario's arrivals, {factor:.3g} times as fast")


def repaced(scenario: Scenario, policy: Policy, pace: float, error: float) -> Relearnt:
    """The scenario at the pace with which it brings `pace` pages per second under `policy`.

    A policy works against a change: robots that become faster are made fewer. So the arrivals change by more than the
    pace that is seen, and where the policy holds the pace steady, a small doubt of the pace (`error`, its relative
    standard error) is a large one of the arrivals.

    Raises
    ------
    InputError
        When no pace of the arrivals brings that many pages.
    """
    controlled = scenario.replace(policy=policy)
    moves = (1.0, *moved_factors(error))
    at, slow, fast = (
        scenario.replace(arrivals=scenario.arrivals.scaled(factor_for(controlled, pace * move))) for move in moves
    )
    factor = at.arrivals.page_rate(policy.robots_used[0]) / scenario.arrivals.page_rate(policy.robots_used[0])
    return Relearnt(at, (slow, fast), f"the scenario's arrivals, {factor:.3g} times as fast")


def factor_for(scenario: Scenario, pace: float) -> float:
    """How much faster the arrivals must go for the scenario's chain to bring `pace` pages per unit of time."""
    from scipy.optimize import brentq

    from analytic import solve

    def excess(log_factor: float) -> float:
        moved = scenario.replace(arrivals=scenario.arrivals.scaled(math.exp(log_factor)))
        return math.log(float(solve(moved).measures["arrival_rate"]) / pace)

    near, here = 0.0, excess(0.0)
    while here != 0:
        far = near - here if abs(here) > 0.05 else near - math.copysign(0.05, here)
        if abs(far) > math.log(FACTOR):
            raise InputError(f"the pace must be one that the model can bring under {scenario.policy}; got {pace:.4g}")
        there = excess(far)
        if there * here <= 0:
            return math.exp(float(brentq(excess, near, far, rtol=1e-6, xtol=1e-6)))
        near, here = far, there
    return math.exp(near)


def refit_stream(scenario: Scenario, robots: int, times: Sequence[float], error: float) -> Relearnt:
    """What `robots` robots bring fitted anew to the times of their deliveries; the others in proportion to it.

    `error` is the relative standard error of the pace.
    """
    log = RawLog.of_times(np.rint(np.asarray(times) * SECOND).astype(np.int64))
    found = fit(log, options=QUICK)
    before = scenario.arrivals
    share = {number: before.page_rate(number) / before.page_rate(robots) for number in before.robot_numbers}
    modes = {number: found.process.scaled(part) for number, part in share.items()}
    anew = scenario.replace(arrivals=ModeMatrices(modes))
    words = f"arrivals fitted anew to {len(log):,} deliveries ({found.chosen.name})"
    return replace(retimed(anew, 1.0, error), words=words)


def refit_record(scenario: Scenario, lines: Sequence[dict[str, Any]]) -> Relearnt:
    """Fetches, indexing and lifetimes fitted anew to the lines of a record."""
    if not lines:
        raise InputError("the record must have lines since the last change to be fitted anew; got none")
    opening: dict[str, Any] = {"event": "opened", "time": lines[0]["time"], "capacity": scenario.capacity}
    opening |= {name: lines[0].get(name) for name in ("level", "robots", "in_flight")}
    fitted = fit_record(Record.of([opening, *lines]))
    most = max(scenario.arrivals.robot_numbers)

    def model(**factors: float) -> Scenario:
        made = replace(fitted, robots=most).scenario(ThresholdPolicy([most]), None, **factors)
        indexing = {} if fitted.lifetime is None else {"obsolescence": made.obsolescence}
        return scenario.replace(arrivals=made.arrivals, service=made.service, **indexing)

    moved = [model(**{name: factor}) for name, error in fitted.errors.items() for factor in moved_factors(error)]
    words = f"fetches, indexing and lifetimes fitted anew to {fitted.pages:,} pages of the record"
    return Relearnt(model(), tuple(moved), words)


def moved_factors(error: float) -> tuple[float, float]:
    """One moved by the doubt in either direction; an error that is not known counts as one of the size of the mean."""
    reach = REACH * (error if math.isfinite(error) else 1.0)
    return max(1 - reach, 0.05), 1 + reach


def newest_lines(paths: Sequence[str], since: float) -> list[dict[str, Any]]:
    """The last lines of a record from `since` on, in order of time; a bounded number of them.

    Of each file those since the crawl was last started: page numbers begin anew then, and the clock may have been set.
    """
    found: list[dict[str, Any]] = []
    for path in paths:
        kept: deque[dict[str, Any]] = deque(maxlen=RECORD_LINES)
        for piece in new_lines(path, None):
            for line in objects(piece.text.split(b"\n")[:-1]):
                if line and line.get("event") == "opened":
                    kept.clear()
                elif line and _is_since(line, since):
                    kept.append(line)
        found += kept
    return sorted(found, key=lambda line: float(line["time"]))[-RECORD_LINES:]


def _is_since(line: dict[str, Any], since: float) -> bool:
    return "event" in line and isinstance(line.get("time"), int | float) and line["time"] >= since
