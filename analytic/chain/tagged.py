r"""The tagged page: an absorbing chain that only knows what is ahead of it (Theorem 4).

A page at place j of the queue sees the service state of the busy indexers, the obsolescence phases of the j - 1
waiting pages ahead and its own. Later arrivals do not matter: the queue is first come, first served. Its chain
has the diagonal blocks :math:`\mathcal A_j = S \oplus \Gamma^{\oplus j}`, moves one place forward through
:math:`\hat{\mathcal B}_{j-1} = \mathcal B_{j-1} \otimes I_R` (with :math:`\hat{\mathcal B}_0 = S_0\beta \otimes e_R`,
which the paper leaves undefined: the tagged page itself goes into service and its clock stops), and ends obsolete
through its own :math:`\Gamma_0` or, from place 0, served through :math:`S_0`. Place 0 is its own indexing, which no
other page disturbs. With one indexer j is the number of pages ahead; with c indexers a page with n pages ahead is
indexed at once when n < c, and stands at place n - c + 1 otherwise. There the service state is that of c busy
indexers, and S becomes the generator of their phases.

The chain starts where an accepted page starts: level i found, position l within its batch, so i + l - 1 pages ahead.
Start weights are divided by the page rate, so they sum to the probability of being accepted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from analytic.chain.generator import level_starts, total_rates, written_out
from analytic.chain.primitives import Chain
from analytic.chain.sizes import MAX_STATES, refuse_above
from analytic.chain.summary import Summary
from analytic.chain.transitions import without_diagonal
from crawltwin.model.checks import FloatArray

NEGLIGIBLE = 1e-30
"""Starts with more pages ahead are dropped when they hold no more than this share of all starts."""


@dataclass(frozen=True)
class TaggedChain:
    """The absorbing chain of an accepted page.

    Parameters
    ----------
    matrix : csc_array
        Rates between its states, T; block lower bidiagonal in the places of the queue.
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
        """Build from the start weights (`start_weights`) of each place in the queue.

        The tagged page is the last one of a system in which nothing arrives any more, so behind c indexers its chain
        is that of the levels c + 1, c + 2, ... with no arrivals, and then its own indexing.

        Cost: proportional to the states ahead, sum of (service states) R^j.
        """
        indexers, service, R, places = chain.indexers, chain.service, chain.obsolescence_phases, len(starts)
        M, c = service.order, indexers.number
        size = sum(place_states(chain, j) for j in range(places))
        refuse_above(MAX_STATES, size, "the tagged page's chain", "Use --method auto, or a smaller capacity.")
        own, served = np.zeros(size), np.zeros(size)
        own[M:] = np.tile(chain.Gamma0, (size - M) // R)
        served[:M] = service.exit_rates
        off: Any = sp.csr_array(without_diagonal(service.subgenerator))
        if places > 1:
            ahead = chain.without_arrivals(c + places - 1)
            bounds = level_starts(ahead, c + places - 1)
            kinds, _ = written_out(ahead, bounds, tagged=True)
            first = int(bounds[c + 1])
            waiting = total_rates(kinds, int(bounds[-1]))[first:, first:]
            into = np.kron(np.outer(indexers.end_rates(c), service.initial), np.ones((R, 1)))
            rows, columns = np.nonzero(into)
            front: Any = sp.csr_array((into[rows, columns], (rows, columns)), shape=(size - M, M))
            off = sp.block_array([[off, None], [front, waiting]], format="csr")
        inside = np.concatenate(list(_diagonals(chain, places)))
        return cls(sp.csc_array(off + sp.diags_array(inside)), np.concatenate(starts), served, own)


def place_states(chain: Chain, place: int) -> int:
    """States of the tagged page at a place of the queue; at place 0 it is being indexed."""
    if place == 0:
        return chain.service_phases
    return int(chain.indexers.states(chain.indexers.number) * chain.obsolescence_phases**place)


def _diagonals(chain: Chain, places: int) -> Iterator[FloatArray]:
    """Diagonal entries of A_j = S (+) Gamma^{(+) j} for j = 0, 1, ..."""
    service, clock = chain.indexers.diagonal(chain.indexers.number), np.diag(chain.Gamma)
    yield np.diag(chain.service.subgenerator)
    if chain.obsolescence_phases == 1:
        yield (service + np.arange(1, places)[:, None] * clock).ravel()
        return
    inside = service
    for _ in range(1, places):
        inside = (inside[:, None] + clock).ravel()
        yield inside


def start_weights(chain: Chain, summary: Summary, levels: Sequence[FloatArray] | None) -> list[FloatArray]:
    """For each place of the queue the weights of the tagged page's first state, equations (17) to (19).

    The factor k of p_{i,k} (an arbitrary page is k times as likely to come in a batch of k) and the 1/k of its place in
    the batch cancel.

    Parameters
    ----------
    chain : Chain
    summary : Summary
        Marginals of the stationary distribution.
    levels : sequence of ndarray or None
        The distribution itself, level by level, of shapes (control states, rest); None with one obsolescence phase,
        where the summary holds it.
    """
    indexers, gamma = chain.indexers, chain.gamma
    c, places = indexers.number, max(chain.top - indexers.number + 1, 1)
    found = [np.zeros(place_states(chain, place)) for place in range(places)] if levels is not None else None
    together = np.zeros((places, indexers.states(c)))
    at_once, controls, total = 0.0, summary.controls, 0.0
    for pages, group in chain.groups:
        total += float(controls[group].sum(axis=0)[: pages.page_rates.size] @ pages.page_rates)
        for place, rates in enumerate(pages.place_rates, start=1):
            ahead = group + place - 1
            at_once += float(controls[group[ahead < c]].sum(axis=0)[: rates.size] @ rates)
            for level in group[(ahead >= c) & (group < c)].tolist():
                seen = rates @ summary.small_law(chain, level) @ indexers.begins(level, c - level)
                queue = level + place - c
                together[queue] += seen
                if found is not None:
                    found[queue] += _appended(seen, gamma, queue)
            full = group[group >= c]
            if found is None:
                together[full + place - c] += np.einsum("lwm,w->lm", summary.busy[full - 1, : rates.size], rates)
                continue
            for level in full.tolist():
                assert levels is not None
                found[level + place - c] += _appended(rates @ levels[level], gamma, place)
    first = at_once * chain.service.initial
    rest = list(together[1:]) if found is None else found[1:]
    return _cut([first, *rest], total)


def _appended(law: FloatArray, gamma: FloatArray, clocks: int) -> FloatArray:
    """The law with so many fresh clocks behind."""
    for _ in range(clocks):
        law = np.kron(law, gamma)
    return law


def _cut(found: list[FloatArray], total: float) -> list[FloatArray]:
    """Divide by the page rate and drop the starts so far back that they hold a negligible share."""
    tails = np.cumsum([float(weight.sum()) for weight in reversed(found)])[::-1]
    depth = max(1, int((tails > NEGLIGIBLE * tails[0]).sum()))
    return [weight / total for weight in found[:depth]]
