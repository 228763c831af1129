r"""Who controls the arrivals: the controller's mode and the arrival phase, level by level.

A *control state* is (mode, arrival phase). Without a memory the controller's mode is the number of robots of the level,
so the control state is the arrival phase, as in the paper. With hysteresis (`resume`) several modes are possible at
some levels, with polling (`check_every`) at all levels:

- without polling the mode after an event that leads to level j is ``mode_after(mode, j)``;
- with polling the mode stays, and a Poisson process of rate 1 / check_every applies ``mode_after(mode, level)``.

Robots that finish their fetch (`crawltwin.model.arrivals.matrices`): a delivery after which r' robots are wanted
multiplies D_k by the return matrix of r', every other event into mode r' by its entrance matrix. Where the phase stays
both are the identity. Of the arrival phases only those are held that can be met with so many robots wanted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from analytic.chain.flows import Controls, LevelFlow, Move, Outcome, PageRates, admitted
from crawltwin.model.arrivals.matrices import ArrivalMatrices
from crawltwin.model.checks import FloatArray
from crawltwin.model.policies.policy import Policy
from crawltwin.model.policies.thresholds import ThresholdPolicy
from crawltwin.model.scenario import Scenario

Modes = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Controller:
    """The policy and the robots of one scenario.

    Parameters
    ----------
    policy : Policy
    matrices : ArrivalMatrices
        Batches cut to the largest one that is wanted.
    capacity : int
    admission : str
    """

    policy: Policy
    matrices: ArrivalMatrices
    capacity: int
    admission: str

    @classmethod
    def of(cls, scenario: Scenario, largest_batch: int | None = None) -> Controller:
        """The policy in force; larger batches are cut to `largest_batch` pages before they arrive."""
        policy = scenario.policy_in_force
        matrices = scenario.arrivals.matrices(policy.robots_used)
        if largest_batch is not None and largest_batch < matrices.max_batch:
            cut = {
                robots: (*D[:largest_batch], sum(D[largest_batch + 1 :], start=D[largest_batch]))
                for robots, D in matrices.D.items()
            }
            matrices = replace(matrices, D=cut)
        return cls(policy, matrices, scenario.capacity, scenario.admission)

    @cached_property
    def memory(self) -> ThresholdPolicy | None:
        """The rule of a controller that remembers its mode; None where the level tells the number of robots."""
        return self.policy.as_thresholds() if self.policy.features else None

    @property
    def polls(self) -> bool:
        """Whether the controller looks only every so often."""
        return self.policy.check_every > 0

    def robots(self, mode: int) -> int:
        """Robots wanted in a mode: without a memory a mode is a number of robots."""
        return mode if self.memory is None else self.memory.robots[mode]

    def after(self, mode: int, level: int) -> int:
        """The mode that the controller chooses when it sees `level` pages."""
        return self.policy.robots_at(level) if self.memory is None else self.memory.mode_after(mode, level)

    def first_mode(self, level: int) -> int:
        """The mode in which a crawler with so many pages begins."""
        return self.after(0, level)

    def flows(self, top: int) -> tuple[LevelFlow, ...]:
        """What moves the control state at levels 0..`top`; batches that would lead further end there.

        Levels share what is equal. Cost: a few small matrices for each different level, a few look-ups for each level.
        """
        if self.memory is None:
            modes: list[Modes] = [(robots,) for robots in self.policy.robots_by_level(top)]
            seen: list[Modes] = modes
        else:
            modes = list(self.memory.modes_by_level(top, self.matrices.max_batch))
            every = range(len(self.memory.robots))
            seen = [tuple(self.after(mode, level) for mode in every) for level in range(top + 1)]
        reach = self.matrices.max_batch
        shared: dict[Any, LevelFlow] = {}
        pages: dict[Any, PageRates] = {}
        found = []
        for level in range(top + 1):
            room = max(0, min(self.capacity - level, self._largest(modes[level])))
            low, high = max(level - 1, 0), min(level + reach, top) + 1
            key = (room, level == 0, high - level, tuple(modes[low:high]), tuple(seen[low:high]))
            if key not in shared:
                counted = pages.setdefault((modes[level], room), self._pages(modes[level], room))
                shared[key] = self._flow(level, modes, counted)
            found.append(shared[key])
        return tuple(found)

    def start_law(self, controls: Controls, level: int) -> FloatArray:
        """Control states of a crawler with `level` pages at its beginning, the arrival phase in equilibrium."""
        first = self.first_mode(level)
        parts = [
            self.matrices.start_law[self.robots(mode)][self._met(mode)] * float(mode == first)
            for mode in controls.modes
        ]
        return np.concatenate(parts)

    def _largest(self, modes: Modes) -> int:
        return max(self._batches[self.robots(mode)][-1] for mode in modes)

    @cached_property
    def _batches(self) -> dict[int, list[int]]:
        """Batch sizes that arrive with so many robots wanted; no size at all is told as 0."""
        return {
            robots: [size for size, rates in enumerate(D) if size > 0 and rates.any()] or [0]
            for robots, D in self.matrices.D.items()
        }

    def _met(self, mode: int) -> Any:
        return self.matrices.possible(self.robots(mode))

    def _met_part(self, matrix: FloatArray, here: int, there: int) -> FloatArray:
        """The rows and columns of the phases that can be met in two modes."""
        return matrix[np.ix_(self._met(here), self._met(there))]

    def _controls(self, modes: Modes) -> Controls:
        met = [self._met(mode) for mode in modes]
        robots = [np.full(int(mask.sum()), float(self.robots(mode))) for mode, mask in zip(modes, met, strict=True)]
        fetches = self.matrices.fetches
        return Controls(
            modes,
            np.concatenate(robots),
            None if fetches is None else np.concatenate([fetches[mask] for mask in met]).astype(np.float64),
        )

    def _sizes(self, modes: Modes) -> list[int]:
        return sorted({size for mode in modes for size in self._batches[self.robots(mode)] if size})

    def _pages(self, modes: Modes, room: int) -> PageRates:
        def rates(size: int) -> FloatArray:
            return np.concatenate([self.matrices.D[self.robots(m)][size].sum(axis=1)[self._met(m)] for m in modes])

        sizes = self._sizes(modes)
        return PageRates(
            {size: rates(size) for size in sizes}, {size: admitted(size, room, self.admission) for size in sizes}
        )

    def _flow(self, level: int, modes: list[Modes], pages: PageRates) -> LevelFlow:
        here, top, matrices = modes[level], len(modes) - 1, self.matrices

        def kept(mode: int, reached: int) -> int:
            return mode if self.polls else self.after(mode, reached)

        def moves(reached: int, block: Callable[[int, int], FloatArray], polled: bool = False) -> tuple[Move, ...]:
            """The moves to level `reached`, those without and with another number of robots apart."""
            to = {mode: self.after(mode, reached) if polled else kept(mode, reached) for mode in here}
            found = []
            for switches in (0, 1):
                chosen = {
                    (a, b): self._met_part(block(self.robots(a), self.robots(b)), a, b)
                    for a, b in to.items()
                    if (self.robots(a) != self.robots(b)) == switches and not (polled and a == b)
                }
                if chosen:
                    found.append(Move(self._placed(here, modes[reached], chosen), switches))
            return tuple(found)

        outcomes: list[Outcome] = []
        for size in self._sizes(here):
            enter = pages.entering[size]
            step = min(enter, top - level)
            found = moves(level + step, partial(matrices.delivery, size))
            outcomes += [Outcome(size, enter, move, step) for move in found if move.rates.any()]
        same = {(mode, mode): self._met_part(matrices.silent(self.robots(mode)), mode, mode) for mode in here}
        leaving = moves(level - 1, lambda _, then: matrices.entrance(then)) if level else ()
        polls: tuple[Move, ...] = ()
        if self.polls:
            rate = 1.0 / self.policy.check_every
            polls = moves(level, lambda _, then: rate * matrices.entrance(then), polled=True)
        return LevelFlow(self._controls(here), pages, self._placed(here, here, same), tuple(outcomes), leaving, polls)

    def _placed(self, here: Modes, there: Modes, blocks: dict[tuple[int, int], FloatArray]) -> FloatArray:
        """A matrix between the control states of two levels from its blocks between modes."""
        if len(here) == len(there) == 1:
            return next(iter(blocks.values()))
        rows, columns = self._places(here), self._places(there)
        found = np.zeros((rows[-1][1].stop, columns[-1][1].stop))
        for (a, b), block in blocks.items():
            found[dict(rows)[a], dict(columns)[b]] = block
        return found

    def _places(self, modes: Modes) -> list[tuple[int, slice]]:
        ends = np.cumsum([int(self._met(mode).sum()) for mode in modes]).tolist()
        return [(mode, slice(first, last)) for mode, first, last in zip(modes, [0, *ends], ends, strict=False)]
