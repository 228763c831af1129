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
from fitting.models.kernels import Float, MarkedGaps


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


@njit(cache=True, nogil=True)
def forward(trace: MarkedGaps, law: Branches, before: Float, after: Float, density: Float, scale: Float) -> Float:
    """Log-likelihood of each gap given all before it.

    Each of the other arrays is filled if it has as many rows as the trace has gaps: the state's law before and after
    each gap, the scaled densities with the batch's probability, and their sum over the states.
    """
    # The compiler does not lift the fields of a tuple out of a loop: they are named before it.
    gaps, log_gaps, batch, first = trace
    start, P, constant, shape, rate, q = law
    n, M = gaps.size, shape.size
    result = np.empty(n)
    state, weight, ahead = np.empty(M), np.empty(M), np.empty(M)
    stretch = 0
    keep_before, keep_after = before.shape[0] == n, after.shape[0] == n
    for t in range(n):
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
            before[t] = ahead
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
                after[t, i], density[t, i] = state[i], weight[i]
            scale[t] = total
        result[t] = top + np.log(total)
    return result


@njit(cache=True, nogil=True)
def expectations(trace: MarkedGaps, law: Branches) -> tuple[float, tuple[Float, Float, Float, Float, Float, Float]]:
    """One E step (Baum-Welch): log-likelihood and expected sufficient statistics.

    Returns
    -------
    tuple
        Log-likelihood; then, for each state, the number of gaps, their sum, the sum of their logarithms; numbers of
        transitions; numbers of batches by state and size; law of the first state of a stretch, summed over stretches.
    """
    gaps, log_gaps, batch, first = trace
    P = law.P
    n, M = gaps.size, law.shape.size
    alpha, density, scale = np.empty((n, M)), np.empty((n, M)), np.empty(n)
    likelihood = 0.0
    for score in forward(trace, law, np.empty((0, 0)), alpha, density, scale):
        likelihood += score
    count, total_gap, total_log = np.zeros(M), np.zeros(M), np.zeros(M)
    moves, sizes, begin = np.zeros((M, M)), np.zeros(law.q.shape), np.zeros(M)
    beta, weighted = np.ones(M), np.empty(M)
    stretch = first.size - 1
    for t in range(n - 1, -1, -1):
        for i in range(M):
            weight = alpha[t, i] * beta[i]
            count[i] += weight
            total_gap[i] += weight * gaps[t]
            total_log[i] += weight * log_gaps[t]
            sizes[i, batch[t]] += weight
        if stretch >= 0 and t == first[stretch]:
            stretch -= 1
            for i in range(M):
                begin[i] += alpha[t, i] * beta[i]
                beta[i] = 1.0
            continue
        for j in range(M):
            weighted[j] = density[t, j] * beta[j] / scale[t]
        for i in range(M):
            total = 0.0
            for j in range(M):
                part = P[i, j] * weighted[j]
                moves[i, j] += alpha[t - 1, i] * part
                total += part
            beta[i] = total
    return likelihood, (count, total_gap, total_log, moves, sizes, begin)
