r"""Sparse direct solution of p Q = 0, p e = 1 (equation (4)).

One state's equation is dropped and its probability set to one. What is left of :math:`-Q^T` is a non-singular M-matrix
with diagonal dominance by columns, so SuperLU may keep every pivot on the diagonal: off the diagonal the elimination
then only adds numbers of one sign, and small probabilities keep their digits as long as no pivot is nearly cancelled.
The state that is set to one is an empty system's; where that is never met again or turns out to be rare, another one.

Where arrival phases hardly communicate, pivots do cancel, and no residual shows it: p Q is small all the same. So what
is left of the balance is solved for once more; the size of that correction tells how many digits can be believed.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from analytic.chain.generator import Generator
from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import ConvergenceError

EPSILON = float(np.finfo(np.float64).eps)


def stationary_direct(generator: Generator) -> FloatArray:
    """Stationary probabilities of all states."""
    return solve_direct(generator)[0]


def solve_direct(generator: Generator) -> tuple[FloatArray, float]:
    """Stationary probabilities of all states, and an estimate of their error in total variation.

    Cost: two sparse LU factorisations at most; fill-in grows with the square of the widest level.
    """
    first = _recurrent(generator.matrix)
    p, error = _with_anchor(generator, first)
    anchor = int(np.argmax(p))
    if p[first] < 1e-3 * p[anchor]:
        # Anchored in a rare state, errors of the frequent ones are amplified: solve again from the most frequent.
        p, error = _with_anchor(generator, anchor)
    return p, error


def _recurrent(matrix: sp.csr_array) -> int:
    """The first state that is met again and again: no state that it reaches fails to lead back to it."""
    classes, label = connected_components(matrix, connection="strong")
    if classes == 1:
        return 0
    entries = matrix.tocoo()
    left = np.zeros(classes, dtype=bool)
    left[label[entries.row[label[entries.row] != label[entries.col]]]] = True
    return int(np.argmin(left[label]))


def _with_anchor(generator: Generator, anchor: int) -> tuple[FloatArray, float]:
    balance = sp.csc_array(-generator.matrix.T)
    keep = np.delete(np.arange(balance.shape[0]), anchor)
    p, correction = np.ones(balance.shape[0]), np.zeros(balance.shape[0])
    if keep.size:
        column = -np.asarray(balance[:, [anchor]].toarray()).ravel()[keep]
        system = sp.csc_matrix(balance[keep][:, keep])
        try:
            factor = splu(system, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        except RuntimeError:
            raise _nearly_decomposable() from None
        p[keep] = factor.solve(column)
        # The balance itself is rounded, which is an error of its size at least.
        left = np.abs(column - system @ p[keep]) + EPSILON * system.diagonal() * np.abs(p[keep])
        correction[keep] = np.abs(factor.solve(left))
    if not np.isfinite(p).all() or (p < -1e-9 * p.max()).any():
        raise _nearly_decomposable()
    p = np.maximum(p, 0.0)
    return np.asarray(p / p.sum()), float(correction.sum() / p.sum())


def _nearly_decomposable() -> ConvergenceError:
    return ConvergenceError(
        "the sparse direct solution is not a probability vector: the chain is too nearly decomposable for it. "
        "Use --method block, which never subtracts"
    )
