r"""Sweeps over the states of a window: values, Bellman steps and occupations of the decision process, compiled.

A batch that lets k pages in is k times a page at the back: `ahead[k]` is the mean of the values after k more pages, so
each sweep runs from the full system down and finds `ahead` of a level from that of the level above.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from analytic.policy.modes import IntArray
from analytic.policy.policy_iteration import BoolArray
from analytic.policy.window.moves import WindowRates, least_departure, one_more_page, other_moves
from analytic.policy.window.states import WindowStates
from crawltwin.model.checks import FloatArray
from crawltwin.work.compiling import njit


class Actions(NamedTuple):
    """What is chosen: the mode at each state and at each phase of the empty system, and the phase that moves up."""

    modes: IntArray
    modes_empty: IntArray
    moving: IntArray


class Values(NamedTuple):
    """Values of a decision process.

    Parameters
    ----------
    ahead : ndarray, shape (B + 1, states, W, M)
        Mean of the values after k more pages; for k = 0 the values themselves.
    ahead_empty : ndarray, shape (B + 1, W)
        The same for the empty system.
    """

    ahead: FloatArray
    ahead_empty: FloatArray


class Occupation(NamedTuple):
    """How much of the time each state is occupied, and what flows in until the next sweep.

    Parameters
    ----------
    p, p_empty : ndarray
    coming : ndarray, shape (B + 1, states, W, M)
        Flow into each state before k more pages join.
    coming_empty : ndarray
    """

    p: FloatArray
    p_empty: FloatArray
    coming: FloatArray
    coming_empty: FloatArray


@njit(cache=True)
def _steps(
    batches: FloatArray, cost: FloatArray, allowed: BoolArray, ahead: FloatArray, a: int, steps: FloatArray
) -> int:  # pragma: no cover - compiled
    """What cost and arrivals of each mode add to a Bellman step, the own value included; the mode with the least.

    `batches` is by mode, pages and phases, `cost` and `allowed` by mode, `ahead` by pages and phase.
    """
    best = -1
    for mode in range(cost.size):
        steps[mode] = np.inf
        if allowed[mode]:
            total = cost[mode]
            for pages in range(ahead.shape[0]):
                for c in range(ahead.shape[1]):
                    total += batches[mode, pages, a, c] * ahead[pages, c]
            steps[mode] = total
            if best < 0 or total < steps[best]:
                best = mode
    return best


@njit(cache=True)
def _move_up(
    states: WindowStates, rates: WindowRates, values: Values, level: int
) -> None:  # pragma: no cover - compiled
    """Means of the values after one and more pages, from those of the level above."""
    ahead, ahead_empty = values
    for pages in range(1, ahead.shape[0]):
        if level > 0:
            one_more_page(states, rates.fresh, level - 1, ahead[pages - 1], ahead[pages])
        else:
            for a in range(ahead.shape[2]):
                ahead_empty[pages, a] = 0.0
                for b in range(ahead.shape[3]):
                    ahead_empty[pages, a] += rates.entry[b] * ahead[pages - 1, 0, a, b]


@njit(cache=True)
def _departures(
    states: WindowStates, rates: WindowRates, values: Values, x: int, a: int, b: int
) -> tuple[float, int]:  # pragma: no cover - compiled
    """As `least_departure`, the last page of the system included."""
    if x == 0:
        return rates.exits[b] * values.ahead_empty[0, a], 0
    return least_departure(states, rates, values.ahead[0], x, a, b)


@njit(cache=True)
def improve_values(
    states: WindowStates,
    rates: WindowRates,
    costs: tuple[FloatArray, FloatArray],
    allowed: BoolArray,
    values: Values,
    gain: float,
) -> None:  # pragma: no cover - compiled
    """One sweep from the full system down: each value becomes the one that makes its Bellman step equal to `gain`."""
    cost, cost_empty = costs
    ahead, ahead_empty = values
    top, u, steps = states.first.size - 1, ahead[0], np.zeros(cost.shape[0])
    for level in range(top, 0, -1):
        room, slot = rates.rooms[level], rates.slots[level]
        if level < top:
            _move_up(states, rates, values, level)
        for x in range(states.first[level - 1], states.first[level]):
            for b in range(u.shape[2]):
                for a in range(u.shape[1]):
                    best = _steps(rates.batches[:, room], cost[:, x, a, b], allowed[slot], ahead[:, x, :, b], a, steps)
                    others = other_moves(states, rates, u, x, a, b)
                    away, _ = _departures(states, rates, values, x, a, b)
                    stay = -rates.batches[best, room, 0, a, a]
                    total = steps[best] + stay * u[x, a, b] + others + away - gain
                    u[x, a, b] = total / (stay + rates.pace[x] - rates.service[b, b])
    _move_up(states, rates, values, 0)
    for a in range(u.shape[1]):
        best = _steps(rates.batches[:, rates.rooms[0]], cost_empty[:, a], allowed[0], ahead_empty, a, steps)
        ahead_empty[0, a] += (steps[best] - gain) / -rates.batches[best, rates.rooms[0], 0, a, a]


@njit(cache=True)
def bellman_steps(
    states: WindowStates,
    rates: WindowRates,
    costs: tuple[FloatArray, FloatArray],
    allowed: BoolArray,
    values: Values,
    occupied: Occupation,
    actions: Actions,
) -> tuple[float, float, FloatArray]:  # pragma: no cover - compiled
    """The least Bellman step of one vector of values, the mean step, and the mean regret of each mode at each level.

    The values must not be negative: then every sum is one of numbers of one sign but for the own value, and its
    rounding, which is taken off the least step, is known.
    """
    cost, cost_empty = costs
    ahead, ahead_empty = values
    top, u, steps = states.first.size - 1, ahead[0], np.zeros(cost.shape[0])
    least, mean = np.inf, 0.0
    regrets = np.zeros((allowed.shape[0], cost.shape[0]))
    for level in range(top, 0, -1):
        room, slot = rates.rooms[level], rates.slots[level]
        if level < top:
            _move_up(states, rates, values, level)
        for x in range(states.first[level - 1], states.first[level]):
            for b in range(u.shape[2]):
                for a in range(u.shape[1]):
                    best = _steps(rates.batches[:, room], cost[:, x, a, b], allowed[slot], ahead[:, x, :, b], a, steps)
                    away, phase = _departures(states, rates, values, x, a, b)
                    actions.modes[x, a, b], actions.moving[x, a, b] = best, phase
                    out = rates.pace[x] - rates.service[b, b]
                    step = steps[best] + other_moves(states, rates, u, x, a, b) + away - out * u[x, a, b]
                    size = 2 * (out - rates.batches[best, room, 0, a, a]) * u[x, a, b] + 3 * abs(cost[best, x, a, b])
                    least = min(least, step - 1e-14 * (size + abs(step)))
                    mean += occupied.p[x, a, b] * step
                    for mode in range(steps.size):
                        regrets[slot, mode] += occupied.p[x, a, b] * (steps[mode] - steps[best])
    _move_up(states, rates, values, 0)
    for a in range(u.shape[1]):
        best = _steps(rates.batches[:, rates.rooms[0]], cost_empty[:, a], allowed[0], ahead_empty, a, steps)
        actions.modes_empty[a] = best
        size = -2 * rates.batches[best, rates.rooms[0], 0, a, a] * ahead_empty[0, a] + 3 * abs(cost_empty[best, a])
        least = min(least, steps[best] - 1e-14 * (size + abs(steps[best])))
        mean += occupied.p_empty[a] * steps[best]
        for mode in range(steps.size):
            regrets[0, mode] += occupied.p_empty[a] * (steps[mode] - steps[best])
    return least, mean, regrets


@njit(cache=True)
def move_occupation(
    states: WindowStates, rates: WindowRates, actions: Actions, occupied: Occupation
) -> None:  # pragma: no cover - compiled
    """One sweep from the empty system up: what flows into each state leaves it again, under the actions chosen."""
    p, p_empty, coming, coming_empty = occupied
    B, W, M = coming.shape[0] - 1, coming.shape[2], coming.shape[3]
    for a in range(W):
        batches = rates.batches[actions.modes_empty[a], rates.rooms[0]]
        p_empty[a] = coming_empty[a] / -batches[0, a, a]
        coming_empty[a] = 0.0
        for c in range(W):
            if c != a:
                coming_empty[c] += p_empty[a] * batches[0, a, c]
            for pages in range(1, B + 1):
                for b in range(M):
                    coming[pages - 1, 0, c, b] += p_empty[a] * batches[pages, a, c] * rates.entry[b]
    for level in range(1, states.first.size):
        for x in range(states.first[level - 1], states.first[level]):
            for a in range(W):
                for b in range(M):
                    batches = rates.batches[actions.modes[x, a, b], rates.rooms[level]]
                    amount = coming[0, x, a, b] / (rates.pace[x] - rates.service[b, b] - batches[0, a, a])
                    p[x, a, b], coming[0, x, a, b] = amount, 0.0
                    for c in range(W):
                        for pages in range(B + 1):
                            if pages > 0 or c != a:
                                coming[pages, x, c, b] += amount * batches[pages, a, c]
                    _depart(states, rates, actions, occupied, x, a, b)
            for pages in range(1, B + 1):
                for phase in range(rates.fresh.size):
                    y = states.joined[x, phase]
                    if y >= 0:
                        for a in range(W):
                            for b in range(M):
                                coming[pages - 1, y, a, b] += rates.fresh[phase] * coming[pages, x, a, b]
                coming[pages, x] = 0.0
    total = p.sum() + p_empty.sum()
    p /= total
    p_empty /= total


@njit(cache=True)
def _depart(
    states: WindowStates, rates: WindowRates, actions: Actions, occupied: Occupation, x: int, a: int, b: int
) -> None:  # pragma: no cover - compiled
    """Where service, clocks and departures lead."""
    amount, phase, flow = occupied.p[x, a, b], actions.moving[x, a, b], occupied.coming[0]
    for c in range(rates.entry.size):
        if c != b:
            flow[x, a, c] += amount * rates.service[b, c]
        if x > 0:
            flow[states.left[x, 0, phase], a, c] += amount * rates.exits[b] * rates.entry[c]
    if x == 0:
        occupied.coming_empty[a] += amount * rates.exits[b]
    for place in range(states.window.shape[1]):
        own = states.window[x, place]
        if own < 0:
            break
        flow[states.left[x, place, phase], a, b] += amount * rates.stale[own]
    for turn in range(states.turns.shape[1]):
        flow[states.turns[x, turn], a, b] += amount * states.turn_rates[x, turn]
    for own in range(rates.fresh.size):
        if states.left_behind[x, own] >= 0:
            flow[states.left_behind[x, own], a, b] += amount * states.behind[x, own] * rates.stale[own]
