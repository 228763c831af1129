"""A clock that was set back while the log was written: rows that fall in time for good, and are not out of order.

Put in order of time, the rows behind such a fall would lie among those before it, and the rate would seem higher there.
A fall lasts where all of the `WINDOW` rows behind it are earlier than all of those before it. It is the clock's doing
only where that time came before, and where the rest of the file is in order: with the falls undone, hardly any row lies
half of the smallest fall below an earlier one. An index that is sorted by address is not in order, and tells nothing.

Falls that take back most of the time are two logs in one file, one behind the other: these belong in order of time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fitting.readers.raw_log import resolution
from fitting.readers.times.stamps import SECOND, Int

WINDOW = 10
MOST = 20
"""Falls of one file that may be its clock."""
FEW = 3
"""As `MOST`, where they take back most of the time: workers that write blocks of lines do so all the time."""
SHARED = 0.2
"""Rows before a fall for each row behind it, in the time that came twice."""
LATE = 0.01
"""Share of the rows that may lie half of the smallest fall below an earlier one, with the falls undone."""
WHOLE = 0.9
"""Share of the time since the fall before, or since the beginning, from which on a fall goes back to the beginning."""
PART = 0.5
"""Share of the file's time that the falls of a clock take back at most, for them to be undone."""


@dataclass(frozen=True)
class SetBack:
    """Where the clock of one file was set back.

    Attributes
    ----------
    rows : int array
        The first row behind each fall.
    steps : int array
        Nanoseconds by which the rows behind it are moved, to lie behind those before it.
    again : bool
        Whether every fall goes back to the beginning: logs one behind the other, in order of time once they are sorted.
    undone : bool
        Whether the falls are small enough beside the file to be undone.
    """

    rows: Int
    steps: Int
    again: bool
    undone: bool

    def moved(self, time: Int) -> Int:
        """The times without the falls."""
        later = np.zeros(time.size, dtype=np.int64)
        later[self.rows] = self.steps
        return np.asarray(time + np.cumsum(later))

    def moved_starts(self, time: Int, starts: Int | None) -> Int:
        """Beginnings of runs, each part of the file one of them, where `starts` are those that the log marks.

        A mark within the time that came twice may belong to either part, and stands in both.
        """
        moved, own = self.moved(time), np.zeros(0, dtype=np.int64) if starts is None else starts
        found = [moved[self.rows]]
        for part, shift in zip(np.split(time, self.rows), [0, *np.cumsum(self.steps)]):
            found.append(own[(own >= part.min()) & (own <= part.max())] + shift)
        return np.unique(np.concatenate(found))

    def words(self, name: str) -> str:
        """What was found in the file of this name."""
        rows, longest = ", ".join(f"{row + 1}" for row in self.rows), float(self.steps.max()) / SECOND
        if self.again:
            return f"times of {name} begin anew before delivery {rows}: read as logs one behind the other"
        found = f"times of {name} fall by {longest:.4g} s before delivery {rows} and stay there"
        if self.undone:
            return (
                f"{found}: the clock was set back, so what follows was moved behind what came before, a stretch ends "
                "there, and the time of day is in doubt"
            )
        return (
            f"{found}: if the clock was set back, deliveries of different times lie among each other and the rate is "
            "too high there; if these are logs of crawlers that ran at the same time, it is right"
        )


def find_set_back(time: Int) -> SetBack | None:
    """Lasting falls of the times of one file, in the order of its rows; None where there are none, or no order.

    Cost: a pass over the times; a second one where falls last.
    """
    rows = np.flatnonzero(time[1:] < time[:-1]) + 1
    rows = rows[(rows >= WINDOW) & (rows <= time.size - WINDOW)]
    for reach in range(1, WINDOW):
        rows = rows[time[rows + reach] < time[rows - 1 - reach]]
    if not rows.size:
        return None
    before = np.min([time[rows - 1 - k] for k in range(WINDOW)], axis=0)
    behind = np.max([time[rows + k] for k in range(WINDOW)], axis=0)
    rows = rows[behind < before]
    if rows.size > MOST:
        return None
    rows = _twice(time, rows)
    if not rows.size:
        return None
    begins = np.concatenate([[0], rows[:-1]])
    latest = np.array([time[a:b].max() for a, b in zip(begins, rows)])
    earliest = np.array([time[row : row + WINDOW].min() for row in rows])
    found = latest - earliest
    # Whole ticks, so that the clock stays as coarse as it is.
    tick = max(round(resolution(time) * SECOND), 1000)
    falls = SetBack(rows, (found // tick + 1) * tick, *_kind(time, begins, latest, found))
    if rows.size > FEW and not (falls.again or falls.undone):
        return None
    moved = falls.moved(time)
    late = np.count_nonzero(np.maximum.accumulate(moved) - moved > found.min() // 2)
    return falls if late <= LATE * time.size else None


def _twice(time: Int, rows: Int) -> Int:
    """Those of the falls behind which a time comes again: rows that were only written late fill a hole."""
    kept = []
    for a, row, b in zip([0, *rows], rows, [*rows[1:], time.size]):
        before, behind = time[a:row], time[row:b]
        again = behind[behind <= before.max()]
        inside = np.count_nonzero((before >= again.min()) & (before <= again.max()))
        if inside >= SHARED * again.size:
            kept.append(row)
    return np.array(kept, dtype=np.int64)


def _kind(time: Int, begins: Int, latest: Int, found: Int) -> tuple[bool, bool]:
    """Whether all falls go back to the beginning of what they stand behind, and whether they are small enough."""
    spans = latest - time[begins]
    again = bool(np.all(found >= WHOLE * spans))
    return again, not again and bool(found.sum() <= PART * (time.max() - time.min()))
