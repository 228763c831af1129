"""Numbers of a trace: correlations and indices of dispersion, within stretches and never across a cut.

A number over some reach (a lag, several gaps, a time) is only told where long stretches show it. Of many short ones,
few reach that far, and those that do are the slow ones: what they show is not what the trace is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.fft import irfft, next_fast_len, rfft

from fitting.trace.segments import Float, Segments

LONG = 2**19
"""Numbers of which one Fourier transform is made at most."""
TOLD = 0.5
"""Share of the trace that must tell of a reach."""
ROOM = 4
"""Windows that a stretch must have room for, to tell of them."""
WINDOWS = 1_000_000
"""Windows in which pages are counted at most."""


def correlations(data: Segments, lags: int) -> Float:
    """Correlations at lags 1 to `lags`, within stretches only, by fast Fourier transforms; NaN where not told."""
    mean, variance = data.gaps.mean(), data.gaps.var()
    if variance <= 0:
        return np.full(lags, math.nan)
    product, pairs = np.zeros(lags), np.zeros(lags)
    for piece in data.stretches():
        count = piece.stop - piece.start
        reach = min(lags, count - 1)
        product[:reach] += _products(data.gaps[piece], mean, reach)
        pairs[:reach] += count - np.arange(1, reach + 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(
            np.where(pairs >= max(10, TOLD * len(data)), product / np.maximum(pairs, 1) / variance, math.nan)
        )


def _products(column: Float, mean: float, lags: int) -> Float:
    """Sums of the products of the column's deviations from the mean that lie 1 to `lags` apart.

    A column of more than `LONG` numbers is worked on in pieces, each with the numbers behind it that it needs.
    """
    width = column.size if column.size <= LONG else max(LONG, 4 * lags)
    product = np.zeros(lags)
    for begin in range(0, column.size, width):
        part = column[begin : begin + width + (lags if width < column.size else 0)] - mean
        size = next_fast_len(part.size + min(part.size, width))
        spectrum = rfft(part, size)
        own = spectrum if part.size <= width else rfft(part[:width], size)
        product += irfft(spectrum * own.conj(), size)[1 : lags + 1]
    return product


def interval_dispersion(data: Segments, spans: npt.NDArray[np.int64]) -> Float:
    """Index of dispersion for intervals: variance of the sum of n gaps over n times the squared mean, for each n."""
    mean = data.gaps.mean()
    totals = [np.concatenate([[0.0], np.cumsum(data.gaps[piece])]) for piece in data.stretches()]
    result = []
    sizes = np.array([total.size - 1 for total in totals])
    for n in spans:
        if not _told(sizes, float(n)):
            result.append(math.nan)
            continue
        sums = [_block_sums(total, int(n)) for total in totals]
        joined = np.concatenate(sums) if sums else np.zeros(0)
        result.append(joined.var() / (n * mean**2) if joined.size >= 8 else math.nan)
    return np.array(result)


def _block_sums(sums: Float, n: int) -> Float:
    """Sums over overlapping blocks of n, half of a block apart, from the sums up to each place."""
    step = max(n // 2, 1)
    return np.asarray(sums[n::step] - sums[: max(sums.size - n, 0) : step])


def count_dispersion(data: Segments, horizons: Float) -> Float:
    """Index of dispersion for counts: variance over mean of the pages in windows of each length.

    They lie half of a window apart, or where these would be more than `WINDOWS`, as far apart as makes so many.
    """
    pieces = [
        (np.cumsum(data.gaps[piece]), np.concatenate([[0], np.cumsum(data.sizes[piece])])) for piece in data.stretches()
    ]
    lengths = np.array([float(times[-1]) for times, _ in pieces])
    length = float(lengths.sum())
    result = []
    for horizon in horizons:
        counts: list[npt.NDArray[np.int64]] = []
        if not _told(lengths, horizon):
            result.append(math.nan)
            continue
        for times, pages in pieces:
            starts = np.arange(0.0, times[-1] - horizon, max(horizon / 2, length / WINDOWS))
            if starts.size:
                counts.append(pages[np.searchsorted(times, starts + horizon)] - pages[np.searchsorted(times, starts)])
        result.append(dispersion_index(counts))
    return np.array(result)


def _told(lengths: npt.NDArray[Any], window: float) -> bool:
    """Whether stretches of these lengths with room for several windows are most of the trace."""
    return bool(lengths[lengths >= ROOM * window].sum() >= TOLD * lengths.sum())


def dispersion_index(counts: Sequence[npt.NDArray[np.int64]]) -> float:
    """Variance over mean of the counts of all windows, gathered in pieces; NaN for few, and where nothing came."""
    joined = np.concatenate(counts) if counts else np.zeros(0)
    return float(joined.var() / joined.mean()) if joined.size >= 8 and joined.mean() > 0 else math.nan
