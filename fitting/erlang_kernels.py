r"""Compiled passes over a trace for a hidden Markov chain whose state i emits a gap of Gamma (Erlang) density.

The state chain has transition matrix P from one gap to the next. Gap x in state i has log density
:math:`r_i \log \lambda_i - \log\Gamma(r_i) + (r_i - 1)\log x - \lambda_i x`, and a batch of b pages at its end has
probability :math:`q_i(b)`. A trace may be several stretches; each starts from the vector `start`. Every step is
scaled by its largest density and by the sum of the forward vector, so that no gap, however far out, can underflow.
Cost: n M^2 multiplications and n M exponentials a pass, about 60 ns a gap for three states.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]


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
def forward(
    gaps: Float,
    log_gaps: Float,
    batch: Int,
    first: Int,
    start: Float,
    P: Float,
    constant: Float,
    shape: Float,
    rate: Float,
    q: Float,
    predicted: Float,
) -> Float:
    """Log-likelihood of each gap given all before it; `predicted` (n x M, or 0 x 0) takes the state's law before it."""
    n, M = gaps.size, shape.size
    result = np.empty(n)
    state, density = np.empty(M), np.empty(M)
    ahead = np.empty(M)
    stretch = 0
    keep = predicted.shape[0] == n
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
        if keep:
            predicted[t] = ahead
        top = _densities(gaps[t], log_gaps[t], constant, shape, rate, density)
        total = 0.0
        for i in range(M):
            state[i] = ahead[i] * density[i] * q[i, batch[t]]
            total += state[i]
        for i in range(M):
            state[i] /= total
        result[t] = top + np.log(total)
    return result


@njit(cache=True, nogil=True)
def expectations(
    gaps: Float,
    log_gaps: Float,
    batch: Int,
    first: Int,
    start: Float,
    P: Float,
    constant: Float,
    shape: Float,
    rate: Float,
    q: Float,
) -> tuple[float, Float, Float, Float, Float, Float, Float]:
    """One E step (Baum-Welch): log-likelihood and expected sufficient statistics.

    Returns
    -------
    tuple
        Log-likelihood; per state: number of gaps, their sum, the sum of their logarithms; numbers of transitions;
        numbers of batches by state and size; law of the first state of a stretch (summed over stretches).
    """
    n, M = gaps.size, shape.size
    alpha, density = np.empty((n, M)), np.empty((n, M))
    scale = np.empty(n)
    ahead = np.empty(M)
    likelihood = 0.0
    stretch = 0
    for t in range(n):
        if stretch < first.size and t == first[stretch]:
            stretch += 1
            for i in range(M):
                ahead[i] = start[i]
        else:
            for j in range(M):
                total = 0.0
                for i in range(M):
                    total += alpha[t - 1, i] * P[i, j]
                ahead[j] = total
        top = _densities(gaps[t], log_gaps[t], constant, shape, rate, density[t])
        total = 0.0
        for i in range(M):
            density[t, i] *= q[i, batch[t]]
            alpha[t, i] = ahead[i] * density[t, i]
            total += alpha[t, i]
        for i in range(M):
            alpha[t, i] /= total
        scale[t] = total
        likelihood += top + np.log(total)
    count, total_gap, total_log = np.zeros(M), np.zeros(M), np.zeros(M)
    moves, sizes, begin = np.zeros((M, M)), np.zeros(q.shape), np.zeros(M)
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
    return likelihood, count, total_gap, total_log, moves, sizes, begin
