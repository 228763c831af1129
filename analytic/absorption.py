r"""The time until a transient chain is absorbed: moments, distribution function and quantiles of a large phase type.

With start vector a and subgenerator T, sparse: moments are :math:`k!\,a(-T)^{-k}e`; the tail is the uniformised sum
:math:`P(X > t) = \sum_k \mathrm{Poi}(qt; k)\, a P^k e` with :math:`P = I + T/q`, a mixture of non-negative terms. Once
the shape of :math:`a P^k` no longer changes (the quasi-stationary law is reached) the terms go on geometrically, so
that long times cost no more than short ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import brentq
from scipy.sparse.linalg import splu

from analytic.poisson import poisson_weights
from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import ConvergenceError, InputError

MAX_TERMS = 3_000_000
"""Most steps of the uniformised chain that are walked."""
SETTLED = 1e-13
"""Change of the shape in one step, in total variation, below which it counts as settled."""


@dataclass(frozen=True, eq=False)
class AbsorptionTime:
    """Time to absorption.

    Parameters
    ----------
    start : ndarray
        Probabilities of the transient states at time 0; they may sum to less than 1 (the rest is absorbed at once).
    generator : csr_array
        Rates among the transient states; rows sum to minus the rate of absorption.
    """

    start: FloatArray = field(repr=False)
    generator: Any = field(repr=False)

    @property
    def states(self) -> int:
        """Number of transient states."""
        return int(self.start.size)

    @cached_property
    def _factor(self) -> Any:
        return splu(sp.csc_matrix(-self.generator))

    def moment(self, k: int) -> float:
        """The k-th raw moment. Cost: one sparse factorisation and k solves."""
        power, value = np.ones(self.states), 1.0
        for j in range(1, k + 1):
            power = self._factor.solve(power)
            value *= j
        return value * float(self.start @ power)

    @property
    def mean(self) -> float:
        """Expected time."""
        return self.moment(1)

    @cached_property
    def _walk(self) -> _Walk:
        return _Walk(self.start, self.generator)

    def survival(self, t: float) -> float:
        """P(X > t)."""
        if not np.isfinite(t):
            raise InputError(f"t must be a finite time; got {t!r}")
        return 1.0 if t < 0 else self._walk.survival(float(t))

    def cdf(self, t: float) -> float:
        """P(X <= t)."""
        return 1.0 - self.survival(t)

    def quantile(self, p: float) -> float:
        """The t with P(X <= t) = p, 0 <= p < 1."""
        if not 0 <= p < 1:
            raise InputError(f"p must be in [0, 1); got {p!r}")
        if self.survival(0.0) <= 1 - p:
            return 0.0
        high = self.mean
        while self.survival(high) > 1 - p:
            high *= 2
        return float(brentq(lambda t: self.survival(t) - (1 - p), 0.0, high, xtol=1e-12 * high, rtol=1e-12))


class _Walk:
    """The masses a P^k e, extended as far as they are asked for."""

    def __init__(self, start: FloatArray, generator: Any) -> None:
        self.rate = float(np.abs(generator.diagonal()).max())
        self.step = sp.csr_array((generator / self.rate + sp.eye_array(start.size)).T)
        self.state, self.masses = start.copy(), [float(start.sum())]
        self.ratio: float | None = None

    def survival(self, t: float) -> float:
        if self.masses[0] == 0:
            return 0.0
        first, weights = poisson_weights(self.rate * t)
        self._extend(first + weights.size)
        known = len(self.masses)
        orders = np.arange(first, first + weights.size)
        inside = np.minimum(orders, known - 1)
        terms = np.array(self.masses)[inside]
        if self.ratio is not None:
            terms = terms * self.ratio ** (orders - inside)
        return float(weights @ terms)

    def _extend(self, count: int) -> None:
        while len(self.masses) < count and self.ratio is None:
            if len(self.masses) > MAX_TERMS:
                raise ConvergenceError(
                    f"the time to absorption had not settled after {MAX_TERMS:,} steps of {1 / self.rate:g}. "
                    "Ask for an earlier time, or for the mean"
                )
            before, mass = self.state, self.masses[-1]
            self.state = self.step @ before
            now = float(self.state.sum())
            self.masses.append(now)
            if now <= 0.0:
                self.ratio = 0.0
            elif len(self.masses) % 16 == 0 and np.abs(self.state / now - before / mass).sum() < SETTLED:
                self.ratio = now / mass
