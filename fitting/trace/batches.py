"""Pages that came together: batches by a gap limit, with the clock's resolution known.

Pages of one clock tick are judged by the counts of the ticks (`fitting.trace.ticks`): where ties are many and most of
them chance, they are the clock's doing, and the pages are spread over their tick. Otherwise pages of one tick are a
batch.

Above the tick, a limit is found where the density of the logarithm of the gaps has a deep valley between short gaps and
long ones that are at least `RATIO` times longer; the short ones must come in short runs, or last a moment between long
ones that stand alone (`fitting.trace.pauses.between_batches`), or they are a busy regime and no batches.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from crawltwin.model.errors import InputError
from crawltwin.work.memory import row_blocks
from fitting.trace.cleaning import Cleaning, scv
from fitting.trace.pauses import between_batches
from fitting.trace.segments import Segments
from fitting.trace.ticks import TIES, Ticks, at_one_moment, count_ticks, spread

Float = npt.NDArray[np.float64]

MAX_BATCH = 1000
"""Pages that a batch may have: the model has one matrix for each size, and no page of the log may be left out of it."""
RATIO = 30.0
DEPTH = 0.2
LONGEST_RUN = 15.0
LEISURE = 0.5
"""Seconds: pages that are usually so far apart are hardly handed over together."""
SLOW = 50.0
"""With a mean gap of so many ticks, as with few ties, it is immaterial how they are read."""


@dataclass(frozen=True)
class Batches:
    """How pages were gathered.

    Attributes
    ----------
    rule : str
        ``given``, ``ties`` (pages of one clock tick), ``valley``, ``spread`` (ties are the clock's doing), or ``ticks``
        (each tick's pages come as one batch, at a moment of the tick that is not known).
    limit : float
        Gaps up to this many seconds join pages into one batch.
    ticks : Ticks or None
        Counts of the clock's ticks; None where they tell nothing: a limit was given, or the log is a column of gaps.
    segments : Segments
        Gaps between batches, with batch sizes.
    sizes : array of int
        All batch sizes, those that begin a stretch included: every page of the used stretches is in one batch.
    inner_gap : float
        Seconds between pages of a batch, the median, where a valley made them; else 0.
    begins : array
        Times of the first batch of each stretch of `segments`, in seconds since the first page of the log.
    """

    rule: str
    limit: float
    ticks: Ticks | None
    segments: Segments
    sizes: npt.NDArray[np.int64]
    inner_gap: float = 0.0
    begins: Float = field(default_factory=lambda: np.zeros(1))

    @property
    def words(self) -> tuple[str, ...]:
        """A sentence where pages were joined that are too far apart to be handed over together; else nothing."""
        if self.inner_gap < LEISURE:
            return ()
        joined = f"joined into batches, {self.sizes.mean():.3g} pages on average"
        found = (
            f"pages that are usually {self.inner_gap:.3g} s apart were {joined}, since gaps above {self.limit:.4g} s "
            f"stand apart from all others: if the crawler stood still then, say --pause {self.limit:.4g}; if it is "
            "that slow now and then, --batch-gap 0"
        )
        return (found,)

    @property
    def probabilities(self) -> Float:
        """Shares of batches of 1, 2, ... pages."""
        counts = np.bincount(self.sizes)[1:]
        return np.asarray(counts / counts.sum())

    def clock_words(self, resolution: float) -> tuple[str, ...]:
        """Which reading of pages of one tick was taken, and what the other would be; nothing where ties are few."""
        ticks = self.ticks
        if (
            ticks is None
            or self.rule not in ("spread", "ties")
            or not _many_ties(self.segments.gaps, ticks, resolution)
        ):
            return ()
        found = (
            f"{ticks.together:.0%} of the pairs of pages within one tick of the {resolution:g} s clock are more than "
            "chance between neighbouring ticks"
        )
        if self.rule == "spread":
            mean = ticks.pages / ticks.used
            words = (
                f"{found}, so the clock is too coarse to tell pages apart, and they were spread over their tick; read "
                f"as batches (--ticks batch) they would be {ticks.used:,} batches of {mean:.3g} pages"
            )
        else:
            words = (
                f"{found}, so pages of one tick are taken as a batch, {self.sizes.mean():.3g} pages on average; spread "
                f"over their tick (--ticks spread) they would be {ticks.pages:,} single pages"
            )
        return (words,)

    def check(self, pages: int) -> None:
        """Every one of the `pages` pages is in a batch, and no batch is too large to be modelled.

        Raises
        ------
        InputError
            For a batch of more than `MAX_BATCH` pages: none of them may get lost.
        """
        if self.sizes.sum() != pages:
            raise AssertionError(
                f"the batches must hold all {pages} pages of the used stretches; got {self.sizes.sum()}"
            )
        if self.sizes.max() > MAX_BATCH:
            raise InputError.at(
                "batch_gap",
                f"a batch must hold at most {MAX_BATCH} pages to be modelled; got one of {self.sizes.max()} "
                f"(rule: {self.rule}, gaps up to {self.limit:g} s join pages)",
                "Join fewer pages with a smaller --batch-gap, or give a log with a finer clock."
                if self.limit > 0
                else "These pages have one and the same time: spread them over the tick of the clock with --ticks "
                "spread, or give a log with a finer clock.",
            )


def valley(gaps: Float) -> float | None:
    """A batch limit from the valley in the density of log gaps, or None where there is no clear one."""
    positive = gaps[gaps > 0]
    if positive.size < 200:
        return None
    blocks = [positive[part] for part in row_blocks(positive.size)]
    ends = [(logs.min(), logs.max()) for logs in map(np.log10, blocks)]
    low, high = float(min(end[0] for end in ends)), float(max(end[1] for end in ends))
    if high - low < 1:
        return None
    cells = int((high - low) * 20) + 1
    density = sum((np.histogram(np.log10(own), cells, (low, high))[0] for own in blocks), np.zeros(cells))
    width = np.arange(-6, 7)
    kernel = np.exp(-0.5 * (width / 2.5) ** 2)
    smooth = np.convolve(density, kernel / kernel.sum(), mode="same")
    edges = np.linspace(low, high, cells + 1)
    best: tuple[float, float] | None = None
    ordered = np.sort(positive)
    for i in range(2, cells - 2):
        left, right = float(smooth[:i].max()), float(smooth[i + 1 :].max())
        depth = float(smooth[i]) / max(min(left, right), 1e-12)
        limit = 10 ** float((edges[i] + edges[i + 1]) / 2)
        if depth < DEPTH and _separates(positive, ordered, limit) and (best is None or depth < best[0]):
            best = (depth, limit)
    return None if best is None else best[1]


def _separates(gaps: Float, ordered: Float, limit: float) -> bool:
    """Whether the limit tells short gaps, which come in short runs, from long ones; `ordered`: the gaps by length."""
    count = int(np.searchsorted(ordered, limit, side="right"))
    if count < 0.05 * gaps.size or count == gaps.size:
        return False
    if _median(ordered[count:]) < RATIO * _median(ordered[:count]):
        return False
    if between_batches(gaps, limit):
        return True
    if count > 0.95 * gaps.size:
        return False
    short = gaps <= limit
    ends = int(np.count_nonzero(short[:-1] > short[1:]))
    return count / max(ends, 1) <= LONGEST_RUN


def _median(ordered: Float) -> float:
    """The median of values that are in order."""
    return float(ordered[(ordered.size - 1) // 2] + ordered[ordered.size // 2]) / 2


def find_batches(
    seconds: Float,
    cleaning: Cleaning,
    resolution: float,
    *,
    limit: float | None = None,
    from_gaps: bool = False,
    reading: str = "judge",
    seed: int = 0,
) -> Batches:
    """Gather the pages of the used stretches into batches.

    Parameters
    ----------
    seconds : array
        Times of all pages.
    cleaning : Cleaning
        Which stretches are used.
    resolution : float
        The clock's step in seconds.
    limit : float, optional
        Gaps up to it join pages; found from the gaps by default.
    from_gaps : bool
        A column of gaps: only gaps of zero join pages unless a limit is given.
    reading : {"judge", "spread", "batch"}
        What pages of one clock tick are, where no limit is given.
    seed : int
        Of the spreading within ticks.
    """
    if limit is not None and not (math.isfinite(limit) and limit >= 0):
        raise InputError.at("batch_gap", f"batch gap must be a number of seconds, not negative; got {limit!r}")
    parts = cleaning.parts(seconds)
    if limit is not None:
        return _gathered(parts, limit, "given", None)
    gaps = np.concatenate([np.diff(part) for part in parts] or [np.zeros(0)])
    ticks = None if from_gaps else count_ticks(parts, resolution)
    by_chance = ticks is not None and ticks.by_chance and _many_ties(gaps, ticks, resolution)
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))
    if reading == "batch":
        return _gathered([at_one_moment(part, resolution, rng) for part in parts], 0.0, "ticks", ticks)
    if reading == "spread" or (reading == "judge" and by_chance):
        return _gathered([spread(part, resolution, rng) for part in parts], 0.0, "spread", ticks)
    deepest = None if from_gaps else valley(gaps)
    if deepest is None or deepest <= resolution:
        return _gathered(parts, 0.0, "ties", ticks)
    # With the gaps of zero: on a coarse clock the others are whole ticks, however close the pages are.
    inner = float(np.median(gaps[gaps <= deepest]))
    return replace(_gathered(parts, deepest, "valley", ticks), inner_gap=inner)


def _many_ties(gaps: Float, ticks: Ticks, resolution: float) -> bool:
    """Whether many pages share their tick, at a pace that is not far slower than the clock."""
    return bool(gaps.size and ticks.companions > TIES and gaps.mean() < SLOW * resolution)


def _gathered(parts: list[Float], limit: float, rule: str, ticks: Ticks | None) -> Batches:
    gaps, sizes, first, every = [], [], [0], []
    for part in parts:
        starts = _starts(part, limit)
        gaps.append(np.diff(part[starts]))
        counts = np.diff(starts, append=part.size)
        del starts
        counts.setflags(write=False)
        sizes.append(counts[1:])
        every.append(counts)
        first.append(first[-1] + counts.size - 1)
    joined = _joined(gaps, np.float64)
    begins = np.unique(np.array([f for f in first[:-1] if f < joined.size] or [0]))
    segments = Segments(joined, _joined(sizes, np.int64), begins)
    moments = np.array([part[0] for part, counts in zip(parts, every) if counts.size > 1])
    return Batches(rule, limit, ticks, segments, _joined(every, np.int64), begins=moments)


def _starts(part: Float, limit: float) -> npt.NDArray[np.int64]:
    """Pages of a stretch that begin a batch, when gaps up to `limit` join pages."""
    found = [np.zeros(1, np.int64)]
    for block in row_blocks(part.size - 1):
        # Half a nanosecond: differences of seconds as floats are not exact.
        own = np.diff(part[block.start : block.stop + 1]) > limit + 5e-10
        found.append(np.flatnonzero(own) + (block.start + 1))
    return np.concatenate(found)


def _joined(columns: list[npt.NDArray[Any]], kind: npt.DTypeLike) -> npt.NDArray[Any]:
    """The columns one after another, protected; a single one is not copied."""
    whole = columns[0] if len(columns) == 1 else np.concatenate(columns or [np.zeros(0, kind)])
    whole.setflags(write=False)
    return whole


def sensitivity(seconds: Float, cleaning: Cleaning, chosen: Batches, resolution: float) -> list[dict[str, float]]:
    """What the trace's numbers would be with other limits: a quarter to four times the chosen one.

    Where the chosen limit is zero, the clock's step and its multiples are shown instead.
    """
    base = chosen.limit if chosen.limit > 0 else resolution
    parts = cleaning.parts(seconds)
    rows = []
    for factor in (0.0, 0.25, 0.5, 1.0, 2.0, 4.0):
        gaps = _joined([np.diff(part[_starts(part, base * factor)]) for part in parts], np.float64)
        if gaps.size < 3:
            continue
        batches = gaps.size + len(parts)
        centred = gaps - gaps.mean()
        lag1 = float(centred[:-1] @ centred[1:] / (centred @ centred)) if gaps.var() > 0 else math.nan
        rows.append(
            {
                "limit": base * factor,
                "batches": float(batches),
                "mean_batch": cleaning.pages / batches,
                "mean_gap": float(gaps.mean()),
                "scv": scv(gaps),
                "lag1": lag1,
            }
        )
    return rows
