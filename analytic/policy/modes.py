"""One scenario under each fixed number of robots: the chains that level policies are put together from.

The rates out of a state depend on the policy only through the number of robots at the state's level (its *mode*). So
the rows of every policy's generator are rows of a few chains, one for each number of robots. Under `overflow` the
levels above the capacity use the mode of the capacity.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from analytic.chain.flows import Controls, LevelFlow, Move, Outcome, PageRates, admitted
from analytic.chain.generator import Generator
from analytic.chain.primitives import Chain
from analytic.chain.rewards import Prospects, state_rewards
from crawltwin.model import LevelPolicy, Scenario
from crawltwin.model.arrivals.matrices import ArrivalMatrices
from crawltwin.model.checks import FloatArray

IntArray = npt.NDArray[np.int64]


def rooms_by_level(scenario: Scenario, top: int) -> IntArray:
    """Free places at each level 0..top; as many as the largest batch stand for all that are more."""
    return np.clip(scenario.capacity - np.arange(top + 1), 0, scenario.arrivals.max_batch)


def flow_with_room(matrices: ArrivalMatrices, robots: int, room: int, admission: str) -> LevelFlow:
    """What arrives with so many robots wanted at a level with `room` free places; the number of robots stays."""
    D, W = matrices.D[robots], matrices.phases
    fetches = None if matrices.fetches is None else matrices.fetches.astype(np.float64)
    sizes = [size for size in range(1, len(D)) if D[size].any()]
    entering = {size: admitted(size, room, admission) for size in sizes}
    return LevelFlow(
        Controls((0,), np.full(W, float(robots)), fetches),
        PageRates({size: D[size].sum(axis=1) for size in sizes}, entering),
        D[0],
        tuple(Outcome(size, entering[size], Move(D[size]), entering[size]) for size in sizes),
        (Move(np.eye(W)),),
    )


@dataclass(frozen=True, eq=False)
class ModeChains:
    """The chains of a scenario under each number of robots.

    Parameters
    ----------
    scenario : Scenario
        Its policy is ignored.
    """

    scenario: Scenario

    @property
    def robot_numbers(self) -> tuple[int, ...]:
        """What a policy may use; a mode is an index into it."""
        return self.scenario.arrivals.robot_numbers

    @cached_property
    def chain(self) -> Chain:
        """The pieces of the chain in the first mode; sizes and clocks are those of all modes."""
        return self._fixed(self.robot_numbers[0])

    def _fixed(self, robots: int) -> Chain:
        return Chain.of(self.scenario.replace(policy=LevelPolicy([robots] * (self.scenario.capacity + 1))))

    @cached_property
    def events(self) -> tuple[Generator, ...]:
        """The transitions of each mode; service and obsolescence are shared."""
        first = Generator.of(self.chain)
        return (first, *(Generator.of(self._fixed(robots)) for robots in self.robot_numbers[1:]))

    @cached_property
    def rewards(self) -> FloatArray:
        """The linear rates `RATES` of each mode and state, shape (modes, states, 8)."""
        prospects = Prospects.of(self.chain)
        return np.stack([state_rewards(events, prospects) for events in self.events])

    @cached_property
    def slots(self) -> IntArray:
        """For each level 0..top the level whose number of robots it uses."""
        return np.minimum(np.arange(self.chain.top + 1), self.scenario.capacity)

    def modes_by_level(self, tables: IntArray) -> IntArray:
        """Modes at each level 0..top, from tables of robots at each level 0..capacity."""
        return np.ascontiguousarray(np.searchsorted(np.array(self.robot_numbers), tables)[:, self.slots])
