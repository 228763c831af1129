"""One sample of standardised differences against the standard normal law."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy import stats

from crawltwin.model.checks import FloatArray

SAMPLES = 9999
"""Samples behind the law of Anderson and Darling's statistic."""


@dataclass(frozen=True)
class SampleTest:
    """One sample of scores against the standard normal law."""

    name: str
    scores: tuple[float, ...]
    statistic: float
    p_anderson_darling: float
    beyond: int
    p_binomial: float

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "sample": self.name,
            "scenarios": len(self.scores),
            "mean": float(np.mean(self.scores)),
            "standard_deviation": float(np.std(self.scores, ddof=1)),
            "anderson_darling": self.statistic,
            "p_anderson_darling": self.p_anderson_darling,
            "beyond_95": self.beyond,
            "p_binomial": self.p_binomial,
        }


def check_sample(name: str, scores: Sequence[float], seed: int) -> SampleTest:
    """Anderson-Darling and binomial test of a sample against the standard normal law."""
    # A score beyond 37 has no normal probability in double precision; it is hopeless long before.
    data = np.clip(np.asarray(scores, dtype=np.float64), -37, 37)
    if data.size < 2:
        return SampleTest(name, tuple(scores), math.nan, 1.0, 0, 1.0)
    statistic = _anderson_darling(data)
    # Equal but for rounding is as far out, as in scipy's own tests.
    as_far = _null_statistics(data.size, seed) >= statistic - 100 * np.finfo(np.float64).eps * abs(statistic)
    p = (int(as_far.sum()) + 1) / (as_far.size + 1)
    beyond = int((np.abs(data) > stats.norm.ppf(0.975)).sum())
    binomial = float(stats.binomtest(beyond, data.size, 0.05).pvalue)
    return SampleTest(name, tuple(map(float, data)), statistic, p, beyond, binomial)


def _anderson_darling(data: FloatArray) -> float:
    ordered, n = np.sort(data), data.size
    weights = (2 * np.arange(1, n + 1) - 1) / n
    return float(-n - np.sum(weights * (stats.norm.logcdf(ordered) + stats.norm.logsf(ordered[::-1]))))


@cache
def _null_statistics(size: int, seed: int) -> FloatArray:
    """The statistic of samples that are standard normal, by scipy's Monte Carlo: it depends on their size alone."""
    known, rng = {"loc": 0, "scale": 1}, np.random.default_rng(seed)
    fit = stats.goodness_of_fit(
        stats.norm, np.zeros(size), known_params=known, statistic="ad", n_mc_samples=SAMPLES, rng=rng
    )
    return np.asarray(fit.null_distribution)


def probability_plot(scores: Sequence[float]) -> tuple[FloatArray, FloatArray]:
    """Scores in rising order, and the normal quantiles they are plotted against."""
    ordered = np.sort(np.asarray(scores, dtype=np.float64))
    ranks = (np.arange(1, ordered.size + 1) - 0.5) / ordered.size
    return ordered, np.asarray(stats.norm.ppf(ranks))
