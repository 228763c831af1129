"""What one run leaves behind: counts, times and sums per bin, a histogram of sojourn times per group of bins.

Every measure of `MEASURES` follows from these: time averages from the time spent at each level, rates and
ratios from the counts, page averages from the sums. A page is counted when its fate is decided: lost at its
arrival, obsolete or served when it leaves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crawltwin.model.checks import FloatArray
from simulate.engine.columns import CELLS, CELLS_PER_OCTAVE, COUNT, SOJOURN
from simulate.engine.length import BINS_PER_GROUP
from simulate.engine.run_plan import RunPlan
from simulate.engine.tables import IntArray


@dataclass(frozen=True)
class RunStatistics:
    """One run, bin by bin.

    Parameters
    ----------
    time_at_level : ndarray (bins, levels)
        Time spent with each number of pages in the system.
    time_in_mode : ndarray (bins, modes)
        Time in each mode of a controller with a memory, or of one that is followed as if it had one; else no modes.
    counts : ndarray (bins, 5)
        Pages delivered, batches, pages lost, obsolete and served.
    sojourns : ndarray (bins, 4)
        Sums and sums of squares of the sojourn times of served pages, then of obsolete ones.
    control : ndarray (bins, 2)
        Changes of the number of robots wanted, and the time integral of the number of fetches in flight.
    histograms : ndarray (2, groups, cells)
        Sojourn times of served and of obsolete pages, cells `first_cell`, ... of the logarithmic scale.
    first_cell : int
        Position of the first cell on that scale.
    initial, present : int
        Pages in the system at time 0 and at the end.
    present_age : float
        Sum of the times that the pages present at the end have been there.
    time : float
        Simulated time of the whole run.
    events : int
        Events handled: jumps of phases, batches, ends of service, obsolescences.
    """

    time_at_level: FloatArray
    time_in_mode: FloatArray
    counts: IntArray
    sojourns: FloatArray
    control: FloatArray
    histograms: IntArray
    first_cell: int
    initial: int
    present: int
    present_age: float
    time: float
    events: int

    @property
    def bins(self) -> int:
        """Bins that were filled."""
        return int(self.counts.shape[0])

    def check_conservation(self) -> int:
        """Pages at the start and delivered, less lost, obsolete, served and still there: exactly zero."""
        total = self.counts.sum(axis=0)
        gone = int(total[COUNT.lost] + total[COUNT.obsolete] + total[COUNT.served])
        return self.initial + int(total[COUNT.delivered]) - gone - self.present

    def check_little(self) -> float:
        """Little's law on the sample path: the area under the level less all sojourn times, relative."""
        area = float((self.time_at_level @ np.arange(self.time_at_level.shape[1])).sum())
        spent = (
            float(self.sojourns[:, SOJOURN.served].sum() + self.sojourns[:, SOJOURN.obsolete].sum()) + self.present_age
        )
        return (area - spent) / max(area, 1e-300)


def trimmed(histograms: IntArray, lowest_cell: int) -> tuple[IntArray, int]:
    """The histograms without the empty cells on both sides, and the position of the first cell left."""
    used = np.flatnonzero(histograms.any(axis=(0, 1)))
    if not used.size:
        return histograms[:, :, :1].copy(), lowest_cell
    return histograms[:, :, used[0] : used[-1] + 1].copy(), lowest_cell + int(used[0])


def cell_edges(first_cell: int, count: int) -> FloatArray:
    """The limits of cells `first_cell`, ..., `first_cell + count`, as times.

    Examples
    --------
    >>> cell_edges(64, 2).tolist()
    [1.0, 1.015625, 1.03125]
    """
    octave, inside = np.divmod(np.arange(first_cell, first_cell + count + 1), CELLS_PER_OCTAVE)
    return np.ldexp(0.5 + inside / (2 * CELLS_PER_OCTAVE), octave)


def empty_histograms(plan: RunPlan) -> IntArray:
    """Histograms to be filled."""
    return np.zeros((2, -(-plan.bins // BINS_PER_GROUP), CELLS), np.int64)
