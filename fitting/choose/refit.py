"""The chosen model again, at the latest rate, or on a resampled trace: what a decision inherits of its uncertainty.

Gaps are resampled in blocks of random length (`bootstrap`), content sizes in blocks of as many pages. EM starts
from the fit itself and takes a few steps: it is the scatter around the fit that is wanted, not a new search.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from crawltwin.model import BMAP, PhaseType
from crawltwin.model.interval import Interval
from fitting.choose.result import FitResult
from fitting.choose.service import fit_sizes
from fitting.models.batch_laws import with_first_batches
from fitting.models.em import EmSettings
from fitting.models.gap_model import GapModel
from fitting.readers import RawLog
from fitting.trace import bootstrap
from fitting.trace.segments import Segments

STEPS = 20


def at_latest_rate(result: FitResult) -> FitResult:
    """The fit with the latest rate in place of the mean one, where the rate changed for good."""
    factor = result.stationarity.latest
    if factor == 1.0 or result.counted:
        return result
    rate = result.numbers["page_rate"]
    latest = Interval(*(factor * value for value in (rate.value, rate.low, rate.high)))
    return replace(
        result,
        process=result.process.scaled(factor),
        model=result.model.slowed(1 / factor),
        evened=result.segments.scaled(1 / factor),
        numbers={**result.numbers, "page_rate": latest},
    )


@dataclass(frozen=True, eq=False)
class Resampler:
    """What is needed to fit again; picklable, and no larger than the trace.

    Parameters
    ----------
    model : GapModel
        The fit, in units of the mean gap.
    data : Segments
        The trace, in the same units.
    unit : float
        Seconds in a unit.
    block_length : float
        Mean number of gaps in a block.
    content : ndarray or None
        Known content sizes in the order of the log.
    sizes : array or None
        Shares of batches of 1, 2, ... pages over all batches; None: those of the trace.
    """

    model: GapModel
    data: Segments
    unit: float
    block_length: float
    content: npt.NDArray[np.float64] | None
    sizes: npt.NDArray[np.float64] | None = None

    @classmethod
    def of(cls, result: FitResult) -> Resampler:
        """From a fit."""
        data = result.segments
        unit = float(data.gaps.mean())
        size = result.log.size if isinstance(result.log, RawLog) else None
        content = None if size is None else size[np.isfinite(size)]
        sizes = None if result.counted else result.batches.probabilities
        return cls(result.model.slowed(1 / unit), data.scaled(1 / unit), unit, result.block_length, content, sizes)

    def draw(self, rng: np.random.Generator) -> tuple[BMAP, PhaseType | None]:
        """Arrivals in seconds and the law of the content size, from one resampled trace.

        Cost: a few EM steps, some 10 ms for a thousand gaps.
        """
        again = bootstrap.resampled(self.data, self.block_length, rng)
        found = self.model.without_batches().refit(again, EmSettings(steps=STEPS, tolerance=1e-5)).model
        shares = with_first_batches(again.batch_shares, self.data, self.sizes)
        process = found.with_batch_sizes(shares).bmap()
        return process.scaled(1 / self.unit), self._sizes(rng)

    def _sizes(self, rng: np.random.Generator) -> PhaseType | None:
        if self.content is None or not self.content.size:
            return None
        pages = Segments.of(np.ones(self.content.size))
        found = fit_sizes(self.content[bootstrap.resample(pages, self.block_length, rng)])
        return None if found is None else found.distribution
