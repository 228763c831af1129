r"""Compiled E steps by uniformisation: any MAP of small order over a trace, any phase type over samples.

With :math:`q \ge \max |D_0(i,i)|`, :math:`\Pi = I + D_0/q` is a substochastic matrix and
:math:`e^{D_0 x} = \sum_k \mathrm{Poisson}(k; qx)\,\Pi^k`: sums of non-negative terms only, so Erlang-like and
defective :math:`D_0` are as safe as any other. The expected time in and jumps between phases within a gap are

.. math:: \int_0^x (a e^{D_0 s})_i (e^{D_0(x-s)} v)_j ds = \frac1q \sum_l (a\Pi^l)_i \sum_{k \ge l}
          \mathrm{Poisson}(k+1; qx) (\Pi^{k-l} v)_j ,

whose inner sum is a backward recursion: cost :math:`O(qx\,n^2)` per gap and pass (Okamura, Dohi and Trivedi, Markovian
arrival process parameter estimation with group data, IEEE/ACM Trans. Networking 17, 2009).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from crawltwin.work.compiling import njit
from fitting.models.kernels import BLOCK, Float, MarkedGaps

_TAIL = 1e-13


class Phases(NamedTuple):
    """The process: law of the first phase, matrices, batch law of each phase."""

    start: Float
    D0: Float
    D1: Float
    q: Float


@njit(cache=True, nogil=True)
def poisson_weights(mean: float, weights: Float) -> int:
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
def _uniformised(D0: Float, longest: float) -> tuple[float, Float, Float, Float]:
    """Largest rate, jump matrix, and room for the weights and the powers of a gap of at most `longest`."""
    order = D0.shape[0]
    q = 0.0
    for i in range(order):
        q = max(q, -D0[i, i])
    jump = D0 / q
    for i in range(order):
        jump[i, i] += 1.0
    room = int(q * longest + 8.0 * np.sqrt(q * longest) + 32.0)
    return q, jump, np.empty(room), np.empty((room, order))


@njit(cache=True, nogil=True)
def _powers(vector: Float, jump: Float, count: int, left: Float) -> None:
    """Rows 0 to count - 1 of `left`: the vector times the powers of the jump matrix."""
    order = vector.size
    left[0] = vector
    for k in range(1, count):
        for j in range(order):
            value = 0.0
            for i in range(order):
                value += left[k - 1, i] * jump[i, j]
            left[k, j] = value


@njit(cache=True, nogil=True)
def _through(mean: float, vector: Float, jump: Float, weights: Float, left: Float, inside: Float) -> int:
    """The vector at the end of a gap into `inside`: its powers in `left`, mixed by the Poisson weights; how many."""
    count = poisson_weights(mean, weights)
    _powers(vector, jump, count, left)
    inside[:] = 0.0
    for k in range(count):
        for i in range(inside.size):
            inside[i] += weights[k] * left[k, i]
    return count


@njit(cache=True, nogil=True)
def _back(
    jump: Float, weights: Float, left: Float, count: int, ahead: Float, flow: Float, begin: Float, room: Float
) -> None:
    """The backward recursion of one gap: adds to `flow`; `begin` becomes the exponential times `ahead`."""
    order = ahead.size
    back, following = room[0], room[1]
    back[:] = 0.0
    # back at l is sum over k >= l of weight(k+1) jump^(k-l) ahead; at the end one more step gives e^{D0 x} ahead.
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
        begin[i] = value


class Kept(NamedTuple):
    """What a forward pass keeps of each gap: the phase's law before it, the vector at its end, likelihood, score.

    The vector has the batch's probability in it. An array without rows is not filled.
    """

    before: Float
    inside: Float
    scale: Float
    score: Float


@njit(cache=True, nogil=True)
def _advance(trace: MarkedGaps, law: Phases, begin: int, state: Float, kept: Kept, longest: float) -> None:
    """Forward over as many gaps as there is room for scores, from gap `begin` on; `state` is the law after the last."""
    # The compiler does not lift the fields of a tuple out of a loop: they are named before it.
    gaps, _, batch, first = trace
    start, D0, D1, sizes = law
    before, inside, scale, score = kept
    n, order = score.size, start.size
    q, jump, weights, left = _uniformised(D0, longest)
    at_end = np.empty(order)
    stretch = np.searchsorted(first, begin)
    keep_before, keep_inside = before.shape[0] == n, inside.shape[0] == n
    for row in range(n):
        t = begin + row
        if stretch < first.size and t == first[stretch]:
            stretch += 1
            state[:] = start
        if keep_before:
            before[row] = state
        _through(q * gaps[t], state, jump, weights, left, at_end)
        total = 0.0
        for i in range(order):
            at_end[i] *= sizes[i, batch[t]]
        for j in range(order):
            value = 0.0
            for i in range(order):
                value += at_end[i] * D1[i, j]
            state[j] = value
            total += value
        for j in range(order):
            state[j] /= total
        if keep_inside:
            inside[row], scale[row] = at_end, total
        score[row] = np.log(total)


@njit(cache=True, nogil=True)
def forward(trace: MarkedGaps, law: Phases, before: Float) -> Float:
    """Log-likelihood of each gap given all before it; `before` is filled if it has as many rows as there are gaps."""
    score = np.empty(trace.gaps.size)
    kept = Kept(before, np.empty((0, 0)), np.empty(0), score)
    _advance(trace, law, 0, np.empty(law.start.size), kept, trace.gaps.max())
    return score


@njit(cache=True, nogil=True)
def watched(trace: MarkedGaps, law: Phases, entering: Float) -> Float:
    """Log-likelihood of what one process of several did in each gap between arrivals of any of them.

    `batch` of the trace is 1 where the gap ended with an arrival of this process and 0 where it brought none;
    `entering` has the law of its phase at the begin of each stretch. Given all before the gap.
    """
    gaps, _, own, first = trace
    start, D0, D1, _ = law
    n, order = gaps.size, start.size
    q, jump, weights, left = _uniformised(D0, gaps.max())
    score, at_end, state = np.empty(n), np.empty(order), start.copy()
    stretch = 0
    for t in range(n):
        if stretch < first.size and t == first[stretch]:
            state[:] = entering[stretch]
            stretch += 1
        _through(q * gaps[t], state, jump, weights, left, at_end)
        total = 0.0
        for j in range(order):
            value = at_end[j]
            if own[t] == 1:
                value = 0.0
                for i in range(order):
                    value += at_end[i] * D1[i, j]
            state[j] = value
            total += value
        for j in range(order):
            state[j] /= total
        score[t] = np.log(total)
    return score


@njit(cache=True, nogil=True)
def expectations(trace: MarkedGaps, law: Phases) -> tuple[float, tuple[Float, Float, Float, Float, Float]]:
    """One E step over a trace, in blocks as those of `fitting.models.erlang_kernels.expectations`.

    Returns
    -------
    tuple
        Log-likelihood; then expected time in each phase; hidden jumps; arrivals by phases before and after; numbers
        of batches by phase and size; law of the first phase of a stretch, summed over stretches.
    """
    gaps, _, batch, first = trace
    start, D0, D1, laws = law
    n, order, longest = gaps.size, start.size, gaps.max()
    blocks = max(1, (n + BLOCK - 1) // BLOCK)
    entering, state = np.zeros((blocks, order)), np.zeros(order)
    before, inside = np.empty((min(n, BLOCK), order)), np.empty((min(n, BLOCK), order))
    scale, score = np.empty(min(n, BLOCK)), np.empty(min(n, BLOCK))
    likelihood = 0.0
    for block in range(blocks):
        entering[block] = state
        size = min(BLOCK, n - block * BLOCK)
        kept = Kept(before[:size], inside[:size], scale[:size], score[:size])
        _advance(trace, law, block * BLOCK, state, kept, longest)
        for row in range(size):
            likelihood += score[row]
    q, jump, weights, left = _uniformised(D0, longest)
    flow, arrivals, begin = np.zeros((order, order)), np.zeros((order, order)), np.zeros(order)
    sizes = np.zeros(laws.shape)
    beta, ahead, room = np.ones(order), np.empty(order), np.empty((2, order))
    stretch = first.size - 1
    for block in range(blocks - 1, -1, -1):
        size = min(BLOCK, n - block * BLOCK)
        if block < blocks - 1:
            state[:] = entering[block]
            kept = Kept(before[:size], inside[:size], scale[:size], score[:size])
            _advance(trace, law, block * BLOCK, state, kept, longest)
        for row in range(size - 1, -1, -1):
            t = block * BLOCK + row
            for i in range(order):
                value = 0.0
                for j in range(order):
                    part = D1[i, j] * beta[j]
                    arrivals[i, j] += inside[row, i] * part / scale[row]
                    value += part
                sizes[i, batch[t]] += inside[row, i] * value / scale[row]
                ahead[i] = laws[i, batch[t]] * value / scale[row]
            count = poisson_weights(q * gaps[t], weights)
            _powers(before[row], jump, count, left)
            _back(jump, weights, left, count, ahead, flow, beta, room)
            if stretch >= 0 and t == first[stretch]:
                stretch -= 1
                for i in range(order):
                    begin[i] += before[row, i] * beta[i]
                beta[:] = 1.0
    return likelihood, (np.diag(flow) / q, flow * D0 / q, arrivals, sizes, begin)


@njit(cache=True, nogil=True)
def sample_expectations(
    values: Float, weight: Float, censored: npt.NDArray[np.bool_], beta: Float, S: Float, exits: Float
) -> tuple[float, tuple[Float, Float, Float, Float]]:
    """One E step over samples of a phase type: log-likelihood; expected starts, time, jumps and exits by phase.

    Of a censored value only the part up to it is counted: what happens later is filled in by the M step's rates,
    which are the same for both (the expected rest of a censored life has the rates of the current model, so leaving
    it out of numerator and denominator alike keeps the fixed point).
    """
    order = beta.size
    q, jump, weights, left = _uniformised(S, values.max())
    starts, ends, flow = np.zeros(order), np.zeros(order), np.zeros((order, order))
    ahead, inside, begin, room = np.empty(order), np.empty(order), np.empty(order), np.empty((2, order))
    likelihood = 0.0
    for t in range(values.size):
        count = _through(q * values[t], beta, jump, weights, left, inside)
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
        _back(jump, weights, left, count, ahead, flow, begin, room)
        for i in range(order):
            starts[i] += beta[i] * begin[i]
    return likelihood, (starts, np.diag(flow) / q, flow * S / q, ends)
