r"""The tagged page: an absorbing chain that only knows what is ahead of it (Theorem 4).

A page with j pages ahead of it, the one in service included, sees the service phase, the obsolescence phases of the
j - 1 waiting pages ahead and its own. Later arrivals do not matter: the queue is first come, first served. Its chain
has the diagonal blocks :math:`\mathcal A_j = S \oplus \Gamma^{\oplus j}`, moves one place forward through
:math:`\hat{\mathcal B}_{j-1} = \mathcal B_{j-1} \otimes I_R` (with :math:`\hat{\mathcal B}_0 = S_0\beta \otimes e_R`,
which the paper leaves undefined: the tagged page itself goes into service and its clock stops), and ends obsolete
through its own :math:`\Gamma_0` or, from j = 0, served through :math:`S_0`.

The chain starts where an accepted page starts: level i found, position l within its batch, so j = i + l - 1 ahead.
Start weights are divided by the page rate, so they sum to the probability of being accepted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from analytic.chain import Chain
from analytic.generator import MAX_STATES, kron_all, leave_one, sum_of_clocks
from analytic.summary import Summary
from crawltwin.model.checks import FloatArray, count
from crawltwin.model.errors import Fault, TooLargeError

NEGLIGIBLE = 1e-30
"""Starts with more pages ahead are dropped when they hold no more than this share of all starts."""


@dataclass(frozen=True)
class TaggedChain:
    """The absorbing chain of an accepted page.

    Parameters
    ----------
    matrix : csc_array
        Rates between its states, T; block lower bidiagonal in the number of pages ahead.
    start : ndarray
        Weights of the first state; sums to the probability that a page is accepted.
    served, obsolete : ndarray
        Rates of the two ends from each state.
    """

    matrix: Any
    start: FloatArray
    served: FloatArray
    obsolete: FloatArray

    @classmethod
    def of(cls, chain: Chain, starts: Sequence[FloatArray]) -> TaggedChain:
        """Build from the start weights (`start_weights`) of each number of pages ahead.

        Cost: proportional to the states ahead, sum of M R^j.
        """
        M, R, depth = chain.service_phases, chain.obsolescence_phases, len(starts)
        size = sum(M * R**j for j in range(depth))
        if size > MAX_STATES:
            raise TooLargeError(
                [
                    Fault(
                        "capacity",
                        f"the tagged page's chain must have at most {MAX_STATES:,} states; got {count(size)}",
                        "Use --method auto, or a smaller capacity.",
                    )
                ]
            )
        matrix = _single_phase(chain, depth) if R == 1 else _blocks(chain, depth)
        served, obsolete = np.zeros(size), np.zeros(size)
        served[:M] = chain.service.exit_rates
        at = M
        for j in range(1, depth):
            width = M * R**j
            obsolete[at : at + width] = np.tile(chain.Gamma0, width // R)
            at += width
        return cls(matrix, np.concatenate(starts), served, obsolete)


def start_weights(chain: Chain, levels: Sequence[FloatArray]) -> list[FloatArray]:
    """For each number of pages ahead the weights of the tagged page's first state, equations (17) to (19).

    The factor k of p_{i,k} (an arbitrary page is k times as likely to come in a batch of k) and the 1/k of its place in
    the batch cancel.
    """
    M, R = chain.service_phases, chain.obsolescence_phases
    found = [np.zeros(M * R**j) for j in range(chain.top)]
    total = 0.0
    for level, flow in enumerate(chain.flows):
        p = levels[level].reshape(chain.arrival_phases, -1)
        total += float(p.sum(axis=1) @ flow.page_rates)
        for place, rates in enumerate(flow.place_rates, start=1):
            seen: FloatArray = rates @ p if level else float((rates @ p)[0]) * chain.service.initial
            for _ in range(place if level else place - 1):
                seen = np.kron(seen, chain.gamma)
            found[level + place - 1] += seen
    return _cut(found, total)


def start_weights_single(chain: Chain, summary: Summary) -> list[FloatArray]:
    """The same for one obsolescence phase, all levels of one flow at once."""
    found = np.zeros((chain.top, chain.service_phases))
    total = 0.0
    for flow, levels in chain.groups:
        full = levels[levels > 0]
        total += float(summary.arrival_phases[levels].sum(axis=0) @ flow.page_rates)
        for place, rates in enumerate(flow.place_rates, start=1):
            np.add.at(found, full + place - 1, np.einsum("lwm,w->lm", summary.busy[full - 1], rates))
            if full.size < levels.size:
                found[place - 1] += float(summary.empty @ rates) * chain.service.initial
    return _cut(list(found), total)


def _cut(found: list[FloatArray], total: float) -> list[FloatArray]:
    """Divide by the page rate and drop the starts so far back that they hold a negligible share."""
    tails = np.cumsum([float(weight.sum()) for weight in reversed(found)])[::-1]
    depth = max(1, int((tails > NEGLIGIBLE * tails[0]).sum()))
    return [weight / total for weight in found[:depth]]


def _single_phase(chain: Chain, depth: int) -> Any:
    """T with one obsolescence phase, all levels at once."""
    M, rate = chain.service_phases, float(chain.Gamma0[0])
    ends = np.outer(chain.service.exit_rates, chain.service.initial)
    ahead = np.arange(depth, dtype=np.float64)
    inside = sp.kron(sp.eye_array(depth), chain.service.subgenerator) - rate * sp.kron(
        sp.diags_array(ahead), sp.eye_array(M)
    )
    forward = sp.kron(sp.eye_array(depth, k=-1), ends)
    # Of the j - 1 waiting pages ahead one becomes obsolete.
    leave = sp.kron(sp.diags_array(np.maximum(ahead[1:] - 1, 0), offsets=-1, shape=(depth, depth)), sp.eye_array(M))
    return sp.csc_array(inside + forward + rate * leave)


def _blocks(chain: Chain, depth: int) -> Any:
    """T with several obsolescence phases, level by level."""
    R = chain.obsolescence_phases
    rows: list[list[Any]] = [[None] * depth for _ in range(depth)]
    for j in range(depth):
        rows[j][j] = sum_of_clocks(chain, j)
        if j == 1:
            ends = np.outer(chain.service.exit_rates, chain.service.initial)
            rows[1][0] = kron_all(ends, np.ones((R, 1)))
        elif j > 1:
            rows[j][j - 1] = kron_all(leave_one(chain, j - 1), np.eye(R))
    return sp.csc_array(sp.block_array(rows, format="csc"))
