"""The cleaned log as batches to be replayed: pauses cut out, pages gathered as for the fit, content sizes kept."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import InputError
from fitting import FitResult, RawLog
from fitting.season.running import Running
from fitting.trace.batches import find_batches
from fitting.trace.segments import Segments, spread_blocks
from simulate import RecordedTrace

REPLAYED = 500_000
"""Pages of a longer log that are replayed."""
BLOCKS = 20
"""Blocks of which they are made, spread over the log."""
Keep = Callable[[FloatArray], npt.NDArray[np.bool_]]
"""Which times of the log, in seconds since its first page, are taken."""


def trace_of_fit(fit: FitResult, seed: int = 1, keep: Keep | None = None) -> tuple[RecordedTrace, tuple[str, ...]]:
    """Batches of the stretches that were fitted, joined by an average gap, and remarks on what was filled in.

    Of more than `REPLAYED` pages, blocks that are spread over the log are taken. `seed` draws the content sizes that
    the log does not tell; `keep` takes a part of the log alone.
    """
    trace, moments, notes = _whole(fit, seed)
    return (trace if keep is None else _kept(trace, keep(moments))), notes


def _kept(trace: RecordedTrace, taken: npt.NDArray[np.bool_]) -> RecordedTrace:
    """Some batches of a trace, joined by an average gap where others were left out between them."""
    gaps = np.diff(trace.times, prepend=trace.times[0])
    whole = taken & np.concatenate([[False], taken[:-1]])
    times = np.cumsum(np.where(whole, gaps, gaps[whole].mean() if whole.any() else 0.0)[taken])
    content = None if trace.content is None else trace.content[np.repeat(taken, trace.sizes)]
    return RecordedTrace(times, trace.sizes[taken], content=content)


def _whole(fit: FitResult, seed: int) -> tuple[RecordedTrace, FloatArray, tuple[str, ...]]:
    """The whole trace, the time of each of its batches in the log, and remarks."""
    log = fit.log
    if not isinstance(log, RawLog):
        raise InputError.at(
            log.place,
            "a replay must have the time of every page; got counts per interval, which do not tell it",
            "Give a log of the deliveries.",
        )
    reading = {"spread": "spread", "ticks": "batch"}.get(fit.batches.rule)
    if reading is not None:
        # Other moments within the ticks than those that were fitted: the model must not be confirmed by its own draws.
        again = find_batches(log.seconds, fit.cleaning, log.resolution, reading=reading, seed=fit.seed + 1 + seed)
        words = "the moments within the ticks of the clock were drawn anew, without content sizes"
        running = Running.of(again, 0.0, math.inf)
        ends = np.concatenate([own[1:] for own in running.stretches])
        whole, part = again.segments, again.segments.sample(REPLAYED, BLOCKS)
        # The same gaps, with the time at which each ends in place of its length; a length is never 0.
        ends = Segments(ends + 1, whole.sizes, whole.first).sample(REPLAYED, BLOCKS).gaps - 1
        return RecordedTrace(np.cumsum(part.gaps), part.sizes), ends, (words, *_part(len(part), len(whole)))
    stretches, everything = _blocks(fit)
    kept = sum(last - first for first, last in stretches)
    seconds, mean = log.seconds, float(fit.batches.segments.gaps.mean())
    times, sizes, moments, end = [], [], [], 0.0
    for begin, last in stretches:
        own = seconds[begin:last]
        first = np.concatenate([[True], np.diff(own) > fit.batches.limit])
        times.append(own[first] - own[0] + end)
        moments.append(own[first])
        sizes.append(np.diff(np.append(np.flatnonzero(first), own.size)))
        end = float(times[-1][-1]) + mean
    content: FloatArray | None = None
    notes: tuple[str, ...] = ()
    if log.size is not None:
        content, notes = _filled(np.concatenate([log.size[begin:last] for begin, last in stretches]), seed)
    trace = RecordedTrace(np.concatenate(times), np.concatenate(sizes), content=content)
    return trace, np.concatenate(moments), (*notes, *_part(kept, everything))


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
