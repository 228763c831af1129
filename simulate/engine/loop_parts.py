"""Parts of the compiled loop that the compiler puts in their place, so that no array crosses a call.

Numba counts arrays in and out of a call with locked additions; a part that is put in its place costs nothing.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from crawltwin.work.compiling import njit
from simulate.engine.tables import END

_BITS_BELOW_CELL = 46
_EXPONENT_BIAS = 1022 * 64


@njit(cache=True, nogil=True)
def cell_of(sojourn: float, lowest: int, cells: int) -> int:
    """The cell of the logarithmic histogram, from the bits of the number."""
    found = int(np.float64(sojourn).view(np.int64) >> _BITS_BELOW_CELL) - _EXPONENT_BIAS - lowest
    return min(max(found, 0), cells - 1)


@njit(inline="always")
def pick(cumulative: Any, entry: int, end: int, numbers: Any) -> int:
    """The first of the entries up to `end` whose cumulative probability is above a uniform number."""
    if end - entry > 1:
        number = numbers.random()
        while number >= cumulative[entry]:
            entry += 1
    return entry


@njit(inline="always")
def first_with(row: Any, value: int) -> int:
    """The first place that holds a value, which is there."""
    place = 0
    while row[place] != value:
        place += 1
    return place


@njit(inline="always")
def last_with(row: Any, value: int) -> int:
    """The last place that holds a value, which is there."""
    place: int = row.size - 1
    while row[place] != value:
        place -= 1
    return place


@njit(inline="always")
def without(after: Any, before: Any, slot: int, head: int, tail: int) -> tuple[int, int]:
    """Head and tail of the queue after a slot has left it."""
    if before[slot] >= 0:
        after[before[slot]] = after[slot]
    else:
        head = after[slot]
    if after[slot] >= 0:
        before[after[slot]] = before[slot]
    else:
        tail = before[slot]
    return head, tail


@njit(inline="always")
def with_last(after: Any, before: Any, slot: int, head: int, tail: int) -> tuple[int, int]:
    """Head and tail of the queue after a slot has joined its end."""
    before[slot], after[slot] = tail, -1
    if tail >= 0:
        after[tail] = slot
    else:
        head = slot
    return head, slot


@njit(inline="always")
def begin_sojourn(rate: Any, due: Any, left: Any, w: int, now: float, new: float, number: float) -> None:
    """A walker begins a sojourn of an exponential `number` at rate `new`; at rate 0 it waits."""
    rate[w], left[w], due[w] = new, number, math.inf
    if new > 0.0:
        due[w] = now + number / new


@njit(inline="always")
def change_rate(rate: Any, due: Any, left: Any, w: int, now: float, new: float) -> None:
    """Stretch the rest of a walker's sojourn to another rate; at rate 0 the rest is kept."""
    if rate[w] > 0.0 and new > 0.0:
        due[w] = now + (due[w] - now) * rate[w] / new
    elif rate[w] > 0.0:
        left[w], due[w] = (due[w] - now) * rate[w], math.inf
    elif new > 0.0:
        due[w] = now + left[w] / new
    rate[w] = new


@njit(inline="always")
def draw_time(
    initial: Any, first: Any, rate: Any, begin: Any, share: Any, target: Any, times: Any, jumps: Any
) -> float:
    """One time of a phase type, walked phase by phase; a certain choice draws nothing."""
    # `pick` inside this part would make the loop slower by a half: a part inside a part is counted again.
    total, entry = 0.0, 0
    if initial.size > 1:
        number = jumps.random()
        while number >= initial[entry]:
            entry += 1
    phase = first[entry]
    while phase != END:
        total += times.standard_exponential() / rate[phase]
        entry = begin[phase]
        if begin[phase + 1] - entry > 1:
            number = jumps.random()
            while number >= share[entry]:
                entry += 1
        phase = target[entry]
    return total


@njit(inline="always")
def add_deadline(heap: Any, place: Any, deadline: Any, heaped: int, slot: int) -> None:
    """Put a slot into the heap, which holds `heaped` slots so far."""
    hole = heaped
    while hole > 0 and deadline[slot] < deadline[heap[(hole - 1) >> 1]]:
        heap[hole] = heap[(hole - 1) >> 1]
        place[heap[hole]] = hole
        hole = (hole - 1) >> 1
    heap[hole] = slot
    place[slot] = hole


@njit(inline="always")
def remove_deadline(heap: Any, place: Any, deadline: Any, heaped: int, slot: int) -> None:
    """Take a slot out of the heap, which then holds `heaped` slots."""
    hole, moved = place[slot], heap[heaped]
    if moved != slot:
        while hole > 0 and deadline[moved] < deadline[heap[(hole - 1) >> 1]]:
            heap[hole] = heap[(hole - 1) >> 1]
            place[heap[hole]] = hole
            hole = (hole - 1) >> 1
        child = 2 * hole + 1
        while child < heaped:
            if child + 1 < heaped and deadline[heap[child + 1]] < deadline[heap[child]]:
                child += 1
            if deadline[moved] <= deadline[heap[child]]:
                break
            heap[hole] = heap[child]
            place[heap[hole]] = hole
            hole = child
            child = 2 * hole + 1
        heap[hole] = moved
        place[moved] = hole
