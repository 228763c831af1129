r"""The time until a transient chain is absorbed: moments, distribution function and quantiles of a large phase type.

With start vector a and subgenerator T, sparse: moments are :math:`k!\,a(-T)^{-k}e`, by sparse LU where the times are
short and otherwise without subtraction (`analytic.linear.level_elimination`): LU knows no time beyond 1e16 fastest
sojourns. The tail is the uniformised sum :math:`P(X > t) = \sum_k \mathrm{Poi}(qt; k)\, a P^k e` with :math:`P = I +
T/q`, and the distribution function the same mixture of what was absorbed within k steps: both are sums of non-negative
terms, so that neither a small tail nor a small probability is the difference of two large numbers. Once the shape of
:math:`a P^k` and the rate of absorption no longer change (the quasi-stationary law is reached) the terms go on
geometrically, so that long times cost no more than short ones.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from analytic.linear.level_elimination import LevelElimination
from analytic.linear.uniformisation import UniformisedChain
from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import ConvergenceError, InputError
from crawltwin.model.laws.quantile_search import quantile_from_tail
from crawltwin.model.laws.uniformisation import PoissonMixture, Tail
from crawltwin.model.results.display import Drawn

if TYPE_CHECKING:
    import pandas as pd

IntArray = npt.NDArray[np.int64]
EPSILON = float(np.finfo(np.float64).eps)
MAX_TERMS = 3_000_000
"""Most steps of the uniformised chain that are walked."""
QUANTILES = (0.05, 0.5, 0.95)
"""What a table shows."""
SETTLED = 1e-13
"""Change of the shape in one step, in total variation, below which it counts as settled."""
TRUSTED = 1e-12
"""Relative error of sparse LU (unit of rounding, times fastest rate, times longest mean) up to which it is taken."""
USABLE = 1e-6
"""The same where the levels are too wide for dense blocks."""
MAX_BLOCK = 500
"""Widest level for which dense blocks are formed."""
LATE = 1e300
"""A time after which whatever is absorbed at all has been."""


@dataclass(frozen=True, eq=False, repr=False)
class AbsorptionTime(Drawn):
    """Time to absorption; ``plot()`` is its distribution function.

    Parameters
    ----------
    start : ndarray
        Probabilities of the transient states at time 0; they may sum to less than 1 (the rest is absorbed at once).
    generator : csr_array
        Rates among the transient states; rows sum to minus the rate of absorption.
    leaving : ndarray
        Rate of absorption of each state.
    bounds : ndarray of int, optional
        Where each level begins, and where the last one ends, in a chain that goes down one level at a time.
    """

    start: FloatArray = field(repr=False)
    generator: Any = field(repr=False)
    leaving: FloatArray = field(repr=False)
    bounds: IntArray | None = field(default=None, repr=False)

    @classmethod
    def among_reached(cls, start: FloatArray, generator: Any, leaving: FloatArray, bounds: IntArray) -> AbsorptionTime:
        """Without the states that no path leads to from the start."""
        kept = _connected(generator, start > 0)
        ends = np.unique(np.concatenate([[0], np.cumsum(kept)[bounds[1:] - 1]]))
        return cls(start[kept], sp.csr_array(generator[kept][:, kept]), leaving[kept], ends)

    @property
    def states(self) -> int:
        """Number of transient states."""
        return int(self.start.size)

    @cached_property
    def certain(self) -> bool:
        """Whether absorption comes at last, whatever happens before."""
        return bool(_connected(self.generator.T, self.leaving > 0).all())

    @cached_property
    def _factor(self) -> Any:
        factor, error = self._sparse_factor()
        if self.bounds is None or error <= TRUSTED:
            return factor
        if np.diff(self.bounds).max() <= MAX_BLOCK:
            return LevelElimination.of(self.generator, self.leaving, self.bounds)
        if error <= USABLE:
            return factor
        raise ConvergenceError(
            f"the mean time to absorption must be below {USABLE / EPSILON:.2g} of the shortest sojourns in a state, or "
            f"the levels at most {MAX_BLOCK} states wide; got a longer time and {np.diff(self.bounds).max():,} states. "
            "Ask for a lower limit, or use exponential obsolescence"
        )

    def _sparse_factor(self) -> tuple[Any, float]:
        """Sparse LU, and an estimate of the relative error of times found by it."""
        try:
            factor = splu(sp.csc_matrix(-self.generator))
        except RuntimeError:  # rounding left nothing of a pivot
            return None, math.inf
        longest = float(factor.solve(np.ones(self.states)).max())
        error = EPSILON * float(-self.generator.diagonal().min()) * longest
        return factor, error if error >= 0 else math.inf

    def moment(self, k: int) -> float:
        """The k-th raw moment; infinite where absorption may never come. Cost: one factorisation and k solves."""
        if not self.states or k == 0:
            return float(k == 0)
        if not self.certain:
            return math.inf
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
        return PoissonMixture(chain.rate, self._steps(chain))

    def _steps(self, chain: UniformisedChain) -> Generator[tuple[float, float], None, Tail]:
        """What is left after k steps, and what was absorbed until then, until they go on geometrically."""
        absorbed = max(1.0 - float(self.start.sum()), 0.0)
        absorbed = absorbed if absorbed > SETTLED else 0.0
        before, mass, loss = self.start, float(self.start.sum()), 0.0
        for k, state in zip(range(MAX_TERMS), chain.walk(self.start), strict=False):
            now, flow = float(state.sum()), float(state @ self.leaving) / chain.rate
            yield now, absorbed
            if now <= 0.0:
                return Tail(0.0, (0.0, absorbed))
            # Rounding may leave crumbs of a state that was left for certain: their loss would be 1 or more.
            last, loss = loss, min(flow / now, 1.0 - EPSILON)
            # A flow of 0 is one that has not come yet, or after so many steps one below all numbers.
            steady = abs(loss - last) <= SETTLED * loss and (loss > 0 or k > self.states)
            if not self.certain:
                steady = loss <= SETTLED
            if k % 16 == 15 and steady and np.abs(state / now - before / mass).sum() < SETTLED:
                return Tail(loss, (0.0, absorbed + now)) if self.certain else Tail(0.0, (0.0, absorbed))
            before, mass = state, now
            absorbed += flow
        raise ConvergenceError(
            f"the time to absorption had not settled after {MAX_TERMS:,} steps of {1 / chain.rate:g}. "
            "Ask for an earlier time, or for the mean"
        )

    def survival(self, t: float) -> float:
        """P(X > t)."""
        return self._at(t, 0)

    def cdf(self, t: float) -> float:
        """P(X <= t)."""
        return self._at(t, 1)

    def _at(self, t: float, function: int) -> float:
        if not np.isfinite(t):
            raise InputError(f"t must be a finite time; got {t!r}")
        if t < 0 or not self.states:
            return float(function != (t < 0))
        return min(self._mixture.at(float(t), function), 1.0)

    def headline(self) -> str:
        """Its mean, and the size of the chain."""
        return f"mean {self.mean:.6g}, from a chain of {self.states:,} states"

    @property
    def deviation(self) -> float:
        """Standard deviation."""
        return max(self.moment(2) - self.mean**2, 0.0) ** 0.5 if self.certain else math.inf

    def to_frame(self) -> pd.DataFrame:
        """Mean, standard deviation, quantiles."""
        import pandas as pd

        rows = [("mean", self.mean), ("standard deviation", self.deviation)]
        rows += [(f"{p:.0%} quantile", self.quantile(p)) for p in QUANTILES]
        return pd.DataFrame([(*row, "time") for row in rows], columns=["number", "value", "unit"])

    def to_json(self) -> dict[str, Any]:
        """Plain values; null is a time that never comes."""
        found = {"mean": self.mean, "standard_deviation": self.deviation}
        quantiles = {str(p): self.quantile(p) for p in QUANTILES}
        finite = [{name: t if math.isfinite(t) else None for name, t in one.items()} for one in (found, quantiles)]
        return {**finite[0], "quantiles": finite[1], "states": self.states}

    def quantile(self, p: float) -> float:
        """The t with P(X <= t) = p, 0 <= p < 1; infinite where so much is never absorbed."""
        mean = self.mean
        if math.isinf(mean):
            if self.survival(LATE / self._mixture.rate) > 1 - p:
                return math.inf
            mean = 1 / self._mixture.rate
        return quantile_from_tail(self.survival, p, mean)


def _connected(rates: Any, seeds: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which states some path leads to from the seeds, they among them."""
    n = len(seeds)
    extra = sp.csr_array(np.append(seeds, False)[None, :].astype(np.float64))
    whole = sp.vstack([sp.hstack([rates, sp.csr_array((n, 1))]), extra], format="csr")
    found = np.zeros(n + 1, dtype=bool)
    found[sp.csgraph.breadth_first_order(whole, n, return_predecessors=False)] = True
    return found[:n]
