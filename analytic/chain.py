r"""The chain's primitives: what arrives at each level, and the small matrices of service and obsolescence.

The Lemma of section 3 builds every block of the generator from the same few pieces. Here they are, for the three
admission rules, before any Kronecker product is taken. With i pages in the system, K the capacity and a batch of k:

============== ============================ =========================== ============
rule           pages that enter             level after                 top level
============== ============================ =========================== ============
partial        min(k, K - i)                min(i + k, K)               K
all-or-nothing k if k <= K - i, else 0      i + k, or i                 K
overflow       k if i < K, else 0           i + k, or i                 K + B - 1
============== ============================ =========================== ============

Phase types are lumped first (exactly), so the chain is built on the smallest phases; pages that never become obsolete
are a single phase of exit rate 0, for which every formula of the paper holds as it stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from crawltwin.model import Fault, PhaseType, Scenario, TooLargeError
from crawltwin.model.bmap import BMAP
from crawltwin.model.checks import FloatArray, frozen

MAX_LEVELS = 2_000_000
"""Most levels for which the pieces of a chain are listed."""


@dataclass(frozen=True)
class Outcome:
    """What one batch size does at one level.

    Parameters
    ----------
    size, admitted : int
        Pages in the batch, and how many of them enter.
    rates : ndarray, shape (W, W)
        D_k of the mode in force.
    """

    size: int
    admitted: int
    rates: FloatArray


@dataclass(frozen=True)
class LevelFlow:
    """Arrivals at one level.

    Parameters
    ----------
    stay : ndarray, shape (W, W)
        Phase changes that leave the level alone: D_0 and every batch of which no page enters.
    jumps : dict
        Levels up -> rates, shape (W, W).
    outcomes : tuple of Outcome
        Batch by batch, for the losses and the tagged page.
    """

    stay: FloatArray
    jumps: dict[int, FloatArray]
    outcomes: tuple[Outcome, ...]

    @cached_property
    def page_rates(self) -> FloatArray:
        """Pages delivered a unit of time in each phase, sum of k D_k e."""
        return np.asarray(sum(outcome.size * outcome.rates.sum(axis=1) for outcome in self.outcomes))

    @cached_property
    def loss_rates(self) -> FloatArray:
        """Pages lost a unit of time in each phase: a sum of losses, with no subtraction of rates."""
        lost = ((outcome.size - outcome.admitted, outcome.rates) for outcome in self.outcomes)
        return np.asarray(sum(count * rates.sum(axis=1) for count, rates in lost))

    @cached_property
    def place_rates(self) -> tuple[FloatArray, ...]:
        """For each place l = 1, 2, ... the rate, by phase, of batches whose l-th page enters."""
        deepest = max((outcome.admitted for outcome in self.outcomes), default=0)
        return tuple(
            np.asarray(sum(o.rates.sum(axis=1) for o in self.outcomes if o.admitted >= place))
            for place in range(1, deepest + 1)
        )


@dataclass(frozen=True)
class Chain:
    """The pieces of the generator of one scenario under its policy.

    Parameters
    ----------
    scenario : Scenario
        As given, before lumping.
    flows : tuple of LevelFlow
        Arrivals at levels 0..top.
    service : PhaseType
        Lumped.
    obsolescence : PhaseType or None
        Lumped; None when pages never become obsolete.
    """

    scenario: Scenario
    flows: tuple[LevelFlow, ...]
    service: PhaseType
    obsolescence: PhaseType | None

    @classmethod
    def of(cls, scenario: Scenario) -> Chain:
        """Build the pieces. Cost: (K + 1) (largest batch) small matrices; levels of one mode share them."""
        policy = scenario.policy_in_force
        top, capacity = scenario.top_level, scenario.capacity
        if top > MAX_LEVELS:
            raise TooLargeError(
                [
                    Fault(
                        "capacity",
                        f"the chain must have at most {MAX_LEVELS:,} levels; got {top:,}",
                        "Levels far beyond the backlog have no weight: use a smaller capacity.",
                    )
                ]
            )
        shared: dict[tuple[int, int], LevelFlow] = {}
        flows = []
        for level in range(top + 1):
            robots = policy.robots_at(level)
            mode = scenario.arrivals.mode(robots)
            # Far below the capacity nothing is lost and the flow depends on the mode alone.
            room = max(0, min(capacity - level, mode.max_batch))
            key = (robots, room)
            if key not in shared:
                shared[key] = level_flow(mode, room, scenario.admission)
            flows.append(shared[key])
        stale = scenario.obsolescence
        return cls(scenario, tuple(flows), scenario.service.lumped(), None if stale is None else stale.lumped())

    @property
    def top(self) -> int:
        """The highest level, number of pages."""
        return len(self.flows) - 1

    @cached_property
    def groups(self) -> tuple[tuple[LevelFlow, npt.NDArray[np.int64]], ...]:
        """Each distinct flow with the levels that have it: a few, however large the capacity."""
        found: dict[int, list[int]] = {}
        for level, flow in enumerate(self.flows):
            found.setdefault(id(flow), []).append(level)
        return tuple((self.flows[levels[0]], np.array(levels)) for levels in found.values())

    @property
    def reach(self) -> int:
        """How many levels up one batch can lead."""
        return max((step for flow, _ in self.groups for step in flow.jumps), default=0)

    @property
    def arrival_phases(self) -> int:
        """W + 1 in the paper."""
        return int(self.flows[0].stay.shape[0])

    @property
    def service_phases(self) -> int:
        """M in the paper."""
        return self.service.order

    @property
    def obsolescence_phases(self) -> int:
        """R in the paper; 1 when pages never become obsolete."""
        return 1 if self.obsolescence is None else self.obsolescence.order

    @cached_property
    def robots(self) -> FloatArray:
        """Active robots at each level."""
        policy = self.scenario.policy_in_force
        return frozen([policy.robots_at(level) for level in range(self.top + 1)])

    @cached_property
    def gamma(self) -> FloatArray:
        """Initial phases of the obsolescence clock."""
        return frozen([1.0]) if self.obsolescence is None else self.obsolescence.initial

    @cached_property
    def Gamma(self) -> FloatArray:
        """Subgenerator of the obsolescence clock."""
        return frozen([[0.0]]) if self.obsolescence is None else self.obsolescence.subgenerator

    @cached_property
    def Gamma0(self) -> FloatArray:
        """Exit rates of the obsolescence clock."""
        return frozen([0.0]) if self.obsolescence is None else self.obsolescence.exit_rates

    def level_states(self, level: int) -> int:
        """Number of states of a level in the paper's chain: W M^{a_i} R^{b_i}."""
        if level == 0:
            return self.arrival_phases
        return int(self.arrival_phases * self.service_phases * self.obsolescence_phases ** (level - 1))

    @cached_property
    def states(self) -> int:
        """Number of states of the paper's chain, all levels."""
        R, top = self.obsolescence_phases, self.top
        waiting = top if R == 1 else (R**top - 1) // (R - 1)
        return self.arrival_phases * (1 + self.service_phases * waiting)


def admitted(size: int, room: int, admission: str) -> int:
    """How many pages of a batch of `size` enter when `room` places are free (not positive: none)."""
    if room <= 0:
        return 0
    if admission == "partial":
        return min(size, room)
    if admission == "all-or-nothing":
        return size if size <= room else 0
    return size


def level_flow(mode: BMAP, room: int, admission: str) -> LevelFlow:
    """Arrivals of one mode at a level with `room` free places."""
    outcomes = tuple(
        Outcome(size, admitted(size, room, admission), rates)
        for size, rates in enumerate(mode.D)
        if size > 0 and rates.any()
    )
    stay = mode.D[0].copy()
    jumps: dict[int, FloatArray] = {}
    for outcome in outcomes:
        if outcome.admitted == 0:
            stay = stay + outcome.rates
        else:
            jumps[outcome.admitted] = jumps.get(outcome.admitted, np.zeros_like(stay)) + outcome.rates
    return LevelFlow(frozen(stay), {step: frozen(rates) for step, rates in sorted(jumps.items())}, outcomes)
