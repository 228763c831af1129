"""The rows of all files of a log, one after another as they stand there, until they are put in order of time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from fitting.readers.columns import FAILED, NO_NUMBER, NOT_TOLD, WORD, Columns, joined
from fitting.readers.raw_log import resolution
from fitting.readers.times.set_back import find_set_back
from fitting.readers.times.stamps import SECOND, Int
from fitting.readers.whole.repeats import Marks, Repeats, doubled, find_repeats

FAR_SPANS = 100
FAR_TIME = 30 * 86400 * SECOND
"""Times that are so many lengths of all the rest, and so long, away from it are no times of this log."""


_UNTOLD = {NO_NUMBER: NOT_TOLD, WORD: FAILED}


class Rows:
    """Deliveries of files in their order; `first` is the first row of each file, `names` are the files."""

    def __init__(self, columns: Columns, first: Int, names: tuple[str, ...]) -> None:
        self.columns, self._first, self._names = columns, first, names

    def _keep(self, kept: Marks) -> None:
        self._first = np.concatenate([[0], np.cumsum(kept)])[self._first]
        self.columns.select(kept)

    def retract(self, parts: Sequence[Columns]) -> int:
        """Take back the latest start of each fetch that was told to have failed; how many they are."""
        lists = [part.retracted for part in parts if part.retracted is not None]
        page = self.columns.page
        if not lists or page is None:
            return 0
        owed = Counter(np.concatenate(lists).tolist())
        keep = np.ones(page.size, dtype=bool)
        for row in np.flatnonzero(np.isin(page, np.array(list(owed), dtype=np.uint64)))[::-1]:
            key = int(page[row])
            if owed[key] > 0:
                owed[key] -= 1
                keep[row] = False
        self._keep(keep)
        return int(np.count_nonzero(~keep))

    def leave_out_untold(self, parts: Sequence[Columns]) -> dict[str, int]:
        """Leave out rows without a status where others of the log tell one; how many they are, by their reason."""
        untold, self.columns.untold = self.columns.untold, None
        if untold is None or not any(part.told for part in parts):
            return {}
        self._keep(untold == 0)
        found = {reason: int(np.count_nonzero(untold == kind)) for kind, reason in _UNTOLD.items()}
        return {reason: count for reason, count in found.items() if count}

    def from_gaps(self) -> int:
        """Times from gaps, the first leads from 0 to the first of the later deliveries; how many were negative."""
        good = self.columns.time >= 0
        self._keep(good)
        self.columns.time = np.cumsum(self.columns.time)
        self.columns = joined([Columns(np.zeros(1, dtype=np.int64)), self.columns])
        return int(np.count_nonzero(~good))

    def leave_out_far(self) -> int:
        """Leave out the few times that lie far outside of all others; how many they are."""
        time = self.columns.time
        few = time.size // 1000 + 1
        if time.size < 100:
            return 0
        ends = np.partition(time, (few, time.size - few - 1))
        low, high = np.sort(ends[: few + 1]), np.sort(ends[-few - 1 :])
        far = max(FAR_SPANS * int(high[0] - low[-1]), FAR_TIME)
        early, late = np.flatnonzero(np.diff(low) > far), np.flatnonzero(np.diff(high) > far)
        kept = np.ones(time.size, dtype=bool)
        if early.size:
            kept &= time > low[early[-1]]
        if late.size:
            kept &= time < high[late[0] + 1]
        if not kept.all():
            self._keep(kept)
        return int(np.count_nonzero(~kept))

    def leave_out_repeats(self, keep_all: bool, partial: bool) -> tuple[int, list[str], list[str]]:
        """Leave out what was read before, unless all is kept; how many rows that are, words about it, and doubts.

        `partial`: rows may differ in what was not read.
        """
        columns, first = self.columns, self._first.tolist()
        twice = doubled(columns)
        found = find_repeats(columns, first, resolution(columns.time) * SECOND) or Repeats(np.zeros_like(twice))
        if partial:
            found = replace(found, alike=found.alike + int(np.count_nonzero(twice & ~found.again)))
        else:
            found = replace(found, again=found.again | twice)
        words, doubts = [], []
        again = int(np.count_nonzero(found.again))
        if again:
            counts = np.diff(np.concatenate([[0], np.cumsum(found.again)])[[*self._first, found.again.size]])
            where = ", ".join(f"{count} in {name}" for count, name in zip(counts, self._names) if count)
            end = "all are counted (--repeats keep)" if keep_all else "they count once (--repeats keep counts them all)"
            words.append(f"{again} deliveries were read before, {where}: {end}")
        if found.alike:
            doubts.append(
                f"{found.alike} deliveries look like others, one by one, as far as the log tells: the same lines may "
                "be there twice, or pages came at a steady pace or together; they are counted"
            )
        if not again or keep_all:
            return 0, words, doubts
        self._keep(~found.again)
        return again, words, doubts

    def change_times(self, change: Callable[[Int], Int]) -> None:
        """Change the times of each file."""
        for first, last in zip(self._first, [*self._first[1:], self.columns.time.size]):
            self.columns.time[first:last] = change(self.columns.time[first:last])

    def undo_set_back(self, starts: Int | None) -> tuple[Int | None, list[str], list[str]]:
        """Move what stands behind a clock that was set back; beginnings of runs with those of its parts, words, doubts.

        Of several files nothing is moved: what lies behind the moved part of one may stand in another.
        """
        words: list[str] = []
        doubts: list[str] = []
        time = self.columns.time
        for name, first, last in zip(self._names, self._first, [*self._first[1:], time.size]):
            own = time[first:last]
            found = find_set_back(own)
            if found is None:
                continue
            found = replace(found, undone=found.undone and len(self._names) == 1)
            (words if found.again else doubts).append(found.words(name))
            if found.undone:
                starts = found.moved_starts(own, starts)
                self.columns.time = found.moved(own)
        return starts, words, doubts

    def sort(self) -> int:
        """Put all in order of time; how many rows were earlier than the row before them in their file."""
        time = self.columns.time
        falls = np.flatnonzero(time[1:] < time[:-1]) + 1
        if falls.size:
            self.columns.select(np.argsort(time, kind="stable"))
        return int(np.count_nonzero(~np.isin(falls, self._first)))
