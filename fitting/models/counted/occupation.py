r"""Compiled passes over large counts: MMPPs whose phase may change at the borders of slices of an interval.

Given the path of its phases, an MMPP counts a Poisson number of pages with mean :math:`\sum_i \lambda_i T_i`,
:math:`T_i` the time in phase i: the count depends on the path through the times alone. Cut the interval into S slices
of length h, let the phase be constant in each, and let it move from slice to slice by the matrix Q. Then

.. math:: P(n)_{ij} = \sum_o W_{ij}(o)\, \mathrm{Poisson}\Bigl(n;\ h \sum_k \lambda_k o_k\Bigr),

o the numbers of slices spent in each phase and W their joint law with the first and last phase, a recursion over the
slices that does not know n. One slice gives a hidden Markov chain with Poisson emissions; with S growing the MMPP
itself, where :math:`Q = e^{(D_0 + D_1)h}`. The cost per interval is :math:`O(S^m m^2)`, whatever the count.

EM on the sliced chain: expected moves between slices give Q; of n pages the share :math:`\lambda_k o_k / \sum_l
\lambda_l o_l` came in phase k, and :math:`\lambda_k` is expected pages over expected time. Both are exact, so the
likelihood of the sliced chain never falls.

Pages may come in batches of geometric sizes (`geometric_batches`): then :math:`\lambda` are rates of batches, the
Poisson law is the compound one, expected batches stand where pages stood, and the mean size is pages over expected
batches.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from crawltwin.work.compiling import njit
from fitting.models.counted.convolution import CountTrace
from fitting.models.counted.geometric_batches import compound
from fitting.models.kernels import Float, Int


class SlicedLaw(NamedTuple):
    """Law of the phase in the first slice of a stretch, moves between slices, arrival rates, length of a slice.

    `more` is the probability that a batch goes on after a page; 0: single pages.
    """

    start: Float
    moves: Float
    rates: Float
    slice: float
    more: float = 0.0


@njit(cache=True, nogil=True)
def slices_of(length: float, slice_length: float) -> int:
    """Slices of an interval: as many as come nearest to the wanted length."""
    return max(1, int(length / slice_length + 0.5))


@njit(cache=True, nogil=True)
def _emissions(
    pages: int, length: float, slices: int, rates: Float, more: float, base: int, into: Float, batches: Float
) -> float:
    """Probabilities of the pages over all numbers of slices by phase, relative to the largest; returns its logarithm.

    `batches` takes the expected number of their batches. A state is the numbers of slices in all phases but the last,
    in the number system of `base`.
    """
    order = rates.size
    size = base ** (order - 1)
    top = -np.inf
    for state in range(size):
        rest, left, mean = state, slices, 0.0
        for k in range(order - 1):
            digit = rest % base
            rest //= base
            left -= digit
            mean += rates[k] * digit
        if left < 0:
            into[state] = -np.inf
            continue
        mean = (mean + rates[order - 1] * left) * length / slices
        batches[state] = pages
        if more > 0.0:
            into[state], batches[state] = compound(pages, mean, more)
        elif mean > 0.0:
            into[state] = pages * np.log(mean) - mean
        else:
            into[state] = 0.0 if pages == 0 else -np.inf
        top = max(top, into[state])
    if top == -np.inf:
        top = 0.0
    for state in range(size):
        into[state] = np.exp(into[state] - top)
    return top if more > 0.0 else top - math.lgamma(pages + 1.0)


@njit(cache=True, nogil=True)
def _room(most: int, order: int) -> tuple[int, Int, Float, Float]:
    """Base of the states and what a slice in each phase adds to one; room for the emissions and for the paths."""
    base = most + 1
    strides = np.zeros(order, dtype=np.int64)
    for k in range(order - 1):
        strides[k] = base**k
    size = base ** (order - 1)
    return base, strides, np.empty(size), np.empty((most, size, order))


@njit(cache=True, nogil=True)
def _spread(vector: Float, moves: Float, strides: Int, slices: int, paths: Float) -> None:
    """Weights of phase and numbers of slices after each slice; `paths` is slices x states x phases, zero before."""
    order, size = vector.size, paths.shape[1]
    for i in range(order):
        paths[0, strides[i], i] = vector[i]
    for s in range(1, slices):
        for state in range(size):
            for i in range(order):
                weight = paths[s - 1, state, i]
                if weight > 0.0:
                    for j in range(order):
                        paths[s, state + strides[j], j] += weight * moves[i, j]


@njit(cache=True, nogil=True)
def forward(trace: CountTrace, law: SlicedLaw, before: Float, below: Float) -> tuple[Float, Float, Float]:
    """Log-likelihood of each count given all before it, its scale, and the law of the phase in the last slice.

    `before` takes the law of the phase in the first slice of each interval, `below` that of the numbers of slices
    before the count is seen, if they have as many rows as the trace.
    """
    lengths, counts, first = trace
    start, moves, rates, slice_length, more = law
    n, order = lengths.size, start.size
    base, strides, emitted, paths = _room(slices_of(lengths.max(), slice_length), order)
    size = emitted.size
    batches = np.empty(size)
    result, scale = np.empty(n), np.empty(n)
    ends, state, end = np.empty((n, order)), np.empty(order), np.empty(order)
    keep, occupied = before.shape[0] == n, below.shape[0] == n
    stretch = 0
    for t in range(n):
        if stretch < first.size and t == first[stretch]:
            stretch += 1
            state[:] = start
        if keep:
            before[t] = state
        slices = slices_of(lengths[t], slice_length)
        log_top = _emissions(counts[t], lengths[t], slices, rates, more, base, emitted, batches)
        paths[:slices] = 0.0
        _spread(state, moves, strides, slices, paths)
        end[:] = 0.0
        for row in range(size):
            for i in range(order):
                end[i] += paths[slices - 1, row, i] * emitted[row]
        if occupied:
            below[t] = paths[slices - 1].sum(axis=1)
        total = max(end.sum(), 1e-300)
        for j in range(order):
            ends[t, j] = end[j] / total
            value = 0.0
            for i in range(order):
                value += end[i] * moves[i, j]
            state[j] = value / total
        result[t], scale[t] = np.log(total) + log_top, total
    return result, scale, ends


@njit(cache=True, nogil=True)
def expectations(trace: CountTrace, law: SlicedLaw) -> tuple[float, tuple[Float, Float, Float, Float]]:
    """One E step: log-likelihood; expected time and batches by phase, moves between slices, first phases of stretches.

    Single pages are batches of one.
    """
    lengths, counts, first = trace
    start, moves, rates, slice_length, more = law
    n, order = lengths.size, start.size
    before = np.empty((n, order))
    scores, scale, ends = forward(trace, law, before, np.empty((0, 0)))
    likelihood = 0.0
    for score in scores:
        likelihood += score
    base, strides, emitted, paths = _room(slices_of(lengths.max(), slice_length), order)
    size = emitted.size
    batches = np.empty(size)
    back, earlier = np.empty((size, order)), np.empty((size, order))
    spent, pages, begin = np.zeros(order), np.zeros(order), np.zeros(order)
    moved, share, beta = np.zeros((order, order)), np.empty(order), np.ones(order)
    stretch = first.size - 1
    for t in range(n - 1, -1, -1):
        slices = slices_of(lengths[t], slice_length)
        _emissions(counts[t], lengths[t], slices, rates, more, base, emitted, batches)
        paths[:slices] = 0.0
        _spread(before[t], moves, strides, slices, paths)
        step = lengths[t] / slices
        for state in range(size):
            weight = 0.0
            for i in range(order):
                back[state, i] = emitted[state] * beta[i] / scale[t]
                weight += paths[slices - 1, state, i] * back[state, i]
            if weight <= 0.0:
                continue
            rest, left, mean = state, slices, 0.0
            for k in range(order):
                share[k] = left if k == order - 1 else rest % base
                left -= int(share[k]) if k < order - 1 else 0
                rest //= base
                mean += rates[k] * share[k]
            for k in range(order):
                spent[k] += weight * share[k] * step
                if counts[t] > 0:
                    pages[k] += weight * batches[state] * rates[k] * share[k] / mean
        for s in range(slices - 2, -1, -1):
            for state in range(size):
                for i in range(order):
                    weight, value = paths[s, state, i], 0.0
                    if weight > 0.0:
                        for j in range(order):
                            part = moves[i, j] * back[state + strides[j], j]
                            moved[i, j] += weight * part
                            value += part
                    earlier[state, i] = value
            back, earlier = earlier, back
        # From here on `beta` belongs to the first slice of the interval.
        begins = stretch >= 0 and t == first[stretch]
        for i in range(order):
            beta[i] = back[strides[i], i]
            if begins:
                begin[i] += before[t, i] * beta[i]
        if begins:
            stretch -= 1
            beta[:] = 1.0
        else:
            for i in range(order):
                share[i] = 0.0
                for j in range(order):
                    part = moves[i, j] * beta[j]
                    moved[i, j] += ends[t - 1, i] * part
                    share[i] += part
            beta[:] = share
    return likelihood, (spent, pages, moved, begin)
