"""The chosen model again, at the latest rate, or on a resampled trace: what a decision inherits of its uncertainty.

Gaps are resampled in blocks of random length (`bootstrap`), content sizes in blocks of as many pages. EM starts
from the fit itself and takes a few steps: it is the scatter around the fit that is wanted, not a new search.
"""

from __future__ import annotations

import math
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
    # The interval is that of the mean rate of all gaps; the latest rate is known from the last part alone.
    wider = math.sqrt(len(result.segments) / _latest_gaps(result))
    ends = (factor * rate.value * (end / rate.value) ** wider for end in (rate.low, rate.high))
    latest = Interval(factor * rate.value, *ends)
    return replace(
        result,
        process=result.process.scaled(factor),
        model=result.model.slowed(1 / factor),
        evened=result.segments.scaled(1 / factor),
        numbers={**result.numbers, "page_rate": latest},
    )


def _latest_gaps(result: FitResult) -> int:
    """Gaps of the last part of a trace whose rate changed; all gaps where it holds."""
    points = result.stationarity.change_points if result.stationarity.changed and not result.counted else ()
    return len(result.segments) - (points[-1] if points else 0)


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
    latest : int or None
        Gaps from which the rate is known, where it changed for good: on the even clock every part has the same mean, so
        that the whole trace would tell it too well.
    """

    model: GapModel
    data: Segments
    unit: float
    block_length: float
    content: npt.NDArray[np.float64] | None
    sizes: npt.NDArray[np.float64] | None = None
    latest: int | None = None

    @classmethod
    def of(cls, result: FitResult) -> Resampler:
        """From a fit."""
        data = result.segments
        unit = float(data.gaps.mean())
        size = result.log.size if isinstance(result.log, RawLog) else None
        content = None if size is None else size[np.isfinite(size)]
        sizes = None if result.counted else result.batches.probabilities
        model, scaled, latest = result.model.slowed(1 / unit), data.scaled(1 / unit), _latest_gaps(result)
        return cls(model, scaled, unit, result.block_length, content, sizes, latest if latest < len(data) else None)

    def draw(self, rng: np.random.Generator) -> tuple[BMAP, PhaseType | None]:
        """Arrivals in seconds and the law of the content size, from one resampled trace.

        Cost: a few EM steps, some 10 ms for a thousand gaps.
        """
        again = bootstrap.resampled(self.data, self.block_length, rng)
        found = self.model.without_batches().refit(again, EmSettings(steps=STEPS, tolerance=1e-5)).model
        shares = with_first_batches(again.batch_shares, self.data, self.sizes)
        process = found.with_batch_sizes(shares).bmap()
        if self.latest is not None:
            process = process.scaled(float(again.gaps.mean() / again.gaps[: self.latest].mean()))
        return process.scaled(1 / self.unit), self._sizes(rng)

    def _sizes(self, rng: np.random.Generator) -> PhaseType | None:
        if self.content is None or not self.content.size:
            return None
        pages = Segments.of(np.ones(self.content.size))
        found = fit_sizes(self.content[bootstrap.resample(pages, self.block_length, rng)])
        return None if found is None else found.distribution
