r"""Compiled passes over counts per interval: any MAP of small order, without approximation.

In an interval of length :math:`\tau` let :math:`P(n)` hold the probabilities of n arrivals by the phases at both ends;
:math:`\sum_n P(n) z^n = e^{(D_0 + z D_1)\tau}`. With :math:`q \ge \max |D_0(i,i)|`, :math:`A_0 = I + D_0/q` and
:math:`A_1 = D_1/q`, uniformisation gives sums of non-negative terms only:

.. math:: a P(n) = \sum_k \mathrm{Poisson}(k; q\tau)\, u_k(n), \qquad
          u_{k+1}(j) = u_k(j) A_0 + u_k(j-1) A_1, \quad u_0(0) = a .

The law of the phase is carried from interval to interval (forward), its likelihood of all later counts backward. The
expected time in phase i, hidden jumps and arrivals within an interval of n pages are, up to the rate, the integrals

.. math:: \int_0^\tau \sum_j (a P_s(j))_i (P_{\tau-s}(n - d - j) b)_{i'} ds
          = \frac1q \sum_l \sum_j u_l(j)_i\, w_l(n - d - j)_{i'} ,

d = 0 for time and hidden jumps, 1 for arrivals, because Poisson(l; qs) and Poisson(m; q(t-s)) convolve to
Poisson(l+m+1; qt)/q; :math:`w_l(r) = \sum_m \mathrm{Poisson}(l+m+1; q\tau) v_m(r)` with :math:`v_0(0) = b`,
:math:`v_{m+1}(r) = A_0 v_m(r) + A_1 v_m(r-1)` is one backward recursion,

.. math:: w_l(r) = A_0 w_{l+1}(r) + A_1 w_{l+1}(r-1) + [r = 0]\,\mathrm{Poisson}(l+1; q\tau)\, b .

(Okamura, Dohi and Trivedi, Markovian arrival process parameter estimation with group data, IEEE/ACM Trans. Networking
17, 2009.) A step of the chain brings at most one page, so of :math:`u_k(j)` only those with
:math:`n - (K - k) \le j \le \min(k, n)` can matter, K the number of terms: the cost per interval is
:math:`O(K \min(n, K - n) m^2)`, m phases.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crawltwin.work.compiling import njit
from fitting.models.kernels import Float, Int
from fitting.models.uniformisation import poisson_weights

_LEAST = 1e-300


class CountTrace(NamedTuple):
    """Lengths of the intervals, pages counted in each, the first interval of every stretch."""

    lengths: Float
    counts: Int
    first: Int


class CountLaw(NamedTuple):
    """The process: law of the phase at the beginning of a stretch, and the matrices."""

    start: Float
    D0: Float
    D1: Float


def work(lengths: Float, counts: Int, fastest: float, order: int) -> float:
    """Multiplications of one forward pass, about; `fastest` is the largest rate."""
    mean = fastest * lengths
    terms = np.maximum(mean + 8 * np.sqrt(mean), counts) + 30
    return float((terms * np.minimum(counts + 1, terms - counts) * 2 * order**2).sum())


@njit(cache=True, nogil=True)
def _terms(mean: float, pages: int, weights: Float) -> int:
    """Poisson probabilities into `weights`; returns how many matter, more where so many pages are unlikely."""
    count = poisson_weights(mean, weights)
    wanted = min(max(count, pages + 30), weights.size)
    for k in range(count, wanted):
        weights[k] = weights[k - 1] * mean / k
    return wanted


@njit(cache=True, nogil=True)
def _uniformised(D0: Float, D1: Float, lengths: Float, counts: Int) -> tuple[float, Float, Float, int, int]:
    """Largest rate, the steps without and with a page, most terms and most pages of an interval."""
    q, terms, pages = 0.0, 0, 0
    for i in range(D0.shape[0]):
        q = max(q, -D0[i, i])
    for t in range(lengths.size):
        mean = q * lengths[t]
        terms = max(terms, int(mean + 8.0 * np.sqrt(mean)) + 40, counts[t] + 40)
        pages = max(pages, counts[t])
    A0 = D0 / q
    for i in range(D0.shape[0]):
        A0[i, i] += 1.0
    return q, A0, D1 / q, terms, pages


@njit(cache=True, nogil=True)
def _advance(row: Float, A0: Float, A1: Float, low: int, high: int, following: Float) -> None:
    """One step of the chain for rows `low` to `high` of pages so far."""
    order = A0.shape[0]
    for j in range(low, high + 1):
        for i in range(order):
            value = 0.0
            for k in range(order):
                value += row[j, k] * A0[k, i]
            if j > 0:
                for k in range(order):
                    value += row[j - 1, k] * A1[k, i]
            following[j, i] = value


@njit(cache=True, nogil=True)
def _add(left: Float, right: Float, total: Float) -> None:
    """Add the outer product of two vectors."""
    for i in range(left.size):
        for j in range(right.size):
            total[i, j] += left[i] * right[j]


@njit(cache=True, nogil=True)
def forward(trace: CountTrace, law: CountLaw, before: Float, below: Float) -> tuple[Float, Float]:
    """Log-likelihood of each count given all before it, and the likelihood itself.

    `before` takes the phase's law before each interval, `below` the probability of a smaller count given all before,
    if they have as many rows as the trace; for `below` no part of the sums can be left out, and the pass costs more.
    """
    lengths, counts, first = trace
    start, D0, D1 = law
    n, order = lengths.size, start.size
    q, A0, A1, terms, most = _uniformised(D0, D1, lengths, counts)
    weights, rows = np.empty(terms), np.zeros((2, most + 1, order))
    result, scale = np.empty(n), np.empty(n)
    state, end = np.empty(order), np.empty(order)
    keep, all_counts = before.shape[0] == n, below.shape[0] == n
    stretch = 0
    for t in range(n):
        if stretch < first.size and t == first[stretch]:
            stretch += 1
            state[:] = start
        if keep:
            before[t] = state
        pages = counts[t]
        count = _terms(q * lengths[t], pages, weights)
        rows[0, : pages + 1] = 0.0
        rows[1, : pages + 1] = 0.0
        rows[0, 0] = state
        end[:] = 0.0
        smaller = 0.0
        at = 0
        for k in range(count):
            if k > 0:
                low = 0 if all_counts else max(0, pages - (count - 1 - k))
                _advance(rows[at], A0, A1, low, min(k, pages), rows[1 - at])
                at = 1 - at
            if k >= pages:
                for i in range(order):
                    end[i] += weights[k] * rows[at, pages, i]
            if all_counts:
                part = 0.0
                for j in range(min(k + 1, pages)):
                    for i in range(order):
                        part += rows[at, j, i]
                smaller += weights[k] * part
        total = max(end.sum(), _LEAST)
        state[:] = end / total
        if all_counts:
            below[t, 0] = smaller
        result[t], scale[t] = np.log(total), total
    return result, scale


@njit(cache=True, nogil=True)
def expectations(trace: CountTrace, law: CountLaw) -> tuple[float, tuple[Float, Float, Float, Float]]:
    """One E step: log-likelihood; expected time in each phase, hidden jumps, arrivals, first phases of stretches."""
    lengths, counts, first = trace
    start, D0, D1 = law
    n, order = lengths.size, start.size
    before = np.empty((n, order))
    scores, scale = forward(trace, law, before, np.empty((0, 0)))
    likelihood = 0.0
    for score in scores:
        likelihood += score
    q, A0, A1, terms, most = _uniformised(D0, D1, lengths, counts)
    weights = np.empty(terms)
    left = np.zeros((terms, most + 1, order))
    right = np.zeros((most + 1, order))
    stay, come, begin = np.zeros((order, order)), np.zeros((order, order)), np.zeros(order)
    ahead, beta, value = np.empty(order), np.ones(order), np.empty(order)
    stretch = first.size - 1
    for t in range(n - 1, -1, -1):
        ahead[:] = beta / scale[t]
        pages = counts[t]
        count = _terms(q * lengths[t], pages, weights)
        left[0, : pages + 1] = 0.0
        left[0, 0] = before[t]
        for k in range(1, count):
            low, high = max(0, pages - (count - 1 - k)), min(k, pages)
            if high == k:
                # A row of the step before that this one reads and that step did not write.
                left[k - 1, k] = 0.0
            _advance(left[k - 1], A0, A1, low, high, left[k])
        right[: pages + 1] = 0.0
        for k in range(count - 2, -1, -1):
            lowest, highest = max(0, pages - 1 - k), min(pages, count - 2 - k)
            for r in range(highest, lowest - 1, -1):
                for i in range(order):
                    total = weights[k + 1] * ahead[i] if r == 0 else 0.0
                    for j in range(order):
                        total += A0[i, j] * right[r, j]
                        if r > 0:
                            total += A1[i, j] * right[r - 1, j]
                    value[i] = total
                right[r] = value
                if r >= pages - k:
                    _add(left[k, pages - r], value, stay)
                if r < pages:
                    _add(left[k, pages - 1 - r], value, come)
        for i in range(order):
            total = weights[0] * ahead[i] if pages == 0 else 0.0
            for j in range(order):
                total += A0[i, j] * right[pages, j]
                if pages > 0:
                    total += A1[i, j] * right[pages - 1, j]
            beta[i] = total
        if stretch >= 0 and t == first[stretch]:
            stretch -= 1
            for i in range(order):
                begin[i] += before[t, i] * beta[i]
            beta[:] = 1.0
    return likelihood, (np.diag(stay) / q, stay * D0 / q, come * D1 / q, begin)
