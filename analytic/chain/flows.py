r"""What arrives at a level: which batches come, how many of their pages enter, and which leave the level alone.

With i pages in the system, K the capacity and a batch of k:

============== ============================ =========================== ============
rule           pages that enter             level after                 top level
============== ============================ =========================== ============
partial        min(k, K - i)                min(i + k, K)               K
all-or-nothing k if k <= K - i, else 0      i + k, or i                 K
overflow       k if i < K, else 0           i + k, or i                 K + B - 1
============== ============================ =========================== ============

Rates are between *control states*: the controller's mode, where it has a memory, and the arrival phase
(`analytic.chain.control`). In the paper's model that is the arrival phase alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from crawltwin.model.checks import FloatArray


@dataclass(frozen=True)
class Move:
    """What happens to the control state.

    Parameters
    ----------
    rates : ndarray
        From the control states of a level to those of the level reached; probabilities where the event is given.
    switches : int
        1 when the number of robots changes.
    """

    rates: FloatArray
    switches: int = 0


@dataclass(frozen=True)
class Outcome:
    """What one batch size does at one level.

    Parameters
    ----------
    size, admitted : int
        Pages in the batch, and how many of them enter.
    move : Move
        D_k of the mode in force, between control states.
    step : int
        Levels up: the pages that enter, fewer only where a chain is cut above its likely levels.
    """

    size: int
    admitted: int
    move: Move
    step: int


@dataclass(frozen=True)
class PageRates:
    """Pages that come in each control state of a level.

    Parameters
    ----------
    by_size : mapping
        Batch size -> rate of such batches in each control state, D_k e.
    entering : mapping
        Batch size -> how many of its pages enter.
    """

    by_size: Mapping[int, FloatArray]
    entering: Mapping[int, int]

    @cached_property
    def page_rates(self) -> FloatArray:
        """Pages delivered per unit of time, sum of k D_k e."""
        return np.asarray(sum(size * rates for size, rates in self.by_size.items()))

    @cached_property
    def loss_rates(self) -> FloatArray:
        """Pages lost per unit of time: a sum of losses, with no subtraction of rates."""
        return np.asarray(sum((size - self.entering[size]) * rates for size, rates in self.by_size.items()))

    @cached_property
    def place_rates(self) -> tuple[FloatArray, ...]:
        """For each place l = 1, 2, ... the rate of batches whose l-th page enters."""
        deepest = max(self.entering.values(), default=0)
        return tuple(
            np.asarray(sum(rates for size, rates in self.by_size.items() if self.entering[size] >= place))
            for place in range(1, deepest + 1)
        )


@dataclass(frozen=True, eq=False)
class Controls:
    """The control states of a level: mode by mode, the arrival phases that can be met in it.

    Parameters
    ----------
    modes : tuple of int
        In which the controller can be found.
    robots : ndarray, shape (C,)
        Robots wanted.
    fetches : ndarray, shape (C,), optional
        Fetches in flight; None where the arrivals have none.
    """

    modes: tuple[int, ...]
    robots: FloatArray
    fetches: FloatArray | None = None

    @property
    def size(self) -> int:
        """C, the number of control states."""
        return self.robots.size


@dataclass(frozen=True, eq=False)
class LevelFlow:
    """What moves the control state at one level.

    Parameters
    ----------
    controls : Controls
    pages : PageRates
        Shared by levels that differ only in what the controller does next.
    quiet : ndarray, shape (C, C)
        Phase changes without a delivery: D_0 of the mode in force.
    outcomes : tuple of Outcome
        Batch by batch.
    leaving : tuple of Move
        What the controller and the robots do when one page leaves the system: probabilities.
    polls : tuple of Move
        Rates of polls at which the mode changes.
    """

    controls: Controls
    pages: PageRates
    quiet: FloatArray
    outcomes: tuple[Outcome, ...] = ()
    leaving: tuple[Move, ...] = ()
    polls: tuple[Move, ...] = ()


STILL = LevelFlow(Controls((0,), np.zeros(1)), PageRates({}, {}), np.zeros((1, 1)), leaving=(Move(np.eye(1)),))
"""A level at which nothing arrives and nobody controls: one control state."""


def admitted(size: int, room: int, admission: str) -> int:
    """How many pages of a batch of `size` enter when `room` places are free (not positive: none)."""
    if room <= 0:
        return 0
    if admission == "partial":
        return min(size, room)
    if admission == "all-or-nothing":
        return size if size <= room else 0
    return size
