"""Count vectors: how many of some equal things are in each phase, when their order is forgotten."""

from __future__ import annotations

from functools import lru_cache
from math import comb

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]


def count_states(things: int, phases: int) -> int:
    """Number of ways to have `things` things in `phases` phases when their order is forgotten."""
    return comb(things + phases - 1, phases - 1)


@lru_cache(maxsize=512)
def counts(things: int, phases: int) -> IntArray:
    """All count vectors, shape (count_states, phases), so ordered that a move to a later phase leads further down."""
    if phases == 1:
        found = np.array([[things]], dtype=np.int64)
    else:
        parts = []
        for first in range(things, -1, -1):
            rest = counts(things - first, phases - 1)
            parts.append(np.hstack([np.full((len(rest), 1), first, dtype=np.int64), rest]))
        found = np.vstack(parts)
    found.setflags(write=False)
    return found


def count_index(vectors: IntArray, phases: int) -> IntArray:
    """Place of each count vector (rows) in `counts`: how many vectors come before it."""
    total = vectors.sum(axis=1)
    place = np.zeros(len(vectors), dtype=np.int64)
    left = total.copy()
    for axis in range(phases - 1):
        # Before it stand those with more things in this phase: fewer are left for the phases behind.
        behind = phases - axis - 1
        left_after = left - vectors[:, axis]
        place += _choose(left_after + behind - 1, behind)
        left = left_after
    return place


def _choose(n: IntArray, k: int) -> IntArray:
    """Binomial coefficients, 0 where n < k."""
    value = np.ones_like(n)
    for step in range(k):
        value = value * (n - step) // (step + 1)
    return np.where(n >= k, value, 0)


@lru_cache(maxsize=512)
def one_more(things: int, phases: int) -> IntArray:
    """Index, among the counts of `things` + 1, of each count vector with one more in each phase."""
    here = counts(things, phases)
    table = np.empty((len(here), phases), dtype=np.int64)
    for phase in range(phases):
        more = here.copy()
        more[:, phase] += 1
        table[:, phase] = count_index(more, phases)
    table.setflags(write=False)
    return table


@lru_cache(maxsize=512)
def one_less(things: int, phases: int) -> IntArray:
    """Index, among the counts of `things` - 1, of each count vector with one less in each phase, or -1."""
    here = counts(things, phases)
    table = np.full((len(here), phases), -1, dtype=np.int64)
    for phase in range(phases):
        has = here[:, phase] > 0
        less = here[has]
        less[:, phase] -= 1
        table[has, phase] = count_index(less, phases)
    table.setflags(write=False)
    return table


@lru_cache(maxsize=64)
def ordered_classes(things: int, phases: int) -> IntArray:
    """For each ordered string of phases (lexicographic) the index of its counts."""
    place = np.zeros(1, dtype=np.int64)
    for length in range(things):
        place = one_more(length, phases)[place].reshape(-1)
    place.setflags(write=False)
    return place
