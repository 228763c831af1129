r"""The controlled chain with the number of robots in its state: every controller that the scenario allows.

A state is (robots wanted, level, arrival phase, service, clocks). What happens next depends on the robots wanted; what
the controller does afterwards is a *choice* among the numbers of robots, made

- after every event (delivery, end of an indexing, a page that becomes obsolete, a change of a phase), or
- with polling only at the points of a Poisson process.

A choice of r' after a delivery multiplies by the return matrix of r', after any other event and at polls by its
entrance matrix (`crawltwin.model.arrivals.matrices`). In the paper's model both are the identity. Each change of the
number of robots is counted: that is `switches`.

A threshold policy, with hysteresis or without, is one rule for all choices (`ThresholdPolicy.mode_after`). So the
matrices of events are built once, and each policy only selects where they lead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from analytic.chain.control import Controller
from analytic.chain.generator import Generator
from analytic.chain.primitives import Chain
from analytic.chain.rewards import Prospects, state_rewards
from analytic.chain.sizes import refuse_above
from analytic.linear.elimination_kernels import stationary_in_place
from analytic.policy.modes import IntArray, flow_with_room, rooms_by_level
from crawltwin.model import Scenario, ThresholdPolicy
from crawltwin.model.arrivals.matrices import ArrivalMatrices
from crawltwin.model.checks import FloatArray
from crawltwin.model.rates import EVERY_RATE, RATES

MAX_DENSE = 400
"""Most states of a policy that are eliminated as a dense matrix."""

MAX_STATES = 40_000
"""Most states of the controlled chain, all numbers of robots together."""


class Events(NamedTuple):
    """Events after which one kind of choice is made.

    `rates` leads from states to places of choice, numbered (robots wanted before, state without the robots); `into`
    leads from a choice, numbered (robots wanted then, state without the robots), to states. `free` tells whether the
    controller may choose; otherwise the number of robots stays.
    """

    rates: Any
    into: Any
    free: bool


@dataclass(frozen=True, eq=False)
class ControlledChain:
    """One scenario under all of its numbers of robots.

    Parameters
    ----------
    scenario : Scenario
        Its policy is ignored.
    check_every : float
        Mean distance of the controller's looks; 0: it sees every event.

    Raises
    ------
    TooLargeError
        When the chain has more than `MAX_STATES` states.
    """

    scenario: Scenario
    check_every: float = 0.0

    def __post_init__(self) -> None:
        way_out = "Use a smaller capacity, fewer phases or fewer numbers of robots."
        states = self._base(self.robot_numbers[0]).states
        refuse_above(MAX_STATES // len(self.robot_numbers), states, "the controlled chain", way_out)

    @property
    def robot_numbers(self) -> tuple[int, ...]:
        """What may be wanted, in rising order; choices are indices into it."""
        return self.scenario.arrivals.robot_numbers

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The linear rates of each state."""
        return EVERY_RATE[:-1] if self._matrices.fetches is None else EVERY_RATE

    @cached_property
    def _matrices(self) -> ArrivalMatrices:
        return on_one_space(self.scenario.arrivals.matrices(self.robot_numbers))

    def _base(self, robots: int) -> Chain:
        """The chain with one number of robots wanted for ever, on all arrival phases, before a robot begins anew."""
        policy = ThresholdPolicy([robots])
        chain = Chain.of(self.scenario.replace(policy=policy))
        m, K = self._matrices, self.scenario.capacity
        rooms = rooms_by_level(self.scenario, chain.top).tolist()
        by_room = {room: flow_with_room(m, robots, room, self.scenario.admission) for room in set(rooms)}
        flows = tuple(by_room[room] for room in rooms)
        controller = Controller(policy, m, K, self.scenario.admission)
        return replace(chain, controller=controller, flows=flows)

    @cached_property
    def _generators(self) -> tuple[Generator, ...]:
        return tuple(Generator.of(self._base(robots)) for robots in self.robot_numbers)

    @property
    def base_states(self) -> int:
        """Number of states without the robots."""
        return self._generators[0].states

    @cached_property
    def levels(self) -> IntArray:
        """Pages in the system in each state without the robots."""
        return np.asarray(self._generators[0].levels)

    @cached_property
    def slots(self) -> IntArray:
        """The level whose number of robots a state uses: above the capacity that of the capacity."""
        return np.minimum(self.levels, self.scenario.capacity)

    @cached_property
    def met(self) -> IntArray:
        """The states: places (robots, state without the robots) that can be met."""
        top = self._generators[0].chain.top
        masks = [
            self._generators[0].over_controls([self._matrices.possible(r).astype(np.float64)] * (top + 1)) > 0
            for r in self.robot_numbers
        ]
        return np.flatnonzero(np.concatenate(masks))

    @property
    def states(self) -> int:
        """Number of states."""
        return self.met.size

    @cached_property
    def wanted(self) -> IntArray:
        """Index of the number of robots wanted in each state."""
        return np.asarray(self.met // self.base_states)

    @cached_property
    def rewards(self) -> FloatArray:
        """The linear rates `names` of each state; that of switches follows from the choices and is left at zero."""
        prospects = Prospects.of(self._generators[0].chain)
        plain = [name for name in self.names if name != "switches"]
        found = np.concatenate([state_rewards(one, prospects, plain) for one in self._generators])[self.met]
        return np.insert(found, len(RATES), 0.0, axis=1)

    @cached_property
    def events(self) -> tuple[Events, ...]:
        """All events, by the kind of choice after them."""
        none = sp.csr_array((self.base_states, self.base_states))
        quiet, deliveries = (
            [sum((k.rates for k in one.kinds if (k.pages > 0) == own), start=none) for one in self._generators]
            for own in (False, True)
        )
        m, free = self._matrices, self.check_every == 0
        enter = self._into(m.entrances)
        found = [
            Events(self._placed(quiet), enter, free),
            Events(self._placed(deliveries), enter if m.returns is m.entrances else self._into(m.returns), free),
        ]
        if not free:
            looks = sp.csr_array(sp.eye_array(self.base_states) / self.check_every)
            found.append(Events(self._placed([looks] * len(self.robot_numbers)), enter, True))
        return tuple(found)

    def _placed(self, parts: list[Any]) -> Any:
        return sp.csr_array(sp.block_diag(parts, format="csr"))[self.met]

    def _into(self, matrices: Any) -> Any:
        """From choices to states: the entrance or the return matrix of the number chosen."""
        if matrices is None:
            return sp.csr_array(sp.csc_array(sp.eye_array(self.base_states * len(self.robot_numbers)))[:, self.met])
        sizes, W = np.diff(self._generators[0].starts), self._matrices.phases
        blocks = []
        for robots in self.robot_numbers:
            small = sp.csr_array(matrices[robots])
            blocks += [sp.kron(small, sp.eye_array(int(size) // W)) for size in sizes]
        return sp.csr_array(sp.csc_array(sp.block_diag(blocks, format="csr"))[:, self.met])

    def own_choices(self) -> list[IntArray]:
        """The choices that leave every number of robots as it is, shape (numbers, states without the robots) each."""
        stay = np.repeat(np.arange(len(self.robot_numbers))[:, None], self.base_states, axis=1)
        return [stay.copy() for _ in self.events]

    def choices_of(self, policy: ThresholdPolicy) -> list[IntArray]:
        """The choices of a threshold policy; numbers of robots that it does not know are left at once."""
        at = [self.robot_numbers.index(r) for r in policy.robots]
        rule = np.zeros((len(self.robot_numbers), self.scenario.top_level + 1), np.int64)
        for level in range(rule.shape[1]):
            seen = min(level, self.scenario.capacity)
            for number in range(len(self.robot_numbers)):
                mode = at.index(number) if number in at else 0
                rule[number, level] = at[policy.mode_after(mode, seen)]
        own = self.own_choices()
        return [rule[:, self.levels] if kind.free else stay for kind, stay in zip(self.events, own, strict=True)]

    def generator(self, choices: list[IntArray]) -> tuple[Any, FloatArray]:
        """The generator under given choices, and the rate of switches in each state."""
        base, numbers = self.base_states, np.arange(len(self.robot_numbers))[:, None]
        total, switches = sp.csr_array((self.states, self.states)), np.zeros(self.states)
        for kind, chosen in zip(self.events, choices, strict=True):
            rows = (chosen * base + np.arange(base)[None, :]).ravel()
            total = total + kind.rates @ kind.into[rows]
            switches += kind.rates @ (chosen != numbers).ravel().astype(np.float64)
        out: FloatArray = np.asarray(total.sum(axis=1)).ravel()
        return sp.csr_array(total - sp.diags_array(out)), switches

    def rates_of(self, policy: ThresholdPolicy) -> FloatArray:
        """The linear rates `names` of one policy. Cost: one factorisation of its own states."""
        choices, kept = self.choices_of(policy), self._used_by(policy)
        first = self.first_state(self.robot_numbers.index(policy.robots[policy.mode_after(0, 0)]))
        if self._matrices.phase_stays and kept.size <= MAX_DENSE:
            # Every state leads to the first one: elimination that ends there meets no pivot of 0.
            kept = np.concatenate([[first], kept[kept != first]])
            p, switches = self._small_equilibrium(choices, kept)
            found = p @ self.rewards[kept]
            found[self.names.index("switches")] = switches
            return np.asarray(found)
        Q, switching = self.generator(choices)
        p = stationary_by_anchor(Q[kept][:, kept], int(np.searchsorted(kept, first)))
        found = p @ self.rewards[kept]
        found[self.names.index("switches")] = p @ switching[kept]
        return np.asarray(found)

    @cached_property
    def _entries(self) -> tuple[IntArray, IntArray, FloatArray, IntArray]:
        """Every rate of `events` with its state, its place of choice and the number of its kind."""
        found = [sp.coo_array(kind.rates) for kind in self.events]
        kinds = np.repeat(np.arange(len(found)), [one.nnz for one in found])
        rows, places = (np.concatenate([getattr(one, name) for one in found]) for name in ("row", "col"))
        return rows, places, np.concatenate([one.data for one in found]), kinds

    def _small_equilibrium(self, choices: list[IntArray], kept: IntArray) -> tuple[FloatArray, float]:
        """Equilibrium of few states, and the rate of switches, where the phase stays: without subtraction."""
        rows, places, rates, kinds = self._entries
        base, n = self.base_states, kept.size
        at = np.full(self.states + 1, -1)
        at[kept] = np.arange(n)
        own = np.flatnonzero(at[rows] >= 0)
        chosen = np.stack([part.ravel() for part in choices])[kinds[own], places[own]]
        here, there = at[rows[own]], at[chosen * base + places[own] % base]
        Q: FloatArray = np.zeros(n * n)
        Q += np.bincount(here * n + there, weights=rates[own], minlength=n * n)
        Q = Q.reshape(n, n)
        np.fill_diagonal(Q, 0.0)
        p = stationary_in_place(Q)
        p = p / p.sum()
        switched = chosen != places[own] // base
        return p, float(p[here[switched]] @ rates[own][switched])

    def first_state(self, number: int) -> int:
        """The empty system with so many robots wanted, in the likeliest arrival phase."""
        law = self._matrices.start_law[self.robot_numbers[number]]
        phase = self._matrices.phases - law.size + int(np.argmax(law))
        return int(np.searchsorted(self.met, number * self.base_states + phase))

    def _used_by(self, policy: ThresholdPolicy) -> IntArray:
        """The states that a policy can meet: they form a chain of their own."""
        own = replace_look(policy, self.check_every)
        top, batch = self.scenario.top_level, self.scenario.arrivals.max_batch
        used = np.zeros((top + 1, len(self.robot_numbers)), dtype=bool)
        by_level = own.modes_by_level(min(top, self.scenario.capacity), batch)
        for level in range(top + 1):
            for mode in by_level[min(level, self.scenario.capacity)]:
                used[level, self.robot_numbers.index(own.robots[mode])] = True
        return np.flatnonzero(used[self.levels[self.met % self.base_states], self.wanted])


def on_one_space(m: ArrivalMatrices) -> ArrivalMatrices:
    """The same matrices with the phases between a delivery and the robot's return as phases that are never met.

    A delivery may leave fewer fetches in flight than ever are once the robot has begun anew: those phases come first
    among the rows of the return matrices.
    """
    if m.returns is None:
        return m
    more = next(iter(m.returns.values())).shape[0] - m.phases
    if not np.array_equal(m.returns[min(m.robots)][more:], np.eye(m.phases)):
        raise AssertionError("the phases that are met must come last among the rows of the return matrices")

    def square(matrix: FloatArray) -> FloatArray:
        """Zeros where rows or columns are missing, which are the first ones."""
        whole = np.zeros((m.phases + more,) * 2)
        whole[-matrix.shape[0] :, -matrix.shape[1] :] = matrix
        return whole

    assert m.counts is not None
    return replace(
        m,
        D={robots: tuple(map(square, D)) for robots, D in m.D.items()},
        returns={robots: square(matrix) for robots, matrix in m.returns.items()},
        entrances=None if m.entrances is None else {r: square(matrix) for r, matrix in m.entrances.items()},
        counts=np.pad(m.counts, ((more, 0), (0, 0))),
        spell=None if m.spell is None else np.pad(m.spell, (more, 0)),
    )


def replace_look(policy: ThresholdPolicy, check_every: float) -> ThresholdPolicy:
    """The same policy with another distance of looks."""
    return ThresholdPolicy(policy.robots, policy.thresholds, policy.resume, check_every)


def factor(matrix: Any) -> Any:
    """LU factors of a sparse M-matrix, pivots on the diagonal."""
    return splu(
        sp.csc_array(matrix), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
    )


def stationary_by_anchor(Q: Any, anchor: int) -> FloatArray:
    """Stationary probabilities: one state is taken out; a second time with the likeliest one where that was rare."""
    for _ in range(2):
        others = np.delete(np.arange(Q.shape[0]), anchor)
        p = np.ones(Q.shape[0])
        flow = np.asarray(Q[[anchor]].todense()).ravel()[others]
        p[others] = np.maximum(factor(-Q[others][:, others]).solve(flow, trans="T"), 0.0) if others.size else 0.0
        if p[anchor] >= 0.01 * p.max():
            break
        anchor = int(np.argmax(p))
    return np.asarray(p / p.sum())
