"""The cleaned log as batches to be replayed: pauses cut out, pages gathered as for the fit, content sizes kept."""

from __future__ import annotations

import numpy as np

from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import InputError
from fitting import FitResult, RawLog
from fitting.trace.batches import find_batches
from fitting.trace.segments import Segments, spread_blocks
from simulate import RecordedTrace

REPLAYED = 500_000
"""Pages of a longer log that are replayed."""
BLOCKS = 20
"""Blocks of which they are made, spread over the log."""


def trace_of_fit(fit: FitResult, seed: int = 1) -> tuple[RecordedTrace, tuple[str, ...]]:
    """Batches of the stretches that were fitted, joined by an average gap, and remarks on what was filled in.

    Of more than `REPLAYED` pages, blocks that are spread over the log are taken. `seed` draws the content sizes that
    the log does not tell.
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
        part = again.sample(REPLAYED, BLOCKS)
        words = "the moments within the ticks of the clock were drawn anew, without content sizes"
        return RecordedTrace(np.cumsum(part.gaps), part.sizes), (words, *_part(len(part), len(again)))
    stretches, everything = _blocks(fit)
    kept = sum(last - first for first, last in stretches)
    seconds, mean = log.seconds, float(fit.batches.segments.gaps.mean())
    times, sizes, end = [], [], 0.0
    for begin, last in stretches:
        own = seconds[begin:last]
        first = np.concatenate([[True], np.diff(own) > fit.batches.limit])
        times.append(own[first] - own[0] + end)
        sizes.append(np.diff(np.append(np.flatnonzero(first), own.size)))
        end = float(times[-1][-1]) + mean
    content: FloatArray | None = None
    notes: tuple[str, ...] = ()
    if log.size is not None:
        content, notes = _filled(np.concatenate([log.size[begin:last] for begin, last in stretches]), seed)
    trace = RecordedTrace(np.concatenate(times), np.concatenate(sizes), content=content)
    return trace, (*notes, *_part(kept, everything))


def _blocks(fit: FitResult) -> tuple[list[tuple[int, int]], int]:
    """Pages from and up to which each part of the log is replayed, and how many pages all stretches have."""
    stretches = [(one.first, one.last) for one in fit.cleaning.stretches if one.used]
    ends = np.cumsum([last - first for first, last in stretches])
    total = int(ends[-1])
    found = []
    for begin, end in spread_blocks(total, REPLAYED, BLOCKS):
        for (first, last), upto in zip(stretches, ends.tolist()):
            low, high = max(first, last - upto + begin), min(last, last - upto + end)
            if high > low:
                found.append((low, high))
    return found, total


def _part(kept: int, everything: int) -> tuple[str, ...]:
    if kept == everything:
        return ()
    return (f"{kept:,} of {everything:,} pages were replayed, in {BLOCKS} blocks spread over the log",)


def even_trace_of(data: Segments) -> RecordedTrace:
    """The fitted gaps one after the other, each with the batch that ends it; of a long trace, blocks of it."""
    part = data.sample(REPLAYED, BLOCKS)
    return RecordedTrace(np.cumsum(part.gaps), part.sizes)


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
