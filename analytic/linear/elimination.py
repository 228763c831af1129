r"""Elimination without subtraction, in the manner of Grassmann, Taksar and Heyman (Oper. Res. 33, 1985).

A diagonally dominant M-matrix :math:`A = \mathrm{diag} - N` is given by its off-diagonal part N >= 0 and its row sums
r >= 0, never by its diagonal: the pivot of each elimination step is the sum of what is left of the row,
:math:`r_k + \sum_{j>k} N_{kj}`. Everything is a sum, product or quotient of non-negative numbers, so solutions with a
non-negative right-hand side have small relative error *in every entry*, however small the entry and however nearly
decomposable the chain (Alfa, Xue and Ye, Math. Comp. 71, 2002).

The loops are plain Python; `analytic.linear.elimination_kernels` has them compiled, for use in compiled code.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analytic.linear.compilation import compiled_when_large
from crawltwin.model.bmap import stationary
from crawltwin.model.checks import FloatArray


def factor_in_place(N: FloatArray, r: FloatArray) -> None:
    """In place: unit lower factor (signs dropped) below, pivots on, negated upper factor above the diagonal."""
    n = N.shape[0]
    for k in range(n):
        pivot = r[k]
        for j in range(k + 1, n):
            pivot += N[k, j]
        N[k, k] = pivot
        for i in range(k + 1, n):
            if N[i, k] != 0.0:
                share = N[i, k] / pivot
                N[i, k] = share
                r[i] += share * r[k]
                for j in range(k + 1, n):
                    if j != i:
                        N[i, j] += share * N[k, j]


def solve_right_in_place(F: FloatArray, X: FloatArray) -> None:
    """Overwrite the columns of X with the solution of A X = X."""
    n, m = X.shape
    for i in range(n):
        for k in range(i):
            if F[i, k] != 0.0:
                for c in range(m):
                    X[i, c] += F[i, k] * X[k, c]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            if F[i, j] != 0.0:
                for c in range(m):
                    X[i, c] += F[i, j] * X[j, c]
        for c in range(m):
            X[i, c] /= F[i, i]


def solve_left_in_place(F: FloatArray, X: FloatArray) -> None:
    """Overwrite the rows of X with the solution of X A = X."""
    n = F.shape[0]
    for m in range(X.shape[0]):
        for j in range(n):
            for i in range(j):
                X[m, j] += X[m, i] * F[i, j]
            X[m, j] /= F[j, j]
        for k in range(n - 1, -1, -1):
            for i in range(k + 1, n):
                X[m, k] += X[m, i] * F[i, k]


def stationary_in_place(rates: FloatArray) -> FloatArray:
    """Stationary vector of a small chain without subtraction; the same steps as `crawltwin.model.bmap.stationary`."""
    n = rates.shape[0]
    for last in range(n - 1, 0, -1):
        pivot = 0.0
        for b in range(last):
            pivot += rates[last, b]
        for c in range(last):
            rates[c, last] /= pivot
            for b in range(last):
                rates[c, b] += rates[c, last] * rates[last, b]
    weights = np.zeros(n)
    weights[0] = 1.0
    total = 1.0
    for state in range(1, n):
        for c in range(state):
            weights[state] += weights[c] * rates[c, state]
        total += weights[state]
    for state in range(n):
        weights[state] /= total
    return weights


def reachable(rates: FloatArray) -> npt.NDArray[np.bool_]:
    """Which states (columns) some path leads to from each state (rows), itself included."""
    reached = (rates > 0) | np.eye(len(rates), dtype=bool)
    if not reached.all():
        for _ in range(len(rates).bit_length()):
            reached = reached @ reached
    return reached


def recurrent_law(rates: FloatArray) -> FloatArray:
    """Stationary vector of a small chain with one recurrent class, without subtraction; 0 for states outside it."""
    reached = reachable(rates)
    # A state is recurrent when every state that it reaches leads back to it.
    recurrent = (~reached | reached.T).all(axis=1)
    law = np.zeros(len(rates))
    law[recurrent] = stationary(rates[np.ix_(recurrent, recurrent)])
    return law


_factor = compiled_when_large(factor_in_place)
_solve_right = compiled_when_large(solve_right_in_place)
_solve_left = compiled_when_large(solve_left_in_place)


LARGE = 1e90
"""A level that weighs more is made small: the next one may weigh 1e200 times as much, by the bounds of rates."""


def in_range(levels: list[FloatArray]) -> list[FloatArray]:
    """The same vectors but for one common power of two, so that a forward pass under overload stays within numbers."""
    largest = float(levels[-1].max(initial=0.0))
    if largest <= LARGE:
        return levels
    factor = np.ldexp(1.0, -int(np.frexp(largest)[1]))
    return [level * factor for level in levels]


@dataclass(frozen=True)
class MMatrix:
    """A = diag(r + N e) - N, factored once, then solved from either side for non-negative right-hand sides.

    Cost: n^3/3 operations to factor, n^2 for each right-hand side.
    """

    factors: FloatArray

    @classmethod
    def from_parts(cls, off_diagonal: FloatArray, row_sums: FloatArray) -> MMatrix:
        """Factor the M-matrix with the given off-diagonal rates (diagonal ignored) and row sums."""
        work = np.array(off_diagonal, dtype=np.float64)
        _factor(work.size * len(work) / 3)(work, np.array(row_sums, dtype=np.float64))
        return cls(work)

    def solve(self, right: FloatArray) -> FloatArray:
        """X with A X = `right`, `right` >= 0 of shape (n,) or (n, m)."""
        columns = np.array(right, dtype=np.float64).reshape(len(self.factors), -1)
        _solve_right(columns.size * len(columns))(self.factors, columns)
        return columns.reshape(np.shape(right))

    def solve_left(self, left: FloatArray) -> FloatArray:
        """X with X A = `left`, `left` >= 0 of shape (n,) or (m, n)."""
        rows = np.array(left, dtype=np.float64).reshape(-1, len(self.factors))
        _solve_left(rows.size * rows.shape[1])(self.factors, rows)
        return rows.reshape(np.shape(left))
