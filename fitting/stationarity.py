r"""Does the trace keep its rate? Change points of the gap, and a daily cycle.

Change points: the trace is cut into windows of equally many gaps; the logarithms of their means are split in two
where the split lowers the sum of squares most, and again within the parts, as long as the gain exceeds :math:`12
\log(n)\,\hat\sigma^2` (a BIC with a margin). :math:`\hat\sigma^2` comes from differences of neighbouring windows,
or from the long-run variance of the gaps where that is larger, so that regimes much shorter than a window, which a
stationary model has too, raise no flag.

Daily cycle: counts in hours on a sine and a cosine of the hour of day, with a covariance that allows for correlated
errors (Newey and West, from statsmodels).
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np

from fitting.segments import Float, Segments

WINDOWS = 120
DAY = 86400.0
MIN_DAYS = 2.0
CHANGE = 1.5
"""Rates that differ by this factor count as changed; smaller steps matter to no buffer."""


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
        No change by a factor of `CHANGE`, and no daily cycle of 20 % or more.
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


def _split(values: Float, penalty: float, offset: int, found: list[int]) -> None:
    n = values.size
    if n < 10:
        return
    total = np.cumsum(values)
    k = np.arange(5, n - 4)
    left, right = total[k - 1] / k, (total[-1] - total[k - 1]) / (n - k)
    gain = k * (n - k) / n * (left - right) ** 2
    best = int(np.argmax(gain))
    if gain[best] <= penalty:
        return
    at = int(k[best])
    _split(values[:at], penalty, offset, found)
    found.append(offset + at)
    _split(values[at:], penalty, offset + at, found)


def change_points(data: Segments) -> tuple[int, ...]:
    """Gap numbers at which the level of the gaps changes, in order. Cost: a few passes."""
    n = len(data)
    windows = min(WINDOWS, n // 20)
    if windows < 20:
        return ()
    width = n // windows
    means = np.log(data.gaps[: windows * width].reshape(windows, width).mean(axis=1))
    noise = float(np.median(np.diff(means) ** 2)) / (2 * 0.4549)
    # Half of the trace's variance may be its own long correlation: the long-run variance of a window's mean.
    long_run = float(np.var(data.gaps)) * _long_run_factor(data, width) / width / float(data.gaps.mean()) ** 2
    found: list[int] = []
    _split(means, 12 * math.log(windows) * max(noise, long_run, 1e-12), 0, found)
    return tuple(at * width for at in found)


def _long_run_factor(data: Segments, width: int) -> float:
    from fitting.statistics import correlations

    reach = min(width // 2, len(data) // 4, 200)
    rho = np.nan_to_num(correlations(data, reach))
    stop = int(np.argmax(rho <= 0)) if (rho <= 0).any() else rho.size
    lags = np.arange(1, stop + 1)
    return float(1 + 2 * np.sum((1 - lags / width) * rho[:stop]))


def daily_cycle(times: Float, phase: float) -> tuple[float, float]:
    """Relative amplitude and p-value of a daily cycle; `times` in seconds, `phase` the time of day of the first.

    (NaN, NaN) for less than two days.
    """
    span = times[-1] - times[0] if times.size else 0.0
    if span < MIN_DAYS * DAY or times.size < 200:
        return math.nan, math.nan
    import statsmodels.api as sm

    hours = np.floor((times - times[0]) / 3600).astype(np.int64)
    counts = np.bincount(hours)[:-1].astype(np.float64)
    angle = 2 * np.pi * ((np.arange(counts.size) + 0.5) * 3600 + phase) / DAY
    design = np.column_stack([np.ones(counts.size), np.cos(angle), np.sin(angle)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = sm.OLS(counts, design).fit(cov_type="HAC", cov_kwds={"maxlags": 24})
        p = float(fitted.f_test(np.eye(3)[1:]).pvalue)
    return float(np.hypot(*fitted.params[1:]) / max(fitted.params[0], 1e-12)), p


def judge(data: Segments, times: Float, phase: float, calendar: bool) -> Stationarity:
    """Both checks together, in words."""
    points = change_points(data)
    parts = np.split(data.gaps, points)
    levels = tuple(float(part.mean()) for part in parts if part.size)
    ratio = max(levels) / min(levels) if levels else math.nan
    amplitude, p = daily_cycle(times, phase) if calendar else (math.nan, math.nan)
    words = []
    changed = bool(points) and ratio >= CHANGE
    if changed:
        words.append(
            f"the mean gap changes {len(points)} times, from {min(levels):.4g} s to {max(levels):.4g} "
            "s: one stationary "
            "model averages over parts that differ; fit a stretch, or the parts, on their own"
        )
    daily = bool(p < 0.01 and amplitude >= 0.2)
    if daily:
        words.append(f"the rate swings by {amplitude:.0%} over the day (p = {p:.1g}): fit the hours of interest alone")
    return Stationarity(points, levels, ratio, amplitude, p, not changed and not daily, tuple(words))
