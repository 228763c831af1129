"""Poisson weights for uniformisation: the window of counts outside of which less than 1e-17 of the mass lies."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln, xlogy

from crawltwin.model.checks import FloatArray


def poisson_window(mean: float) -> tuple[int, int]:
    """First and last count that matter, by Bernstein's bound on both tails."""
    spread = 9 * math.sqrt(mean) + 60
    return max(0, math.floor(mean - spread)), math.ceil(mean + spread) if mean > 0 else 0


def poisson_weights(mean: float) -> tuple[int, FloatArray]:
    """First count of the window and the probabilities from there on."""
    first, last = poisson_window(mean)
    counts = np.arange(first, last + 1)
    return first, np.asarray(np.exp(xlogy(counts, mean) - gammaln(counts + 1) - mean))
