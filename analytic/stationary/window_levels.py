r"""The levels of the chain with an ordered window: which pages keep their order, and the steps between levels.

With n pages waiting, the oldest h = min(n, H) keep their phases in order; of the others only the counts by
phase are known. When an ordered page leaves, the next one is drawn from the counts, each counted page being
equally likely. With H at least the largest number of waiting pages nothing is forgotten and the chain is the
paper's own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from analytic.linear import level_kernels as kernels
from analytic.linear.count_vectors import (
    IntArray,
    count_index,
    count_states,
    counts,
    one_less,
    one_more,
    ordered_classes,
)
from analytic.linear.kronecker import AnyArray, PhaseBasis, inverse_table
from analytic.linear.level_kernels import LevelTables
from crawltwin.model.checks import FloatArray

_NONE = np.zeros((1, 1), dtype=np.int64)


@dataclass(frozen=True)
class WindowLevels:
    """Shapes and steps of the levels when at most `window` waiting pages are kept in order.

    Parameters
    ----------
    basis : PhaseBasis
        The clock of one waiting page.
    window : int
        H, the number of oldest waiting pages whose phases are kept in order.
    """

    basis: PhaseBasis
    window: int

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """Real unless the clock's eigenvalues are complex."""
        return np.result_type(self.basis.matrix.dtype, np.float64)

    @cached_property
    def complex_valued(self) -> WindowLevels:
        """The same levels for complex numbers."""
        return WindowLevels(replace(self.basis, matrix=self.basis.matrix.astype(complex), natural=False), self.window)

    def split(self, waiting: int) -> tuple[int, int]:
        """How many of the waiting pages are ordered and how many counted."""
        ordered = min(waiting, self.window)
        return ordered, waiting - ordered

    def shape(self, waiting: int) -> tuple[int, int]:
        """Number of ordered strings and of count vectors."""
        ordered, counted = self.split(waiting)
        R = self.basis.order
        return int(R**ordered), count_states(counted, R)

    def size(self, waiting: int) -> int:
        """Number of configurations of the waiting pages."""
        strings, vectors = self.shape(waiting)
        return strings * vectors

    def down(self, x: AnyArray, waiting: int, ends: FloatArray, stale: FloatArray | None = None) -> AnyArray:
        """One page leaves: the first into service (small matrix `ends`), or any one obsolete (B_i of the Lemma).

        `stale` is what an obsolete page does to the small state; None: nothing. Cost: about (h + 2) passes over x.
        """
        if stale is None:
            return self._down(x, waiting, ends, self.basis.leave)
        same, none = np.eye(x.shape[2]), np.zeros_like(self.basis.leave)
        out = np.zeros((*self.shape(waiting - 1), ends.shape[1]), dtype=self.dtype)
        kernels.times_small(self._down(x, waiting, same, none), ends.astype(self.dtype), out)
        kernels.times_small(self._down(x, waiting, 0.0 * same, self.basis.leave), stale.astype(self.dtype), out)
        return out

    def _down(self, x: AnyArray, waiting: int, ends: FloatArray, leave: AnyArray) -> AnyArray:
        basis = self.basis
        ordered, counted = self.split(waiting)
        strings, vectors = self.shape(waiting)
        A = x.shape[2]
        if counted == 0:
            y = np.empty((strings // basis.order, 1, A), dtype=self.dtype)
            kernels.leave_front(x, ends, leave, basis.ones, ordered, y)
            return y
        more, fewer = one_more(counted - 1, basis.order), counts(counted - 1, basis.order)
        out = np.empty((*self.shape(waiting - 1), A), dtype=self.dtype)
        if ordered == 0:
            kernels.leave_counted(x, ends, leave, basis.ones, more, fewer, counted, out)
            return out
        y = np.empty((strings // basis.order, vectors, A), dtype=self.dtype)
        kernels.leave_front(x, ends, leave, basis.ones, ordered, y)
        kernels.draw_next(y, x, leave, more, fewer, counted, out)
        return out

    def add(self, v: AnyArray, waiting: int) -> AnyArray:
        """A new page joins `waiting` others at the end, its clock started: v (x) gamma."""
        _, counted = self.split(waiting + 1)
        out = np.empty((*self.shape(waiting + 1), v.shape[2]), dtype=self.dtype)
        if counted == 0:
            kernels.add_page(v, self.basis.start, out)
        else:
            kernels.add_counted(v, self.basis.start, one_less(counted, self.basis.order), out)
        return out

    def refine(self, x: AnyArray, waiting: int) -> AnyArray:
        """The same level with one page more kept in order, drawn from the counts: a start for the wider window."""
        _, counted = self.split(waiting)
        if counted == 0:
            return x
        R = self.basis.order
        out = np.empty((x.shape[0] * R, count_states(counted - 1, R), x.shape[2]), dtype=self.dtype)
        more, fewer = one_more(counted - 1, R), counts(counted - 1, R)
        # Nobody leaves: the first argument is drawn from, the second only matters for obsolete pages.
        kernels.draw_next(x, out, np.zeros(R, dtype=self.dtype), more, fewer, counted, out)
        return out

    def tables(self, waiting: int, rates: FloatArray, row_sums: AnyArray) -> LevelTables:
        """Inverses of the small block, shifted by the clocks, for every count of phases.

        Parameters
        ----------
        waiting : int
            Number of waiting pages.
        rates : ndarray
            Off-diagonal rates inside the small block (its diagonal is ignored).
        row_sums : ndarray
            Rates out of the small block without the clocks.
        """
        basis, R = self.basis, self.basis.order
        ordered, counted = self.split(waiting)
        every = counts(waiting, R)
        front, rest = counts(ordered, R), counts(counted, R)
        both = (front[:, None, :] + rest[None, :, :]).reshape(-1, R)
        pairs = count_index(both, R).reshape(len(front), len(rest))
        shifts = every @ np.diag(basis.matrix)
        n = len(row_sums)
        table = np.empty((len(every), n, n), dtype=self.dtype)
        off = rates - np.diag(np.diag(rates))
        small = off - np.diag(row_sums + off.sum(axis=1))
        if basis.natural:
            inverse_table(off, row_sums, -shifts, table)
        else:
            table[:] = np.linalg.inv(-small[None] - shifts[:, None, None] * np.eye(n))
        sums, flows = _weights(every, basis)
        more, less = (one_more(counted - 1, R), one_less(counted, R)) if counted else (_NONE, _NONE)
        return LevelTables(
            ordered_classes(ordered, R), pairs, table, rest, more, less, sums, flows, shifts, small.astype(self.dtype)
        )

    def solve(
        self,
        right: AnyArray,
        waiting: int,
        tables: LevelTables,
        x: AnyArray,
        scale: AnyArray,
    ) -> tuple[float, AnyArray, AnyArray]:
        """Overwrite x by `right` (-Q_ii)^-1; returns its change, its sums and its obsolescence by small state."""
        A = right.shape[2]
        total, flow = np.empty(A, dtype=self.dtype), np.empty(A, dtype=self.dtype)
        ordered, _ = self.split(waiting)
        change = kernels.solve_level(right, self.basis.matrix, tables, ordered, scale, x, total, flow)
        return float(change), total, flow

    def apply(self, x: AnyArray, waiting: int, tables: LevelTables, out: AnyArray) -> None:
        """Add x Q_ii to `out`."""
        ordered, _ = self.split(waiting)
        kernels.apply_level(x, self.basis.matrix, tables, ordered, out)


def _weights(every: IntArray, basis: PhaseBasis) -> tuple[AnyArray, AnyArray]:
    """For each count vector the product of the phases' e, and the total rate at which a page becomes obsolete."""
    if basis.natural:
        return np.ones(len(every)), every @ basis.leave
    powers = basis.ones[None, :] ** every
    sums = powers.prod(axis=1)
    flows = np.zeros(len(every), dtype=sums.dtype)
    for phase in range(basis.order):
        has = every[:, phase] > 0
        less = every[has].copy()
        less[:, phase] -= 1
        flows[has] += every[has, phase] * basis.leave[phase] * (basis.ones[None, :] ** less).prod(axis=1)
    return sums, flows
