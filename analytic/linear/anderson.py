r"""Krylov acceleration of a fixed-point iteration: Anderson's mixing.

For a linear iteration :math:`x \leftarrow g(x)` mixing the last m steps is GMRES(m) preconditioned by the
iteration (Walker and Ni, SIAM J. Numer. Anal. 49, 2011); for a mildly nonlinear one, such as sweeps with
aggregation in between, it stays applicable. With :math:`f = g(x) - x` and the last differences :math:`\Delta
f_j, \Delta g_j`, the coefficients minimise :math:`\|f - \sum_j c_j \Delta f_j\|` and the next iterate is
:math:`g(x) - \sum_j c_j \Delta g_j`.

The norm weighs each level by its own mass, so that levels of tiny probability converge with the others. Differences are
kept in single precision, relative to those masses: their rounding is small beside the step itself, so it slows nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analytic.linear.count_vectors import IntArray
from analytic.linear.kronecker import AnyArray
from crawltwin.model.checks import FloatArray
from crawltwin.work.compiling import njit


class Anderson:
    """The last steps of an iteration and their best mixture. Mutable: it owns 2 m + 2 vectors.

    Parameters
    ----------
    depth : int
        m, how many differences are kept.
    bounds : sequence of int
        Where each level begins in the vector, and the vector's length.

    Attributes
    ----------
    plain : ndarray or None
        The last step before it was mixed.
    contraction : float
        See `mix`.
    """

    def __init__(self, depth: int, bounds: Sequence[int]) -> None:
        self.depth, self._bounds = depth, np.array(bounds, dtype=np.int64)
        self._f: AnyArray | None = None
        self.plain: AnyArray | None = None
        self._df: list[AnyArray] = []
        self._dg: list[AnyArray] = []
        self._gram: FloatArray = np.zeros((0, 0))
        self._mixed: FloatArray = np.zeros((0, 0))
        self._weights: FloatArray = np.zeros(0)
        self.contraction = 0.0

    def mix(self, x: AnyArray, g: AnyArray) -> None:
        """Take the step x -> g and overwrite g with the mixture; x is overwritten too.

        `contraction` becomes the largest Ritz value of the iteration on the differences kept: how fast the plain
        iteration converges, which tells the error from the size of a step.
        """
        f = x
        np.subtract(g, x, out=f)
        if self._f is None or self.plain is None:
            self._f, self.plain = f.copy(), g.copy()
            return
        if self._weights.size == 0:
            self._weights = self._level_weights(g)
        df, dg = self._room(f)
        _difference(f, self._f, self._bounds, self._weights, df)
        _difference(g, self.plain, self._bounds, self._weights, dg)
        self._f[:] = f
        self.plain[:] = g
        self._df.append(df)
        self._dg.append(dg)
        m = len(self._df)
        # Only the newest row and column are new.
        self._gram, self._mixed = _grown(self._gram, m), _grown(self._mixed, m)
        for j in range(m):
            self._gram[m - 1, j] = self._gram[j, m - 1] = _dot(df, self._df[j])
            self._mixed[m - 1, j] = _dot(df, self._dg[j])
            self._mixed[j, m - 1] = _dot(self._df[j], dg)
        right = np.array([_dot_weighted(step, f, self._bounds, self._weights) for step in self._df])
        scale = np.sqrt(np.maximum(np.diag(self._gram), 1e-300))
        outer = np.outer(scale, scale)
        coefficients = np.linalg.lstsq(self._gram / outer, right / scale, rcond=1e-13)[0] / scale
        # With dx = dg - df the iteration maps dx to dg: oblique Ritz values on span(dx), tested against df.
        inverse = np.linalg.pinv((self._mixed - self._gram) / outer, rcond=1e-10)
        self.contraction = float(np.abs(np.linalg.eigvals(inverse @ (self._mixed / outer))).max())
        for c, step in zip(coefficients, self._dg, strict=True):
            _subtract(g, c, step, self._bounds, self._weights)

    def forget(self) -> None:
        """Drop what was kept: the iteration begins anew."""
        self._f = self.plain = None
        self._df, self._dg = [], []
        self._gram = self._mixed = np.zeros((0, 0))
        self._weights = np.zeros(0)

    def _room(self, like: AnyArray) -> tuple[AnyArray, AnyArray]:
        """Two vectors for the newest differences; the oldest give way."""
        if len(self._df) == self.depth:
            self._gram, self._mixed = self._gram[1:, 1:], self._mixed[1:, 1:]
            return self._df.pop(0), self._dg.pop(0)
        single = np.complex64 if np.iscomplexobj(like) else np.float32
        return np.empty(like.size, dtype=single), np.empty(like.size, dtype=single)

    def _level_weights(self, g: AnyArray) -> FloatArray:
        masses = [float(np.abs(g[a:b]).sum()) for a, b in zip(self._bounds[:-1], self._bounds[1:], strict=True)]
        return np.array([1.0 / mass if mass > 0 else 1.0 for mass in masses])


@njit(cache=True)
def _difference(
    new: AnyArray, old: AnyArray, bounds: IntArray, weights: FloatArray, out: AnyArray
) -> None:  # pragma: no cover - compiled
    for level in range(weights.size):
        for k in range(bounds[level], bounds[level + 1]):
            out[k] = (new[k] - old[k]) * weights[level]


@njit(cache=True)
def _subtract(
    g: AnyArray, c: float, step: AnyArray, bounds: IntArray, weights: FloatArray
) -> None:  # pragma: no cover - compiled
    for level in range(weights.size):
        factor = c / weights[level]
        for k in range(bounds[level], bounds[level + 1]):
            g[k] -= factor * step[k]


@njit(cache=True, fastmath={"contract", "reassoc", "nsz"})
def _dot(u: AnyArray, v: AnyArray) -> float:  # pragma: no cover - compiled
    total = 0.0
    for k in range(u.size):
        total += float(u[k].real) * float(v[k].real) + float(u[k].imag) * float(v[k].imag)
    return total


@njit(cache=True, fastmath={"contract", "reassoc", "nsz"})
def _dot_weighted(
    u: AnyArray, v: AnyArray, bounds: IntArray, weights: FloatArray
) -> float:  # pragma: no cover - compiled
    total = 0.0
    for level in range(weights.size):
        part = 0.0
        for k in range(bounds[level], bounds[level + 1]):
            part += float(u[k].real) * float(v[k].real) + float(u[k].imag) * float(v[k].imag)
        total += part * weights[level]
    return total


def _grown(matrix: FloatArray, size: int) -> FloatArray:
    out = np.zeros((size, size))
    out[: len(matrix), : len(matrix)] = matrix
    return out
