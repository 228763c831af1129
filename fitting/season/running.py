"""When the crawler ran and when batches came: counts and running seconds by cell of a period."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fitting.trace.batches import Batches
from fitting.trace.segments import Float, Int

CELLS = 96
"""Cells of a period: quarters of an hour, if it is a day."""


@dataclass(frozen=True, eq=False)
class Running:
    """The used stretches of a trace, each from its first batch to its last.

    Parameters
    ----------
    stretches : tuple of array
        Times of the batches of each stretch, in seconds since the first page; at least two in each.
    phase : float
        Seconds between the beginning of a period and second 0, for a day the time of day at second 0.
    period : float
        Seconds.
    """

    stretches: tuple[Float, ...]
    phase: float
    period: float

    @classmethod
    def of(cls, batches: Batches, phase: float, period: float) -> Running:
        """From batches: where their pages were spread over the ticks of the clock, at the moments that were drawn.

        The times that the log tells all lie at the beginnings of ticks, which would be a cycle of their own.
        """
        stretches = []
        for begin, own in zip(batches.begins.tolist(), batches.segments.stretches()):
            times = np.full(own.stop - own.start + 1, begin)
            times[1:] += np.cumsum(batches.segments.gaps[own])
            stretches.append(times)
        return cls(tuple(stretches), phase % period, period)

    @property
    def span(self) -> float:
        """Seconds from the first batch to the last, pauses included."""
        return float(self.stretches[-1][-1] - self.stretches[0][0]) if self.stretches else 0.0

    @property
    def periods(self) -> float:
        """Periods from the first batch to the last, pauses included."""
        return self.span / self.period

    def by_cell(self, cells: int = CELLS) -> tuple[Int, Float, Float]:
        """For each cell of the calendar that was run in: its number, its batches, and the seconds that were run.

        Cell k is the (k modulo `cells`)-th of its period. A batch that begins a stretch is not counted: it ends no gap.
        """
        width = self.period / cells
        low = int((self.stretches[0][0] + self.phase) // width)
        count = int((self.stretches[-1][-1] + self.phase) // width) - low + 1
        borders = (low + np.arange(count + 1)) * width - self.phase
        batches, seconds = np.zeros(count), np.zeros(count)
        for own in self.stretches:
            # Only the cells that the stretch touches: there may be many stretches.
            first, last = np.searchsorted(borders, own[[0, -1]], side="right") - 1
            here = slice(first, min(last, count - 1) + 1)
            edges = borders[first : min(last, count - 1) + 2]
            batches[here] += np.diff(np.searchsorted(own[1:], edges))
            seconds[here] += np.diff(np.clip(edges, own[0], own[-1]))
        ran = seconds > 0
        return low + np.flatnonzero(ran), batches[ran], seconds[ran]

    def folded(self, cells: int = CELLS) -> tuple[Float, Float]:
        """Batches and running seconds of each cell of the period."""
        number, batches, seconds = self.by_cell(cells)
        place = number % cells
        found = [np.bincount(place, column, minlength=cells).astype(np.float64) for column in (batches, seconds)]
        return found[0], found[1]
