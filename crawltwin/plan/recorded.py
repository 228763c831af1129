"""The cleaned log as batches to be replayed: pauses cut out, pages gathered as for the fit, content sizes kept."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fitting import FitResult
from simulate import RecordedTrace


def recorded_trace(fit: FitResult, seed: int = 1) -> tuple[RecordedTrace, tuple[str, ...]]:
    """Batches of the stretches that were fitted, joined by an average gap, and remarks on what was filled in."""
    if fit.batches.rule == "spread":
        gaps = fit.batches.segments.gaps
        return RecordedTrace(np.cumsum(gaps)), ("pages of one clock tick were spread over it, without content sizes",)
    seconds, size = fit.log.seconds, fit.log.size
    mean = float(fit.batches.segments.gaps.mean())
    times: list[npt.NDArray[np.float64]] = []
    counts: list[npt.NDArray[np.int64]] = []
    pages: list[npt.NDArray[np.int64]] = []
    end = 0.0
    for stretch in fit.cleaning.stretches:
        if not stretch.used:
            continue
        own = seconds[stretch.first : stretch.last]
        first = np.concatenate([[True], np.diff(own) > fit.batches.limit])
        begins = np.flatnonzero(first)
        moments = own[first] - own[0] + end
        times.append(moments)
        counts.append(np.diff(np.append(begins, own.size)))
        pages.append(np.arange(stretch.first, stretch.last))
        end = float(moments[-1]) + mean
    content: npt.NDArray[np.float64] | None = None
    notes: tuple[str, ...] = ()
    if size is not None:
        content, notes = _filled(size[np.concatenate(pages)], seed)
    return RecordedTrace(np.concatenate(times), np.concatenate(counts), content=content), notes


def _filled(size: npt.NDArray[np.float64], seed: int) -> tuple[npt.NDArray[np.float64] | None, tuple[str, ...]]:
    """Unknown sizes drawn from the known ones, and said so."""
    unknown = ~np.isfinite(size)
    if unknown.all():
        return None, ("no content sizes are known: indexing times are drawn from the model",)
    if not unknown.any():
        return size, ()
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(7,)))
    filled = size.copy()
    filled[unknown] = rng.choice(size[~unknown], int(unknown.sum()))
    share = float(unknown.mean())
    return filled, (f"{share:.1%} of the content sizes are unknown and were drawn from the others",)
