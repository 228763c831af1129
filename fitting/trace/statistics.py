"""Numbers of a trace: correlations and indices of dispersion, within stretches and never across a cut."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.fft import irfft, next_fast_len, rfft

from fitting.trace.segments import Float, Segments


def correlations(data: Segments, lags: int) -> Float:
    """Correlations at lags 1 to `lags`, within stretches only, by fast Fourier transforms; NaN without variance."""
    mean, variance = data.gaps.mean(), data.gaps.var()
    if variance <= 0:
        return np.full(lags, math.nan)
    product, pairs = np.zeros(lags), np.zeros(lags)
    for piece in data.stretches():
        part = data.gaps[piece] - mean
        size = next_fast_len(2 * part.size)
        spectrum = rfft(part, size)
        own = irfft(spectrum * spectrum.conj(), size)
        reach = min(lags, part.size - 1)
        product[:reach] += own[1 : reach + 1]
        pairs[:reach] += part.size - np.arange(1, reach + 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(pairs >= 10, product / np.maximum(pairs, 1) / variance, math.nan))


def interval_dispersion(data: Segments, spans: npt.NDArray[np.int64]) -> Float:
    """Index of dispersion for intervals: variance of the sum of n gaps over n times the squared mean, for each n."""
    mean = data.gaps.mean()
    result = []
    for n in spans:
        sums = [_block_sums(data.gaps[piece], int(n)) for piece in data.stretches()]
        joined = np.concatenate(sums) if sums else np.zeros(0)
        result.append(joined.var() / (n * mean**2) if joined.size >= 8 else math.nan)
    return np.array(result)


def _block_sums(column: Float, n: int) -> Float:
    """Sums over overlapping blocks of n, half of a block apart."""
    if column.size < n:
        return np.zeros(0)
    sums = np.concatenate([[0.0], np.cumsum(column)])
    starts = np.arange(0, column.size - n + 1, max(n // 2, 1))
    return np.asarray(sums[starts + n] - sums[starts])


def count_dispersion(data: Segments, horizons: Float) -> Float:
    """Index of dispersion for counts: variance over mean of the pages in windows of each length, half of one apart."""
    result = []
    for horizon in horizons:
        counts = []
        for piece in data.stretches():
            times = np.cumsum(data.gaps[piece])
            pages = np.concatenate([[0], np.cumsum(data.sizes[piece])])
            starts = np.arange(0.0, times[-1] - horizon, horizon / 2)
            if starts.size:
                counts.append(pages[np.searchsorted(times, starts + horizon)] - pages[np.searchsorted(times, starts)])
        joined = np.concatenate(counts) if counts else np.zeros(0)
        result.append(joined.var() / joined.mean() if joined.size >= 8 and joined.mean() > 0 else math.nan)
    return np.array(result)
