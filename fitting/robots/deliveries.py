"""Deliveries with the robot that brought each of them, as a log names it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crawltwin.work.memory import distinct, row_blocks
from fitting.readers import RawLog
from fitting.trace.cleaning import Cleaning
from fitting.trace.segments import Float, Int, Segments, spread_blocks

FEWEST = 200
"""Deliveries of each robot at least."""
MOST_ROBOTS = 20
TIES = 0.02
"""Share of the deliveries that may have the time of the one before; these are spread over the clock's step."""
COMPARED = 30_000
"""Deliveries on which models are fitted and compared at most, in blocks spread over the log."""
BLOCKS = 5


@dataclass(frozen=True, eq=False)
class Deliveries:
    """Deliveries at different times, in order, each with the number of its robot (from 0) and of its stretch."""

    time: Float
    robot: Int
    stretch: Int
    robots: int

    def __len__(self) -> int:
        return int(self.time.size)

    @property
    def _inside(self) -> Int:
        """Deliveries before the gaps: those that are not the last one of a stretch."""
        return np.flatnonzero(np.diff(self.stretch) == 0)

    def marked(self) -> Segments:
        """Gaps between deliveries, with the robot (from 1) in place of the size of a batch."""
        return Segments(np.diff(self.time)[self._inside], self.robot[1:][self._inside] + 1, _begins(self._inside))

    def openers(self) -> Int:
        """The robot whose delivery begins each stretch of `marked`."""
        return self.robot[self._inside[_begins(self._inside)]]

    def own_gaps(self, robot: int) -> Segments:
        """Gaps of one robot within the stretches."""
        own = self.robot == robot
        alone = Deliveries(self.time[own], np.zeros(int(own.sum()), np.int64), self.stretch[own], 1)
        return alone.marked()

    def rate(self, robot: int) -> float:
        """Deliveries per second of one robot after the first delivery of each stretch."""
        gaps = self.marked()
        return float(np.count_nonzero(gaps.sizes == robot + 1) / gaps.gaps.sum())

    def scaled(self, factor: float) -> Deliveries:
        """Every time times `factor`."""
        return Deliveries(self.time * factor, self.robot, self.stretch, self.robots)

    def split(self, blocks: int = 20, every: int = 5) -> tuple[Deliveries, Deliveries]:
        """Training and held-out parts: of `blocks` blocks of equal length, every `every`-th one is held out."""
        n = len(self)
        block = np.minimum(np.arange(n) * blocks // n, blocks - 1)
        out = block % every == every // 2
        changed = (np.diff(self.stretch, prepend=self.stretch[0]) != 0) | (np.diff(out, prepend=out[0]) != 0)
        piece = np.cumsum(changed)
        train, held = (Deliveries(self.time[k], self.robot[k], piece[k], self.robots) for k in (~out, out))
        return train, held

    def sample(self, most: int = COMPARED) -> Deliveries:
        """At most so many deliveries, in blocks spread over the log, each a stretch of its own."""
        if len(self) <= most:
            return self
        places = [np.arange(a, b) for a, b in spread_blocks(len(self), most, BLOCKS)]
        kept = np.concatenate(places)
        number = np.repeat(np.arange(len(places)), [len(one) for one in places])
        stretch = number * (int(self.stretch.max()) + 1) + self.stretch[kept]
        return Deliveries(self.time[kept], self.robot[kept], stretch, self.robots)


def _begins(inside: Int) -> Int:
    """Places at which a new stretch of gaps begins."""
    return np.concatenate([[0], np.flatnonzero(np.diff(inside) != 1) + 1])


def deliveries_of(log: RawLog, cleaning: Cleaning) -> Deliveries | str | None:
    """Deliveries of the used stretches; words where their robots cannot be used, None where the log names no two.

    Robots are numbered in the order of their first deliveries.
    """
    if log.worker is None or not np.isfinite(log.worker).any():
        return None
    stretch = cleaning.stretch_numbers(len(log))
    used = stretch >= 0
    worker = log.worker if used.all() else log.worker[used]
    if not np.isfinite(worker).all():
        return "some deliveries have no robot"
    names = distinct(worker)
    if names.size < 2:
        return None
    counts = np.zeros(names.size, np.int64)
    for part in row_blocks(worker.size):
        counts += np.bincount(np.searchsorted(names, worker[part]), minlength=names.size)
    if names.size > MOST_ROBOTS or counts.min() < FEWEST:
        return (
            f"models of named robots need at most {MOST_ROBOTS} robots with {FEWEST} deliveries each; the log names "
            f"{names.size}, and one of them has {counts.min()}"
        )
    number = np.searchsorted(names, worker)
    seen = np.array([int(np.argmax(number == robot)) for robot in range(names.size)])
    time, own = log.seconds[used], stretch[used].astype(np.int64)
    same = np.concatenate([[False], (np.diff(time) <= 0) & (np.diff(own) == 0)])
    if np.mean(same) > TIES:
        return f"{np.mean(same):.0%} of the deliveries have the time of the one before: their order is not known"
    place = np.argsort(np.argsort(seen))
    return Deliveries(_spread(time, same, log.resolution), place[number].astype(np.int64), own, int(names.size))


def _spread(time: Float, same: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], clock: float) -> Float:
    """Deliveries of one time, evenly over the clock's step."""
    group = np.cumsum(~same) - 1
    size = np.bincount(group)
    first = np.flatnonzero(~same)
    return np.asarray(time + (np.arange(time.size) - first[group]) * clock / size[group])
