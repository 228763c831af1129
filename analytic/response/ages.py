r"""How long the pages in the system have been there: what the variance of mean sojourn times needs beyond the state.

The sojourn times of served pages are not a function of the chain's state: at each departure the *age* of the page is
booked. Let :math:`A_j` be the age of the page with j pages ahead and :math:`c_j` the probability that it will be
served. The total booked up to t, plus what the pages present are expected to book for the time they have already spent,
:math:`\sum_j A_j c_j`, plus a function h of the state, is a martingale when :math:`-Qh` is :math:`\sum_j c_j` minus its
mean. Its jumps are

.. math:: h(s') - h(s) + \sum_j A_j b_j(s \to s'),

:math:`b_j` being the change of page j's chances (to 1 or 0 when it leaves). So its variance needs the first and second
moments of the ages, jointly with the state. Ages grow at rate one, hence these moments satisfy linear equations of the
chain that follows one page, or two, through the queue. The page farther back decides which moves keep both in their
places, so for each place there is one band matrix, for one page and all pairs alike; they are solved from the last
place forwards.

One obsolescence phase only: then chances depend on the number of pages ahead and the service phase alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from analytic.chain.primitives import Chain
from analytic.response.poisson_equation import BandFactor, Deviation
from crawltwin.model.checks import FloatArray

MAX_LEVELS = 200
"""Most levels for which the moments are computed: their number grows with the cube of the levels."""


def ages_known(chain: Chain) -> bool:
    """Whether the moments of the ages can be computed: one obsolescence phase, one indexer, the paper's robots."""
    controller = chain.controller
    plain = chain.indexers.number == 1 and controller.memory is None and controller.matrices.phase_stays
    return plain and chain.obsolescence_phases == 1


@dataclass(frozen=True)
class AgeMoments:
    """Moments of the ages, jointly with the state.

    Parameters
    ----------
    first : list of ndarray, shapes (top - k, n)
        `first[k][i - k - 1]`: E[A_k; state] over the states of level i.
    second : list of ndarray, shapes (k + 1, top - k, n)
        `second[k][j, i - k - 1]`: E[A_j A_k; state].
    """

    first: list[FloatArray]
    second: list[FloatArray]

    @classmethod
    def of(cls, deviation: Deviation) -> AgeMoments:
        """Solve for all places. Cost: a band factorisation for each place, and a solve for each pair of places."""
        chain, starts = deviation.events.chain, deviation.events.starts
        top, n = chain.top, int(starts[2] - starts[1]) if chain.top > 1 else int(starts[-1] - starts[1])
        rate = float(chain.Gamma0[0])
        p = deviation.p[starts[1] :].reshape(top, n)
        ends = np.kron(np.eye(chain.arrival_phases), np.outer(chain.service.exit_rates, chain.service.initial))
        factors = [_place(deviation, k, n) for k in range(top)]

        def solve(k: int, right: FloatArray) -> FloatArray:
            flat = right.reshape(-1, (top - k) * n)
            return np.asarray(factors[k].solve(flat.T, transposed=True).T).reshape(right.shape)

        first: list[FloatArray] = [np.zeros(0)] * top
        for k in range(top - 1, -1, -1):
            right = p[k:].copy()
            if k + 1 < top:
                right[:-1] += first[k + 1] @ ends + k * rate * first[k + 1]
            first[k] = solve(k, right)
        second: list[FloatArray] = [np.zeros(0)] * top
        for k in range(top - 1, -1, -1):
            right = np.stack([first[j][k - j :] + first[k] for j in range(k + 1)])
            if k + 1 < top:
                behind, places = second[k + 1], np.arange(k + 1)[:, None, None]
                right[:, :-1] += behind[1:] @ ends + places * rate * behind[1:]
                right[:, :-1] += (k - places) * rate * behind[:-1]
            second[k] = solve(k, right)
        return cls(first, second)


def _place(deviation: Deviation, k: int, n: int) -> BandFactor:
    """Moves that leave the page with k pages ahead in its place, with all rates out of each state on the diagonal."""
    events = deviation.events
    chain, first = events.chain, int(events.starts[k + 1])
    stay = sp.csr_array((events.states - first, events.states - first))
    for event in events.kinds:
        if not event.served and not event.obsolete:
            stay = stay + event.rates[first:, first:]
    stay = sp.csr_array(stay)
    stay.setdiag(0.0)
    levels = events.levels[first:]
    behind = float(chain.Gamma0[0]) * (levels - 1 - k)
    drop = sp.diags_array(behind[n:], offsets=-n, shape=stay.shape) if behind.size > n else 0 * stay
    out = -events.matrix.diagonal()[first:]
    return BandFactor.of(sp.csr_array(sp.diags_array(out) - stay - drop))


@dataclass(frozen=True)
class BookedAges:
    """What the ages add to the covariances of the sojourn of served pages.

    Parameters
    ----------
    with_others : ndarray
        Covariance of its age part with each functional's jumps.
    own : float
        Variance of the age part.
    """

    with_others: FloatArray
    own: float

    @classmethod
    def of(
        cls, deviation: Deviation, chance: list[FloatArray], h: FloatArray, marks: Mapping[str, FloatArray]
    ) -> BookedAges:
        """Sum over transitions.

        Parameters
        ----------
        chance : list of ndarray, shapes (M, 1)
            Probability of being served by pages ahead.
        h : ndarray, shape (states, functionals)
            Solutions of the Poisson equations.
        marks : mapping
            What each functional counts when a page is `obsolete`, when one is `served`, when the number of robots
            `switches`.
        """
        chain, starts = deviation.events.chain, deviation.events.starts
        ages = AgeMoments.of(deviation)
        W, M, rate = chain.arrival_phases, chain.service_phases, float(chain.Gamma0[0])
        S, S0, beta = chain.service.subgenerator, chain.service.exit_rates, chain.service.initial
        others, own = np.zeros(h.shape[1]), 0.0
        c = np.concatenate(chance, axis=1).T
        for level in range(2, chain.top + 1):
            # Page 0 is in service: its fate is known, so only places 1..level-1 have anything to learn.
            m = np.stack([ages.first[j][level - j - 1] for j in range(1, level)]).reshape(level - 1, W, M)
            pairs = np.zeros((level - 1, level - 1, W, M))
            for k in range(1, level):
                block = ages.second[k][1:, level - k - 1].reshape(k, W, M)
                pairs[:k, k - 1] = pairs[k - 1, :k] = block
            here = h[starts[level] : starts[level + 1]].reshape(W, M, -1)
            below = h[starts[level - 1] : starts[level]].reshape(W, M, -1)
            chances, ahead = c[1:level], c[: level - 1]
            switched = chain.flows[level].leaving[0].switches * marks["switches"]
            obsolete, served = marks["obsolete"] + switched, marks["served"] + switched
            for a in range(M):
                # Obsolescence of page k: it has lost its chance, those behind it move up.
                lost = np.tril(np.ones((level - 1, level - 1)), -1).T * (ahead[:, a] - chances[:, a])
                np.fill_diagonal(lost, -chances[:, a])
                own += rate * float(np.einsum("kj,jlw,kl->", lost, pairs[:, :, :, a], lost, optimize=True))
                jump = obsolete + below[:, a] - here[:, a]
                others += rate * (lost.sum(axis=0) @ m[:, :, a]) @ jump
                for b in range(M):
                    moves = []
                    if a != b and S[a, b] > 0:
                        moves.append((S[a, b], chances[:, b] - chances[:, a], here[:, b] - here[:, a]))
                    if S0[a] * beta[b] > 0:
                        moves.append((S0[a] * beta[b], ahead[:, b] - chances[:, a], served + below[:, b] - here[:, a]))
                    for speed, gain, jump in moves:
                        own += speed * float(np.einsum("j,jlw,l->", gain, pairs[:, :, :, a], gain, optimize=True))
                        others += speed * (gain @ m[:, :, a]) @ jump
        return cls(others, own)
