"""Counts of delivered pages per interval, as crawlers tell them in their counters: less than a log of deliveries.

A counter is a total that is written now and then. The pages between two of its lines are one count; what was counted
before its first line, or while it fell because the crawler was started anew, belongs to no interval.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from fitting.readers.times.stamps import INVALID, SECOND, Int


@dataclass
class Counts:
    """Snapshots of a total in one block: times in nanoseconds, the total, and the robots that ran (-1 unknown)."""

    time: Int
    total: Int
    robots: Int | None = None
    zoned: bool = True
    other_lines: int = 0
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
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
    """

    format: str
    files: tuple[str, ...]
    start: Int
    end: Int
    count: Int
    robots: Int | None
    zoned: bool
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.count.size)

    def __repr__(self) -> str:
        pages = int(self.count.sum())
        seconds = float((self.end - self.start).sum()) / SECOND
        return f"CountLog({self.format}, {len(self)} intervals, {pages} pages in {seconds:g} s)"


def intervals(time: Int, total: Int, robots: Int | None) -> tuple[Int, Int, Int, Int | None]:
    """Starts, ends, counts and robots of the intervals between consecutive snapshots of one counter.

    Examples
    --------
    >>> intervals(np.array([0, 60, 120, 180]), np.array([0, 5, 2, 4]), None)
    (array([  0, 120]), array([ 60, 180]), array([5, 2]), None)
    """
    good = time != INVALID
    time, total = time[good], total[good]
    step, count = np.diff(time), np.diff(total)
    kept: npt.NDArray[np.bool_] = (step > 0) & (count >= 0)
    told = None if robots is None else robots[good][1:][kept]
    return time[:-1][kept], time[1:][kept], count[kept], told
