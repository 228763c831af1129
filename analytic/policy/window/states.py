"""The waiting pages as a window sees them: phases in order for the oldest, counts by phase for the others.

With n pages waiting, the H oldest keep their clock phases in order (all of them where n <= H); of the others only the
number in each phase is known. What the pages do leads from one such state to another:

* a new page joins at the back (`joined`);
* a page of the window leaves, and the oldest page behind the window takes the free place (`left`). Its phase is not
  known: one state for each phase that the counts allow;
* a page behind the window leaves (`left_behind`);
* a clock changes its phase (`turned`).

States of all numbers of waiting pages are counted in one list, fewest pages first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from analytic.chain.primitives import Chain
from analytic.linear.count_vectors import count_states, counts, one_less, one_more
from analytic.policy.modes import IntArray
from crawltwin.model import Fault, TooLargeError
from crawltwin.model.checks import FloatArray, count

STRETCH = 20
"""How many times larger than wished the chain of a single ordered page may be."""


class WindowStates(NamedTuple):
    """All states of up to some number of waiting pages, and where their pages lead; -1 stands for nowhere.

    Parameters
    ----------
    first : ndarray of int
        First state of each number of waiting pages, and one past the last.
    window : ndarray of int, shape (states, H)
        Phases of the ordered pages, oldest first; -1 in empty places.
    behind : ndarray of int, shape (states, R)
        Number of unordered pages in each phase.
    joined : ndarray of int, shape (states, R)
        With one more page at the back, in each phase.
    left : ndarray of int, shape (states, H, R)
        Without the page at a place of the window, for each phase of the page that moves up; where none is behind, the
        state is in the first column.
    left_behind : ndarray of int, shape (states, R)
        Without a page behind the window, for each phase.
    turns : ndarray of int, shape (states, turns)
        After one clock changed its phase.
    turn_rates : ndarray, shape (states, turns)
    """

    first: IntArray
    window: IntArray
    behind: IntArray
    joined: IntArray
    left: IntArray
    left_behind: IntArray
    turns: IntArray
    turn_rates: FloatArray


def widest_window(chain: Chain, most_states: int) -> int:
    """The widest window whose chain has at most so many states; at least one page.

    Raises
    ------
    TooLargeError
        When even a window of one page has more than `STRETCH` times as many.
    """
    W, M, R = chain.arrival_phases, chain.service_phases, chain.obsolescence_phases

    def states(size: int) -> int:
        waiting = ((n, min(n, size)) for n in range(chain.top))
        return W * M * sum(int(R**h) * count_states(n - h, R) for n, h in waiting)

    if states(1) > STRETCH * most_states:
        rule = f"a window of one ordered page must have at most {STRETCH * most_states:,} states"
        way_out = "Use a smaller capacity or fewer obsolescence phases."
        raise TooLargeError([Fault("capacity", f"{rule}; got {count(states(1))}", way_out)])
    return max((size for size in range(1, max(chain.top, 2)) if states(size) <= most_states), default=1)


def window_states(most: int, size: int, Gamma: FloatArray) -> WindowStates:
    """The states with up to `most` pages waiting and a window of `size`, for clocks with subgenerator `Gamma`."""
    R = len(Gamma)
    ordered = [min(n, size) for n in range(most + 1)]
    lengths = [R**h * count_states(n - h, R) for n, h in enumerate(ordered)]
    first = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    total = int(first[-1])
    changes = [(r, s) for r in range(R) for s in range(R) if r != s and Gamma[r, s] > 0]
    states = WindowStates(
        first=first,
        window=np.full((total, size), -1, np.int64),
        behind=np.zeros((total, R), np.int64),
        joined=np.full((total, R), -1, np.int64),
        left=np.full((total, size, R), -1, np.int64),
        left_behind=np.full((total, R), -1, np.int64),
        turns=np.zeros((total, (size + 1) * len(changes)), np.int64),
        turn_rates=np.zeros((total, (size + 1) * len(changes))),
    )
    for n, h in enumerate(ordered):
        _fill(states, n, h, size, R)
        _fill_turns(states, n, h, [(r, s, float(Gamma[r, s])) for r, s in changes])
    return states


def _fill(states: WindowStates, n: int, h: int, size: int, R: int) -> None:
    """Everything but the turns for n waiting pages, h of them in order."""
    first, rest = states.first, n - h
    own, code = slice(first[n], first[n + 1]), np.arange(R**h)
    place, unordered = np.divmod(np.arange(first[n + 1] - first[n]), count_states(rest, R))
    digits = code[:, None] // R ** np.arange(h - 1, -1, -1) % R
    states.window[own, :h] = digits[place]
    states.behind[own] = counts(rest, R)[unordered]
    if n + 2 < first.size:
        if n < size:
            states.joined[own] = first[n + 1] + place[:, None] * R + np.arange(R)
        else:
            above = count_states(rest + 1, R)
            states.joined[own] = first[n + 1] + place[:, None] * above + one_more(rest, R)[unordered]
    if n == 0:
        return
    for gone in range(h):
        shorter = _code(np.delete(digits, gone, axis=1), R)[place]
        if rest == 0:
            states.left[own, gone, 0] = first[n - 1] + shorter
        else:
            below = one_less(rest, R)[unordered]
            moved = first[n - 1] + (shorter[:, None] * R + np.arange(R)) * count_states(rest - 1, R) + below
            states.left[own, gone] = np.where(below >= 0, moved, -1)
    if rest:
        below = one_less(rest, R)[unordered]
        found = first[n - 1] + place[:, None] * count_states(rest - 1, R) + below
        states.left_behind[own] = np.where(below >= 0, found, -1)


def _fill_turns(states: WindowStates, n: int, h: int, changes: list[tuple[int, int, float]]) -> None:
    """Clocks of n waiting pages, h of them in order, that change their phase."""
    R, rest, own = states.behind.shape[1], n - h, np.arange(states.first[n], states.first[n + 1])
    width = count_states(rest, R)
    place, unordered = np.divmod(own - states.first[n], width)
    column = 0
    for r, s, rate in changes:
        for at in range(h):
            here = states.window[own, at] == r
            moved = own + (s - r) * R ** (h - 1 - at) * width
            states.turns[own, column] = np.where(here, moved, own)
            states.turn_rates[own, column] = np.where(here, rate, 0.0)
            column += 1
        if rest:
            less = one_less(rest, R)[unordered, r]
            here = less >= 0
            moved = states.first[n] + place * width + one_more(rest - 1, R)[np.maximum(less, 0), s]
            states.turns[own, column] = np.where(here, moved, own)
            states.turn_rates[own, column] = rate * states.behind[own, r]
            column += 1


def _code(digits: IntArray, R: int) -> IntArray:
    """Place of each row of digits among all, lexicographic."""
    return np.asarray(digits @ R ** np.arange(digits.shape[1] - 1, -1, -1, dtype=np.int64), dtype=np.int64)
