"""Pauses found and cut: what is left are stretches in which the crawler ran.

Three rules. *Given*: a limit in seconds. *Quantile*: every gap above a quantile. *Auto*, from the gaps themselves:
the largest hundredth of the gaps fixes a power-law tail by the median of its log excesses (which a few pauses
cannot move), and a gap that such a tail would show once in e^5 traces of this length is a pause; and where the
sorted gaps jump by a factor of 20 or more above their median, and few lie beyond the jump, these are pauses. A lawful
heavy tail passes, a stopped crawl does not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crawltwin.model.errors import Fault, InputError

Float = npt.NDArray[np.float64]

MIN_PAGES = 30
"""Pages that a stretch must have to be used, unless it is the only one."""
JUMP = 20.0
RARE = 0.03
"""Largest share of the gaps that may lie beyond a jump for them to be pauses."""


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
    """What was cut and why."""

    rule: str
    limit: float
    pauses: int
    paused_seconds: float
    stretches: tuple[Stretch, ...]
    scv_before: float
    scv_after: float
    max_gap: float


def scv(gaps: Float) -> float:
    """Squared coefficient of variation; NaN for fewer than two gaps or a mean of zero."""
    if gaps.size < 2 or gaps.mean() <= 0:
        return math.nan
    return float(gaps.var() / gaps.mean() ** 2)


def auto_limit(gaps: Float) -> float:
    """The gap above which the crawler was stopped, by the rule in this file's head; infinite where there is none."""
    positive = np.sort(gaps[gaps > 0])
    n = positive.size
    if n < 20:
        limit = math.inf
    else:
        share = 0.01 if n >= 1000 else 0.05 if n >= 200 else 0.1
        threshold = float(np.quantile(positive, 1 - share))
        excess = np.log(positive[positive > threshold] / threshold)
        spread = float(np.median(excess)) / math.log(2) if excess.size else 0.0
        # A tail of whole clock ticks may have no spread at its median; a tenth is that of an exponential there.
        limit = threshold * (share * n * math.exp(5)) ** max(spread, 0.1)
    upper = positive[n // 2 :]
    if upper.size >= 10:
        jumps = upper[1:] / upper[:-1]
        # Many gaps beyond a jump are those between batches; a crawl is stopped seldom.
        beyond = np.arange(jumps.size, 0, -1)
        wide = np.flatnonzero((jumps >= JUMP) & (beyond <= max(3.0, RARE * n)))
        if wide.size:
            at = int(wide[0])
            limit = min(limit, math.sqrt(float(upper[at]) * float(upper[at + 1])))
    return limit


def clean(
    seconds: Float,
    *,
    pause: float | None = None,
    pause_quantile: float | None = None,
    stretch: str | int = "all",
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

    Raises
    ------
    InputError
        For a limit that is not positive, both limits at once, or a stretch that does not exist.
    """
    gaps = np.diff(seconds)
    rule, limit = _limit(gaps, pause, pause_quantile)
    cuts = np.flatnonzero(gaps > limit)
    first = np.concatenate([[0], cuts + 1])
    last = np.concatenate([cuts + 1, [seconds.size]])
    pages = last - first
    used = _used(pages, stretch)
    stretches = tuple(
        Stretch(int(a), int(b), float(seconds[a]), float(seconds[b - 1]), bool(u))
        for a, b, u in zip(first, last, used)
        if b > a
    )
    inside = np.concatenate([gaps[s.first : s.last - 1] for s in stretches if s.used] or [np.zeros(0)])
    return Cleaning(
        rule,
        limit,
        int(cuts.size),
        float(gaps[cuts].sum()),
        stretches,
        scv(gaps),
        scv(inside),
        float(gaps.max()) if gaps.size else math.nan,
    )


def _limit(gaps: Float, pause: float | None, quantile: float | None) -> tuple[str, float]:
    if pause is not None and quantile is not None:
        raise InputError([Fault("pause", "pause and pause quantile must not both be given; got both")])
    if pause is not None:
        if not pause > 0:
            raise InputError([Fault("pause", f"pause must be a positive number of seconds; got {pause!r}")])
        return "given", float(pause)
    if quantile is not None:
        if not 0 < quantile <= 1:
            raise InputError([Fault("pause_quantile", f"pause quantile must be in (0, 1]; got {quantile!r}")])
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
        raise InputError(
            [
                Fault(
                    "stretch",
                    f"stretch must be all, longest or a number from 1 to {pages.size}; got {stretch!r}",
                )
            ]
        )
    return np.asarray(np.arange(pages.size) == number - 1)
