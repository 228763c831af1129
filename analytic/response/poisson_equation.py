r"""Solves with a singular generator: the Poisson equation and its mirror image.

For an irreducible Q with stationary vector p and any f there is exactly one h with

.. math:: -Q h = f - (p\cdot f) e, \qquad p\cdot h = 0,

and for any row vector r with r e = 0 exactly one x with x Q = r, x e = 0. (The two maps are the deviation matrix, or
minus the group inverse of Q, from either side.) h(s) is the total expected excess of f over its mean when the chain
starts in s; from it follow asymptotic variances. x is how the stationary vector moves when the rates do.

One state, the most frequent, is taken as anchor and its row and column are dropped: what is left is a non-singular
M-matrix, factored once. Its inverse holds mean times until the anchor is reached, which are short when that is
frequent.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack
from scipy.sparse.linalg import splu

from analytic.chain.generator import Generator
from analytic.chain.primitives import Chain
from analytic.stationary.explicit import stationary_vector
from crawltwin.model.checks import FloatArray, count
from crawltwin.model.errors import Fault, TooLargeError

MAX_WIDTH = 4_096
"""Widest level, in states, with several obsolescence phases: fill-in grows with its square."""


@dataclass(frozen=True, eq=False)
class Deviation:
    """A chain with its stationary vector, ready for Poisson equations.

    Parameters
    ----------
    events : Generator
    p : ndarray
        Stationary probabilities of all states.
    """

    events: Generator
    p: FloatArray

    @classmethod
    def of(cls, chain: Chain) -> Deviation:
        """Solve the chain.

        Cost: linear in the capacity with one obsolescence phase; otherwise a sparse factorisation of the explicit
        chain.

        Raises
        ------
        TooLargeError
            With several obsolescence phases, when the widest level has more than `MAX_WIDTH` states.
        """
        width = chain.widest_level
        if chain.obsolescence_phases > 1 and width > MAX_WIDTH:
            raise TooLargeError(
                [
                    Fault(
                        "capacity",
                        f"derivatives and variances need the explicit chain, whose widest level must have at most "
                        f"{MAX_WIDTH:,} states; got {count(width)}",
                        "Use a smaller capacity, or exponential obsolescence times.",
                    )
                ]
            )
        generator = Generator.of(chain)
        return cls(generator, stationary_vector(generator))

    @property
    def anchor(self) -> int:
        """The most frequent state."""
        return int(np.argmax(self.p))

    @cached_property
    def _factor(self) -> BandFactor | _Sparse:
        keep = np.delete(np.arange(self.p.size), self.anchor)
        system = sp.csr_array(-self.events.matrix[keep][:, keep])
        return BandFactor.of(system) if self.events.chain.obsolescence_phases == 1 else _Sparse.of(system)

    def excess(self, f: FloatArray) -> FloatArray:
        """The solution h of -Q h = f - p f for each column of f, with p h = 0."""
        columns = np.asarray(f, dtype=np.float64).reshape(self.p.size, -1)
        centred = columns - self.p @ columns
        h = np.zeros_like(columns)
        keep = np.arange(self.p.size) != self.anchor
        h[keep] = self._factor.solve(centred[keep], transposed=False)
        h -= self.p @ h
        return h.reshape(np.shape(f))

    def shift(self, r: FloatArray) -> FloatArray:
        """The solution x of x Q = r with x e = 0, for each row of r (rows sum to zero)."""
        rows = np.asarray(r, dtype=np.float64).reshape(-1, self.p.size)
        x = np.zeros_like(rows)
        keep = np.arange(self.p.size) != self.anchor
        x[:, keep] = self._factor.solve(-rows[:, keep].T, transposed=True).T
        # Adding a multiple of p keeps x Q and brings the sum to zero.
        x -= x.sum(axis=1)[:, None] * self.p
        return x.reshape(np.shape(r))


@dataclass(frozen=True)
class BandFactor:
    """LU of a band matrix by LAPACK."""

    factors: FloatArray
    pivots: Any
    low: int
    high: int

    @classmethod
    def of(cls, system: Any) -> BandFactor:
        """Factor a sparse matrix whose entries lie near its diagonal."""
        entries = sp.coo_array(system)
        offset = entries.col - entries.row
        low, high = int(max(0, -offset.min(initial=0))), int(max(0, offset.max(initial=0)))
        # LAPACK's layout: entry (i, j) in row low + high + i - j, and `low` more rows on top for pivoting.
        band = np.zeros((2 * low + high + 1, system.shape[0]), order="F")
        band[low + high - offset, entries.col] = entries.data
        factors, pivots, info = lapack.dgbtrf(band, low, high, overwrite_ab=True)
        assert info == 0, "the chain without its anchor is singular: the model is reducible"
        return cls(factors, pivots, low, high)

    def solve(self, right: FloatArray, transposed: bool) -> FloatArray:
        """Solve for each column, with the matrix or its transpose."""
        if right.shape[0] == 0:
            return right
        found, info = lapack.dgbtrs(
            self.factors, self.low, self.high, np.asfortranarray(right), self.pivots, trans=int(transposed)
        )
        assert info == 0
        return np.asarray(found)


@dataclass(frozen=True)
class _Sparse:
    """LU of a sparse matrix by SuperLU, pivots on the diagonal: it is an M-matrix."""

    factor: Any

    @classmethod
    def of(cls, system: Any) -> _Sparse:
        return cls(
            splu(
                sp.csc_matrix(system),
                permc_spec="MMD_AT_PLUS_A",
                diag_pivot_thresh=0.0,
                options={"SymmetricMode": True},
            )
        )

    def solve(self, right: FloatArray, transposed: bool) -> FloatArray:
        return np.asarray(self.factor.solve(np.ascontiguousarray(right), trans="T" if transposed else "N"))
