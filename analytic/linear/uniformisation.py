r"""A chain looked at the points of a Poisson process of its fastest rate: distributions at a time and averaged.

With q the fastest rate and :math:`P = I + Q/q`, :math:`p(t) = \sum_k \mathrm{Poi}(qt; k)\, p(0) P^k` and
:math:`\frac1t\int_0^t p = \frac1{qt} \sum_k P(\mathrm{Poi}(qt) > k)\, p(0) P^k`: mixtures of non-negative terms.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from crawltwin.model.checks import FloatArray
from crawltwin.model.laws.uniformisation import poisson_weights


@dataclass(frozen=True)
class UniformisedChain:
    """One step of the chain, and how many come per unit of time.

    Parameters
    ----------
    rate : float
        q, the fastest rate.
    step : csr_array
        The transpose of P.
    """

    rate: float
    step: Any

    @classmethod
    def of(cls, generator: Any) -> UniformisedChain:
        """From the sparse generator of a chain, or of its transient states; 1 is the rate of one that never moves."""
        rate = float(np.abs(generator.diagonal()).max()) or 1.0
        return cls(rate, sp.csr_array((generator / rate + sp.eye_array(generator.shape[0])).T))

    def walk(self, p: FloatArray) -> Iterator[FloatArray]:
        """p, p P, p P^2, ..."""
        while True:
            yield p
            p = self.step @ p

    def at_and_averaged(self, p: FloatArray, time: float) -> tuple[FloatArray, FloatArray]:
        """p(t), and its average over [0, t], t > 0. Cost: about q t sparse products."""
        from scipy.special import gammainc

        first, weights = poisson_weights(self.rate * time)
        beyond = gammainc(np.arange(first, first + weights.size) + 1.0, self.rate * time)  # P(Poisson count > k)
        here, mean = np.zeros_like(p), np.zeros_like(p)
        for k, state in zip(range(first + weights.size), self.walk(p), strict=False):
            mean += state * (1.0 if k < first else beyond[k - first])
            if k >= first:
                here += weights[k - first] * state
        return here / here.sum(), mean / mean.sum()
