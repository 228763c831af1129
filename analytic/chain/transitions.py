r"""The kinds of transitions of a level, each with what it counts: all that the generator is made of (the Lemma).

A state is (level, small state, clocks of the waiting pages, oldest first). The *small state* holds the control state
(`analytic.chain.control`: arrival phase and, where the controller has a memory, its mode) and the service state
(`analytic.chain.indexers`); in the paper's model there are W of them at level 0 and W M above. A transition is a small
matrix of rates between the small states of two levels, and a word on what happens to the waiting pages:

========== ==================================================================================
`waiting`  what happens to the clocks
========== ==================================================================================
stays      nothing
append     new pages join at the end, each clock started by gamma
oldest     the page that has waited longest leaves the queue (into service)
one of all one waiting page becomes obsolete, each at the rate of its own phase, Gamma_0
change     one clock changes its phase, by Gamma
========== ==================================================================================

Every chain is derived from these: the explicit generator writes the clocks out (`analytic.chain.generator`), the banded
elimination needs only how many there are (`analytic.stationary.banded`), the sweeps hold them as arrays
(`analytic.stationary.matrix_free`). A batch of which no page enters may leave the state as it is: it is absent from Q,
but it is counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from analytic.chain.flows import LevelFlow
from analytic.chain.indexers import Indexers
from crawltwin.model.checks import FloatArray
from crawltwin.model.laws.phase_type import PhaseType

Clock = Literal["arrival", "service", "obsolescence", "control"]
CLOCKS: tuple[Clock, ...] = ("arrival", "service", "obsolescence", "control")
"""Whose rates a transition belongs to; `control` are the polls of the controller."""

Waiting = Literal["stays", "append", "oldest", "one of all", "change"]


@dataclass(frozen=True)
class Transition:
    """One kind of transition out of one level.

    Parameters
    ----------
    clock : str
        Whose rates it belongs to, one of `CLOCKS`.
    step : int
        Levels up.
    small : ndarray
        Rates from the small states of the level to those of the level reached. An entry from a state to itself is an
        event that is counted and changes nothing.
    waiting : str
        What happens to the waiting pages.
    pages, lost, served, obsolete, switches : int
        What one such transition counts.
    """

    clock: Clock
    step: int
    small: FloatArray
    waiting: Waiting = "stays"
    pages: int = 0
    lost: int = 0
    served: int = 0
    obsolete: int = 0
    switches: int = 0

    @property
    def counts(self) -> tuple[Clock, int, int, int, int, int]:
        """What makes transitions of different levels one kind."""
        return self.clock, self.pages, self.lost, self.served, self.obsolete, self.switches


def level_transitions(
    flow: LevelFlow, indexers: Indexers, obsolescence: PhaseType | None, level: int
) -> tuple[Transition, ...]:
    """All kinds of transitions out of a level; the same for all levels with waiting pages and the same flow.

    Examples
    --------
    >>> from analytic.chain.primitives import Chain
    >>> from crawltwin.model import examples
    >>> chain = Chain.of(examples.load("mm1k"))
    >>> found = level_transitions(chain.flows[0], chain.indexers, None, 0)
    >>> [(kind.pages, kind.step, kind.small.tolist()) for kind in found]
    [(0, 0, [[0.0]]), (1, 1, [[0.8]])]
    """
    found = _arrivals(flow, indexers, level)
    same = np.eye(indexers.states(indexers.busy(level)))
    if level > 0:
        found += _service(flow, indexers, level)
    if level > indexers.number and obsolescence is not None:
        if obsolescence.order > 1:
            found.append(Transition("obsolescence", 0, np.eye(flow.controls.size * len(same)), "change"))
        for move in flow.leaving:
            small = np.kron(move.rates, same)
            found.append(Transition("obsolescence", -1, small, "one of all", obsolete=1, switches=move.switches))
    found += [Transition("control", 0, np.kron(move.rates, same), switches=move.switches) for move in flow.polls]
    return tuple(found)


def _arrivals(flow: LevelFlow, indexers: Indexers, level: int) -> list[Transition]:
    busy = indexers.busy(level)
    found = [Transition("arrival", 0, np.kron(without_diagonal(flow.quiet), np.eye(indexers.states(busy))))]
    for outcome in flow.outcomes:
        # The first pages that come to idle indexers go into service.
        inner = indexers.begins(busy, min(outcome.step, indexers.number - busy))
        found.append(
            Transition(
                "arrival",
                outcome.step,
                np.kron(outcome.move.rates, inner),
                "append" if outcome.step else "stays",
                pages=outcome.size,
                lost=outcome.size - outcome.admitted,
                switches=outcome.move.switches,
            )
        )
    return found


def _service(flow: LevelFlow, indexers: Indexers, level: int) -> list[Transition]:
    busy = indexers.busy(level)
    found = [Transition("service", 0, np.kron(np.eye(flow.controls.size), indexers.changes(busy)))]
    waits = level > indexers.number
    ends = indexers.follows(busy) if waits else indexers.ends(busy)
    for move in flow.leaving:
        small = np.kron(move.rates, ends)
        found.append(Transition("service", -1, small, "oldest" if waits else "stays", served=1, switches=move.switches))
    return found


def rates_by_step(transitions: tuple[Transition, ...]) -> dict[int, FloatArray]:
    """Rates between small states, all but obsolescence, by the levels they lead up; none to the same state."""
    found: dict[int, FloatArray] = {}
    for one in transitions:
        if one.clock != "obsolescence":
            found[one.step] = found[one.step] + one.small if one.step in found else one.small
    found[0] = without_diagonal(found[0])
    return found


def without_diagonal(matrix: FloatArray) -> FloatArray:
    """A copy with zeros on the diagonal."""
    copy = np.array(matrix)
    np.fill_diagonal(copy, 0.0)
    return copy
