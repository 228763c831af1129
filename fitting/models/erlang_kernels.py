r"""Compiled passes over a trace for a hidden Markov chain whose state i emits a gap of Gamma (Erlang) density.

The state chain has transition matrix P from one gap to the next. Gap x in state i has log density
:math:`r_i \log \lambda_i - \log\Gamma(r_i) + (r_i - 1)\log x - \lambda_i x`, and a batch of b pages at its end has
probability :math:`q_i(b)`. A trace may be several stretches; each starts from the vector `start`. Every step is
scaled by its largest density and by the sum of the forward vector, so that no gap, however far out, can underflow.
Cost: n M^2 multiplications and n M exponentials per pass, about 60 ns per gap for three states.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crawltwin.work.compiling import njit
from fitting.models.kernels import BLOCK, Float, MarkedGaps


class Branches(NamedTuple):
    """The process: law of the first state, transitions, constants of the log densities, stages, rates, batch law."""

    start: Float
    P: Float
    constant: Float
    shape: Float
    rate: Float
    q: Float


@njit(cache=True, nogil=True)
def _densities(gap: float, log_gap: float, constant: Float, shape: Float, rate: Float, out: Float) -> float:
    """Densities of one gap in every state, divided by the largest, whose logarithm is returned."""
    top = -np.inf
    for i in range(shape.size):
        out[i] = constant[i] + (shape[i] - 1.0) * log_gap - rate[i] * gap
        top = max(top, out[i])
    for i in range(shape.size):
        out[i] = np.exp(out[i] - top)
    return top


class Kept(NamedTuple):
    """What a forward pass keeps of each gap: the state's law before and after it, scaled densities, their sum, score.

    The densities have the batch's probability in them. An array without rows is not filled.
    """

    before: Float
    after: Float
    density: Float
    scale: Float
    score: Float


@njit(cache=True, nogil=True)
def _advance(trace: MarkedGaps, law: Branches, begin: int, state: Float, kept: Kept) -> None:
    """Forward over as many gaps as there is room for scores, from gap `begin` on; `state` is the law after the last."""
    # The compiler does not lift the fields of a tuple out of a loop: they are named before it.
    gaps, log_gaps, batch, first = trace
    start, P, constant, shape, rate, q = law
    before, after, density, scale, score = kept
    n, M = score.size, shape.size
    weight, ahead = np.empty(M), np.empty(M)
    stretch = np.searchsorted(first, begin)
    keep_before, keep_after = before.shape[0] == n, after.shape[0] == n
    for row in range(n):
        t = begin + row
        if stretch < first.size and t == first[stretch]:
            stretch += 1
            for i in range(M):
                ahead[i] = start[i]
        else:
            for j in range(M):
                total = 0.0
                for i in range(M):
                    total += state[i] * P[i, j]
                ahead[j] = total
        if keep_before:
            before[row] = ahead
        top = _densities(gaps[t], log_gaps[t], constant, shape, rate, weight)
        total = 0.0
        for i in range(M):
            weight[i] *= q[i, batch[t]]
            state[i] = ahead[i] * weight[i]
            total += state[i]
        for i in range(M):
            state[i] /= total
        if keep_after:
            for i in range(M):
                after[row, i], density[row, i] = state[i], weight[i]
            scale[row] = total
        score[row] = top + np.log(total)


@njit(cache=True, nogil=True)
def forward(trace: MarkedGaps, law: Branches, before: Float) -> Float:
    """Log-likelihood of each gap given all before it; `before` is filled if it has as many rows as there are gaps."""
    nothing, score = np.empty((0, 0)), np.empty(trace.gaps.size)
    _advance(trace, law, 0, np.empty(law.shape.size), Kept(before, nothing, nothing, np.empty(0), score))
    return score


@njit(cache=True, nogil=True)
def expectations(trace: MarkedGaps, law: Branches) -> tuple[float, tuple[Float, Float, Float, Float, Float, Float]]:
    """One E step (Baum-Welch): log-likelihood and expected sufficient statistics.

    A long trace is worked on in blocks: the first pass keeps the state at the beginning of each, the backward pass
    makes the forward vectors of one block at a time again. Memory does not grow with the trace.

    Returns
    -------
    tuple
        Log-likelihood; then, for each state, the number of gaps, their sum, the sum of their logarithms; numbers of
        transitions; numbers of batches by state and size; law of the first state of a stretch, summed over stretches.
    """
    gaps, log_gaps, batch, first = trace
    P = law.P
    n, M = gaps.size, law.shape.size
    blocks = max(1, (n + BLOCK - 1) // BLOCK)
    entering, state = np.zeros((blocks, M)), np.zeros(M)
    alpha, density = np.empty((min(n, BLOCK), M)), np.empty((min(n, BLOCK), M))
    scale, score = np.empty(min(n, BLOCK)), np.empty(min(n, BLOCK))
    nothing = np.empty((0, 0))
    likelihood = 0.0
    for block in range(blocks):
        entering[block] = state
        size = min(BLOCK, n - block * BLOCK)
        kept = Kept(nothing, alpha[:size], density[:size], scale[:size], score[:size])
        _advance(trace, law, block * BLOCK, state, kept)
        for row in range(size):
            likelihood += score[row]
    count, total_gap, total_log = np.zeros(M), np.zeros(M), np.zeros(M)
    moves, sizes, begin = np.zeros((M, M)), np.zeros(law.q.shape), np.zeros(M)
    beta, weighted = np.ones(M), np.empty(M)
    stretch = first.size - 1
    for block in range(blocks - 1, -1, -1):
        size = min(BLOCK, n - block * BLOCK)
        if block < blocks - 1:
            state[:] = entering[block]
            kept = Kept(nothing, alpha[:size], density[:size], scale[:size], score[:size])
            _advance(trace, law, block * BLOCK, state, kept)
        for row in range(size - 1, -1, -1):
            t = block * BLOCK + row
            for i in range(M):
                weight = alpha[row, i] * beta[i]
                count[i] += weight
                total_gap[i] += weight * gaps[t]
                total_log[i] += weight * log_gaps[t]
                sizes[i, batch[t]] += weight
            if stretch >= 0 and t == first[stretch]:
                stretch -= 1
                for i in range(M):
                    begin[i] += alpha[row, i] * beta[i]
                    beta[i] = 1.0
                continue
            for j in range(M):
                weighted[j] = density[row, j] * beta[j] / scale[row]
            earlier = alpha[row - 1] if row else entering[block]
            for i in range(M):
                total = 0.0
                for j in range(M):
                    part = P[i, j] * weighted[j]
                    moves[i, j] += earlier[i] * part
                    total += part
                beta[i] = total
    return likelihood, (count, total_gap, total_log, moves, sizes, begin)
