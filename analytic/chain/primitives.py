r"""The chain of one scenario: its levels, what arrives at each, and the small matrices of service and obsolescence.

The Lemma of section 3 builds every block of the generator from the same few pieces. Here they are, for the three
admission rules, before any Kronecker product is taken: the controller and the arrivals (`analytic.chain.control`), the
indexers (`analytic.chain.indexers`) and all kinds of transitions (`analytic.chain.transitions`), level by level.

Phase types are lumped first (exactly), so the chain is built on the smallest phases; pages that never become obsolete
are a single phase of exit rate 0, for which every formula of the paper holds as it stands.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

import numpy as np
import numpy.typing as npt

from analytic.chain.control import Controller
from analytic.chain.flows import STILL, LevelFlow, PageRates
from analytic.chain.indexers import Indexers
from analytic.chain.sizes import refuse_above
from analytic.chain.transitions import CLOCKS, Clock, Transition, level_transitions
from crawltwin.model.checks import FloatArray, frozen
from crawltwin.model.laws.phase_type import PhaseType
from crawltwin.model.scenario import FEATURES, Scenario

MAX_LEVELS = 2_000_000
"""Most levels for which the pieces of a chain are listed."""

Levels = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Chain:
    """The pieces of the generator of one scenario under its policy.

    Parameters
    ----------
    scenario : Scenario
        As given, before lumping.
    controller : Controller
        Policy and robots.
    flows : tuple of LevelFlow
        What moves the control state at levels 0..top.
    indexers : Indexers
        With the lumped indexing time.
    obsolescence : PhaseType or None
        Lumped; None when pages never become obsolete.
    """

    scenario: Scenario
    controller: Controller
    flows: tuple[LevelFlow, ...]
    indexers: Indexers
    obsolescence: PhaseType | None

    @classmethod
    def of(cls, scenario: Scenario, largest_batch: int | None = None) -> Chain:
        """Build the pieces. Cost: (K + 1) (largest batch) small matrices; levels of one mode share them.

        Parameters
        ----------
        scenario : Scenario
            With its policy in force.
        largest_batch : int, optional
            Larger batches are cut to this many pages before they arrive.
        """
        scenario.check_features(tuple(FEATURES), "the chain")
        refuse_above(
            MAX_LEVELS, scenario.top_level, "the chain",
            "Levels far beyond the backlog have no weight: use a smaller capacity.", unit="levels",
        )  # fmt: skip
        controller = Controller.of(scenario, largest_batch)
        stale = scenario.obsolescence
        return cls(
            scenario,
            controller,
            controller.flows(scenario.top_level),
            Indexers(scenario.service.lumped(), scenario.indexers),
            None if stale is None else stale.lumped(),
        )

    def first_levels(self, last: int) -> Chain:
        """The chain without the levels above `last`: arrivals that would lead there end at `last`."""
        return replace(self, flows=self.controller.flows(last))

    def without_arrivals(self, top: int) -> Chain:
        """The levels 0..`top` with nothing but service and obsolescence."""
        return replace(self, flows=(STILL,) * (top + 1))

    @property
    def top(self) -> int:
        """The highest level, number of pages."""
        return len(self.flows) - 1

    @property
    def clocks(self) -> tuple[Clock, ...]:
        """Whose rates the chain has: those of the controller only where it polls."""
        return CLOCKS if self.controller.polls else CLOCKS[:-1]

    @cached_property
    def groups(self) -> tuple[tuple[PageRates, Levels], ...]:
        """Each distinct stream of pages with the levels that have it: a few, however large the capacity."""
        found: dict[int, list[int]] = {}
        for level, flow in enumerate(self.flows):
            found.setdefault(id(flow.pages), []).append(level)
        return tuple((self.flows[levels[0]].pages, np.array(levels)) for levels in found.values())

    @cached_property
    def alike(self) -> tuple[Levels, ...]:
        """Levels with the same transitions; those without waiting pages one by one."""
        found: dict[tuple[int, int], list[int]] = {}
        for level, flow in enumerate(self.flows):
            found.setdefault((id(flow), min(level, self.indexers.number + 1)), []).append(level)
        return tuple(np.array(levels) for levels in found.values())

    @cached_property
    def transitions(self) -> tuple[tuple[Levels, tuple[Transition, ...]], ...]:
        """All kinds of transitions, with the levels that have them."""
        return tuple(
            (levels, level_transitions(self.flows[levels[0]], self.indexers, self.obsolescence, int(levels[0])))
            for levels in self.alike
        )

    @property
    def reach(self) -> int:
        """How many levels up one batch can lead."""
        return max((o.step for levels in self.alike for o in self.flows[levels[0]].outcomes), default=0)

    @cached_property
    def exact_window(self) -> int:
        """The fewest oldest waiting pages whose order tells everything.

        Pages of one batch are exchangeable, so the order of those behind the window matters only when they are of
        several batches: when pages came in while more than the window's pages were waiting.
        """
        entered = (
            self.indexers.waiting(int(levels[-1]))
            for levels in self.alike
            if any(o.step and o.move.rates.any() for o in self.flows[levels[0]].outcomes)
        )
        return max(entered, default=0)

    @property
    def service(self) -> PhaseType:
        """Indexing time, lumped."""
        return self.indexers.service

    @property
    def service_phases(self) -> int:
        """M in the paper."""
        return self.service.order

    @property
    def arrival_phases(self) -> int:
        """W + 1 in the paper."""
        return self.controller.matrices.phases

    @property
    def obsolescence_phases(self) -> int:
        """R in the paper; 1 when pages never become obsolete."""
        return 1 if self.obsolescence is None else self.obsolescence.order

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

    def small_shape(self, level: int) -> tuple[int, int]:
        """Number of control states and of service states of a level."""
        return self.flows[level].controls.size, self.indexers.states(self.indexers.busy(level))

    def small_states(self, level: int) -> int:
        """Number of small states of a level: control state and, where pages are in service, service state."""
        control, service = self.small_shape(level)
        return control * service

    @cached_property
    def small_sizes(self) -> Levels:
        """Number of small states of each level."""
        found = np.zeros(self.top + 1, np.int64)
        for levels in self.alike:
            found[levels] = self.small_states(int(levels[0]))
        return found

    def level_states(self, level: int) -> int:
        """Number of states of a level: small states times R^{waiting pages}."""
        return int(self.small_states(level) * self.obsolescence_phases ** self.indexers.waiting(level))

    @property
    def widest_level(self) -> int:
        """Number of states of the largest level."""
        tops = {int(levels[-1]) for levels in self.alike}
        return max(self.level_states(level) for level in tops)

    @cached_property
    def states(self) -> int:
        """Number of states of the chain, all levels."""
        R, c = self.obsolescence_phases, self.indexers.number
        if R == 1:
            return int(self.small_sizes.sum())
        total = int(self.small_sizes[: c + 1].sum())
        first = 1
        for size, run in groupby(self.small_sizes[c + 1 :].tolist()):
            length = len(list(run))
            total += size * R**first * ((R**length - 1) // (R - 1))
            first += length
        return total

    def fresh_level(self, level: int) -> FloatArray:
        """Probabilities inside a level whose pages have just arrived, the arrival phase in equilibrium."""
        law = self.controller.start_law(self.flows[level].controls, level)
        law = np.kron(law, self.indexers.begins(0, self.indexers.busy(level))[0])
        for _ in range(self.indexers.waiting(level)):
            law = np.kron(law, self.gamma)
        return law
