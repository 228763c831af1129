"""Pauses found and cut: what is left are stretches in which the crawler ran.

A run that the log marks ends a stretch whatever the gap. Three rules find the other pauses. *Given*: a limit in
seconds. *Quantile*: every gap above a quantile. *Auto*: from the gaps themselves (`fitting.trace.pauses`). Where pages
share the ticks of a coarse clock by chance, these are the gaps of pages at random moments of their ticks: whole ticks
have no tail to judge by. A gap must then be a tick longer than the limit.

Where the gaps leave it open whether the crawler stood still, the words say so: many pauses were cut, or few gaps hold
most of the time and were not cut.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from crawltwin.model.errors import InputError
from crawltwin.work.memory import integers_up_to
from fitting.trace.pauses import (
    GROUP,
    RARE,
    SHALLOW,
    auto_limit,
    between_batches,
    holding_half,
    in_runs,
    kinds_apart,
)
from fitting.trace.ticks import count_ticks, spread

Float = npt.NDArray[np.float64]

MIN_PAGES = 30
"""Pages that a stretch must have to be used, unless most pages lie in shorter ones."""
FEW = 0.01
"""If so few of the uncut gaps hold half of the time, the reader is told.

If more do, the reader is told where they are another kind of gaps and come one by one.
"""
MOST_CUT = 0.5
"""Share of the time from which on what was cut is always told."""
BETWEEN = 30.0
"""Gaps between batches are longer than so many usual gaps."""


@dataclass(frozen=True)
class Stretch:
    """An uninterrupted part of the trace: pages `first` to `last` (not included), in seconds since the first page."""

    first: int
    last: int
    begin: float
    end: float
    used: bool

    @property
    def pages(self) -> int:
        """Number of pages."""
        return self.last - self.first


@dataclass(frozen=True)
class Cleaning:
    """What was cut and why.

    Attributes
    ----------
    rule, limit : str, float
        How pauses were found, and the gap in seconds above which they are.
    pauses, paused_seconds : int, float
        Gaps that were cut, and their sum.
    runs : int
        Those of them that were cut because the log marks the beginning of a run, or its clock was set back.
    stretches : tuple of Stretch
        What is left.
    scv_before, scv_after : float
        Squared coefficient of variation of all gaps, and of those within the used stretches.
    words : tuple of str
        What the reader should know, as sentences.
    span : float
        Seconds from the first page to the last.
    """

    rule: str
    limit: float
    pauses: int
    paused_seconds: float
    runs: int
    stretches: tuple[Stretch, ...]
    scv_before: float
    scv_after: float
    words: tuple[str, ...] = ()
    span: float = 0.0

    @property
    def paused_share(self) -> float:
        """Share of the time from the first page to the last that was cut."""
        return self.paused_seconds / self.span if self.span > 0 else 0.0

    @property
    def cut_words(self) -> tuple[str, ...]:
        """A sentence of what was cut, where that is most of the time; nothing where the words tell it already."""
        if self.paused_share <= MOST_CUT or any("cut as pauses" in one for one in self.words):
            return ()
        above = f" of more than {self.limit:.4g} s" if math.isfinite(self.limit) else ""
        runs = f", {self.runs} of them since a run began there," if self.runs else ""
        cut = "1 gap was cut as a pause" if self.pauses == 1 else f"{self.pauses} gaps{above} were cut as pauses"
        words = (
            f"{cut}{runs} and {self.paused_share:.0%} of the time with {'it' if self.pauses == 1 else 'them'}: the "
            "model is that of the crawler while it runs; what is no pause is kept with a larger --pause"
        )
        return (words,)

    @property
    def pages(self) -> int:
        """Pages of the used stretches."""
        return sum(stretch.pages for stretch in self.stretches if stretch.used)

    def stretch_numbers(self, pages: int) -> npt.NDArray[np.signedinteger[Any]]:
        """For each of all pages of the log the number of its used stretch, from 0; -1 where it is in none."""
        used = [one for one in self.stretches if one.used]
        numbers = np.full(pages, -1, dtype=integers_up_to(len(used)))
        for number, one in enumerate(used):
            numbers[one.first : one.last] = number
        return numbers

    def parts(self, seconds: Float) -> list[Float]:
        """The times of each used stretch, out of the times of all pages."""
        return [seconds[stretch.first : stretch.last] for stretch in self.stretches if stretch.used]


def scv(gaps: Float) -> float:
    """Squared coefficient of variation; NaN for fewer than two gaps or a mean of zero."""
    if gaps.size < 2 or gaps.mean() <= 0:
        return math.nan
    return float(gaps.var() / gaps.mean() ** 2)


def clean(
    seconds: Float,
    *,
    pause: float | None = None,
    pause_quantile: float | None = None,
    stretch: str | int = "all",
    run_starts: Float | None = None,
    resolution: float = 0.0,
    seed: int = 0,
) -> Cleaning:
    """Cut the pauses out of a trace of times.

    Parameters
    ----------
    seconds : array
        Times of the pages, never falling.
    pause : float, optional
        Gaps above it are pauses.
    pause_quantile : float, optional
        Gaps above this quantile are pauses.
    stretch : {"all", "longest"} or int
        Which stretches are used: all that have `MIN_PAGES` pages (all with a gap, if most pages lie in shorter ones),
        the one with most pages, or that of a number (from 1).
    run_starts : array, optional
        Times at which the log says that a run began; the gap that holds such a time is a pause.
    resolution : float
        The clock's step in seconds; 0: all times are exact.
    seed : int
        Of the moments within the ticks.

    Raises
    ------
    InputError
        For a limit that is not positive, both limits at once, or a stretch that does not exist.
    """
    gaps = np.diff(seconds)
    marked = np.zeros(gaps.size, dtype=bool)
    if run_starts is not None:
        before = np.searchsorted(seconds, run_starts)
        marked[before[(before > 0) & (before < seconds.size)] - 1] = True
    rule, limit = _limit(gaps[~marked] if marked.any() else gaps, pause, pause_quantile)
    fine = gaps
    if rule == "auto" and resolution > 0 and count_ticks([seconds], resolution).by_chance:
        fine = np.diff(spread(seconds, resolution, np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(4,)))))
        limit = auto_limit(fine[~marked]) + resolution
    cuts = np.flatnonzero(marked | (gaps > limit))
    first = np.concatenate([[0], cuts + 1])
    last = np.concatenate([cuts + 1, [seconds.size]])
    pages = last - first
    used = _used(pages, stretch)
    stretches = tuple(
        Stretch(int(a), int(b), float(seconds[a]), float(seconds[b - 1]), bool(u))
        for a, b, u in zip(first, last, used)
        if b > a
    )
    paused, scv_before = float(gaps[cuts].sum()), scv(gaps)
    words = _doubtful_pauses(gaps, fine > 0, ~marked & (gaps > limit)) if rule == "auto" else ()
    scv_after = scv(_inside(gaps, stretches))
    del gaps
    return Cleaning(
        rule=rule,
        limit=limit,
        pauses=int(cuts.size),
        paused_seconds=paused,
        runs=int(np.count_nonzero(marked)),
        stretches=stretches,
        scv_before=scv_before,
        scv_after=scv_after,
        words=(*words, *_concentration(_inside(fine, stretches))),
        span=float(seconds[-1] - seconds[0]) if seconds.size else 0.0,
    )


def _inside(gaps: Float, stretches: tuple[Stretch, ...]) -> Float:
    """The gaps within the used stretches."""
    return np.concatenate([gaps[s.first : s.last - 1] for s in stretches if s.used] or [np.zeros(0)])


def _doubtful_pauses(gaps: Float, positive: npt.NDArray[np.bool_], cut: npt.NDArray[np.bool_]) -> tuple[str, ...]:
    """A sentence where gaps were cut that may be the crawl's own: more than a few of them, or one after another.

    `positive` tells which gaps are more than ties.
    """
    own = gaps[cut]
    every = int(np.count_nonzero(positive))
    follow = own.size >= GROUP and in_runs(cut[positive], fewest=1)
    if own.size <= max(RARE * every, 3) and not follow:
        return ()
    words = (
        f"{own.size} of {every} gaps, of {own.min():.4g} s and more, hold {own.sum() / gaps.sum():.0%} of the time"
        f"{' and come one after another' if follow else ''}; they were cut as pauses: if the crawl itself is that slow "
        f"now and then, keep them with --pause {math.ceil(own.max())}"
    )
    return (words,)


def _concentration(gaps: Float) -> tuple[str, ...]:
    """A sentence where most of the time lies in a few gaps that were not cut; pages that come together have none."""
    every, gaps = gaps.size, gaps[gaps > 0]
    if gaps.size and between_batches(gaps, limit := BETWEEN * float(np.median(gaps))):
        gaps = gaps[gaps > limit]
        every = gaps.size
    ordered = np.sort(gaps)
    count = holding_half(ordered)
    if ordered.size < 100:
        return ()
    if count > FEW * ordered.size:
        limit = kinds_apart(ordered, every, SHALLOW, 0.5)
        if not math.isfinite(limit) or in_runs(gaps > limit):
            return ()
    words = (
        f"half of the time lies in {count} of {ordered.size} gaps, of {ordered[-count]:.4g} s and more, and they were "
        "not cut: if the crawler stood still then, give the limit with --pause"
    )
    return (words,)


def _limit(gaps: Float, pause: float | None, quantile: float | None) -> tuple[str, float]:
    if pause is not None and quantile is not None:
        raise InputError.at("pause", "pause and pause quantile must not both be given; got both")
    if pause is not None:
        if not pause > 0:
            raise InputError.at("pause", f"pause must be a positive number of seconds; got {pause!r}")
        return "given", float(pause)
    if quantile is not None:
        if not 0 < quantile <= 1:
            raise InputError.at("pause_quantile", f"pause quantile must be in (0, 1]; got {quantile!r}")
        return f"quantile {quantile:g}", float(np.quantile(gaps, quantile)) if gaps.size else math.inf
    return "auto", auto_limit(gaps)


def _used(pages: npt.NDArray[np.intp], stretch: str | int) -> npt.NDArray[np.bool_]:
    if stretch == "longest":
        return np.asarray(np.arange(pages.size) == int(np.argmax(pages)))
    if stretch == "all":
        enough = pages >= MIN_PAGES
        # Where the crawl was stopped so often that most pages lie in short stretches, those tell most of it.
        used = enough if 2 * pages[enough].sum() >= pages.sum() else pages > 1
        return np.asarray(used if used.any() else np.arange(pages.size) == int(np.argmax(pages)))
    number = int(stretch) if str(stretch).isdigit() else 0
    if not 1 <= number <= pages.size:
        raise InputError.at(
            "stretch", f"stretch must be all, longest or a number from 1 to {pages.size}; got {stretch!r}"
        )
    return np.asarray(np.arange(pages.size) == number - 1)
