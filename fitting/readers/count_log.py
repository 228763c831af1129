"""Counts of delivered pages per interval, as crawlers tell them in their counters: less than a log of deliveries.

A counter is a total that is written now and then. The pages between two of its lines are one count; what was counted
before its first line, or while it fell because the crawler was started anew, belongs to no interval.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from crawltwin.model.results.display import shown_as_html
from fitting.readers.times.stamps import INVALID, SECOND, Int

Float = npt.NDArray[np.float64]


@dataclass
class Counts:
    """Snapshots of a total in one block: times in nanoseconds, the total, and the robots that ran (-1 unknown).

    `discovered` is the total of addresses that were found, -1 where it is not told. `series` tells apart counters
    that are added up, `unknown` counts snapshots whose total is no number. `undated`: the times are those since the
    start of the run, not of a calendar.
    """

    time: Int
    total: Int
    robots: Int | None = None
    discovered: Int | None = None
    zoned: bool = True
    other_lines: int = 0
    series: str = ""
    unknown: int = 0
    undated: bool = False
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class CountLog:
    """Pages delivered in each interval, in order of time.

    Attributes
    ----------
    format : str
        Name of the format.
    files : tuple of str
        What was read.
    start, end : int64 array
        Borders of the intervals in nanoseconds since 1970.
    count : int64 array
        Pages delivered in each interval.
    robots : int64 array or None
        Robots that ran at the end of the interval, -1 where unknown.
    zoned : bool
        Whether the times named their zone.
    notes : tuple of str
        What else was found, in words.
    discovered : int64 array or None
        Addresses that were found in each interval.
    detected : bool
        Whether the format was found, or given.
    other_lines : int
        Lines of other kinds.
    left_out : mapping
        How many samples made no interval, by reason.
    """

    format: str
    files: tuple[str, ...]
    start: Int
    end: Int
    count: Int
    robots: Int | None
    zoned: bool
    notes: tuple[str, ...] = ()

    discovered: Int | None = None
    detected: bool = True
    other_lines: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return int(self.count.size)

    @property
    def place(self) -> str:
        """Where a fault of the whole log is: its first file."""
        return self.files[0] if self.files else "log"

    def _repr_html_(self) -> str:
        """What a notebook shows: the account."""
        account = self.account()
        return shown_as_html(repr(self), {"what": list(account), "value": [str(value) for value in account.values()]})

    def account(self) -> dict[str, Any]:
        """What was read, interval by interval, as plain values; a counter's clock is its interval."""
        return {
            "rows": len(self),
            "deliveries": int(self.count.sum()),
            "dropped": dict(self.left_out),
            "broken": 0,
            "broken_lines": [],
            "out_of_order": 0,
            "resolution": self.resolution,
        }

    @property
    def seconds(self) -> Float:
        """Ends of the intervals in seconds since the first one began."""
        return np.asarray((self.end - self.start[:1]) / SECOND) if len(self) else np.zeros(0)

    @property
    def resolution(self) -> float:
        """The ordinary interval in seconds: a counter's clock."""
        return float(np.median(self.length)) if len(self) else 0.0

    @property
    def length(self) -> Float:
        """Lengths of the intervals in seconds."""
        return np.asarray((self.end - self.start) / SECOND)

    def __repr__(self) -> str:
        pages = int(self.count.sum())
        seconds = float((self.end - self.start).sum()) / SECOND
        return f"CountLog({self.format}, {len(self)} intervals, {pages} pages in {seconds:g} s)"


FELL = "the counter fell: a new run, whose first pages belong to no interval"
NO_TIME = "no time had passed since the sample before"
UNREAD = "the time could not be read"


@dataclass(frozen=True)
class Intervals:
    """Borders, counts and robots of intervals in order of time; `fell` marks those in which the counter was reset.

    `discovered` are addresses that were found in them, None where they are not told.
    """

    start: Int
    end: Int
    count: Int
    robots: Int
    fell: npt.NDArray[np.bool_]
    left_out: dict[str, int]
    discovered: Int | None = None


def intervals(time: Int, total: Int, robots: Int | None = None, discovered: Int | None = None) -> Intervals:
    """Intervals between consecutive snapshots of one counter.

    Examples
    --------
    >>> found = intervals(np.array([0, 60, 120, 120, 180]), np.array([0, 5, 2, 2, 4]))
    >>> found.count[~found.fell].tolist(), found.end[~found.fell].tolist(), found.left_out[FELL]
    ([5, 2], [60, 180], 1)
    """
    good = time != INVALID
    order = np.argsort(time[good], kind="stable")
    time, total = time[good][order], total[good][order]
    told = np.full(time.size, -1, np.int64) if robots is None else robots[good][order]
    step, count = np.diff(time), np.diff(total)
    # Of two snapshots at one time the last counts.
    last = np.append(step > 0, True) if time.size else np.zeros(0, bool)
    time, total, told = time[last], total[last], told[last]
    count = np.diff(total)
    left_out = {UNREAD: int((~good).sum()), NO_TIME: int((~last).sum()), FELL: int((count < 0).sum())}
    found = None if discovered is None else np.maximum(np.diff(discovered[good][order][last]), 0)
    left_out = {reason: number for reason, number in left_out.items() if number}
    return Intervals(time[:-1], time[1:], count, told[1:], count < 0, left_out, found)


def on_one_grid(times: Sequence[Int]) -> tuple[list[Int], int]:
    """Times of several counters moved to one grid, and how far they were moved apart from one another at most.

    The grid has the ordinary step of the slowest counter and lies on its times. Every counter keeps all of its pages,
    and those of its intervals that are nearest to an interval of the grid count there.

    Examples
    --------
    >>> moved, apart = on_one_grid([np.array([0, 60, 120]), np.array([5, 65, 125])])
    >>> [time.tolist() for time in moved], apart
    ([[0, 60, 120], [0, 60, 120]], 5)
    """
    steps = [int(np.median(np.diff(np.unique(time)))) for time in times]
    step = max(steps)
    slowest = times[steps.index(step)]
    phase = int(np.median((slowest - slowest[0] + step // 2) % step)) - step // 2 + int(slowest[0])
    moved = [phase + (time - phase + step // 2) // step * step for time in times]
    shifts = [float(np.median(time - new)) for time, new in zip(times, moved)]
    return moved, round(max(shifts) - min(shifts))


def added_up(parts: Sequence[Intervals]) -> Intervals:
    """Several counters as one: pages of all of them between the times at which none is inside an interval.

    An interval in which one of them was reset is marked as fallen; where a counter tells nothing, it adds nothing.

    Examples
    --------
    >>> one = intervals(np.array([0, 60, 120, 180]), np.array([0, 5, 6, 9]))
    >>> two = intervals(np.array([60, 120, 180]), np.array([7, 8, 9]))
    >>> added_up([one, two]).count.tolist()
    [5, 2, 4]
    """
    if len(parts) == 1:
        return parts[0]
    borders = np.unique(np.concatenate([edge for part in parts for edge in (part.start, part.end)]))
    for part in parts:
        at = np.searchsorted(part.start, borders, side="left") - 1
        inside = (
            (at >= 0) & (borders < part.end[np.maximum(at, 0)]) if part.start.size else np.zeros(borders.size, bool)
        )
        borders = borders[~inside]
    cells = max(borders.size - 1, 0)
    count, told, fell = np.zeros(cells, np.int64), np.zeros(cells, bool), np.zeros(cells, bool)
    for part in parts:
        cell = np.searchsorted(borders, part.start, side="right") - 1
        np.add.at(count, cell, np.maximum(part.count, 0))
        told[cell] = True
        fell[cell[part.fell]] = True
    left_out = dict(sum((Counter(part.left_out) for part in parts), Counter[str]()))
    unknown = np.full(int(told.sum()), -1, np.int64)
    return Intervals(borders[:-1][told], borders[1:][told], count[told], unknown, fell[told], left_out)
