r"""The waiting pages' phases as small tensors: a basis in which one clock is triangular.

The diagonal block of a level, equation of the Lemma in section 3, is a Kronecker *sum* of the arrival phases,
the service phase and one clock :math:`\Gamma` for each waiting page. When :math:`\Gamma` is upper triangular
the whole block is block triangular in lexicographic order, with diagonal blocks

.. math:: D \oplus S + \Big(\sum_j \Gamma_{r_j r_j}\Big) I

that depend on the *counts* of the phases alone. It is then solved by substitution with one small inverse per
count vector: no eigenvectors are needed, so Erlang clocks (one defective eigenvalue) cost and lose nothing.

`PhaseBasis` finds the triangular form. Acyclic clocks (hyperexponential, Erlang, Coxian and their mixtures)
only need their phases put in order; all numbers stay non-negative rates. A clock with cycles is turned by the
unitary Schur form: every axis of every level is seen in that basis, the row vectors :math:`\gamma U`, the
matrix :math:`U^* \Gamma U` and the column vectors :math:`U^* \Gamma_0`, :math:`U^* e` take the places of
:math:`\gamma, \Gamma, \Gamma_0, e`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import schur

from analytic.linear.elimination_kernels import factor_in_place, solve_left_in_place
from crawltwin.model.checks import FloatArray
from crawltwin.work.compiling import njit

AnyArray = npt.NDArray[Any]


@dataclass(frozen=True)
class PhaseBasis:
    """One clock in a basis where its matrix is upper triangular.

    Parameters
    ----------
    start : ndarray
        The initial row vector, gamma.
    matrix : ndarray
        The upper triangular form of Gamma.
    leave, ones : ndarray
        The column vectors Gamma_0 and e.
    natural : bool
        True when the basis is the phases themselves, in some order: all numbers are probabilities and rates.
    """

    start: AnyArray
    matrix: AnyArray
    leave: AnyArray
    ones: AnyArray
    natural: bool

    @property
    def order(self) -> int:
        """Number of phases, R."""
        return int(self.start.size)

    @classmethod
    def of(cls, gamma: FloatArray, Gamma: FloatArray, Gamma0: FloatArray) -> PhaseBasis:
        """Put the phases in order when the clock has no cycle, else take the Schur form. Cost: R^3.

        Examples
        --------
        >>> from crawltwin.model.laws import families
        >>> clock = families.erlang(3, 6.0)
        >>> basis = PhaseBasis.of(clock.initial, clock.subgenerator, clock.exit_rates)
        >>> basis.natural, bool((np.tril(basis.matrix, -1) == 0).all())
        (True, True)
        """
        order = _topological_order(Gamma)
        if order is not None:
            matrix = Gamma[np.ix_(order, order)]
            return cls(gamma[order].copy(), matrix.copy(), Gamma0[order].copy(), np.ones(gamma.size), natural=True)
        T: AnyArray
        U: AnyArray
        T, U = schur(Gamma, output="real")
        if np.tril(T, -1).any():  # a pair of complex eigenvalues is left as a block
            T, U = schur(Gamma, output="complex")
        adjoint = U.conj().T
        return cls(gamma @ U, np.triu(T), adjoint @ Gamma0, adjoint @ np.ones(gamma.size), natural=False)


def _topological_order(Gamma: FloatArray) -> list[int] | None:
    """Phases so ordered that every change leads to a later one; None when there is a cycle."""
    links = Gamma != 0
    np.fill_diagonal(links, val=False)
    left = list(range(len(Gamma)))
    order: list[int] = []
    while left:
        free = [phase for phase in left if not links[left, phase].any()]
        if not free:
            return None
        order += free
        left = [phase for phase in left if phase not in free]
    return order


@njit(cache=True)
def inverse_table(
    rates: FloatArray,
    row_sums: FloatArray,
    shifts: FloatArray,
    table: FloatArray,
) -> None:  # pragma: no cover - compiled
    """table[k] = (diag(row_sums + shifts[k] + rates e) - rates)^-1 by elimination without subtraction.

    `rates` holds the off-diagonal rates (its diagonal is ignored), `row_sums` what leaves the block from each state.
    """
    n = rates.shape[0]
    for k in range(shifts.size):
        work = rates.copy()
        factor_in_place(work, row_sums + shifts[k])
        for i in range(n):
            for j in range(n):
                table[k, i, j] = 1.0 if i == j else 0.0
        solve_left_in_place(work, table[k])
