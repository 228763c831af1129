"""Compiled E step of the EM for general phase types, by uniformisation (see `fitting.map_kernels`)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from fitting.map_kernels import _poisson, terms

Float = npt.NDArray[np.float64]


@njit(cache=True, nogil=True)
def expectations(
    values: Float, weight: Float, censored: npt.NDArray[np.bool_], beta: Float, S: Float, exits: Float
) -> tuple[float, Float, Float, Float, Float]:
    """Log-likelihood; expected starts, time, jumps and exits by phase.

    Of a censored value only the part up to it is counted: what happens later is filled in by the M step's rates,
    which are the same for both (the expected rest of a censored life has the rates of the current model, so leaving
    it out of numerator and denominator alike keeps the fixed point).
    """
    n, order = values.size, beta.size
    q = 0.0
    for i in range(order):
        q = max(q, -S[i, i])
    jump = S / q
    for i in range(order):
        jump[i, i] += 1.0
    room = terms(q * values.max())
    weights, left = np.empty(room), np.empty((room, order))
    starts, ends = np.zeros(order), np.zeros(order)
    flow = np.zeros((order, order))
    ahead, back, following, inside = np.empty(order), np.empty(order), np.empty(order), np.empty(order)
    likelihood = 0.0
    for t in range(n):
        count = _poisson(q * values[t], weights)
        left[0] = beta
        inside[:] = 0.0
        for k in range(count):
            if k:
                for j in range(order):
                    value = 0.0
                    for i in range(order):
                        value += left[k - 1, i] * jump[i, j]
                    left[k, j] = value
            for i in range(order):
                inside[i] += weights[k] * left[k, i]
        density = 0.0
        for i in range(order):
            density += inside[i] * (1.0 if censored[t] else exits[i])
        if density <= 0.0:
            density = 1e-300
        likelihood += weight[t] * np.log(density)
        factor = weight[t] / density
        for i in range(order):
            ahead[i] = (1.0 if censored[t] else exits[i]) * factor
            if not censored[t]:
                ends[i] += inside[i] * ahead[i]
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
            starts[i] += beta[i] * value
    time = np.empty(order)
    for i in range(order):
        time[i] = flow[i, i] / q
    return likelihood, starts, time, flow * S / q, ends
