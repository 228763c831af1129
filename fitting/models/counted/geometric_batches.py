r"""Pages that come in batches of geometric sizes, at a Poisson number of moments: how many are counted.

With mean :math:`\mu` of the batches and sizes :math:`q_j = (1-\theta)\theta^{j-1}`, n pages are k batches with weight

.. math:: t_k = e^{-\mu} \frac{(\mu(1-\theta))^k}{k!} \binom{n-1}{k-1} \theta^{n-k}, \quad
          \frac{t_{k+1}}{t_k} = \frac{(n-k)\,x}{k(k+1)}, \quad x = \frac{\mu(1-\theta)}{\theta},

so :math:`P(n) = \sum_k t_k` and :math:`E(\text{batches} \mid n) = \sum_k k t_k / P(n)`. The quotient falls with k: the
weights have one peak, near the root of :math:`k(k+1) = (n-k)x`, and are added up from there to both sides until they
no longer count, which are some :math:`\sqrt n` of them.

The probability of fewer pages is that of all smaller counts. Panjer's recursion :math:`n P(n) = \mu \sum_j j q_j
P(n-j)` needs two running sums only, and all of its terms are positive:

.. math:: T_n = \theta T_{n-1} + (1-\theta) P(n-1), \quad S_n = \theta S_{n-1} + T_n, \quad P(n) = \mu S_n / n .

:math:`\theta = 0` is the Poisson law. The variance of the count is :math:`(1+\theta)/(1-\theta)` times its mean.
"""

from __future__ import annotations

import math

import numpy as np

from crawltwin.work.compiling import njit

_LARGE = 1e200
_LOG_LARGE = math.log(_LARGE)
_SMALL = 1e-18
"""Weights below this part of their sum no longer count: they fall faster than a geometric series from there."""


@njit(cache=True, nogil=True)
def compound(pages: int, mean: float, more: float) -> tuple[float, float]:
    """Log-probability of so many pages, and the expected number of their batches.

    `more` is the probability that a batch goes on after a page. Cost: proportional to the root of the pages.
    """
    if mean <= 0.0 or pages == 0:
        return (-mean if pages == 0 else -np.inf), 0.0
    if more <= 0.0:
        return pages * np.log(mean) - mean - math.lgamma(pages + 1.0), float(pages)
    x = mean * (1.0 - more) / more
    peak = min(max(int(2.0 * pages * x / (1.0 + x + np.sqrt((1.0 + x) ** 2 + 4.0 * pages * x)) + 0.5), 1), pages)
    total, batches = 1.0, float(peak)
    weight, k = 1.0, peak
    while k < pages and weight > _SMALL * total:
        weight *= (pages - k) * x / (k * (k + 1.0))
        k += 1
        total += weight
        batches += weight * k
    weight, k = 1.0, peak
    while k > 1 and weight > _SMALL * total:
        k -= 1
        weight *= k * (k + 1.0) / ((pages - k) * x)
        total += weight
        batches += weight * k
    top = peak * np.log(mean * (1.0 - more)) + (pages - peak) * np.log(more) - mean - math.lgamma(peak + 1.0)
    ways = math.lgamma(float(pages)) - math.lgamma(float(peak)) - math.lgamma(pages - peak + 1.0)
    return top + ways + np.log(total), batches / total


@njit(cache=True, nogil=True)
def fewer(pages: int, mean: float, more: float) -> float:
    """Probability of fewer pages than these. Cost: proportional to the pages."""
    if mean <= 0.0:
        return 0.0 if pages == 0 else 1.0
    own, single, weighted, below, shift = 1.0, 0.0, 0.0, 0.0, -mean
    for n in range(1, pages + 1):
        below += own
        single = more * single + (1.0 - more) * own
        weighted = more * weighted + single
        own = mean * weighted / n
        if own > _LARGE:
            own, single, weighted, below = own / _LARGE, single / _LARGE, weighted / _LARGE, below / _LARGE
            shift += _LOG_LARGE
    return float(min(1.0, below * np.exp(shift)))
