r"""Pages that come in batches of geometric sizes, at a Poisson number of moments: how many are counted.

With mean :math:`\mu` of the batches and sizes :math:`q_j = (1-\theta)\theta^{j-1}` Panjer's recursion
:math:`n P(n) = \mu \sum_j j q_j P(n-j)` needs two running sums only, all of its terms are positive, and the expected
number of batches among n pages comes with it:

.. math:: T_n = \theta T_{n-1} + (1-\theta) P(n-1), \quad S_n = \theta S_{n-1} + T_n, \quad
          P(n) = \mu S_n / n, \quad E(\text{batches} \mid n) = \mu T_n / P(n) .

:math:`\theta = 0` is the Poisson law. The variance of the count is :math:`(1+\theta)/(1-\theta)` times its mean.
"""

from __future__ import annotations

import math

import numpy as np

from crawltwin.work.compiling import njit

_LARGE = 1e200
_LOG_LARGE = math.log(_LARGE)


@njit(cache=True, nogil=True)
def compound(pages: int, mean: float, more: float) -> tuple[float, float, float]:
    """Log-probability of so many pages, the expected number of their batches, and the probability of fewer pages.

    `more` is the probability that a batch goes on after a page. Cost: proportional to the pages.
    """
    if mean <= 0.0:
        return (0.0 if pages == 0 else -np.inf), 0.0, 0.0 if pages == 0 else 1.0
    own, single, weighted, below, shift = 1.0, 0.0, 0.0, 0.0, -mean
    for n in range(1, pages + 1):
        below += own
        single = more * single + (1.0 - more) * own
        weighted = more * weighted + single
        own = mean * weighted / n
        if own > _LARGE:
            own, single, weighted, below = own / _LARGE, single / _LARGE, weighted / _LARGE, below / _LARGE
            shift += _LOG_LARGE
    if own <= 0.0:
        return -np.inf, float(pages), min(1.0, below * np.exp(shift))
    return np.log(own) + shift, mean * single / own, min(1.0, below * np.exp(shift))
