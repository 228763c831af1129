"""One sample of standardised differences against the standard normal law."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from crawltwin.model.checks import FloatArray


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
    fit = stats.goodness_of_fit(
        stats.norm,
        data,
        known_params={"loc": 0, "scale": 1},
        statistic="ad",
        n_mc_samples=9999,
        rng=np.random.default_rng(seed),
    )
    beyond = int((np.abs(data) > stats.norm.ppf(0.975)).sum())
    binomial = float(stats.binomtest(beyond, data.size, 0.05).pvalue)
    return SampleTest(name, tuple(map(float, data)), float(fit.statistic), float(fit.pvalue), beyond, binomial)


def probability_plot(scores: Sequence[float]) -> tuple[FloatArray, FloatArray]:
    """Scores in rising order, and the normal quantiles they are plotted against."""
    ordered = np.sort(np.asarray(scores, dtype=np.float64))
    ranks = (np.arange(1, ordered.size + 1) - 0.5) / ordered.size
    return ordered, np.asarray(stats.norm.ppf(ranks))
