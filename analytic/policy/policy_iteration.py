r"""Policy iteration for the least average cost, compiled, with banded factorisations and a bound that is safe.

The relative values u of a policy solve :math:`c + Q u = \text{gain}` with u = 0 at one state, the anchor: two solves
with -Q without the anchor's row and column, a band matrix that is factored without subtraction. The bound that is
returned is the least Bellman step :math:`\min_{s,k} (c_k + Q_k u)(s)` with its own rounding taken off.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from analytic.policy.modes import IntArray
from crawltwin.model.checks import FloatArray
from crawltwin.work.compiling import njit

BoolArray = npt.NDArray[np.bool_]


class Rows(NamedTuple):
    """The controlled chain, row by row.

    `columns[action, state]` and `values[action, state]` are the rates out of a state, padded with zeros. `slots[state]`
    is the level whose action a state uses. `low` and `high` are the most places to the left and to the right of the
    diagonal at which a rate lies.
    """

    columns: IntArray
    values: FloatArray
    slots: IntArray
    low: int
    high: int


@njit(cache=True)
def iterate_policies(
    rows: Rows, cost: FloatArray, allowed: BoolArray, chosen: IntArray, anchor: int, target: float
) -> tuple[float, float, FloatArray, FloatArray, IntArray, int]:  # pragma: no cover - compiled
    """Policy iteration from the actions `chosen`, which end as the last policy's.

    Parameters
    ----------
    rows : Rows
    cost : ndarray, shape (actions, states)
    allowed : ndarray of bool, shape (levels, actions)
    chosen : ndarray of int
        Action of each state; one that is not allowed is replaced first.
    anchor : int
        A state that is visited often; relative values are counted from it.
    target : float
        Iteration may stop once the bound is at least this.

    Returns
    -------
    tuple
        The bound, the gain, the regrets by level and action, the occupation, the actions that these belong to, and the
        number of policies that were factored.
    """
    columns, values, slots, low, high = rows
    actions, states = cost.shape
    entries = columns.shape[2]
    band = np.zeros((states - 1, low + high + 1))
    u, t, p = np.zeros(states), np.zeros(states), np.zeros(states)
    regrets = np.zeros((allowed.shape[0], actions))
    for s in range(states):
        if not allowed[slots[s], chosen[s]]:
            for k in range(actions):
                if allowed[slots[s], k]:
                    chosen[s] = k
                    break
    evaluated, relative = chosen.copy(), np.zeros(states)
    gain, bound, scale, factored = 0.0, -np.inf, np.abs(cost).max(), 0
    for _ in range(200):
        factored += 1
        if not _factor_policy(rows, chosen, anchor, band):
            # Some phases are never left under this policy: keep what the last one proved.
            break
        _occupation(rows, chosen, anchor, band, p)
        if p[anchor] < 0.01 * p.max():
            # Values counted from a rare state would be differences of long times: count from the most frequent.
            anchor = int(np.argmax(p))
            if not _factor_policy(rows, chosen, anchor, band):
                break
        evaluated[:] = chosen
        for s in range(states):
            u[s], t[s] = cost[chosen[s], s], 1.0
        u[anchor], t[anchor] = 0.0, 0.0
        _solve_band(band, low, high, u, anchor)
        _solve_band(band, low, high, t, anchor)
        k = chosen[anchor]
        above, below = cost[k, anchor], 1.0
        for e in range(entries):
            c = columns[k, anchor, e]
            if c != anchor:
                above += values[k, anchor, e] * u[c]
                below += values[k, anchor, e] * t[c]
        gain = above / below
        for s in range(states):
            relative[s] = u[s] - gain * t[s]
        bound, changed = np.inf, False
        for s in range(states):
            best, own, safe = np.inf, 0.0, np.inf
            pick = chosen[s]
            for k in range(actions):
                if allowed[slots[s], k]:
                    q = cost[k, s]
                    size = abs(q)
                    for e in range(entries):
                        part = values[k, s, e] * relative[columns[k, s, e]]
                        q += part
                        size += abs(part)
                    # The sum's own rounding is taken off: what is left is a bound in floating point too.
                    safe = min(safe, q - (entries + 2) * 1.2e-16 * size)
                    if k == chosen[s]:
                        own = q
                    if q < best:
                        best, pick = q, k
            bound = min(bound, safe)
            # Ties within rounding keep the action, or the iteration would circle.
            if best < own - 1e-11 * scale:
                chosen[s] = pick
                changed = True
        if not changed or bound >= target:
            break
    for s in range(states):
        for k in range(actions):
            if allowed[slots[s], k]:
                q = cost[k, s] - gain
                for e in range(entries):
                    q += values[k, s, e] * relative[columns[k, s, e]]
                regrets[slots[s], k] += p[s] * q
            else:
                regrets[slots[s], k] = np.inf
    return bound, gain, regrets, p, evaluated, factored


@njit(cache=True)
def _factor_policy(rows: Rows, chosen: IntArray, anchor: int, band: FloatArray) -> bool:  # pragma: no cover - compiled
    """LU of -Q without the anchor's row and column, `band[i, j - i + low]`, with no subtraction (see `elimination`).

    False when the anchor cannot be reached from everywhere.
    """
    columns, values, _, low, high = rows
    size = band.shape[0]
    into = np.zeros(size)
    band[:] = 0.0
    for i in range(size):
        s = i + (i >= anchor)
        for e in range(columns.shape[2]):
            c = columns[chosen[s], s, e]
            rate = values[chosen[s], s, e]
            if rate > 0.0 and c == anchor:
                into[i] += rate
            elif rate > 0.0 and c != s:
                band[i, c - (c > anchor) - i + low] -= rate
    for k in range(size):
        last = min(high, size - 1 - k)
        pivot = into[k]
        for j in range(1, last + 1):
            pivot -= band[k, low + j]
        if not pivot > 0.0:
            return False
        band[k, low] = pivot
        for i in range(k + 1, min(k + low, size - 1) + 1):
            at = k - i + low
            if band[i, at] != 0.0:
                share = band[i, at] / pivot
                band[i, at] = share
                into[i] -= share * into[k]
                for j in range(1, last + 1):
                    if k + j != i:
                        band[i, at + j] -= share * band[k, low + j]
    return True


@njit(cache=True)
def _solve_band(
    band: FloatArray, low: int, high: int, x: FloatArray, anchor: int
) -> None:  # pragma: no cover - compiled
    """Solve for one right-hand side in place, the anchor's entry left out."""
    size = band.shape[0]
    for i in range(size):
        at = i + (i >= anchor)
        total = x[at]
        for j in range(max(0, i - low), i):
            total -= band[i, j - i + low] * x[j + (j >= anchor)]
        x[at] = total
    for i in range(size - 1, -1, -1):
        at = i + (i >= anchor)
        total = x[at]
        for j in range(i + 1, min(i + high, size - 1) + 1):
            total -= band[i, j - i + low] * x[j + (j >= anchor)]
        x[at] = total / band[i, low]


@njit(cache=True)
def _occupation(
    rows: Rows, chosen: IntArray, anchor: int, band: FloatArray, p: FloatArray
) -> None:  # pragma: no cover - compiled
    """Stationary probabilities from the factors, by the transposed solves."""
    columns, values, _, low, high = rows
    size, k = band.shape[0], chosen[anchor]
    p[:] = 0.0
    for e in range(columns.shape[2]):
        if columns[k, anchor, e] != anchor:
            p[columns[k, anchor, e]] += values[k, anchor, e]
    for j in range(size):
        at = j + (j >= anchor)
        p[at] /= band[j, low]
        for i in range(j + 1, min(j + high, size - 1) + 1):
            p[i + (i >= anchor)] -= band[j, i - j + low] * p[at]
    for j in range(size - 1, -1, -1):
        at = j + (j >= anchor)
        for i in range(max(0, j - low), j):
            p[i + (i >= anchor)] -= band[j, i - j + low] * p[at]
    p[anchor] = 1.0
    p /= p.sum()
