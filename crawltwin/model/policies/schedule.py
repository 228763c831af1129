"""Policies by part of a period: which one is in force at which time.

A period is a day, a week, or any number of seconds. Periods are counted from a Monday at midnight, so that a day begins
at midnight and a week on Monday. Times of the period are those of a zone: `utc_offset` seconds ahead of universal time,
or those of the machine's own clock, summer time included, where `utc_offset` is None.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from crawltwin.model import checks
from crawltwin.model.errors import Faults
from crawltwin.model.policies.thresholds import ThresholdPolicy

DAY = 86_400.0
SINCE_MONDAY = 3 * DAY
"""Seconds between the Monday from which periods are counted and the beginning of 1970, a Thursday."""


def period_time(seconds: float, period: float) -> float:
    """How far into its period a time is, in seconds since 1970.

    Examples
    --------
    >>> period_time(1_714_521_600.0 + 3600, 86400.0), period_time(345600.0, 7 * 86400.0)
    (3600.0, 0.0)
    """
    return (seconds + SINCE_MONDAY) % period


@dataclass(frozen=True)
class SchedulePart:
    """A policy for a part of the period: from `begin` until `end`, in seconds after the beginning of the period.

    A part that goes on over the end of the period has `end` below `begin`.
    """

    begin: float
    end: float
    policy: ThresholdPolicy

    def length(self, period: float) -> float:
        """Seconds of the part in each period."""
        return (self.end - self.begin) % period or period

    def covers(self, moment: float, period: float) -> bool:
        """Whether a time of the period lies in the part."""
        return (moment - self.begin) % period < self.length(period)


@dataclass(frozen=True)
class Schedule:
    """Which policy is in force at which time. Outside all parts it is that of the whole file.

    Parameters
    ----------
    parts : tuple of SchedulePart
        They must not overlap; in the order in which they begin.
    period : float
        Seconds.
    utc_offset : float or None
        Seconds by which the clock of the schedule is ahead of universal time; None: the clock of the machine.

    Examples
    --------
    >>> night, day = ThresholdPolicy([1]), ThresholdPolicy([4, 1], [2])
    >>> schedule = Schedule([SchedulePart(68400, 25200, night), SchedulePart(25200, 68400, day)])
    >>> noon = 1_714_521_600.0 + 43200
    >>> schedule.policy_at(noon).short, schedule.until_change(noon)
    ('4,1@2', 25200.0)
    """

    parts: tuple[SchedulePart, ...]
    period: float = DAY
    utc_offset: float | None = 0.0

    def __init__(self, parts: Sequence[SchedulePart], period: float = DAY, utc_offset: float | None = 0.0) -> None:
        faults = Faults()
        length = checks.number(period, "period", faults, above=0)
        if utc_offset is not None:
            checks.number(utc_offset, "utc_offset", faults, at_least=-DAY, at_most=DAY)
        if not parts:
            faults.add("parts", "parts must name at least one part of the period; got none")
        if length is not None:
            _check_parts(parts, length, faults)
        faults.raise_if_any()
        object.__setattr__(self, "parts", tuple(sorted(parts, key=lambda part: part.begin)))
        object.__setattr__(self, "period", float(period))
        object.__setattr__(self, "utc_offset", None if utc_offset is None else float(utc_offset))

    def _moment(self, now: float) -> float:
        offset = time.localtime(now).tm_gmtoff if self.utc_offset is None else self.utc_offset
        return period_time(now + offset, self.period)

    def part_at(self, now: float) -> int | None:
        """Number of the part in force at a time in seconds since 1970; None outside all parts."""
        moment = self._moment(now)
        return next((number for number, part in enumerate(self.parts) if part.covers(moment, self.period)), None)

    def policy_at(self, now: float) -> ThresholdPolicy | None:
        """The policy in force at a time in seconds since 1970; None outside all parts."""
        number = self.part_at(now)
        return None if number is None else self.parts[number].policy

    def until_change(self, now: float) -> float:
        """Seconds until a part begins or ends."""
        moment = self._moment(now)
        borders = {border for part in self.parts for border in (part.begin, part.end)}
        return min((border - moment) % self.period or self.period for border in borders)


def _check_parts(parts: Sequence[SchedulePart], period: float, faults: Faults) -> None:
    """Borders lie within the period, and no two parts overlap."""
    own = Faults()
    for number, part in enumerate(parts):
        borders = [
            checks.number(value, f"parts[{number}].{name}", own, at_least=0, at_most=period)
            for name, value in (("from", part.begin), ("to", part.end))
        ]
        if None not in borders and part.begin in (part.end, period):
            rule = "from must be before the end of the period and differ from to"
            own.add(f"parts[{number}].from", f"{rule}; got {part.begin:g} to {part.end:g}")
    for number, part in enumerate(() if own else parts):
        for other in parts[:number]:
            if part.covers(other.begin, period) or other.covers(part.begin, period):
                both = f"{part.begin:g} to {part.end:g} and {other.begin:g} to {other.end:g}"
                own.add(f"parts[{number}]", f"parts must not overlap; got {both}")
    for fault in own:
        faults.add(fault.place, fault.text)
