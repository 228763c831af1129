"""A policy for each part of the day, against the best single one.

The policies of the parts are chosen together, because the mean time until a page is indexed is a quotient over the
whole day: part by part the best policy is taken, given those of the others, until nothing changes. A schedule is
recommended when it saves at least `LEAST` of what is to be small, and when the saving exceeds its doubt: on resampled
traces with redrawn paces its 95% interval lies above 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from analytic import Optimum
from analytic.policy.tables import as_thresholds, table_of
from crawltwin.model import ConvergenceError, CostWeights, InputError, Scenario, ThresholdPolicy
from crawltwin.model.checks import FloatArray
from crawltwin.model.policies.schedule import Schedule, SchedulePart
from crawltwin.plan.choosing import aim_of, excess_of
from crawltwin.plan.day.followed_day import Followed, follow
from crawltwin.plan.day.parts import Tables, at_pace, busiest_of, over_day, running_parts
from crawltwin.plan.evidence.resampling import Spread, Uncertainty
from crawltwin.plan.limits import AIM_WORDS, Limits
from crawltwin.plan.wording import in_percent
from fitting import FitResult
from fitting.season.pace import PacePart, clock_time
from fitting.season.season import Season
from validate.logs.trace import Keep

LEAST = 0.01
"""Relative saving from which on a policy for each part is worth its trouble."""
PENALTY = 1e6
"""What an excess over a limit weighs against what is to be small."""
Value = Callable[[FloatArray], FloatArray]


def value_of(cost: CostWeights, limits: Limits | None, today: FloatArray) -> Value:
    """What is made small, of rates over the day: the cost, or the aim with a penalty for limits that are not kept."""

    def value(rates: FloatArray) -> FloatArray:
        aim = aim_of(rates, cost, limits)
        if limits is None:
            return aim
        return aim * (1 + PENALTY * np.maximum(excess_of(rates, today, limits), 0.0))

    return value


def best_schedule(rates: FloatArray, parts: Sequence[PacePart], value: Value, single: int) -> list[int]:
    """Numbers of the tables for each part, from the best single table on; rates by part, table and rate."""
    chosen = [single] * len(parts)
    for _ in range(20):
        before = list(chosen)
        for at, part in enumerate(parts):
            others = sum(p.share * rates[k, chosen[k]] for k, p in enumerate(parts) if k != at)
            values = value(others + part.share * rates[at])
            best = int(np.argmin(values))
            # Nothing is gained by another policy of the same value.
            if values[best] < values[chosen[at]] * (1 - 1e-9):
                chosen[at] = best
        if chosen == before:
            break
    return chosen


@dataclass(frozen=True)
class DayPlan:
    """What the plan says of the parts of the day.

    Parameters
    ----------
    season : Season
    parts : tuple of PacePart
    tables : ndarray
        Robots by level for each part under the schedule, and of the best single policy in the last row.
    rates : ndarray
        Rates over the day: of the schedule, of the single policy, of today.
    single, schedule : float
        What is made small, under the best single policy and under a policy for each part.
    saving : Spread
        Of the schedule, relative to the single policy; without an interval where no traces were resampled.
    aim : str
        What is made small, in words.
    measures : Mapping
        Of the schedule over the resampled traces.
    followed : Followed or None
        The day followed in time under the recommended policies.
    """

    season: Season
    parts: tuple[PacePart, ...]
    tables: Tables = field(repr=False)
    rates: FloatArray = field(repr=False)
    single: float
    schedule: float
    saving: Spread
    aim: str
    measures: dict[str, Spread] = field(default_factory=dict, repr=False)
    followed: Followed | None = None

    @property
    def worth_it(self) -> bool:
        """Whether a policy for each part is recommended."""
        return self.saving.value >= LEAST and self.saving.known and self.saving.low > 0

    @property
    def policies(self) -> tuple[ThresholdPolicy, ...]:
        """The recommended policy of each part."""
        rows = self.tables[:-1] if self.worth_it else np.repeat(self.tables[-1:], len(self.parts), axis=0)
        return tuple(ThresholdPolicy(*as_thresholds(row.tolist())) for row in rows)

    def clock(self, part: PacePart) -> str:
        """When a part is, for people."""
        return f"{clock_time(part.begin, self.season.period)} to {clock_time(part.end, self.season.period)}"

    @property
    def by_part(self) -> Schedule | None:
        """The recommended schedule, as a crawler obeys it; None where one policy serves the whole day."""
        if not self.worth_it:
            return None
        parts = [
            SchedulePart(part.begin, part.end, policy) for part, policy in zip(self.parts, self.policies, strict=True)
        ]
        # A log that names no zone was written by the clock of its machine.
        return Schedule(parts, self.season.period, 0.0 if self.season.utc else None)

    def in_words(self) -> tuple[str, ...]:
        """The decision, as sentences."""
        low = f" (95% from {self.saving.low:.1%} to {self.saving.high:.1%})" if self.saving.known else ""
        zone = "in universal time" if self.season.utc else "those of the log"
        sentence = self.season.in_words()
        words = [f"{sentence[:1].upper()}{sentence[1:]}. Times are {zone}."]
        if self.worth_it:
            words.append(
                f"A policy for each part of the {self.season.name} is worth it: {self.saving.value:.1%}{low} less "
                f"{self.aim} than the best single policy."
            )
        else:
            why = (
                f"less than {LEAST:.0%}"
                if self.saving.value < LEAST
                else "not known well enough: no traces were resampled"
                if not self.saving.known
                else "less than its doubt"
            )
            words.append(
                f"One policy serves the whole {self.season.name}: a policy for each part would save "
                f"{in_percent(max(self.saving.value, 0.0))}{low} of {self.aim}, which is {why}."
            )
        if self.followed is not None:
            words.append(self.followed.in_words())
        return tuple(words)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "recommended": "schedule" if self.worth_it else "single",
            "period": self.season.period,
            "utc": self.season.utc,
            "parts": [
                {**part.to_json(), "robots": list(policy.robots), "thresholds": list(policy.thresholds)}
                for part, policy in zip(self.parts, self.policies, strict=True)
            ],
            "aim": self.aim,
            "single": self.single,
            "schedule": self.schedule,
            "saving": self.saving.to_json(),
            "least_saving": LEAST,
            "followed": None if self.followed is None else self.followed.to_json(),
        }


def schedule_of(
    season: Season, optimum: Optimum, rates: FloatArray, today: FloatArray, limits: Limits | None
) -> DayPlan:
    """The best schedule beside the best single policy, which is that of `optimum`.

    Parameters
    ----------
    rates : ndarray
        Of the tables of the optimum in each part of the day.
    today : ndarray
        Rates of the crawl as it was logged, over the day, one row.
    limits : Limits, optional
        Where pages must be indexed within a time, one policy serves the whole day: the time is checked for that one.
    """
    parts, tables, cost = running_parts(season), optimum.tables, optimum.scenario.cost
    assert cost is not None
    single = int(np.flatnonzero((tables == np.array(table_of(optimum.best.robots, optimum.best.thresholds,
                                                             optimum.scenario.capacity))).all(axis=1))[0])  # fmt: skip
    value = value_of(cost, limits, today)
    fixed = limits is not None and limits.index_within is not None
    chosen = [single] * len(parts) if fixed else best_schedule(rates, parts, value, single)
    own = over_day(np.stack([rates[at, table] for at, table in enumerate(chosen)]), parts)
    one = over_day(rates[:, single], parts)
    both = value(np.stack([own, one]))
    saving = float(1 - both[0] / both[1]) if both[1] > 0 else 0.0
    aim = "cost" if limits is None else AIM_WORDS[limits.minimise]
    every = np.stack([own, one, today[0]])
    return DayPlan(season, parts, tables[[*chosen, single]], every, float(both[1]), float(both[0]), Spread(saving), aim)


def followed(
    day: DayPlan, doubt: Uncertainty | None, chosen: Scenario, leave_out: Callable[[str, str], None]
) -> DayPlan:
    """The plan of the day with the doubt of its saving, and followed in time under what is recommended."""
    if doubt is not None and doubt.saving is not None:
        day = replace(day, saving=doubt.saving, measures=dict(doubt.schedule))
    try:
        return replace(day, followed=follow(chosen, day.parts, day.policies, day.season.period))
    except (ConvergenceError, InputError) as error:
        leave_out("following the day in time", str(error))
        return day


def scenarios_of(day: DayPlan, scenario: Scenario) -> list[Scenario]:
    """The crawler of each part under its recommended policy."""
    both = zip(day.parts, day.policies, strict=True)
    return [at_pace(scenario, part.pace).replace(policy=policy) for part, policy in both]


def busiest_pace(scenario: Scenario, parts: Sequence[PacePart]) -> Scenario | None:
    """The crawler at the part of the day with the largest pace; None where there is one pace always."""
    return at_pace(scenario, parts[busiest_of(parts)].pace) if parts else None


def kept_times(fit: FitResult, day: DayPlan | None) -> list[Keep | None]:
    """Which times of the log belong to each part of the day, and to the time since the rate changed for good."""
    since = fit.stationarity.since

    def latest(seconds: FloatArray) -> npt.NDArray[np.bool_]:
        return seconds >= since

    def within(part: PacePart) -> Keep:
        pace = None if day is None else day.season.pace
        assert pace is not None

        def keep(seconds: FloatArray) -> npt.NDArray[np.bool_]:
            after = (seconds + pace.phase - part.begin) % pace.period
            return latest(seconds) & (after < (part.end - part.begin) % pace.period)

        return keep

    if day is None:
        return [latest if since > 0 else None]
    return [within(part) for part in day.parts]
