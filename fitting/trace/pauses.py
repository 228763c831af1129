"""The gap above which a crawler was stopped, found from the gaps themselves.

*The tail.* The largest hundredth of the gaps fixes a power-law tail by the median of its log excesses (which a few
pauses cannot move), and a gap that such a tail would show once in e^5 traces of this length is a pause; and where the
sorted gaps jump by a factor of `JUMP` or more above their median, and few lie beyond the jump, these are pauses. A
lawful heavy tail passes, a stopped crawl does not.

*A tail of pauses.* Where a few gaps (`RARE`) hold half of the time, the tail itself may be made of pauses and tells
nothing about them. Then a jump by a factor of `SMALL_JUMP` with at least `GROUP` gaps beyond it is enough. Without such
a jump the tail is taken from the quantiles below the rare gaps, and cut only if what is cut holds half of the time.

*Gaps apart.* What is left may still be two kinds of gaps: a valley of the density on a logarithmic scale, as wide as a
factor of `SMALL_JUMP` and at most `DEPTH` times as dense as the longer kind. If the longer kind is at most `APART` of
the gaps and holds most of the time, these are pauses. Heavy tails (Pareto, lognormal, a slow exponential among fast
ones) have no such valley.

Two things are no pauses, however far apart. A slow *regime*: its long gaps come in runs, pauses one by one. And gaps
between *batches*: what lies between two of them lasts `MOMENT` on average, or two ticks of the clock, too short for a
run of a crawler.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from crawltwin.work.memory import row_blocks

Float = npt.NDArray[np.float64]

JUMP = 20.0
SMALL_JUMP = 3.0
GROUP = 5
RARE = 0.03
"""Largest share of the gaps that may lie beyond a jump for them to be pauses."""
APART = 1 / 16
"""Largest share of the gaps that may be pauses at all: between more of them so few pages lie that they are batches."""
MOST_TIME = 0.75
"""Share of the time that another kind of gaps must hold to be pauses."""
DEPTH = 0.1
SHALLOW = 0.5
"""As `DEPTH`, for a valley that leaves it open whether there are two kinds of gaps."""
RUNS = 0.5
"""Share of the long gaps that follow another one from which on they are a regime, if there are `GROUP` such runs."""
MOMENT = 2.0
"""Seconds: pages that come together come within so short a time."""
STILL = 0.05
"""Share of the time in which pages that come in batches come at most."""


def auto_limit(gaps: Float) -> float:
    """The gap above which the crawler was stopped, by the rules in this file's head; infinite where there is none.

    Parameters
    ----------
    gaps : array
        In the order of the log: the order tells pauses from a slow regime.
    """
    positive = gaps[gaps > 0]
    ordered = np.sort(positive)
    limit = _beyond_the_others(ordered)
    if not _pauses(positive, limit):
        limit = math.inf
    apart = kinds_apart(ordered[: np.searchsorted(ordered, limit, side="right")], gaps.size)
    return min(limit, apart) if _pauses(positive, apart) else limit


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


def in_runs(long: npt.NDArray[np.bool_], fewest: int = GROUP) -> bool:
    """Whether long gaps come in runs, `fewest` of them or more, as those of a slow regime that comes and goes do.

    Parameters
    ----------
    long : array of bool
        Which gaps are long, in the order of the log.
    """
    count = int(np.count_nonzero(long))
    followers = int(np.count_nonzero(long[1:] & long[:-1]))
    return count - followers >= fewest and followers > RUNS * count


def between_batches(gaps: Float, limit: float) -> bool:
    """Whether gaps above the limit lie between batches: what lies between them lasts a moment and is hardly any time.

    The long gaps must come one by one: busy and quiet spells of a fast stream are no batches.
    """
    long = gaps > limit
    count = int(np.count_nonzero(long))
    if count < GROUP or in_runs(long):
        return False
    short = float(gaps[~long].sum())
    moment = max(MOMENT, 2 * float(gaps.min()))
    return short <= moment * count and short <= STILL * float(gaps.sum())


def _pauses(gaps: Float, limit: float) -> bool:
    """Whether the gaps above the limit are neither a slow regime nor those between batches."""
    return not (math.isfinite(limit) and (in_runs(gaps > limit) or between_batches(gaps, limit)))


def _beyond_the_others(ordered: Float) -> float:
    """The limit by the tail and by jumps, with few gaps beyond it; infinite where there is none."""
    n = ordered.size
    limit = math.inf
    if n >= 20:
        share = 0.01 if n >= 1000 else 0.05 if n >= 200 else 0.1
        threshold = float(np.quantile(ordered, 1 - share))
        excess = np.log(ordered[ordered > threshold] / threshold)
        spread = float(np.median(excess)) / math.log(2) if excess.size else 0.0
        limit = _beyond_tail(threshold, share * n, spread)
        if holding_half(ordered) <= RARE * n:
            limit = min(limit, _limit_below_rare(ordered))
    upper = ordered[n // 2 :]
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


def kinds_apart(ordered: Float, every: int, depth: float = DEPTH, holds: float = MOST_TIME) -> float:
    """The middle of the deepest valley below a kind of long gaps that is rare and holds most of the time.

    Parameters
    ----------
    ordered : array
        The gaps that are not zero, from the smallest to the largest.
    every : int
        How many gaps there are, those of zero too: a coarse clock makes many of them.
    depth, holds : float
        How dense the valley may be relative to the longer kind, and the least share of the time that this holds.

    Returns
    -------
    float
        Infinite where there is no such valley.
    """
    n = ordered.size
    most = min(int(APART * every), n // 2)
    if most < GROUP:
        return math.inf
    # Windows of equal width on the logarithmic scale, eight to a factor of SMALL_JUMP.
    width = math.log(SMALL_JUMP)
    begins = np.exp(np.arange(math.log(ordered[n // 2]), math.log(ordered[-1]), width / 8))
    inside = np.searchsorted(ordered, begins * SMALL_JUMP) - np.searchsorted(ordered, begins)
    # The densest window of those that begin where a window ends, or later.
    later = np.append(inside[8:], np.zeros(min(8, inside.size), dtype=inside.dtype))
    densest = np.maximum.accumulate(later[::-1])[::-1]
    limits = begins * math.sqrt(SMALL_JUMP)
    first = np.searchsorted(ordered, limits, side="right")
    beyond = n - first
    rest = ordered[n - most :]
    held = np.append(np.cumsum(rest[::-1])[::-1], 0.0)[np.clip(first - (n - most), 0, most)]
    deep = (inside <= depth * densest) & (beyond >= GROUP) & (beyond <= most) & (held >= holds * ordered.sum())
    if not deep.any():
        return math.inf
    share = np.where(deep, inside / np.maximum(densest, 1), np.inf)
    lowest = np.flatnonzero(share == share.min())
    return float(limits[lowest[lowest.size // 2]])
