r"""The crawl as it was logged: by part of the day, or by number of robots where a column of the log tells several.

Where the log tells of one number of robots, all of them always ran. Where its column tells several, r robots ran for
the share :math:`w_r` of the running time and brought the process that was learned for r robots. Each number is taken as
stationary by itself, as a part of the day is: rates are :math:`\sum_r w_r x_r`, measures and the cost quotients of
these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from analytic import Solution
from analytic.policy.memory.evaluator import rates_of_levels
from crawltwin.model import BMAP, ControlledArrivals, FetchingRobots, ModeMatrices, Scenario, ThresholdPolicy
from crawltwin.model.checks import FloatArray
from crawltwin.plan.day.parts import WHOLE_DAY, at_pace, busiest_of, day_solution, over_day
from crawltwin.plan.settings import PlanSettings
from crawltwin.plan.wording import in_percent, in_time, listed
from fitting import FitResult, RawLog
from fitting.robots.modes import LearnedModes
from fitting.robots.several import robots_at, shares_by_column
from fitting.season.pace import PacePart
from validate.logs.trace import Keep

SETTLED = 10.0
"""A number of robots is stationary by itself where it stays this many times as long as a full buffer needs to empty."""

MOST_NUMBERS = 30
"""Numbers of robots that are solved one by one; rarer ones count as the nearest of them."""
FEW_NUMBERS = 4
"""Numbers of robots that are told one by one."""


@dataclass(frozen=True, eq=False)
class RobotsLogged:
    """How many robots ran for which share of the time, where a column of the log tells several numbers.

    Parameters
    ----------
    shares : mapping
        Of the running time, by number of robots.
    modes : LearnedModes
        From which each number was learned; its robots are those of the column.
    brought : ControlledArrivals
        What each number of the column brings, and others up to those that a plan may ask for.
    each : int
        So many of these robots are one robot of the plan.
    spell : float
        Mean seconds from one change of the number to the next.
    """

    shares: Mapping[int, float]
    modes: LearnedModes
    brought: ControlledArrivals
    each: int
    spell: float

    @classmethod
    def of(cls, fit: FitResult, settings: PlanSettings) -> RobotsLogged | None:
        """From a fit; None where the log tells of one number of robots, or of none."""
        if fit.modes is None or not isinstance(fit.log, RawLog) or fit.log.robots is None:
            return None
        shares = _gathered(shares_by_column(fit.log, fit.cleaning))
        if not shares:
            return None
        each, changes = settings.fetches_per_robot, int(np.count_nonzero(np.diff(fit.log.robots)))
        most = max(*shares, each * max(settings.robots, settings.recorded))
        spell = float(fit.batches.segments.gaps.sum()) / (1 + changes)
        return cls(shares, fit.modes, fit.modes.arrivals(most), each, spell)

    def redrawn(self, rng: np.random.Generator) -> RobotsLogged:
        """The same, learned again from a resampled log."""
        return replace(self, brought=self.modes.redrawn(max(self.brought.modes), rng))

    def process(self, robots: int) -> BMAP:
        """The stream of so many robots of the plan."""
        return self.brought.mode(robots * self.each)

    def arrivals(self, robots: int) -> ControlledArrivals:
        """The streams of up to so many robots of the plan."""
        return ModeMatrices({number: self.process(number) for number in range(1, robots + 1)})

    def in_words(self) -> str:
        """So many robots for such a share of the time, as a clause; of many numbers their range and mean."""
        if len(self.shares) > FEW_NUMBERS:
            mean = sum(number * share for number, share in self.shares.items())
            return f"as in the log: {min(self.shares)} to {max(self.shares)} robots, {mean:.3g} on average"
        first, *others = [f"{n} robot{'s' * (n > 1)} {in_percent(share)}" for n, share in self.shares.items()]
        return f"as in the log: {listed([f'{first} of the time', *others])}"

    def too_fast(self, scenario: Scenario) -> str:
        """A clause where the numbers change too fast to be stationary one by one; else nothing."""
        empties = scenario.capacity * scenario.service.mean
        if self.spell >= SETTLED * empties:
            return ""
        return (
            f"the number of robots in the log changes every {in_time(self.spell)}, and a full buffer needs "
            f"{in_time(empties)} to empty: what the crawl does today is told as if each number of robots stayed longer"
        )


@dataclass(frozen=True, eq=False)
class AsLogged:
    """Today: a scenario for each part of the time, and the parts with their shares; `logged`: parts by robots."""

    scenarios: tuple[Scenario, ...]
    parts: tuple[PacePart, ...]
    logged: RobotsLogged | None = None

    @property
    def busiest(self) -> Scenario:
        """That of the part with the largest rate."""
        return self.scenarios[busiest_of(self.parts)]

    def by_number(self, log: RawLog) -> dict[int, tuple[Scenario, Keep]]:
        """The scenario of each number of robots that was learned from gaps of its own, and its times in the log."""

        def running(number: int) -> Keep:
            def keep(seconds: FloatArray) -> npt.NDArray[np.bool_]:
                return np.asarray(robots_at(log, np.asarray(seconds, dtype=np.float64)) == number, dtype=np.bool_)

            return keep

        if self.logged is None:
            return {}
        learned = {number for number, _ in self.logged.modes.traces}
        both = zip(self.logged.shares, self.scenarios, strict=True)
        return {number: (scenario, running(number)) for number, scenario in both if number in learned}

    def solution(self) -> Solution:
        """Measures over all parts."""
        return day_solution(self.scenarios, self.parts)

    def rates(self) -> FloatArray:
        """Rates over all parts, one row."""
        found = []
        for one in self.scenarios:
            always = np.full((1, one.capacity + 1), robots_of(one), dtype=np.int64)
            found.append(rates_of_levels(one, always))
        return over_day(np.stack(found), self.parts)


def robots_of(scenario: Scenario) -> int:
    """The robots that always run in a scenario of today."""
    return max(scenario.policy_in_force.robots_used)


def as_logged(
    fit: FitResult, scenario: Scenario, settings: PlanSettings, parts: Sequence[PacePart] = (WHOLE_DAY,)
) -> AsLogged:
    """The crawl as it was logged: the same buffer and indexer, the robots that ran."""
    return crawl_of(fit.process, RobotsLogged.of(fit, settings), scenario, settings, parts)


def crawl_of(
    process: BMAP,
    logged: RobotsLogged | None,
    scenario: Scenario,
    settings: PlanSettings,
    parts: Sequence[PacePart] = (WHOLE_DAY,),
) -> AsLogged:
    """Each number of robots for its share of the time; without them, all robots at the pace of each part of the day."""
    if logged is not None:
        own = [max(1, number // logged.each) for number in logged.shares]
        streams = [logged.brought.mode(number) for number in logged.shares]
        both = zip(streams, logged.shares.values(), strict=True)
        numbers = [replace(WHOLE_DAY, pace=stream.page_rate, share=share) for stream, share in both]
        found = [_always(scenario, ModeMatrices({n: stream}), n) for n, stream in zip(own, streams, strict=True)]
        return AsLogged(tuple(found), tuple(numbers), logged)
    arrivals: ControlledArrivals = ModeMatrices({settings.recorded: process})
    if isinstance(scenario.arrivals, FetchingRobots):
        arrivals = replace(scenario.arrivals, count=settings.recorded)
    always = _always(scenario, arrivals, settings.recorded)
    return AsLogged(tuple(at_pace(always, part.pace) for part in parts), tuple(parts))


def _gathered(shares: Mapping[int, float]) -> dict[int, float]:
    """The shares of at most `MOST_NUMBERS` numbers of robots, each with those of rarer numbers near it."""
    kept = sorted(sorted(shares, key=lambda number: -shares[number])[:MOST_NUMBERS])
    found = dict.fromkeys(kept, 0.0)
    for number, share in shares.items():
        found[min(kept, key=lambda own: abs(own - number))] += share
    return found


def _always(scenario: Scenario, arrivals: ControlledArrivals, robots: int) -> Scenario:
    return scenario.replace(arrivals=arrivals, policy=ThresholdPolicy([robots]))
