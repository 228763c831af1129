"""Where the start is forgotten: MSER-5.

The marginal standard error rule (White 1997) cuts the d first observations that make the standard error of the
mean of the rest, computed as if they were independent, smallest: the sum of squares about their mean over
(n - d)^2. MSER-5 applies it to means of five. Here the observations are the bins of the runs, averaged over the
runs, for the measures in which a start can be seen; the latest cut of them counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import InputError
from simulate.engine.statistics import RunStatistics
from simulate.sample.units import Reading, bin_sums

WATCHED = ("mean_pages", "arrival_rate", "mean_active_robots", "success_probability")
"""Measures in which the start is looked for."""


@dataclass(frozen=True)
class WarmUp:
    """How many bins are left out, and whether the rule found its minimum before the middle of the run."""

    bins: int
    found: bool


def mser5(series: npt.ArrayLike) -> tuple[int, bool]:
    """Observations to cut, a multiple of five, and whether the minimum lies before the middle.

    Cost: linear in the length.

    Examples
    --------
    >>> mser5([9.0] * 10 + [1.0, 2.0] * 45)
    (10, True)
    """
    values = np.asarray(series, dtype=np.float64)
    if values.ndim != 1 or values.size < 10:
        raise InputError(f"series must be at least 10 observations; got {values.size}")
    if not np.isfinite(values).all():
        raise InputError("series must be finite; got NaN or infinity. Some bins saw no page: make them longer")
    means = values[: values.size // 5 * 5].reshape(-1, 5).mean(axis=1)
    # Sums from the end, about the overall mean so that no digits are lost.
    centred = means[::-1] - means.mean()
    left = np.arange(1, means.size + 1)
    squares = np.cumsum(centred**2) - np.cumsum(centred) ** 2 / left
    score = np.maximum(squares, 0.0)[::-1] / left[::-1].astype(np.float64) ** 2
    half = means.size // 2
    cut = int(np.argmin(score[: half + 1]))
    return 5 * cut, cut < half


def find_warm_up(runs: Sequence[RunStatistics], reading: Reading, at_least: int) -> WarmUp:
    """The bins to leave out of every run."""
    total: FloatArray = np.sum([bin_sums(run) for run in runs], axis=0)
    if total.shape[0] < 10:
        return WarmUp(min(at_least, total.shape[0] - 1), False)
    series = reading.measures(total)
    cuts = [mser5(series[name]) for name in WATCHED if np.isfinite(series[name]).all()]
    bins = max([at_least, *[cut for cut, _ in cuts]])
    return WarmUp(bins, bool(cuts) and all(found for _, found in cuts))


def given_warm_up(runs: Sequence[RunStatistics], time: float) -> WarmUp:
    """The bins that cover the first `time` of every run."""
    bins = 0
    for run in runs:
        ends = run.time_at_level.sum(axis=1).cumsum()
        bins = max(bins, int(np.searchsorted(ends, time * (1 - 1e-12))) + 1 if time > 0 else 0)
    if bins >= runs[0].bins:
        length = min(run.time for run in runs)
        raise InputError(f"warmup must be shorter than a run, {length:g}; got {time:g}. Make the run longer")
    return WarmUp(bins, True)
