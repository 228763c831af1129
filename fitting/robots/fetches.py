r"""Fetches of a log: begin, end and robot of each, and how many of them were under way at each time.

A log of deliveries lists a fetch when it ends. In equilibrium the fetches that end in a window are a fair sample of the
law of the fetch time, whatever the window. What is under way at the end of a stretch is not in the log. Where the log
names the robots, and they begin a new fetch as soon as one has ended, it is known all the same: a robot whose last
fetch ended at e has fetched since then, so its fetch is longer than E - e, E the end of the stretch. Such fetches are
right-censored ones. Not so a robot that has been silent for longer than any fetch took: it ran out of work, as robots
do when a crawl comes to its end. Were it counted, a few of them would give the law a tail without end and a wrong mean;
of n fetches and one more like them, that one is the longest with probability 1/(n + 1). Fetches that failed are no
deliveries: numbers under way are those of delivered pages.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from crawltwin.work.compiling import njit
from crawltwin.work.memory import distinct, integers_up_to, row_blocks
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
        stretch = cleaning.stretch_numbers(len(log))
        borders = [(one.begin, one.end) for one in cleaning.stretches if one.used]
        known = (stretch >= 0) & (took > 0)
        if np.count_nonzero(known) < max(MIN_FETCHES, KNOWN * np.count_nonzero(stretch >= 0)):
            return None
        # Of most logs every delivery: nothing is copied then.
        kept: Any = slice(None) if known.all() else known
        end = log.seconds[kept]
        worker: npt.NDArray[np.signedinteger[Any]] | None = None
        if log.worker is not None:
            named = log.worker[kept]
            named = np.where(np.isfinite(named), named, -1)
            worker = named.astype(integers_up_to(int(named.max())))
            del named
        return cls(end - took[kept], end, worker, stretch[kept], np.array(borders), log.resolution)

    def __len__(self) -> int:
        return int(self.end.size)

    @property
    def durations(self) -> Float:
        """Seconds that each fetch took; computed when it is asked for, as everything here is once for each page."""
        return np.asarray(self.end - self.begin)

    @cached_property
    def mean_duration(self) -> float:
        """Seconds that a fetch took on average."""
        return float(self.durations.mean())

    def durations_by_begin(self) -> Float:
        """Seconds that each fetch took, in the order of the begins; nobody can change them."""
        order = np.argsort(self.begin, kind="stable")
        ordered = np.empty(order.size)
        for part in row_blocks(order.size):
            ordered[part] = self.end[order[part]] - self.begin[order[part]]
        ordered.setflags(write=False)
        return ordered

    @property
    def seconds(self) -> float:
        """Length of all stretches together."""
        return float((self.borders[:, 1] - self.borders[:, 0]).sum())

    @property
    def workers(self) -> int:
        """Robots that the log names; 0 where it names none."""
        return 0 if self.worker is None else int(np.count_nonzero(distinct(self.worker) >= 0))

    def only(self, kept: npt.NDArray[np.bool_]) -> Fetches:
        """The marked fetches alone, with the same stretches."""
        worker = None if self.worker is None else self.worker[kept]
        return Fetches(self.begin[kept], self.end[kept], worker, self.stretch[kept], self.borders, self.clock)

    @cached_property
    def idle_share(self) -> float:
        """Median of a robot's idle time between two fetches, over the mean fetch time; NaN without names."""
        if self.worker is None or self.workers == 0:
            return float("nan")
        idle = _idle_times(self.begin, self.end, *self._robots)
        return float(np.median(idle, overwrite_input=True) / self.mean_duration) if idle.size else float("nan")

    @property
    def _robots(self) -> tuple[Any, Any, int]:
        """Robot and stretch of each fetch, and how many numbers the robots have: at most twice as many as fetches."""
        assert self.worker is not None
        worker = self.worker
        if worker.max(initial=0) > 2 * len(self):
            worker = np.searchsorted(np.unique(worker[worker >= 0]), worker, side="right") - 1
        return worker, self.stretch, int(worker.max(initial=-1)) + 1

    @cached_property
    def under_way(self) -> Float:
        """Seconds that each fetch had taken at the end of its stretch, for the robots that fetch without a break."""
        if self.worker is None or not abs(self.idle_share) <= IDLE:
            return np.zeros(0)
        last = _last_fetches(*self._robots)
        last = last[np.lexsort((self.worker[last], self.stretch[last]))]
        since = self.borders[self.stretch[last], 1] - self.end[last]
        return np.asarray(since[(since > 0) & (since <= self.durations.max())])

    def samples(self) -> Samples:
        """Durations of the fetches, with those under way at the end of a stretch as right-censored ones."""
        censored = self.under_way
        values = np.empty(len(self) + censored.size)
        np.subtract(self.end, self.begin, out=values[: len(self)])
        values[len(self) :] = censored
        values.setflags(write=False)
        cut = np.zeros(values.size, dtype=bool)
        cut[len(self) :] = True
        return Samples.of(values, censored=cut)


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
        del ends
        mean = float(fetches.durations.sum()) / fetches.seconds
        return cls(mean, most, middle[inside], number[inside])

    def to_json(self) -> dict[str, Any]:
        """As a plain dictionary."""
        return {"mean": self.mean, "most": self.most, "time": plain(self.time), "number": plain(self.number)}


@njit(cache=True, nogil=True)
def _idle_times(begin: Float, end: Float, worker: Any, stretch: Any, robots: int) -> Float:
    """From the end of each fetch to the begin of the same robot's next one in the stretch, in the order of the ends."""
    last, where = np.zeros(robots), np.full(robots, -1)
    idle = np.empty(begin.size)
    found = 0
    for i in range(begin.size):
        robot = worker[i]
        if robot < 0:
            continue
        if where[robot] == stretch[i]:
            idle[found] = begin[i] - last[robot]
            found += 1
        last[robot], where[robot] = end[i], stretch[i]
    return idle[:found]


@njit(cache=True, nogil=True)
def _last_fetches(worker: Any, stretch: Any, robots: int) -> Int:
    """The last fetch of each robot in each stretch; fetches in the order of their ends."""
    where = np.full(robots, -1)
    found = []
    for i in range(worker.size - 1, -1, -1):
        robot = worker[i]
        if robot >= 0 and where[robot] != stretch[i]:
            where[robot] = stretch[i]
            found.append(i)
    return np.array(found, dtype=np.int64)


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
