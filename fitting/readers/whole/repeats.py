r"""Deliveries that were read twice: rotated files that overlap, and blocks of a file that stand in it again.

A *pass* is a part of a file in which time goes on; a new one begins where the clock goes back for several rows, and
with each file. Only where the times of passes overlap is anything compared. A delivery is there *again* if an earlier
pass holds one with the same time and all else equal: address, size, worker, as much as the format tells.

That may be chance. Two robots with logs of their own may deliver in the same second, and where only times are told
nothing else tells them apart. So the chance of it is measured: the same rows are compared once more with their times
shifted by some ticks of the clock, and by the usual gap. Let q be the largest share of rows that is found then. A
row that is there again counts :math:`\log(p/q)`, one that is not :math:`\log((1-p)/(1-q))`, with p = `HIT`, and the
rows of a stretch in which these add up to more than `SURE` + log(rows) were read before: chance would do that in less
than one of e^`SURE` logs (the argument of the cumulative sum test). Where no address is told, a row counts only if it
follows the row before it in both passes: pages of one batch have the same time too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fitting.readers.columns import OPTIONAL, Columns
from fitting.readers.times.stamps import Int

Keys = npt.NDArray[np.uint64]
Marks = npt.NDArray[np.bool_]

LASTING = 8
"""Rows below the latest time before them that make a new pass."""
HIT = 0.99
SURE = 20.0
SHIFTS = (1, 2, 3, 5, 8, 13, 21, 34)
"""Ticks by which times are shifted to measure chance."""
PROBES = 20_000
"""Rows that are shifted at most."""
RUN, OFTEN = 16, 4
ALIKE, FEWEST = 0.99, 30
"""Where so many of at least so many rows are there again, and chance may do that, the reader is told."""
_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Repeats:
    """Rows of files that stand one after another.

    Attributes
    ----------
    again : bool array
        Rows that were read before, for certain.
    alike : int
        Rows that have their equal before them, but by chance perhaps.
    """

    again: Marks
    alike: int = 0


def doubled(columns: Columns) -> Marks:
    """Rows that were written again at once, as loggers with two handlers do: each of many pages as often as the others.

    Neighbouring rows are one page's if all that is told of them is equal, address and time included. `RUN` pages one
    after another must stand there equally often, two to `OFTEN` times, and most must be others than the page before.
    """
    found = np.zeros(columns.time.size, dtype=bool)
    if columns.page is None:
        return found
    rows = np.flatnonzero((columns.time[1:] == columns.time[:-1]) & (columns.page[1:] == columns.page[:-1])) + 1
    rows = rows[columns.page[rows] != 0]
    for name in OPTIONAL:
        column = getattr(columns, name)
        if column is not None and rows.size:
            one, other = column[rows], column[rows - 1]
            rows = rows[(one == other) | ((one != one) & (other != other))]
    if rows.size < RUN:
        return found
    again = np.zeros(columns.time.size, dtype=bool)
    again[rows] = True
    starts = np.flatnonzero(~again)
    times = np.diff(np.append(starts, again.size))
    change = np.flatnonzero(np.diff(times)) + 1
    moved = np.concatenate([[True], np.diff(columns.page[starts].view(np.int64)) != 0])
    for begin, end in zip([0, *change], [*change, times.size]):
        if end - begin >= RUN and 1 < times[begin] <= OFTEN and moved[begin:end].mean() > 0.5:
            last = starts[end] if end < starts.size else again.size
            found[starts[begin] : last] = again[starts[begin] : last]
    return found


def find_repeats(columns: Columns, borders: Sequence[int], tick: float) -> Repeats | None:
    """Which rows were read before; None where times do not overlap at all.

    Parameters
    ----------
    columns : Columns
        The rows of all files, one after another, as they stand there.
    borders : sequence of int
        The first row of each file.
    tick : float
        The clock's step in nanoseconds.

    Notes
    -----
    Cost: one look at the times where nothing overlaps; else some sorting of the rows that overlap.
    """
    if np.all(columns.time[1:] >= columns.time[:-1]) and not _shared_tick(columns.time, borders):
        return None
    number = _passes(columns.time, borders)
    rows = _overlapping(columns.time, number)
    if not rows.size:
        return None
    alike = _hashed(columns, rows)
    named = columns.page is not None and bool(np.any(columns.page[rows] != 0))
    met = _Met.of(columns.time[rows], alike, number[rows], named)
    if not met.again.any():
        return None
    chance = _chance(columns.time[rows], alike, met, named, tick)
    certain = np.zeros(columns.time.size, dtype=bool)
    if chance < HIT:
        certain[rows[_certain(met.counted, chance) & met.again]] = True
    left = met.again & ~certain[rows]
    others = number[rows] != number[rows[0]]
    shared = int(np.count_nonzero(met.counted & left)) >= ALIKE * int(np.count_nonzero(others)) - 1
    count = int(np.count_nonzero(left))
    return Repeats(certain, count if shared and count >= FEWEST else 0)


def _shared_tick(time: Int, borders: Sequence[int]) -> bool:
    return any(0 < row < time.size and time[row] == time[row - 1] for row in borders)


def _passes(time: Int, borders: Sequence[int]) -> Int:
    """Number of the pass of each row."""
    begins = np.zeros(time.size, dtype=bool)
    for first, last in zip(borders, [*borders[1:], time.size]):
        part = time[first:last]
        begins[first : first + 1] = True
        falls = np.flatnonzero(part[1:] < part[:-1]) + 1
        if falls.size:
            latest = np.maximum.accumulate(part)[falls - 1]
            window = np.stack([part[np.minimum(falls + k, part.size - 1)] for k in range(LASTING)])
            begins[first + falls[(window.max(axis=0) <= latest) & (falls + LASTING <= part.size)]] = True
    return np.cumsum(begins, dtype=np.int64) - 1


def _overlapping(time: Int, number: Int) -> npt.NDArray[np.intp]:
    """Rows at times that two passes or more cover."""
    first = np.flatnonzero(np.concatenate([[True], np.diff(number) > 0]))
    begin, end = np.minimum.reduceat(time, first), np.maximum.reduceat(time, first)
    order = np.argsort(begin, kind="stable")
    begin, end = begin[order][1:], np.minimum(end[order][1:], np.maximum.accumulate(end[order])[:-1])
    both = begin <= end
    begin, end = begin[both], end[both]
    if not begin.size:
        return np.zeros(0, dtype=np.intp)
    # Times that are covered twice, as intervals that do not touch one another.
    reach = np.maximum.accumulate(end)
    apart = np.concatenate([[True], begin[1:] > reach[:-1]])
    begin, reach = begin[apart], reach[np.append(np.flatnonzero(apart)[1:] - 1, reach.size - 1)]
    at = np.searchsorted(begin, time, side="right") - 1
    return np.flatnonzero((at >= 0) & (time <= reach[np.maximum(at, 0)]))


def _mixed(keys: Keys) -> Keys:
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(keys ^ (keys >> np.uint64(31)), dtype=np.uint64)


def _hashed(columns: Columns, rows: npt.NDArray[np.intp]) -> Keys:
    """Keys of all that is told of the rows but their times."""
    found = np.zeros(rows.size, dtype=np.uint64)
    for name in OPTIONAL:
        column = getattr(columns, name)
        if column is not None:
            part = column[rows]
            bits = part.view(np.uint64) if part.dtype.itemsize == 8 else part.astype(np.int64).view(np.uint64)
            found = _mixed(found + _ODD + bits)
    return found


def _occurrence(keys: Keys, number: Int) -> Int:
    """How many rows before this one have the same key in the same pass."""
    order = np.lexsort((np.arange(keys.size), number, keys))
    sorted_keys, sorted_number = keys[order], number[order]
    new = np.concatenate([[True], (np.diff(sorted_number) != 0) | (sorted_keys[1:] != sorted_keys[:-1])])
    starts = np.flatnonzero(new)
    found = np.empty(keys.size, dtype=np.int64)
    found[order] = np.arange(keys.size) - np.repeat(starts, np.diff(np.append(starts, keys.size)))
    return found


def _numbered(time: Int, alike: Keys, number: Int) -> Keys:
    """Keys of rows with their times; equal rows of one pass are told apart by their number."""
    keys = _mixed(alike + _ODD * time.view(np.uint64))
    return _mixed(keys + _ODD * (_occurrence(keys, number) + 1).astype(np.uint64))


@dataclass(frozen=True)
class _Met:
    """Rows that overlap: which are there again, which of them count, and the keys of those that are there first."""

    again: Marks
    counted: Marks
    first: Keys

    @classmethod
    def of(cls, time: Int, alike: Keys, number: Int, named: bool) -> _Met:
        keys = _numbered(time, alike, number)
        order = np.argsort(keys, kind="stable")
        new = np.concatenate([[True], keys[order][1:] != keys[order][:-1]])
        again = np.empty(keys.size, dtype=bool)
        again[order] = ~new
        first = keys[~again]
        partner = np.full(keys.size, -1, dtype=np.int64)
        # The number of the first of equal rows among all rows that are there for the first time.
        rank = np.cumsum(~again) - 1
        partner[order] = np.repeat(rank[order[new]], np.diff(np.append(np.flatnonzero(new), keys.size)))
        return cls(again, again if named else _in_step(again, partner), first)


def _in_step(found: Marks, partner: Int) -> Marks:
    """Rows whose equals follow one another as they do."""
    follows = np.zeros(found.size, dtype=bool)
    follows[1:] = found[1:] & found[:-1] & (np.diff(partner) == 1)
    return follows


def _chance(time: Int, alike: Keys, met: _Met, named: bool, tick: float) -> float:
    """The largest share of rows that would be there again if their times were others."""
    rows = np.flatnonzero(met.again)[:PROBES]
    order = np.argsort(met.first, kind="stable")
    ordered = met.first[order]
    own = np.zeros(rows.size, dtype=np.int64)

    def share(shift: int) -> float:
        keys = _numbered(time[rows] + np.int64(shift), alike[rows], own)
        at = np.minimum(np.searchsorted(ordered, keys), ordered.size - 1)
        found = ordered[at] == keys
        counted = found if named else _in_step(found, np.where(found, order[at], -1))
        return float(np.count_nonzero(counted))

    ticks = [share(round(sign * shift * tick)) for shift in SHIFTS for sign in (1, -1)]
    gaps = np.diff(np.sort(time[rows]))
    usual = int(np.median(gaps[gaps > 0])) if np.any(gaps > 0) else 0
    regular = [share(sign * shift * usual) for shift in (1, 2, 3) for sign in (1, -1)] if usual else [0.0]
    total = rows.size * len(ticks)
    return max((sum(ticks) + 1) / (total + 2), max(ticks) / rows.size, max(regular) / rows.size)


def _certain(counted: Marks, chance: float) -> Marks:
    """Rows of stretches in which so many count that chance cannot have done it."""
    score = np.where(counted, np.log(HIT / chance), np.log((1 - HIT) / (1 - chance)))
    total = np.concatenate([[0.0], np.cumsum(score)])
    lowest = np.minimum.accumulate(total)
    height = (total - lowest)[1:]
    # An excursion begins where the sum is at its lowest, and is cut off behind its highest point.
    excursion = np.cumsum(height <= 0)
    found = np.zeros(counted.size, dtype=bool)
    starts = np.flatnonzero(np.concatenate([[True], np.diff(excursion) > 0]))
    high = np.maximum.reduceat(height, starts)
    for number in np.flatnonzero(high > SURE + np.log(counted.size)):
        begin = starts[number]
        end = starts[number + 1] if number + 1 < starts.size else counted.size
        found[begin : begin + int(np.argmax(height[begin:end])) + 1] = True
    return found
