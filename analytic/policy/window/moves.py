r"""Moves of the pages on a window, and what a page will book: the parts of a Bellman step that no policy changes.

`values[state, phase, service]` belongs to the system with at least one page; `phase` is the arrival phase or, for a
tagged page, the phase of its own clock, and `service` the phase of the indexer. The phase of the page that moves up
into the window is the one with the least value.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from analytic.policy.modes import IntArray
from analytic.policy.window.states import WindowStates
from crawltwin.model.checks import FloatArray
from crawltwin.work.compiling import njit


class WindowRates(NamedTuple):
    """Rates of the controlled chain beside its states.

    Parameters
    ----------
    batches : ndarray, shape (modes, rooms, B + 1, W, W)
        Rates of arrivals that let k pages in, with so much room; for k = 0 the diagonal is minus the rate out.
    rooms : ndarray of int
        Room of each level.
    slots : ndarray of int
        Level whose action each level uses.
    service, exits, entry : ndarray
        Rates between service phases (diagonal: minus the rate out), of completions, and the phase of the next service.
    stale, fresh : ndarray
        Rates at which a clock of each phase ends, and the phases of a new clock.
    pace : ndarray
        Total rate of the clocks in each state.
    """

    batches: FloatArray
    rooms: IntArray
    slots: IntArray
    service: FloatArray
    exits: FloatArray
    entry: FloatArray
    stale: FloatArray
    fresh: FloatArray
    pace: FloatArray


@njit(cache=True)
def least_departure(
    states: WindowStates, rates: WindowRates, values: FloatArray, x: int, a: int, b: int
) -> tuple[float, int]:  # pragma: no cover - compiled
    """What the departures from the window add to a Bellman step, with the best phase of the page that moves up."""
    least, choice = np.inf, 0
    for phase in range(rates.fresh.size):
        y = states.left[x, 0, phase]
        if y < 0:
            continue
        total = 0.0
        for c in range(rates.entry.size):
            total += rates.entry[c] * values[y, a, c]
        total *= rates.exits[b]
        for place in range(states.window.shape[1]):
            own = states.window[x, place]
            if own < 0:
                break
            total += rates.stale[own] * values[states.left[x, place, phase], a, b]
        if total < least:
            least, choice = total, phase
    return least, choice


@njit(cache=True)
def other_moves(
    states: WindowStates, rates: WindowRates, values: FloatArray, x: int, a: int, b: int
) -> float:  # pragma: no cover - compiled
    """What service phases, turning clocks and departures from behind the window add to a Bellman step."""
    total = 0.0
    for c in range(rates.entry.size):
        if c != b:
            total += rates.service[b, c] * values[x, a, c]
    for turn in range(states.turns.shape[1]):
        if states.turn_rates[x, turn] > 0.0:
            total += states.turn_rates[x, turn] * values[states.turns[x, turn], a, b]
    for phase in range(rates.fresh.size):
        if states.left_behind[x, phase] >= 0:
            weight = states.behind[x, phase] * rates.stale[phase]
            total += weight * values[states.left_behind[x, phase], a, b]
    return total


@njit(cache=True)
def booked_below(
    states: WindowStates, rates: WindowRates, clock: FloatArray, source: FloatArray, served: FloatArray
) -> FloatArray:  # pragma: no cover - compiled
    """Least expected total of `source` until a tagged page leaves, and of `served[b]` when its service begins.

    The state is that of the pages ahead of it, a = the phase of its own clock with subgenerator `clock`. Each number of
    pages ahead is swept from 0 until nothing grows: every sweep is a lower bound, the last one is the least total.
    """
    values = np.zeros(source.shape)
    for n in range(states.first.size - 1):
        for _ in range(10_000):
            grown = False
            for x in range(states.first[n], states.first[n + 1]):
                for a in range(source.shape[1]):
                    for b in range(source.shape[2]):
                        total = source[x, a, b] + other_moves(states, rates, values, x, a, b)
                        if n == 0:
                            total += served[b]
                        else:
                            total += least_departure(states, rates, values, x, a, b)[0]
                        for c in range(source.shape[1]):
                            if c != a:
                                total += clock[a, c] * values[x, c, b]
                        total /= rates.pace[x] - rates.service[b, b] - clock[a, a]
                        grown |= total > values[x, a, b] * (1 + 1e-14)
                        values[x, a, b] = max(values[x, a, b], total)
            if not grown:
                break
    return values


@njit(cache=True)
def one_more_page(
    states: WindowStates, fresh: FloatArray, n: int, above: FloatArray, here: FloatArray
) -> None:  # pragma: no cover - compiled
    """Mean of `above` after one more page, at the states with n waiting."""
    for x in range(states.first[n], states.first[n + 1]):
        for a in range(above.shape[1]):
            for b in range(above.shape[2]):
                total = 0.0
                for phase in range(fresh.size):
                    total += fresh[phase] * above[states.joined[x, phase], a, b]
                here[x, a, b] = total
