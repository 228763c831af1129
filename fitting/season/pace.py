"""A pace: how fast the stream is at each time of the period, and the clock that makes it even."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fitting.season.running import CELLS
from fitting.trace.segments import Float, Segments

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def clock_time(seconds: float, period: float) -> str:
    """A time of the period for people: the clock for a day, with its day for a week, else seconds.

    Examples
    --------
    >>> clock_time(30600.0, 86400.0), clock_time(100000.0, 604800.0)
    ('08:30', 'Tue 03:46')
    """
    minutes = int(seconds // 60)
    clock = f"{minutes // 60 % 24:02d}:{minutes % 60:02d}"
    if period == 86400.0:
        return clock if seconds < period else "24:00"
    return f"{DAYS[int(seconds // 86400) % 7]} {clock}" if period == 7 * 86400.0 else f"{seconds:g} s"


@dataclass(frozen=True)
class PacePart:
    """A part of the period.

    Parameters
    ----------
    begin, end : float
        Seconds after the beginning of the period; a part that goes on over its end has `end` below `begin`.
    pace : float
        Rate relative to that of the whole log.
    error : float
        Standard error of the logarithm of the pace; it knows the correlations of the stream.
    share : float
        Of the running time that falls into this part, as far as the log tells: parts in which the crawler never ran
        have none.
    """

    begin: float
    end: float
    pace: float
    error: float
    share: float

    def to_json(self) -> dict[str, float]:
        """Plain numbers."""
        return dict(vars(self))


@dataclass(frozen=True, eq=False)
class Pace:
    """A periodic pace, constant within each of `CELLS` cells.

    Parameters
    ----------
    period, phase : float
        Seconds; `phase` is how far into a period second 0 of the log is.
    form : str
        For example ``2 harmonics`` or ``3 parts``.
    cells : array
        Pace of each cell, 1 on average over the time that was run; 1 where the crawler never ran.
    seen : array of bool
        Cells in which it ran.
    parts : tuple of PacePart
        Parts of the period with an even pace each.
    """

    period: float
    phase: float
    form: str
    cells: Float
    seen: Any
    parts: tuple[PacePart, ...]

    def time(self, seconds: float) -> str:
        """A time of the period for people."""
        return clock_time(seconds, self.period)

    def at(self, seconds: Float) -> Float:
        """Pace at times of the log."""
        return np.asarray(self.cells[self._cell(seconds) % CELLS])

    def _cell(self, seconds: Float) -> Any:
        return np.floor((seconds + self.phase) * (CELLS / self.period)).astype(np.int64)

    def _clock(self, seconds: Float) -> Float:
        """Integral of the pace from the beginning of the log's first period on."""
        width = self.period / CELLS
        ends = np.concatenate([[0.0], np.cumsum(self.cells) * width])
        turns, rest = np.divmod(seconds + self.phase, self.period)
        return np.asarray(turns * ends[-1] + np.interp(rest, np.arange(CELLS + 1) * width, ends))

    def evened(self, data: Segments, begins: Float) -> Segments:
        """The gaps on the clock that runs with the pace: there the rate is even; `begins` are the times they begin."""
        ends = begins + data.gaps
        first = self._cell(begins)
        # Within a cell the pace is constant; only gaps that cross a border need the integral.
        across = first != self._cell(ends)
        gaps = data.gaps * self.cells[first % CELLS]
        gaps[across] = self._clock(ends[across]) - self._clock(begins[across])
        return replace(data, gaps=gaps)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "form": self.form,
            "pace": [float(one) if seen else None for one, seen in zip(self.cells, self.seen, strict=True)],
            "parts": [part.to_json() for part in self.parts],
        }
