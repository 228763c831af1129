"""The whole chain of the crawler, written down state by state from the words of the model.

Slow, plain and independent of the product: a state is a tuple, a transition is one line, and nothing is a Kronecker
product. It serves as the oracle of the oracles on small capacities.

A state is (arrival phase, service phase, (obsolescence phases of the waiting pages, oldest first)); with nothing in
the system it is (arrival phase, None, ()). The page in service cannot become obsolete, the queue is first come first
served, and each page that begins to wait draws its own obsolescence phase.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import scipy.sparse as sp

State = tuple[int, int | None, tuple[int, ...]]


@dataclass(frozen=True)
class FullChain:
    """The generator, and for each state the rates at which pages arrive, are lost and become obsolete."""

    states: list[State]
    generator: sp.csr_array
    arrival_rates: np.ndarray
    loss_rates: np.ndarray
    obsolescence_rates: np.ndarray

    @property
    def levels(self) -> np.ndarray:
        """Pages in the system, the one in service included."""
        return np.array([level_of(state) for state in self.states])


def level_of(state: State) -> int:
    _, service_phase, waiting = state
    return 0 if service_phase is None else 1 + len(waiting)


def full_chain(
    arrivals: Callable[[int], Sequence[np.ndarray]],
    service: tuple[np.ndarray, np.ndarray],
    obsolescence: tuple[np.ndarray, np.ndarray] | None,
    capacity: int,
    admission: str = "partial",
) -> FullChain:
    """Every state that can be reached from an empty system, and every transition.

    Parameters
    ----------
    arrivals
        The matrices D_0, D_1, ... in force with so many pages in the system.
    service, obsolescence
        Initial vector and subgenerator; no obsolescence at all with None.
    capacity
        Pages in the system at most, the one in service included.
    admission
        "partial", "all-or-nothing" or "overflow".
    """
    beta, S = (np.asarray(part, float) for part in service)
    gamma, G = (np.asarray(part, float) for part in obsolescence or ([1.0], [[0.0]]))
    service_exit, obsolescence_exit = -S.sum(axis=1), -G.sum(axis=1)

    def pages_admitted(level: int, batch: int) -> int:
        room = capacity - level
        if admission == "partial":
            return min(batch, max(room, 0))
        if admission == "all-or-nothing":
            return batch if batch <= room else 0
        return batch if room > 0 else 0

    def with_new_pages(waiting: tuple[int, ...], count: int) -> list[tuple[tuple[int, ...], float]]:
        drawn = product(range(len(gamma)), repeat=count)
        return [(waiting + new, float(np.prod(gamma[list(new)]))) for new in drawn]

    def moves(state: State) -> list[tuple[State, float, int, int]]:
        """Next state, rate, pages lost and pages become obsolete on the way."""
        phase, in_service, waiting = state
        level = level_of(state)
        found: list[tuple[State, float, int, int]] = []
        for batch, D in enumerate(arrivals(level)):
            for new_phase, rate in enumerate(D[phase]):
                if rate <= 0 or (batch == 0 and new_phase == phase):
                    continue
                enter = pages_admitted(level, batch)
                lost = batch - enter
                if in_service is None and enter > 0:
                    for (begin, b), (queue, g) in product(enumerate(beta), with_new_pages((), enter - 1)):
                        found.append(((new_phase, begin, queue), rate * b * g, lost, 0))
                else:
                    for queue, g in with_new_pages(waiting, enter):
                        found.append(((new_phase, in_service, queue), rate * g, lost, 0))
        if in_service is not None:
            for new_phase, rate in enumerate(S[in_service]):
                if new_phase != in_service:
                    found.append(((phase, new_phase, waiting), rate, 0, 0))
            if waiting:
                for begin, b in enumerate(beta):
                    found.append(((phase, begin, waiting[1:]), service_exit[in_service] * b, 0, 0))
            else:
                found.append(((phase, None, ()), service_exit[in_service], 0, 0))
        for place, old in enumerate(waiting):
            before, after = waiting[:place], waiting[place + 1 :]
            for new, rate in enumerate(G[old]):
                if new != old:
                    found.append(((phase, in_service, (*before, new, *after)), rate, 0, 0))
            found.append(((phase, in_service, before + after), obsolescence_exit[old], 0, 1))
        return [move for move in found if move[1] > 0]

    start: State = (0, None, ())
    index = {start: 0}
    states = [start]
    rows, columns, rates = [], [], []
    arrived, lost_pages, obsolete = [], [], []
    for state in states:  # grows while it is walked: breadth first from the empty system
        here = index[state]
        loss = stale = outflow = 0.0
        for target, rate, lost, gone in moves(state):
            if target not in index:
                index[target] = len(states)
                states.append(target)
            loss += rate * lost
            stale += rate * gone
            if target != state:
                outflow += rate
                rows.append(here)
                columns.append(index[target])
                rates.append(rate)
        rows.append(here)
        columns.append(here)
        rates.append(-outflow)
        lost_pages.append(loss)
        obsolete.append(stale)
        matrices = arrivals(level_of(state))
        arrived.append(float(sum(batch * D[state[0]].sum() for batch, D in enumerate(matrices))))
    Q = sp.coo_array((rates, (rows, columns)), shape=(len(states), len(states))).tocsr()
    return FullChain(states, Q, np.array(arrived), np.array(lost_pages), np.array(obsolete))
