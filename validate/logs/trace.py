"""The cleaned log as batches to be replayed: pauses cut out, pages gathered as for the fit, content sizes kept."""

from __future__ import annotations

import numpy as np

from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import InputError
from fitting import FitResult, RawLog
from fitting.trace.batches import find_batches
from fitting.trace.segments import Segments
from simulate import RecordedTrace


def trace_of_fit(fit: FitResult, seed: int = 1) -> tuple[RecordedTrace, tuple[str, ...]]:
    """Batches of the stretches that were fitted, joined by an average gap, and remarks on what was filled in.

    `seed` draws the content sizes that the log does not tell.
    """
    log = fit.log
    if not isinstance(log, RawLog):
        raise InputError.at(
            log.files[0] if log.files else "log",
            "a replay must have the time of every page; got counts per interval, which do not tell it",
            "Give a log of the deliveries.",
        )
    reading = {"spread": "spread", "ticks": "batch"}.get(fit.batches.rule)
    if reading is not None:
        # Other moments within the ticks than those that were fitted: the model must not be confirmed by its own draws.
        again = find_batches(
            log.seconds, fit.cleaning, log.resolution, reading=reading, seed=fit.seed + 1 + seed
        ).segments
        words = "the moments within the ticks of the clock were drawn anew, without content sizes"
        return RecordedTrace(np.cumsum(again.gaps), again.sizes), (words,)
    gaps = fit.batches.segments.gaps
    stretches = [stretch for stretch in fit.cleaning.stretches if stretch.used]
    times, sizes, end = [], [], 0.0
    for stretch in stretches:
        own = log.seconds[stretch.first : stretch.last]
        first = np.concatenate([[True], np.diff(own) > fit.batches.limit])
        times.append(own[first] - own[0] + end)
        sizes.append(np.diff(np.append(np.flatnonzero(first), own.size)))
        end = float(times[-1][-1]) + float(gaps.mean())
    content: FloatArray | None = None
    notes: tuple[str, ...] = ()
    if log.size is not None:
        pages = np.concatenate([np.arange(stretch.first, stretch.last) for stretch in stretches])
        content, notes = _filled(log.size[pages], seed)
    return RecordedTrace(np.concatenate(times), np.concatenate(sizes), content=content), notes


def even_trace_of(data: Segments) -> RecordedTrace:
    """The fitted gaps one after the other, each with the batch that ends it."""
    return RecordedTrace(np.cumsum(data.gaps), data.sizes)


def _filled(size: FloatArray, seed: int) -> tuple[FloatArray | None, tuple[str, ...]]:
    """Unknown sizes drawn from the known ones, and said so."""
    unknown = ~np.isfinite(size)
    if unknown.all():
        return None, ("no content sizes are known: indexing times are drawn from the model",)
    if not unknown.any():
        return size, ()
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(7,)))
    filled = size.copy()
    filled[unknown] = rng.choice(size[~unknown], int(unknown.sum()))
    return filled, (f"{float(unknown.mean()):.1%} of the content sizes are unknown and were drawn from the others",)
