r"""Exponential obsolescence: scalar elimination in a band, linear in the capacity.

With one obsolescence phase a level has n = W M states and the chain moves one level down or at most B levels up. States
are eliminated from the top level down, each time without subtraction (see `analytic.gth`): what an eliminated state
passes on stays inside the band, so each state costs about 2 n^2 (B + 1) operations and every probability keeps full
relative accuracy. Forward substitution from level 0 rescales as it goes, so neither overload nor underload of any
depth overflows.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from analytic.chain import Chain
from analytic.summary import Summary
from crawltwin.model.bmap import stationary
from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import Fault, InputError, TooLargeError

MAX_BYTES = 4 * 2**30
"""Most memory that the band may take."""


def solve_banded(chain: Chain) -> Summary:
    """Stationary marginals when there is one obsolescence phase (or none).

    Cost: about 2 (W M)^3 (B + 1) K operations and 8 (W M)^2 (B + 2) K bytes.

    Raises
    ------
    InputError
        When the obsolescence time has more than one phase.
    TooLargeError
        Before anything is built, when the band would not fit in `MAX_BYTES`.
    """
    if chain.obsolescence_phases != 1:
        raise InputError(
            [
                Fault(
                    "method",
                    "method banded must be used with exponential obsolescence times, or none; "
                    f"got {chain.obsolescence_phases} phases",
                    "Use --method auto.",
                )
            ]
        )
    n, top, reach = chain.arrival_phases * chain.service_phases, chain.top, chain.reach
    size = 8 * n * n * (reach + 2) * top
    if size > MAX_BYTES:
        raise TooLargeError(
            [
                Fault(
                    "capacity",
                    f"the band must fit in {MAX_BYTES / 2**30:.0f} GiB; got {size / 2**30:.1f} GiB "
                    f"for {top:,} levels of {n} states and batches up to {reach}",
                    "Use a smaller capacity or fewer phases.",
                )
            ]
        )
    clocks = np.zeros((top + 1, n))
    clocks[1:] = np.arange(top)[:, None] * float(chain.Gamma0[0])
    empty, busy = level_marginals(chain, clocks)
    return Summary(empty, busy, np.concatenate([[0.0], np.einsum("lwm,l->l", busy, clocks[1:, 0])]))


def level_marginals(chain: Chain, clocks: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Stationary law of (level, arrival phase, service phase) for given rates of obsolescence.

    `clocks`, shape (top + 1, W M), is the rate at which *some* waiting page becomes obsolete, by level and
    phases. The same elimination serves exponential clocks, where it is the whole chain, and the aggregated
    chain of a phase-type clock.
    """
    W, M, top, reach = chain.arrival_phases, chain.service_phases, chain.top, chain.reach
    n = W * M
    up0, up, down, down1, level0 = _band(chain, reach, clocks)
    pivots = np.zeros((top + 1, n))
    _eliminate(up0, up, down, down1, level0, pivots)
    values = np.zeros((top + 1, n))
    exponents = np.zeros(top + 1, np.int64)
    start = stationary(level0)
    _substitute(up0, up, pivots, start, values, exponents)
    scale = np.ldexp(1.0, np.maximum(exponents - exponents.max(), -2000))
    first = start * scale[0]
    with np.errstate(invalid="ignore", over="ignore"):
        rest = values[1:] * scale[1:, None]
        total = first.sum() + rest.sum()
    return first / total, (rest / total).reshape(top, W, M)


def banded_residual(chain: Chain, summary: Summary) -> float:
    """Largest entry of p Q over the fastest rate, from the rates as given (not from the eliminated ones)."""
    W, M, top = chain.arrival_phases, chain.service_phases, chain.top
    S, S0, beta, rate = (
        chain.service.subgenerator,
        chain.service.exit_rates,
        chain.service.initial,
        float(chain.Gamma0[0]),
    )
    p0, p = summary.empty, summary.busy
    net0, net = np.zeros(W), np.zeros((top + 1, W, M))
    fastest = 0.0
    for flow, levels in chain.groups:
        stay = flow.stay - np.diag(np.diag(flow.stay))
        out = stay.sum(axis=1) + np.asarray(sum(rates.sum(axis=1) for rates in flow.jumps.values()))
        full = levels[levels > 0]
        here = p[full - 1]
        net[full] += np.einsum("lwm,wv->lvm", here, stay) - here * out[None, :, None]
        for step, rates in flow.jumps.items():
            np.add.at(net, full + step, np.einsum("lwm,wv->lvm", here, rates))
        if full.size < levels.size:
            net0 += p0 @ stay - p0 * out
            for step, rates in flow.jumps.items():
                net[step] += np.outer(p0 @ rates, beta)
        fastest = max(fastest, float(out.max()) + float(-np.diag(S).min()) + rate * max(int(levels.max()) - 1, 0))
    inner = S - np.diag(np.diag(S))
    net[1:] += p @ inner - p * (inner.sum(axis=1) + S0)
    served = p @ S0
    net0 += served[0]
    net[1:-1] += served[1:, :, None] * beta
    waiting = rate * np.arange(top)[:, None, None] * p
    net[1:] -= waiting
    net[1:-1] += waiting[1:]
    return max(float(np.abs(net0).max()), float(np.abs(net[1:]).max())) / fastest


def _band(
    chain: Chain, reach: int, clocks: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Rates: up from level 0, up and within levels >= 1, down from levels >= 2, down from level 1, within level 0."""
    W, M, top = chain.arrival_phases, chain.service_phases, chain.top
    n, S, beta, S0 = W * M, chain.service.subgenerator, chain.service.initial, chain.service.exit_rates
    up0, up = np.zeros((W, reach + 1, n)), np.zeros((top + 1, n, reach + 1, n))
    down, down1 = np.zeros((top + 1, n, n)), np.kron(np.eye(W), S0[:, None])
    for step, rates in chain.flows[0].jumps.items():
        up0[:, step] = np.kron(rates, beta[None, :])
    inner, ends = np.kron(np.eye(W), S), np.kron(np.eye(W), np.outer(S0, beta))
    for flow, levels in chain.groups:
        rows = np.zeros((n, reach + 1, n))
        rows[:, 0] = np.kron(flow.stay, np.eye(M)) + inner
        np.fill_diagonal(rows[:, 0], 0.0)
        for step, rates in flow.jumps.items():
            rows[:, step] = np.kron(rates, np.eye(M))
        up[levels] = rows
    if top > 1:
        down[2:] = ends + clocks[2:, :, None] * np.eye(n)
    level0 = chain.flows[0].stay.copy()
    np.fill_diagonal(level0, 0.0)
    return up0, up, down, down1, level0


@njit(cache=True)
def _eliminate(
    up0: FloatArray,
    up: FloatArray,
    down: FloatArray,
    down1: FloatArray,
    level0: FloatArray,
    pivots: FloatArray,
) -> None:  # pragma: no cover - compiled
    top, n, width = up.shape[0] - 1, up.shape[1], up.shape[2]
    W = level0.shape[0]
    for i in range(top, 0, -1):
        below = down1 if i == 1 else down[i]
        m = below.shape[1]
        for a in range(n - 1, -1, -1):
            pivot = 0.0
            for b in range(a):
                pivot += up[i, a, 0, b]
            for b in range(m):
                pivot += below[a, b]
            pivots[i, a] = pivot
            own = up[i, a, 0]
            for c in range(a):
                share = up[i, c, 0, a] / pivot
                if share != 0.0:
                    for b in range(a):
                        if b != c:
                            up[i, c, 0, b] += share * own[b]
                    for b in range(m):
                        below[c, b] += share * below[a, b]
            for up_by in range(1, min(width - 1, i - 1) + 1):
                for c in range(n):
                    share = up[i - up_by, c, up_by, a] / pivot
                    if share != 0.0:
                        for b in range(a):
                            up[i - up_by, c, up_by, b] += share * own[b]
                        for b in range(m):
                            if up_by > 1 or b != c:
                                up[i - up_by, c, up_by - 1, b] += share * below[a, b]
            if i < width:
                for w in range(W):
                    share = up0[w, i, a] / pivot
                    if share != 0.0:
                        for b in range(a):
                            up0[w, i, b] += share * own[b]
                        for b in range(m):
                            if i == 1:
                                if b != w:
                                    level0[w, b] += share * below[a, b]
                            else:
                                up0[w, i - 1, b] += share * below[a, b]


@njit(cache=True)
def _substitute(
    up0: FloatArray,
    up: FloatArray,
    pivots: FloatArray,
    start: FloatArray,
    values: FloatArray,
    exponents: npt.NDArray[np.int64],
) -> None:  # pragma: no cover - compiled
    """Unnormalised probabilities; those of level i carry the factor 2^exponents[i]."""
    top, n, width = up.shape[0] - 1, up.shape[1], up.shape[2]
    shift = 0
    for i in range(1, top + 1):
        largest = 0.0
        for a in range(n):
            inflow = 0.0
            if i < width:
                for w in range(start.shape[0]):
                    inflow += start[w] * up0[w, i, a] * 2.0 ** (-shift)
            for up_by in range(1, min(width - 1, i - 1) + 1):
                factor = 2.0 ** (exponents[i - up_by] - shift)
                for c in range(n):
                    inflow += factor * values[i - up_by, c] * up[i - up_by, c, up_by, a]
            for c in range(a):
                inflow += values[i, c] * up[i, c, 0, a]
            values[i, a] = inflow / pivots[i, a]
            largest = max(largest, values[i, a])
        exponents[i] = shift
        # Overload makes the values grow, underload makes them fall: bring the next level's near one.
        if largest > 2.0**200 or 0.0 < largest < 2.0**-200:
            shift += math.frexp(largest)[1]
