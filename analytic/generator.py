r"""The explicit generator Q of the Lemma (section 3), sparse, for the three admission rules.

States are ordered as in the paper: level i, arrival phase, service phase, phases :math:`r_1, \dots, r_{i-1}` of the
waiting pages, oldest first. Blocks:

* up by l: :math:`\mathcal D_l \otimes I_{M R^{i-1}} \otimes \gamma^{\otimes l}`, from level 0 with :math:`\beta` for
the page that goes into service;
* down by one: :math:`I \otimes \mathcal B_{i-1}`, :math:`\mathcal B_i = S_0\beta \otimes e_R \otimes I + I_M \otimes
  \Gamma_0^{\oplus i}`;
* in the level: :math:`\mathcal D_0 \oplus \mathcal A_{i-1}`, :math:`\mathcal A_i = S \oplus \Gamma^{\oplus i}`.

The diagonal is minus the sum of the rest of the row, so that rows sum to zero in floating point.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import scipy.sparse as sp

from analytic.chain import Chain
from analytic.summary import Summary
from crawltwin.model.checks import FloatArray, count
from crawltwin.model.errors import Fault, TooLargeError

MAX_STATES = 400_000
"""Most states for which the explicit generator is built."""


@dataclass(frozen=True)
class Generator:
    """Q with the positions of its levels.

    Parameters
    ----------
    chain : Chain
    matrix : csr_array
        Rates; rows sum to zero.
    starts : tuple of int
        Index of the first state of each level, and one past the last.
    """

    chain: Chain
    matrix: Any
    starts: tuple[int, ...]

    @classmethod
    def of(cls, chain: Chain, max_states: int = MAX_STATES) -> Generator:
        """Build Q. Cost: proportional to its non-zero entries, about (batch sizes + phases) an each state.

        Raises
        ------
        TooLargeError
            Before anything is built, when there are more than `max_states` states.
        """
        if chain.states > max_states:
            raise TooLargeError(
                [
                    Fault(
                        "capacity",
                        f"the explicit chain must have at most {max_states:,} states; got {count(chain.states)}",
                        "Use --method auto, which never builds the generator, or a smaller capacity.",
                    )
                ]
            )
        top = chain.top
        rows: list[list[Any]] = [[None] * (top + 1) for _ in range(top + 1)]
        for level in range(top + 1):
            for target, block in level_blocks(chain, level).items():
                rows[level][target] = block
        off = sp.csr_array(sp.block_array(rows, format="csr"))
        off.setdiag(0)
        off.eliminate_zeros()
        matrix = sp.csr_array(off - sp.diags_array(np.asarray(off.sum(axis=1)).ravel()))
        sizes = [chain.level_states(level) for level in range(top + 1)]
        return cls(chain, matrix, tuple(np.concatenate([[0], np.cumsum(sizes)]).tolist()))

    def block(self, level: int, target: int) -> FloatArray:
        """Q_{i,i'} as a dense matrix."""
        s = self.starts
        return np.asarray(self.matrix[s[level] : s[level + 1], s[target] : s[target + 1]].toarray())

    def levels(self, p: FloatArray) -> list[FloatArray]:
        """A vector over the states cut into levels, each of shape (W, M R^{i-1})."""
        cuts = zip(self.starts, self.starts[1:], strict=False)
        return [p[first:last].reshape(self.chain.arrival_phases, -1) for first, last in cuts]

    def summarise(self, p: FloatArray) -> Summary:
        """Marginals of a distribution over the states."""
        chain, s = self.chain, self.starts
        W, M, R = chain.arrival_phases, chain.service_phases, chain.obsolescence_phases
        busy, flow = np.zeros((chain.top, W, M)), np.zeros(chain.top + 1)
        for level in range(1, chain.top + 1):
            part = p[s[level] : s[level + 1]].reshape(W, M, -1)
            busy[level - 1] = part.sum(axis=2)
            if level > 1:
                clocks = part.sum(axis=(0, 1)).reshape((R,) * (level - 1))
                flow[level] = sum(
                    float(clocks.sum(axis=tuple(k for k in range(level - 1) if k != j)) @ chain.Gamma0)
                    for j in range(level - 1)
                )
        return Summary(p[s[0] : s[1]], busy, flow)


def level_blocks(chain: Chain, level: int) -> dict[int, Any]:
    """Non-zero blocks of one level's rows, target level -> sparse block (off-diagonal rates only matter)."""
    W, M, R = chain.arrival_phases, chain.service_phases, chain.obsolescence_phases
    flow, beta, gamma = chain.flows[level], chain.service.initial[None, :], chain.gamma[None, :]
    blocks: dict[int, Any] = {}
    if level == 0:
        blocks[0] = sp.csr_array(flow.stay)
        for step, rates in flow.jumps.items():
            blocks[step] = kron_all(rates, beta, *[gamma] * (step - 1))
        return blocks
    waiting = level - 1
    if level == 1:
        blocks[0] = kron_all(np.eye(W), chain.service.exit_rates[:, None])
    else:
        blocks[level - 1] = kron_all(np.eye(W), leave_one(chain, waiting))
    inner = sum_of_clocks(chain, waiting)
    blocks[level] = kron_all(flow.stay, sp.eye_array(M * R**waiting)) + kron_all(np.eye(W), inner)
    for step, rates in flow.jumps.items():
        blocks[level + step] = kron_all(rates, sp.eye_array(M * R**waiting), *[gamma] * step)
    return blocks


def sum_of_clocks(chain: Chain, waiting: int) -> Any:
    """A_i = S (+) Gamma^{(+) i}: the service clock and `waiting` obsolescence clocks run side by side."""
    R = chain.obsolescence_phases
    if R == 1:
        # Every clock is the same number: one product a level in place of one a page.
        return sp.csr_array(chain.service.subgenerator + waiting * chain.Gamma[0, 0] * np.eye(chain.service_phases))
    total = kron_all(chain.service.subgenerator, sp.eye_array(R**waiting))
    for before, after, times in _positions(R, waiting):
        total = total + times * kron_all(sp.eye_array(chain.service_phases * before), chain.Gamma, sp.eye_array(after))
    return total


def leave_one(chain: Chain, waiting: int) -> Any:
    """B_i: service ends and the oldest waiting page takes its place, or one of `waiting` pages becomes obsolete."""
    R, M = chain.obsolescence_phases, chain.service_phases
    ends = np.outer(chain.service.exit_rates, chain.service.initial)
    if R == 1:
        return sp.csr_array(ends + waiting * chain.Gamma0[0] * np.eye(M))
    total = kron_all(ends, np.ones((R, 1)), sp.eye_array(R ** (waiting - 1)))
    for before, after, times in _positions(R, waiting):
        total = total + times * kron_all(sp.eye_array(M * before), chain.Gamma0[:, None], sp.eye_array(after))
    return total


def _positions(R: int, waiting: int) -> list[tuple[int, int, int]]:
    """Sizes before and after each clock's factor, and how often; with one phase all positions are the same."""
    if R == 1:
        return [(1, 1, waiting)] if waiting else []
    return [(R**j, R ** (waiting - j - 1), 1) for j in range(waiting)]


def kron_all(*factors: Any) -> Any:
    """Kronecker product of several factors, sparse."""
    return reduce(lambda left, right: sp.csr_array(sp.kron(left, right, format="csr")), factors, sp.csr_array([[1.0]]))
