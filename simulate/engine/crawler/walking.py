"""Walks through phases for the reference engine, on streams of random numbers handed out one by one."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from simulate.engine.streams import one_by_one
from simulate.engine.tables import END, IntArray, PhaseWalk


class Choices:
    """Draws from lists of cumulative probabilities; a certain choice draws nothing."""

    def __init__(self, stream: np.random.Generator) -> None:
        self._uniform = one_by_one(stream.random)

    def pick(self, cumulative: list[float]) -> int:
        """The position of the first entry above a uniform number."""
        if len(cumulative) == 1:
            return 0
        number = self._uniform()
        for position, limit in enumerate(cumulative):
            if number < limit:
                return position
        raise AssertionError("the last cumulative probability is 1")


class PhaseClock:
    """Times of a phase type, walked phase by phase."""

    def __init__(self, walk: PhaseWalk, times: np.random.Generator, jumps: np.random.Generator) -> None:
        self._exponential = one_by_one(times.standard_exponential)
        self._choices = Choices(jumps)
        self._initial = walk.initial.tolist()
        self._first = walk.first.tolist()
        self._rates: list[float] = walk.jumps.rate.tolist()
        self._rows = rows_of(walk.jumps.begin, walk.jumps.cumulative.tolist())
        self._targets = rows_of(walk.jumps.begin, walk.jumps.target.tolist())
        self._is_exponential = len(self._rates) == 1

    def draw(self) -> float:
        """One time."""
        if self._is_exponential:
            return self._exponential() / self._rates[0]
        pick = self._choices.pick
        phase = self._first[pick(self._initial)]
        total = 0.0
        while phase != END:
            total += self._exponential() / self._rates[phase]
            phase = self._targets[phase][pick(self._rows[phase])]
        return total


def rows_of(begin: IntArray, entries: list[Any]) -> list[list[Any]]:
    """Flat entries cut into rows."""
    return [entries[low:high] for low, high in pairwise(begin.tolist())]
