"""Pauses found and cut: what is left are stretches in which the crawler ran.

A run that the log marks ends a stretch whatever the gap. Three rules find the other pauses. *Given*: a limit in
seconds. *Quantile*: every gap above a quantile. *Auto*, from the gaps themselves: the largest hundredth of the gaps
fixes a power-law tail by the median of its log excesses (which a few pauses cannot move), and a gap that such a tail
would show once in e^5 traces of this length is a pause; and where the sorted gaps jump by a factor of 20 or more above
their median, and few lie beyond the jump, these are pauses. A lawful heavy tail passes, a stopped crawl does not.

Where a few gaps (`RARE`) hold half of the time, the tail itself may be made of pauses and tells nothing about them.
Then a jump by a factor of `SMALL_JUMP` with at least `GROUP` gaps beyond it is enough. Without such a jump the tail is
taken from the quantiles below the rare gaps, and cut only if what is cut holds half of the time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from crawltwin.model.errors import InputError
from crawltwin.work.memory import integers_up_to, row_blocks

Float = npt.NDArray[np.float64]

MIN_PAGES = 30
"""Pages that a stretch must have to be used, unless it is the only one."""
JUMP = 20.0
SMALL_JUMP = 3.0
GROUP = 5
RARE = 0.03
"""Largest share of the gaps that may lie beyond a jump for them to be pauses."""
FEW = 0.01
"""If so few of the uncut gaps hold half of the time, the reader is told."""


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
        Those of them that were cut because the log marks the beginning of a run.
    stretches : tuple of Stretch
        What is left.
    scv_before, scv_after : float
        Squared coefficient of variation of all gaps, and of those within the used stretches.
    words : tuple of str
        What the reader should know, as sentences.
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


def holding_half(ordered: Float) -> int:
    """How many of the largest gaps hold half of the time; `ordered` from the smallest gap to the largest."""
    # Sums up to the end of each block, then the one block in which half is reached: added in the same order.
    largest, sums = ordered[::-1], [0.0]
    for part in row_blocks(largest.size):
        sums.append(float(_summed(largest[part], sums[-1])[-1]))
    if not largest.size:
        return 0
    half = sums[-1] / 2
    for part, before, after in zip(row_blocks(largest.size), sums, sums[1:]):
        if after >= half:
            return int(part.start + np.searchsorted(_summed(largest[part], before), half)) + 1
    raise AssertionError("the gaps must hold half of their sum; got none that do")


def _summed(values: Float, before: float) -> Float:
    """Sums up to each value, on top of what came before it."""
    first = values[:1] + before
    return np.cumsum(np.concatenate([first, values[1:]]))


def auto_limit(gaps: Float) -> float:
    """The gap above which the crawler was stopped, by the rule in this file's head; infinite where there is none."""
    positive = gaps[gaps > 0]
    positive.sort()
    n = positive.size
    limit = math.inf
    if n >= 20:
        share = 0.01 if n >= 1000 else 0.05 if n >= 200 else 0.1
        threshold = float(np.quantile(positive, 1 - share))
        excess = np.log(positive[positive > threshold] / threshold)
        spread = float(np.median(excess)) / math.log(2) if excess.size else 0.0
        limit = _beyond_tail(threshold, share * n, spread)
        if holding_half(positive) <= RARE * n:
            limit = min(limit, _limit_below_rare(positive))
    upper = positive[n // 2 :]
    if upper.size >= 10:
        jumps = upper[1:] / upper[:-1]
        # Many gaps beyond a jump are those between batches; a crawl is stopped seldom.
        beyond = np.arange(jumps.size, 0, -1)
        wide = np.flatnonzero((jumps >= JUMP) & (beyond <= max(3.0, RARE * n)))
        if wide.size:
            limit = min(limit, _middle(upper, int(wide[0])))
    return limit


def _beyond_tail(threshold: float, beyond: float, spread: float) -> float:
    """The gap that a power-law tail shows once in e^5 traces; `beyond` gaps of this trace lie above the threshold."""
    # A tail of whole clock ticks may have no spread at its median; a tenth is that of an exponential there.
    return float(threshold * (beyond * math.exp(5)) ** max(spread, 0.1))


def _middle(ordered: Float, at: int) -> float:
    return math.sqrt(float(ordered[at]) * float(ordered[at + 1]))


def _limit_below_rare(ordered: Float) -> float:
    """The limit where the tail may be made of pauses: the widest jump, or the tail of the gaps that are not rare."""
    n = ordered.size
    few = ordered[n - int(RARE * n) - 1 :]
    jumps = few[1:] / few[:-1]
    jumps[np.arange(jumps.size, 0, -1) < GROUP] = 0.0
    if jumps.size and jumps.max() >= SMALL_JUMP:
        return _middle(few, int(np.argmax(jumps)))
    low, high = (float(q) for q in np.quantile(ordered, (0.9, 1 - RARE)))
    limit = _beyond_tail(high, RARE * n, math.log(high / low) / math.log(0.1 / RARE))
    limit = max(limit, JUMP * float(np.median(ordered)))
    return limit if ordered[ordered > limit].sum() >= ordered.sum() / 2 else math.inf


def clean(
    seconds: Float,
    *,
    pause: float | None = None,
    pause_quantile: float | None = None,
    stretch: str | int = "all",
    run_starts: Float | None = None,
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
        Which stretches are used: all that have `MIN_PAGES` pages, the one with most pages, or that of a number
        (from 1).
    run_starts : array, optional
        Times at which the log says that a run began; the gap that holds such a time is a pause.

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
    inside = np.concatenate([gaps[s.first : s.last - 1] for s in stretches if s.used] or [np.zeros(0)])
    del gaps
    scv_after = scv(inside)
    inside.sort()
    return Cleaning(
        rule=rule,
        limit=limit,
        pauses=int(cuts.size),
        paused_seconds=paused,
        runs=int(np.count_nonzero(marked)),
        stretches=stretches,
        scv_before=scv_before,
        scv_after=scv_after,
        words=_concentration(inside),
    )


def _concentration(ordered: Float) -> tuple[str, ...]:
    """A sentence where most of the time lies in a few gaps that were not cut; pages of one moment have no gap."""
    ordered = ordered[np.searchsorted(ordered, 0.0, side="right") :]
    count = holding_half(ordered)
    if ordered.size < 100 or count > FEW * ordered.size:
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
        return np.asarray(enough if enough.any() else np.arange(pages.size) == int(np.argmax(pages)))
    number = int(stretch) if str(stretch).isdigit() else 0
    if not 1 <= number <= pages.size:
        raise InputError.at(
            "stretch", f"stretch must be all, longest or a number from 1 to {pages.size}; got {stretch!r}"
        )
    return np.asarray(np.arange(pages.size) == number - 1)
