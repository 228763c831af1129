"""Numbers with intervals: of the trace by block bootstrap, of the fitted process by refits to resampled traces."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from crawltwin.model import BMAP
from crawltwin.model.errors import CrawltwinError
from crawltwin.model.interval import Interval
from fitting.choose.settings import FitOptions
from fitting.models.batch_laws import with_first_batches
from fitting.models.em import EmSettings
from fitting.models.gap_model import GapModel
from fitting.trace import bootstrap
from fitting.trace.batches import Batches
from fitting.trace.segments import Float, Segments


def trace_numbers(batches: Batches, length: float, options: FitOptions) -> dict[str, Interval]:
    """Numbers of the trace with intervals, from blocks of mean length `length`.

    A batch that begins a stretch ends no gap. It counts for the sizes, as it does in the model.
    """
    data = batches.segments
    # All batches less those that end a gap: how many of 0, 1, 2, ... pages begin a stretch.
    every = np.bincount(batches.sizes)
    begin = every - np.bincount(data.sizes, minlength=every.size)
    statistic = _statistic(min(batches.probabilities.size, 10), begin)
    return bootstrap.intervals(data, statistic, repetitions=options.repetitions, seed=options.seed, length=length)


def _statistic(shown: int, begin: npt.NDArray[np.int64]) -> Callable[[Float, npt.NDArray[np.int64]], dict[str, float]]:
    """Numbers of a trace that are reported with intervals; batch sizes up to `shown`.

    `begin` counts the batches of 0, 1, 2, ... pages that are there besides those of the gaps.
    """
    batches, pages = int(begin.sum()), int(begin @ np.arange(begin.size))

    def numbers(gaps: Float, sizes: npt.NDArray[np.int64]) -> dict[str, float]:
        mean, variance = float(gaps.mean()), float(gaps.var())
        mean_batch = (float(sizes.sum()) + pages) / (sizes.size + batches)
        low, median, high = np.quantile(gaps, (0.05, 0.5, 0.95))
        return {
            "mean_gap": mean,
            "variance": variance,
            "scv": variance / mean**2,
            "third_moment": float(np.mean(gaps**3)),
            "gap_quantile_05": float(low),
            "gap_median": float(median),
            "gap_quantile_95": float(high),
            "batch_rate": 1 / mean,
            "page_rate": mean_batch / mean,
            "mean_batch": mean_batch,
            **series_correlations(gaps),
            **{
                f"batch_size_{k}": (np.count_nonzero(sizes == k) + int(begin[k])) / (sizes.size + batches)
                for k in range(1, shown + 1)
            },
        }

    return numbers


def series_correlations(series: Float) -> dict[str, float]:
    """Correlations of a series at the lags that are reported; NaN where it does not vary."""
    centred = series - series.mean()
    total = float(centred @ centred)
    return {
        f"correlation_{lag}": float(centred[:-lag] @ centred[lag:]) / total if total > 0 else math.nan
        for lag in (1, 2, 5, 10)
    }


def model_numbers(
    model: GapModel, data: Segments, unit: float, length: float, options: FitOptions, sizes: Float | None = None
) -> dict[str, Interval]:
    """Numbers of the fitted process; intervals from short EM runs on resampled traces, begun at the fit.

    Parameters
    ----------
    model : GapModel
        The fit with its batches, in units of `unit` seconds.
    data : Segments
        The trace in the same units.
    length : float
        Mean length of the blocks of a resampled trace.
    sizes : array, optional
        Shares of batches of 1, 2, ... pages over all batches; those of the trace by default.
    """
    found = _process_numbers(model.bmap(), unit)
    drawn: dict[str, list[float]] = {name: [] for name in found}
    refits = options.refits if len(data) <= model.cheap_gaps else 0
    few = EmSettings(steps=model.few_steps, tolerance=1e-5, max_stages=options.max_stages)
    rng = np.random.default_rng(np.random.SeedSequence(options.seed, spawn_key=(3,)))
    for _ in range(refits):
        again = bootstrap.resampled(data, length, rng)
        try:
            shares = with_first_batches(again.batch_shares, data, sizes)
            refitted = model.without_batches().refit(again, few).model.with_batch_sizes(shares)
            values = _process_numbers(refitted.bmap(), unit)
        except CrawltwinError:
            continue
        for name, value in values.items():
            drawn[name].append(value)
    return bootstrap.percentile_intervals(found, drawn, fewest=10)


def _process_numbers(process: BMAP, unit: float) -> dict[str, float]:
    mean = process.interval_moment(1)
    return {
        "page_rate": process.page_rate / unit,
        "mean_gap": mean * unit,
        "scv": process.interval_variance / mean**2,
        "correlation_1": process.correlation(1),
        "correlation_10": process.correlation(10),
        "dispersion": process.dispersion(),
    }
