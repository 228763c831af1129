r"""The time until a transient chain is absorbed: moments, distribution function and quantiles of a large phase type.

With start vector a and subgenerator T, sparse: moments are :math:`k!\,a(-T)^{-k}e`; the tail is the uniformised sum
:math:`P(X > t) = \sum_k \mathrm{Poi}(qt; k)\, a P^k e` with :math:`P = I + T/q`, a mixture of non-negative terms. Once
the shape of :math:`a P^k` no longer changes (the quasi-stationary law is reached) the terms go on geometrically, so
that long times cost no more than short ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from analytic.linear.uniformisation import UniformisedChain
from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import ConvergenceError, InputError
from crawltwin.model.laws.quantile_search import quantile_from_tail
from crawltwin.model.laws.uniformisation import PoissonMixture
from crawltwin.model.results.display import Drawn

if TYPE_CHECKING:
    import pandas as pd

MAX_TERMS = 3_000_000
"""Most steps of the uniformised chain that are walked."""
QUANTILES = (0.05, 0.5, 0.95)
"""What a table shows."""
SETTLED = 1e-13
"""Change of the shape in one step, in total variation, below which it counts as settled."""


@dataclass(frozen=True, eq=False, repr=False)
class AbsorptionTime(Drawn):
    """Time to absorption; ``plot()`` is its distribution function.

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
    def _mixture(self) -> PoissonMixture:
        chain = UniformisedChain.of(self.generator)
        return PoissonMixture(chain.rate, _masses(chain, self.start))

    def survival(self, t: float) -> float:
        """P(X > t)."""
        if not np.isfinite(t):
            raise InputError(f"t must be a finite time; got {t!r}")
        return 1.0 if t < 0 else self._mixture.at(float(t))

    def cdf(self, t: float) -> float:
        """P(X <= t)."""
        return 1.0 - self.survival(t)

    def headline(self) -> str:
        """Its mean, and the size of the chain."""
        return f"mean {self.mean:.6g}, from a chain of {self.states:,} states"

    def to_frame(self) -> pd.DataFrame:
        """Mean, standard deviation, quantiles."""
        import pandas as pd

        rows = [("mean", self.mean), ("standard deviation", max(self.moment(2) - self.mean**2, 0.0) ** 0.5)]
        rows += [(f"{p:.0%} quantile", self.quantile(p)) for p in QUANTILES]
        return pd.DataFrame([(*row, "time") for row in rows], columns=["number", "value", "unit"])

    def quantile(self, p: float) -> float:
        """The t with P(X <= t) = p, 0 <= p < 1."""
        return quantile_from_tail(self.survival, p, self.mean)


def _masses(chain: UniformisedChain, start: FloatArray) -> Iterator[tuple[float]]:
    """A P^k e for k = 0, 1, ..., until they go on geometrically."""
    before, mass = start, float(start.sum())
    for k, state in enumerate(chain.walk(start)):
        if k > MAX_TERMS:
            raise ConvergenceError(
                f"the time to absorption had not settled after {MAX_TERMS:,} steps of {1 / chain.rate:g}. "
                "Ask for an earlier time, or for the mean"
            )
        now = float(state.sum())
        yield (now,)
        if now <= 0.0 or (k % 16 == 15 and np.abs(state / now - before / mass).sum() < SETTLED):
            return
        before, mass = state, now
