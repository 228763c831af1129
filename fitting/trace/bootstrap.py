r"""Intervals for correlated traces: the stationary block bootstrap of Politis and Romano (JASA 89, 1994).

Blocks of geometric length, of mean b, are laid end to end until the trace's length is reached; a block that runs
into the end of a stretch goes on at a new place. The mean length is that of Politis and White (Econometric Rev. 23,
2004, with the correction of 2009), :math:`b = (2\hat G^2/\hat D)^{1/3} n^{1/3}` with :math:`\hat G = \sum_k
w(k/M)|k|\hat R(k)`, :math:`\hat D = 2 (\sum_k w(k/M) \hat R(k))^2`, :math:`\hat R` the autocovariances, w the
flat-top window and M twice the lag from which on five correlations in a row (more for long traces) are not
significant. By fast Fourier transforms this is O(n log n).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from crawltwin.model.interval import Interval, ends_of_draws
from crawltwin.work.compiling import njit
from fitting.trace.segments import Float, Segments
from fitting.trace.statistics import correlations

Trace = TypeVar("Trace", bound=Segments)
LONG_TRACE = 200_000
"""Gaps above which a part of the trace is resampled."""
PARTS = 40
"""Blocks of which such a part is made."""


def block_length(data: Segments) -> float:
    """Mean block length for the mean of the gaps, between 1 and a tenth of the trace."""
    n = len(data)
    if n < 20 or data.gaps.var() <= 0:
        return 1.0
    quiet = max(5, math.ceil(math.sqrt(math.log10(n))))
    reach = min(n // 4, math.ceil(math.sqrt(n)) + quiet + 200)
    rho = np.nan_to_num(correlations(data, reach))
    significant = np.abs(rho) >= 2 * math.sqrt(math.log10(n) / n)
    loud = np.flatnonzero(significant)
    first_quiet = 1
    if loud.size:
        run = np.concatenate([[0], np.cumsum(significant)])
        starts = np.flatnonzero(run[quiet:] - run[:-quiet] == 0)
        first_quiet = int(starts[0]) + 1 if starts.size else int(loud[-1]) + 2
    window = min(2 * max(first_quiet - 1, 1), reach)
    lags = np.arange(1, window + 1)
    weight = np.clip(2 * (1 - lags / window), 0.0, 1.0) if window > 1 else np.ones(1)
    G = 2 * float(np.sum(weight * lags * rho[:window]))
    level = 1 + 2 * float(np.sum(weight * rho[:window]))
    if level <= 0:
        return 1.0
    length = (2 * G * G / (2 * level * level)) ** (1 / 3) * n ** (1 / 3)
    return float(min(max(length, 1.0), n / 10, 3 * math.sqrt(n)))


def resample(data: Segments, length: float, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Indices of one resampled trace, as long as `data`, never running across a cut."""
    n = len(data)
    ends = np.zeros(n, dtype=bool)
    ends[[piece.stop - 1 for piece in data.stretches()]] = True
    fresh = rng.random(n) < 1 / length
    return np.asarray(_laid(fresh, rng.integers(0, n, size=n), ends))


@njit(cache=True, nogil=True)
def _laid(fresh: npt.NDArray[np.bool_], begins: npt.NDArray[np.int64], ends: npt.NDArray[np.bool_]) -> Any:
    """Blocks laid end to end; one that reaches the end of a stretch is over, and a new one begins."""
    index = np.empty_like(begins)
    at = 0
    for i in range(begins.size):
        at = begins[i] if i == 0 or fresh[i] or ends[at] else at + 1
        index[i] = at
    return index


def resampled(data: Trace, length: float, rng: np.random.Generator) -> Trace:
    r"""One resampled trace to be fitted, with a cut wherever a block ends.

    Blocks have a mean length of :math:`\sqrt n` at least. A length that serves the mean of the gaps is about 1 where
    they are not correlated, and a trace in pieces of one gap tells a model with hidden states nothing of what follows
    what: the rates of such refits scattered ten times as far as they should.
    """
    index = resample(data, max(length, math.sqrt(len(data))), rng)
    breaks = np.concatenate([[0], np.flatnonzero(np.diff(index) != 1) + 1])
    return type(data)(data.gaps[index], data.sizes[index], breaks)


def intervals(
    data: Segments,
    statistic: Callable[[Float, npt.NDArray[np.int64]], dict[str, float]],
    *,
    repetitions: int = 200,
    seed: int = 0,
    length: float | None = None,
) -> dict[str, Interval]:
    """Intervals of every number that `statistic(gaps, batch sizes)` returns, by basic percentile.

    Of a trace of more than `LONG_TRACE` gaps, blocks spread over it are resampled. An interval becomes narrower with
    the square root of the trace's length, and is placed around the number of the whole trace.

    Cost: `repetitions` evaluations of the statistic on at most `LONG_TRACE` gaps, and one on all.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2,)))
    mean_length = block_length(data) if length is None else length
    part = data.sample(LONG_TRACE, PARTS)
    found = statistic(part.gaps, part.sizes)
    drawn: dict[str, list[float]] = {name: [] for name in found}
    for _ in range(repetitions):
        index = resample(part, mean_length, rng)
        for name, value in statistic(part.gaps[index], part.sizes[index]).items():
            drawn[name].append(value)
    result = percentile_intervals(found, drawn)
    return result if part is data else narrowed(result, statistic(data.gaps, data.sizes), len(part) / len(data))


def narrowed(part: dict[str, Interval], whole: dict[str, float], share: float) -> dict[str, Interval]:
    """Intervals found on a part of the trace as those of the whole, of which the part is this share."""
    shrink = math.sqrt(share)

    def around(name: str, value: float) -> Interval:
        seen = part[name]
        return Interval(value, value + shrink * (seen.low - seen.value), value + shrink * (seen.high - seen.value))

    return {name: around(name, value) for name, value in whole.items()}


def percentile_intervals(
    found: dict[str, float], drawn: dict[str, list[float]], fewest: int = 1
) -> dict[str, Interval]:
    """Each number with the ends of its redrawn values; NaN for both ends where fewer than `fewest` are finite."""
    result = {}
    for name, value in found.items():
        values = np.array([one for one in drawn[name] if math.isfinite(one)])
        low, high = ends_of_draws(values) if values.size >= fewest else (math.nan, math.nan)
        result[name] = Interval(value, low, high)
    return result
