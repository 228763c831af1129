r"""Does the trace keep its rate? Change points of the rate, and a daily cycle. Both see only the time that was run.

Change points: the trace is cut into windows, of equally many gaps and again of equally much time (a slow part has few
gaps, a fast one takes little time). The logarithms of the windows' rates are split in two where the split lowers the
sum of squares most, and again within the parts, as long as the gain exceeds :math:`12 \log(n)\,\hat\sigma^2` (a BIC
with a margin). :math:`\hat\sigma^2` is the variance at low frequencies of what the split leaves, the median of the
periodogram over the lowest eighth of the frequencies: the step that is tested is no part of it, and regimes that come
and go many times, which a stationary model has too, raise no flag.

Daily cycle: pages per running second of each hour on a sine and a cosine of the hour of day, with a covariance that
allows for correlated errors (Newey and West, from statsmodels). Hours in which the crawler mostly stood still do not
count.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np

from fitting.trace.cleaning import Cleaning
from fitting.trace.segments import Float, Int, Segments

WINDOWS = 120
PENALTY = 12.0
SHORTEST = 5
"""Windows that a part must have."""
HOUR, DAY = 3600.0, 86400.0
MIN_DAYS = 2.0
CHANGE = 1.5
"""Rates that differ by this factor count as changed; smaller steps matter to no buffer."""
SWING = 0.2
"""Half of the daily swing, relative to the mean, from which on it counts."""
SIGNIFICANT = 0.001
"""Of the daily cycle; with a few days the test itself is not exact, see docs/fitting.md for what it does."""


@dataclass(frozen=True)
class Stationarity:
    """What was found.

    Attributes
    ----------
    change_points : tuple of int
        Gap numbers at which the mean gap changes.
    levels : tuple of float
        Mean gap in each part.
    ratio : float
        Largest over smallest of them.
    daily_amplitude, daily_p : float
        Half of the swing of the daily cycle relative to the mean, and its p-value; NaN for less than two days.
    stationary : bool
        No change by a factor of `CHANGE`, and no daily cycle of `SWING` or more.
    words : tuple of str
        The findings as sentences.
    """

    change_points: tuple[int, ...]
    levels: tuple[float, ...]
    ratio: float
    daily_amplitude: float
    daily_p: float
    stationary: bool
    words: tuple[str, ...]


def _noise(left: Float) -> float:
    """Variance of independent windows that would be as loud at low frequencies as `left`."""
    power = np.abs(np.fft.rfft(left)) ** 2 / left.size
    lowest = power[1 : max(8, left.size // 8) + 1]
    # The ordinates of a periodogram are exponential: their median is log 2 of the mean.
    return float(np.median(lowest)) / math.log(2)


def _split(values: Float, penalty: float, offset: int, found: list[int]) -> None:
    n = values.size
    if n < 2 * SHORTEST:
        return
    total = np.cumsum(values)
    k = np.arange(SHORTEST, n - SHORTEST + 1)
    left, right = total[k - 1] / k, (total[-1] - total[k - 1]) / (n - k)
    gain = k * (n - k) / n * (left - right) ** 2
    best = int(np.argmax(gain))
    at = int(k[best])
    remains = np.concatenate([values[:at] - left[best], values[at:] - right[best]])
    if gain[best] <= penalty * max(_noise(remains), 1e-12):
        return
    _split(values[:at], penalty, offset, found)
    found.append(offset + at)
    _split(values[at:], penalty, offset + at, found)


def change_points(data: Segments) -> tuple[int, ...]:
    """Gap numbers at which the level of the gaps changes, in order. Cost: a few passes."""
    n = len(data)
    windows = min(WINDOWS, n // 20)
    if windows < 20:
        return ()
    ends = np.cumsum(data.gaps)
    by_gaps = np.arange(windows) * (n // windows)
    by_time = np.searchsorted(ends, ends[-1] * np.arange(windows) / windows)
    views = []
    for begins in (by_gaps, by_time):
        found: list[int] = []
        _split(_log_rates(ends, begins, begins is by_time), PENALTY * math.log(windows), 0, found)
        views.append(tuple(int(begins[at]) for at in found))
    return max(views, key=lambda points: _ratio(_levels(data, points)))


def _levels(data: Segments, points: tuple[int, ...]) -> tuple[float, ...]:
    """Mean gap in each part."""
    return tuple(float(part.mean()) for part in np.split(data.gaps, points) if part.size)


def _ratio(levels: tuple[float, ...]) -> float:
    return max(levels) / min(levels) if levels else math.nan


def _log_rates(ends: Float, begins: Int, even_time: bool) -> Float:
    """Logarithms of the rates in windows that begin at these gaps, of even time or of even numbers of gaps."""
    if even_time:
        # Half of a gap more: an empty window has a rate too, a low one.
        return np.log(np.diff([*begins, ends.size]) + 0.5)
    borders = np.concatenate([[0.0], ends])[[*begins, begins[1] * begins.size]]
    return -np.log(np.diff(borders))


def daily_cycle(parts: list[Float], phase: float) -> tuple[float, float]:
    """Relative amplitude and p-value of a daily cycle, over the hours in which the crawler ran at least half.

    Parameters
    ----------
    parts : list of array
        Times of the pages of each stretch, in seconds.
    phase : float
        The time of day at second 0.

    Returns
    -------
    tuple
        Half of the swing over the hours that were seen, relative to their mean, and the p-value; (NaN, NaN) for less
        than two days.
    """
    if not parts or parts[-1][-1] - parts[0][0] < MIN_DAYS * DAY or sum(part.size for part in parts) < 200:
        return math.nan, math.nan
    import statsmodels.api as sm

    begin = parts[0][0]
    hours = int((parts[-1][-1] - begin) / HOUR)
    borders = begin + HOUR * np.arange(hours + 1)
    pages, running = np.zeros(hours), np.zeros(hours)
    for part in parts:
        pages += np.diff(np.searchsorted(part, borders))
        running += np.diff(np.clip(borders, part[0], part[-1]))
    ran = running >= HOUR / 2
    rates = pages[ran] / running[ran]
    angle = 2 * np.pi * (borders[:-1][ran] + HOUR / 2 + phase) / DAY
    design = np.column_stack([np.ones(rates.size), np.cos(angle), np.sin(angle)])
    if rates.size < 24 or np.linalg.matrix_rank(design) < 3:
        return math.nan, math.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = sm.OLS(rates, design).fit(cov_type="HAC", cov_kwds={"maxlags": 24})
        p = float(fitted.f_test(np.eye(3)[1:]).pvalue)
    swing = np.ptp(design[:, 1:] @ fitted.params[1:])
    return float(swing / 2 / max(rates.mean(), 1e-300)), p


def judge(data: Segments, cleaning: Cleaning, seconds: Float, phase: float | None) -> Stationarity:
    """Both checks together, in words; `phase` is the time of day at second 0, None where there is no calendar."""
    points = change_points(data)
    levels = _levels(data, points)
    ratio = _ratio(levels)
    amplitude, p = (math.nan, math.nan) if phase is None else daily_cycle(cleaning.parts(seconds), phase)
    daily = bool(p < SIGNIFICANT and amplitude >= SWING)
    changed = bool(points) and ratio >= CHANGE
    words = []
    # A daily cycle is itself a change of the mean gap; it is told once.
    if changed and not (daily and ratio <= 1.2 * (1 + amplitude) / max(1 - amplitude, 0.01)):
        words.append(
            f"the mean gap changes {len(points)} times, between {min(levels):.4g} s and {max(levels):.4g} s: one "
            "stationary model averages over parts that differ; fit a stretch, or the parts, on their own"
        )
    if daily:
        words.append(f"the rate swings by {amplitude:.0%} over the day (p = {p:.1g}): fit the hours of interest alone")
    return Stationarity(points, levels, ratio, amplitude, p, not changed and not daily, tuple(words))
