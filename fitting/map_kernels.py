r"""Compiled passes over a trace for any MAP of small order, by uniformisation.

With :math:`q \ge \max |D_0(i,i)|`, :math:`\Pi = I + D_0/q` is a substochastic matrix and
:math:`e^{D_0 x} = \sum_k \mathrm{Poisson}(k; qx)\,\Pi^k`: sums of non-negative terms only, so Erlang-like and
defective :math:`D_0` are as safe as any other. The expected time in and jumps between phases within a gap are

.. math:: \int_0^x (a e^{D_0 s})_i (e^{D_0(x-s)} v)_j ds = \frac1q \sum_l (a\Pi^l)_i \sum_{k \ge l}
          \mathrm{Poisson}(k+1; qx) (\Pi^{k-l} v)_j ,

whose inner sum is a backward recursion: cost :math:`O(qx\,n^2)` a gap and pass (Okamura, Dohi and Trivedi, Markovian
arrival process parameter estimation with group data, IEEE/ACM Trans. Networking 17, 2009).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]

_TAIL = 1e-13


@njit(cache=True, nogil=True)
def _poisson(mean: float, weights: Float) -> int:
    """Poisson probabilities into `weights`; returns how many hold all but 1e-13. Starts at the mode: no underflow."""
    mode = int(mean)
    size = min(weights.size, int(mean + 8.0 * np.sqrt(mean) + 30.0))
    log_top = mode * np.log(mean) - mean
    for k in range(2, mode + 1):
        log_top -= np.log(k)
    top = np.exp(log_top)
    weights[mode] = top
    for k in range(mode + 1, size):
        weights[k] = weights[k - 1] * mean / k
    for k in range(mode - 1, -1, -1):
        weights[k] = weights[k + 1] * (k + 1) / mean
    total = 0.0
    for k in range(size):
        total += weights[k]
        if k > mode and total > 1.0 - _TAIL:
            return k + 1
    return size


@njit(cache=True, nogil=True)
def terms(largest: float) -> int:
    """Room that `_poisson` may need for means up to `largest`."""
    return int(largest + 8.0 * np.sqrt(largest) + 32.0)


@njit(cache=True, nogil=True)
def forward(gaps: Float, first: Int, start: Float, D0: Float, D1: Float, states: Float) -> Float:
    """Log-likelihood of each gap given all before it; `states` (n x order, or 0 x 0) takes the phase law before it."""
    n, order = gaps.size, start.size
    q = 0.0
    for i in range(order):
        q = max(q, -D0[i, i])
    jump = D0 / q
    for i in range(order):
        jump[i, i] += 1.0
    weights = np.empty(terms(q * gaps.max()))
    result = np.empty(n)
    state, moved, total, following = np.empty(order), np.empty(order), np.empty(order), np.empty(order)
    stretch = 0
    keep = states.shape[0] == n
    for t in range(n):
        if stretch < first.size and t == first[stretch]:
            stretch += 1
            state[:] = start
        if keep:
            states[t] = state
        count = _poisson(q * gaps[t], weights)
        moved[:] = state
        total[:] = 0.0
        for k in range(count):
            for i in range(order):
                total[i] += weights[k] * moved[i]
            for j in range(order):
                value = 0.0
                for i in range(order):
                    value += moved[i] * jump[i, j]
                following[j] = value
            moved[:] = following
        scale = 0.0
        for j in range(order):
            value = 0.0
            for i in range(order):
                value += total[i] * D1[i, j]
            state[j] = value
            scale += value
        for j in range(order):
            state[j] /= scale
        result[t] = np.log(scale)
    return result


@njit(cache=True, nogil=True)
def expectations(
    gaps: Float, first: Int, start: Float, D0: Float, D1: Float
) -> tuple[float, Float, Float, Float, Float]:
    """One E step: log-likelihood, expected time in each phase, hidden jumps, arrivals by phases, first phases."""
    n, order = gaps.size, start.size
    q = 0.0
    for i in range(order):
        q = max(q, -D0[i, i])
    jump = D0 / q
    for i in range(order):
        jump[i, i] += 1.0
    room = terms(q * gaps.max())
    weights = np.empty(room)
    before = np.empty((n, order))
    inside = np.empty((n, order))
    scale = np.empty(n)
    moved, following = np.empty(order), np.empty(order)
    likelihood = 0.0
    stretch = 0
    state = np.empty(order)
    for t in range(n):
        if stretch < first.size and t == first[stretch]:
            stretch += 1
            state[:] = start
        before[t] = state
        count = _poisson(q * gaps[t], weights)
        moved[:] = state
        inside[t] = 0.0
        for k in range(count):
            for i in range(order):
                inside[t, i] += weights[k] * moved[i]
            for j in range(order):
                value = 0.0
                for i in range(order):
                    value += moved[i] * jump[i, j]
                following[j] = value
            moved[:] = following
        total = 0.0
        for j in range(order):
            value = 0.0
            for i in range(order):
                value += inside[t, i] * D1[i, j]
            state[j] = value
            total += value
        for j in range(order):
            state[j] /= total
        scale[t] = total
        likelihood += np.log(total)
    flow, arrivals, begin = np.zeros((order, order)), np.zeros((order, order)), np.zeros(order)
    beta, ahead, back = np.ones(order), np.empty(order), np.empty(order)
    left = np.empty((room, order))
    stretch = first.size - 1
    for t in range(n - 1, -1, -1):
        for i in range(order):
            value = 0.0
            for j in range(order):
                part = D1[i, j] * beta[j]
                arrivals[i, j] += inside[t, i] * part / scale[t]
                value += part
            ahead[i] = value / scale[t]
        count = _poisson(q * gaps[t], weights)
        left[0] = before[t]
        for k in range(1, count):
            for j in range(order):
                value = 0.0
                for i in range(order):
                    value += left[k - 1, i] * jump[i, j]
                left[k, j] = value
        # back at l is sum over k >= l of weight(k+1) jump^(k-l) ahead; at the end one more step gives e^{D0 x} ahead.
        back[:] = 0.0
        for k in range(count - 2, -1, -1):
            for i in range(order):
                value = 0.0
                for j in range(order):
                    value += jump[i, j] * back[j]
                following[i] = value + weights[k + 1] * ahead[i]
            back[:] = following
            for i in range(order):
                for j in range(order):
                    flow[i, j] += left[k, i] * back[j]
        for i in range(order):
            value = weights[0] * ahead[i]
            for j in range(order):
                value += jump[i, j] * back[j]
            beta[i] = value
        if stretch >= 0 and t == first[stretch]:
            stretch -= 1
            for i in range(order):
                begin[i] += before[t, i] * beta[i]
            beta[:] = 1.0
    time = np.empty(order)
    for i in range(order):
        time[i] = flow[i, i] / q
    jumps = flow * D0 / q
    return likelihood, time, jumps, arrivals, begin
