r"""Fetches of a log: begin, end and robot of each, and how many of them were under way at each time.

A log of deliveries lists a fetch when it ends. In equilibrium the fetches that end in a window are a fair sample of the
law of the fetch time, whatever the window. What is under way at the end of a stretch is not in the log. Where the log
names the robots, and they begin a new fetch as soon as one has ended, it is known all the same: a robot whose last
fetch ended at e has fetched since then, so its fetch is longer than E - e, E the end of the stretch. Such fetches are
right-censored ones. Fetches that failed are no deliveries: numbers under way are those of delivered pages.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from crawltwin.work.compiling import njit
from fitting.choose.plain_values import plain
from fitting.readers import RawLog
from fitting.trace.cleaning import Cleaning
from fitting.trace.samples import Samples
from fitting.trace.segments import Float, Int

MIN_FETCHES = 100
"""Fetches of known duration below which nothing is said of the robots."""
KNOWN = 0.9
"""Share of the deliveries whose duration must be known."""
IDLE = 0.05
"""Idle time of a robot between two fetches, as a share of the mean fetch, up to which its fetches follow at once."""


@dataclass(frozen=True, eq=False)
class Fetches:
    """Delivered fetches in the order of their ends, in seconds since the first delivery.

    Attributes
    ----------
    begin, end : array
        Of each fetch; a fetch takes a positive time.
    worker : array of int or None
        Number of the robot that fetched, -1 where unknown; None where the log names none.
    stretch : array of int
        Number of the stretch in which the fetch ended.
    borders : array, shape (stretches, 2)
        First and last delivery of each stretch.
    clock : float
        The step of the log's clock in seconds.
    """

    begin: Float
    end: Float
    worker: npt.NDArray[np.signedinteger[Any]] | None
    stretch: npt.NDArray[np.signedinteger[Any]]
    borders: Float
    clock: float = 0.0

    @classmethod
    def of(cls, log: RawLog, cleaning: Cleaning) -> Fetches | None:
        """Those of the used stretches; None where the log does not tell how long fetches took."""
        took = seconds_taken(log)
        if took is None:
            return None
        # Numbers of four bytes: of a long log, every column counts.
        stretch = np.full(len(log), -1, dtype=np.int32)
        borders: list[tuple[float, float]] = []
        for one in cleaning.stretches:
            if one.used:
                stretch[one.first : one.last] = len(borders)
                borders.append((one.begin, one.end))
        used = stretch >= 0
        known = used & (took > 0)
        if np.count_nonzero(known) < max(MIN_FETCHES, KNOWN * np.count_nonzero(used)):
            return None
        end = log.seconds[known]
        worker: npt.NDArray[np.signedinteger[Any]] | None = None
        if log.worker is not None:
            named = log.worker[known]
            named[~np.isfinite(named)] = -1
            worker = named.astype(np.int64) if named.max() >= 2**31 else named.astype(np.int32)
        return cls(end - took[known], end, worker, stretch[known], np.array(borders), log.resolution)

    def __len__(self) -> int:
        return int(self.end.size)

    @cached_property
    def durations(self) -> Float:
        """Seconds that each fetch took."""
        return np.asarray(self.end - self.begin)

    def durations_by_begin(self) -> Float:
        """Seconds that each fetch took, in the order of the begins; nobody can change them."""
        ordered = self.durations[np.argsort(self.begin, kind="stable")]
        ordered.setflags(write=False)
        return ordered

    @property
    def seconds(self) -> float:
        """Length of all stretches together."""
        return float((self.borders[:, 1] - self.borders[:, 0]).sum())

    @property
    def workers(self) -> int:
        """Robots that the log names; 0 where it names none."""
        return 0 if self.worker is None else int(np.unique(self.worker[self.worker >= 0]).size)

    def only(self, kept: npt.NDArray[np.bool_]) -> Fetches:
        """The marked fetches alone, with the same stretches."""
        worker = None if self.worker is None else self.worker[kept]
        return Fetches(self.begin[kept], self.end[kept], worker, self.stretch[kept], self.borders, self.clock)

    @cached_property
    def idle_share(self) -> float:
        """Median of a robot's idle time between two fetches, over the mean fetch time; NaN without names."""
        if self.worker is None or self.workers == 0:
            return float("nan")
        # Within a robot and a stretch the fetches stay in the order of their ends.
        key = self._robot_in_stretch
        order = np.argsort(key, kind="stable")
        same = (np.diff(key[order]) == 0) & (self.worker[order[1:]] >= 0)
        before, after = order[:-1][same], order[1:][same]
        idle = self.begin[after] - self.end[before]
        return float(np.median(idle) / self.durations.mean()) if idle.size else float("nan")

    @property
    def _robot_in_stretch(self) -> Int:
        """One number for each robot in each stretch, in the order of the stretches."""
        assert self.worker is not None
        worker = self.worker
        if worker.max(initial=0) > 2**31:
            worker = np.searchsorted(np.unique(worker[worker >= 0]), worker, side="right") - 1
        names = int(worker.max(initial=-1)) + 2
        key = self.stretch * np.int64(names) + worker + 1
        # Small numbers are sorted by their digits, several times as fast.
        return key.astype(np.uint16) if len(self.borders) * names <= 2**16 else key

    @cached_property
    def under_way(self) -> Float:
        """Seconds that each fetch had taken at the end of its stretch, for the robots that fetch without a break."""
        if self.worker is None or not abs(self.idle_share) <= IDLE:
            return np.zeros(0)
        # The last fetch of each robot in each stretch: the first one from behind.
        _, back = np.unique(self._robot_in_stretch[::-1], return_index=True)
        last = len(self) - 1 - back
        last = last[self.worker[last] >= 0]
        since = self.borders[self.stretch[last], 1] - self.end[last]
        return np.asarray(since[since > 0])

    def samples(self) -> Samples:
        """Durations of the fetches, with those under way at the end of a stretch as right-censored ones."""
        censored = self.under_way
        values = np.concatenate([self.durations, censored])
        return Samples.of(values, censored=np.arange(values.size) >= len(self))


@dataclass(frozen=True, eq=False)
class InFlight:
    """Fetches under way at the same time.

    Attributes
    ----------
    mean : float
        Over the time of the stretches, by Little's law: durations of the fetches that ended in them over their length.
    most : int
        At any time.
    time, number : array
        Middle of each of equal parts of the log in seconds, and the mean number under way in it; parts without a
        stretch are left out. At the end of a stretch the fetches that were not delivered are missing.
    """

    mean: float
    most: int
    time: Float
    number: Float

    @classmethod
    def of(cls, fetches: Fetches, parts: int = 200) -> InFlight:
        """From the begins and ends. Cost: two sorts."""
        # A robot that goes on at once is one robot: two steps of the clock may lie between an end and a begin.
        ends = fetches.end - 2 * fetches.clock
        np.maximum(ends, fetches.begin, out=ends)
        ends.sort()
        edges = np.linspace(fetches.borders[0, 0], fetches.borders[-1, 1], parts + 1)
        most, area = _under_way(np.sort(fetches.begin), ends, edges)
        number = np.diff(area) / np.diff(edges)
        middle = (edges[1:] + edges[:-1]) / 2
        inside = ((middle[:, None] >= fetches.borders[:, 0]) & (middle[:, None] <= fetches.borders[:, 1])).any(axis=1)
        mean = float(fetches.durations.sum()) / fetches.seconds
        return cls(mean, most, middle[inside], number[inside])

    def to_json(self) -> dict[str, Any]:
        """As a plain dictionary."""
        return {"mean": self.mean, "most": self.most, "time": plain(self.time), "number": plain(self.number)}


@njit(cache=True, nogil=True)
def _under_way(begin: Float, end: Float, edges: Float) -> tuple[int, Float]:
    """The most intervals open at a time, and the integral of their number up to each edge; everything in order.

    Where an end and a begin fall together, the end comes first.
    """
    area = np.zeros(edges.size)
    most, level, total, now = 0, 0, 0.0, min(begin[0], edges[0])
    b, e, edge = 0, 0, 0
    while edge < edges.size:
        moment = np.inf
        if e < end.size:
            moment = min(end[e], begin[b]) if b < begin.size else end[e]
        if edges[edge] <= moment:
            total += level * (edges[edge] - now)
            now = edges[edge]
            area[edge] = total
            edge += 1
            continue
        total += level * (moment - now)
        now = moment
        if b < begin.size and begin[b] < end[e]:
            level += 1
            b += 1
            most = max(most, level)
        else:
            level -= 1
            e += 1
    return most, area


def seconds_taken(log: RawLog) -> Float | None:
    """Seconds that each delivered fetch took, NaN where unknown; None where the log tells nothing of it."""
    return log.took
