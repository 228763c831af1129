r"""Sojourn times of served, obsolete and all pages (Theorem 4, Corollary 1), with every moment and quantile.

With T the tagged page's chain (`tagged`), start weights :math:`\alpha` and exit rates t of one fate, the part
of the transform with that fate is :math:`\alpha (uI - T)^{-1} t`; its n-th moment is :math:`n!\,\alpha(-T)^{-n} h` and
:math:`P(V > x, \text{fate}) = \alpha e^{Tx} h`, where :math:`h = (-T)^{-1} t` is the probability of that fate from each
state. These are the paper's (16) to (25) with the recursions over the number of pages ahead read as one block
triangular system. :math:`e^{Tx}` is computed by uniformisation: a Poisson mixture of non-negative terms.

A lost page counts with sojourn time 0 among all pages, as in (16).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from analytic.chain.tagged import TaggedChain
from analytic.linear.uniformisation import UniformisedChain
from analytic.sojourn.law import FATES, Fate, UniformisedLaw
from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import ConvergenceError, InputError
from crawltwin.model.laws.uniformisation import PoissonMixture

LONG_WALK = 1e6
"""Most steps of the uniformised chain of a tagged page."""

DENSE_STATES = 1000
"""Chains up to this size take a dense exponential where the walk would be longer."""


@dataclass(frozen=True, eq=False, repr=False)
class SojournTimes(UniformisedLaw):
    """Laws of the time in the system.

    Parameters
    ----------
    tagged : TaggedChain

    Examples
    --------
    >>> from analytic import solve
    >>> from crawltwin.model import examples
    >>> law = solve(examples.load("mm1k")).sojourn
    >>> round(law.moment(1, "served"), 6) == round(solve(examples.load("mm1k")).measures["mean_sojourn_served"], 6)
    True
    """

    tagged: TaggedChain

    @cached_property
    def _factor(self) -> Any:
        # Block triangular in its natural order: no fill-in outside the diagonal blocks.
        return splu(sp.csc_matrix(-self.tagged.matrix), permc_spec="NATURAL", diag_pivot_thresh=0.0)

    @cached_property
    def _ends(self) -> dict[str, FloatArray]:
        served = np.maximum(self._factor.solve(self.tagged.served), 0.0)
        obsolete = np.zeros_like(served)
        if self.tagged.obsolete.any():
            obsolete = np.maximum(self._factor.solve(self.tagged.obsolete), 0.0)
        return {"served": served, "obsolete": obsolete, "all": np.ones_like(served)}

    def probability(self, fate: Fate) -> float:
        """P(a page has this fate); for `all`, the probability of being accepted."""
        return float(self.tagged.start @ self._ends[fate])

    def moment(self, k: int, fate: Fate = "all") -> float | None:
        """The k-th raw moment, given the fate; None when no page has it. `all` counts lost pages as 0.

        Cost: k block triangular solves.
        """
        if k < 1:
            raise InputError(f"k must be at least 1; got {k}")
        weight = self._weight(fate)
        if weight is None:
            return None
        vector = self._ends[fate]
        for _ in range(k):
            vector = self._factor.solve(vector)
        return math.factorial(k) * float(self.tagged.start @ vector) / weight

    def transform(self, u: complex, fate: Fate = "all") -> complex | None:
        """Laplace-Stieltjes transform at u (Re u >= 0), equations (16) to (18); one sparse solve."""
        weight = self._weight(fate)
        if weight is None:
            return None
        exits = {
            "served": self.tagged.served,
            "obsolete": self.tagged.obsolete,
            "all": self.tagged.served + self.tagged.obsolete,
        }[fate]
        size = self.tagged.matrix.shape[0]
        system = sp.csc_matrix(u * sp.eye_array(size, dtype=np.complex128) - self.tagged.matrix)
        value = complex(self.tagged.start @ splu(system, permc_spec="NATURAL").solve(exits + 0j))
        if fate == "all":
            value += 1.0 - self.probability("all")
        return value / weight

    @cached_property
    def _mixture(self) -> PoissonMixture:
        """For each fate the probability of being still there and of having it in the end."""
        chain = UniformisedChain.of(self.tagged.matrix)
        ends = [self._ends[fate] for fate in FATES]
        walk = chain.walk(self.tagged.start)
        return PoissonMixture(chain.rate, ([float(state @ end) for end in ends] for state in walk))

    def _tail(self, x: float, fate: Fate) -> float:
        """P(V > x, fate)."""
        if x < 0:
            return self._weight(fate) or 0.0
        rate = self._mixture.rate
        return self._tail_far(x, fate, rate) if rate * x > LONG_WALK else self._mixture.at(x, FATES.index(fate))

    def _tail_far(self, x: float, fate: Fate, rate: float) -> float:
        """P(V > x, fate) where a walk would be long: one matrix exponential for a small chain."""
        if self.tagged.matrix.shape[0] <= DENSE_STATES:
            from scipy.linalg import expm

            return float(self.tagged.start @ expm(self.tagged.matrix.toarray() * x) @ self._ends[fate])
        raise ConvergenceError(
            f"the distribution function at {x:g} would take {rate * x:.1e} steps: the rates lie too many orders of "
            "magnitude apart. Moments and transforms do not need them"
        )
