r"""A decision process on a window of ordered pages whose optimum bounds every policy of the true chain from below.

**Relaxation.** The true chain knows the clock phase of every waiting page. A window keeps those of the H oldest in
order and of the others the counts by phase. Lump the states of the true chain so: where a transition leads depends on
the lumped state it comes from, but for one thing. When a page of the window leaves, the oldest page behind it moves up,
and its phase is hidden in the counts. Let the controller *choose* that phase among those that the counts allow. Every
policy of the true chain is then a policy of the relaxed process with the same rates of arrivals, losses, services,
obsolete pages and robots, so the least average cost of the relaxed process is a lower bound. There is no estimate in
it: a narrow window makes the bound lower, never wrong. With H = K - 2 nothing is hidden, and the bound is that of the
explicit chain.

The same in terms of values: for any function u of the lumped states the Bellman step c + Q u at a true state depends on
the lumped state and on the phase that would move up. Its minimum over both bounds every average cost from below
(`decision`), for whatever u the iteration found.

**Response time.** What a page will book, its sojourn time if it is served, depends on all clocks ahead of it. It is
bounded from below in the same way: the tagged page's chain on the window of the pages ahead, with the phases that move
up chosen so that less is booked (`moves.booked_below`). Since the multiplier of the bound is not negative, less booked
is a lower cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from analytic.chain.flows import LevelFlow
from analytic.policy.decision import Question, Relaxation, Relaxed
from analytic.policy.modes import IntArray, ModeChains, flow_with_room, rooms_by_level
from analytic.policy.window.moves import WindowRates, booked_below, one_more_page
from analytic.policy.window.states import WindowStates, window_states
from analytic.policy.window.sweeps import (
    Actions,
    Occupation,
    Values,
    bellman_steps,
    improve_values,
    move_occupation,
)
from analytic.stationary.choice import solve, solve_by_windows
from analytic.stationary.solution import Solution
from crawltwin.model import LevelPolicy
from crawltwin.model.checks import FloatArray
from crawltwin.model.rates import RATES, Rates

EXACT_STATES = 100_000
"""Largest explicit chain on which a single policy is solved exactly; beyond it by windows, with an error estimate."""

SAFETY = 1e-12
"""What is taken off the booked sojourn times, relative, for rounding."""

ROUNDS = 60
"""Rounds of `SWEEPS` sweeps at most; the bound holds wherever they stop."""

SWEEPS = 8
"""Sweeps over the values between two bounds, at most."""

SWEEP_WORK = 150
"""Operations of a sweep for each state and action, with its share of the bounds and of the occupation."""

CLOSE = 1e-7
"""Relative distance of bound and mean Bellman step at which the iteration stops."""


HOPELESS = 0.02
"""Distance of bound and mean Bellman step, relative to what is missing, at which a target is given up."""

COST_STATES, SCREEN_STATES = 300_000, 40_000
"""Largest window chain on which the cost of the best policy is found, and those of the others."""


class _Start(NamedTuple):
    """Where a similar question may begin: values, occupation, what flows into the states, and the mean Bellman step."""

    values: FloatArray
    values_empty: FloatArray
    p: FloatArray
    p_empty: FloatArray
    coming: FloatArray
    coming_empty: FloatArray
    gain: float


@dataclass(frozen=True, eq=False)
class WindowProcess(ModeChains, Relaxation):
    """The relaxed decision process of a scenario with several clock phases.

    Parameters
    ----------
    scenario : Scenario
        With cost weights; its policy is ignored.
    window : int
        How many pages are kept in order, at least 1.
    """

    window: int = 3
    exact = False

    def __post_init__(self) -> None:
        self.scenario.replace(policy=None).check_features((), "the decision process on a window")

    @cached_property
    def states(self) -> WindowStates:
        """The waiting pages as the window sees them."""
        return window_states(self.chain.top - 1, min(self.window, max(self.chain.top - 1, 1)), self.chain.Gamma)

    @cached_property
    def _rooms(self) -> IntArray:
        return rooms_by_level(self.scenario, self.chain.top)

    @cached_property
    def _flows(self) -> list[list[LevelFlow]]:
        """Arrivals by mode and room."""
        matrices = self.scenario.arrivals.matrices(self.robot_numbers)
        rooms, admission = range(int(self._rooms.max()) + 1), self.scenario.admission
        return [[flow_with_room(matrices, robots, room, admission) for room in rooms] for robots in self.robot_numbers]

    @cached_property
    def _rates(self) -> WindowRates:
        chain, states = self.chain, self.states
        B, W = self.scenario.arrivals.max_batch, chain.arrival_phases
        batches = np.zeros((len(self._flows), len(self._flows[0]), B + 1, W, W))
        for mode, flows in enumerate(self._flows):
            for room, flow in enumerate(flows):
                batches[mode, room, 0] = flow.quiet
                for outcome in flow.outcomes:
                    batches[mode, room, outcome.step] += outcome.move.rates
        return WindowRates(
            batches=batches,
            rooms=self._rooms,
            slots=self.slots,
            service=np.ascontiguousarray(chain.service.subgenerator),
            exits=np.ascontiguousarray(chain.service.exit_rates),
            entry=np.ascontiguousarray(chain.service.initial),
            stale=np.ascontiguousarray(chain.Gamma0),
            fresh=np.ascontiguousarray(chain.gamma),
            pace=_over_clocks(states, -np.diag(chain.Gamma)),
        )

    @cached_property
    def _booked(self) -> tuple[FloatArray, FloatArray]:
        """Lower bounds of the sojourn booked by the l-th page of a batch: by l - 1, state and service; and if empty."""
        chain, states, rates = self.chain, self.states, self._rates
        B, M, total = self.scenario.arrivals.max_batch, chain.service_phases, int(self.states.first[-1])
        service = np.linalg.solve(-rates.service, np.ones(M))
        Gamma, none = np.ascontiguousarray(chain.Gamma), np.zeros((total, chain.obsolescence_phases, M))
        chance = booked_below(states, rates, Gamma, none, rates.exits)
        wait = booked_below(states, rates, Gamma, chance, rates.exits * float(rates.entry @ service))
        booked = np.zeros((B, total, 1, M))
        booked[0, :, 0] = np.einsum("r,xrb->xb", rates.fresh, wait)
        for place in range(1, B):
            for n in range(states.first.size - 2):
                one_more_page(states, rates.fresh, n, booked[place - 1], booked[place])
        empty = np.array([rates.entry @ service, *(rates.entry @ booked[place, 0, 0] for place in range(B - 1))])
        return (1 - SAFETY) * booked[:, :, 0], (1 - SAFETY) * empty

    @cached_property
    def _rewards(self) -> tuple[FloatArray, FloatArray]:
        """The linear rates `RATES` by mode, state, arrival and service phase; and of the empty system."""
        chain, states, rates = self.chain, self.states, self._rates
        W, M, total = chain.arrival_phases, chain.service_phases, int(states.first[-1])
        busy, empty = np.zeros((len(self._flows), total, W, M, len(RATES))), np.zeros((len(self._flows), W, len(RATES)))
        booked, booked_empty = self._booked
        level = np.repeat(np.arange(1, states.first.size), np.diff(states.first))
        stale = _over_clocks(states, rates.stale)
        for mode, flows in enumerate(self._flows):
            robots = self.robot_numbers[mode]
            for room, flow in enumerate(flows):
                own = self._rooms[level] == room
                part = np.zeros((int(own.sum()), W, M, len(RATES)))
                part[..., 0], part[..., 1] = flow.pages.page_rates[:, None], flow.pages.loss_rates[:, None]
                part[..., 2], part[..., 3] = stale[own, None, None], rates.exits
                part[..., 4], part[..., 7] = robots, level[own, None, None]
                for place, arriving in enumerate(flow.pages.place_rates):
                    part[..., 6] += arriving[:, None] * booked[place, own][:, None, :]
                busy[mode, own] = part
            flow = flows[self._rooms[0]]
            empty[mode, :, 0], empty[mode, :, 1] = flow.pages.page_rates, flow.pages.loss_rates
            empty[mode, :, 4], empty[mode, :, 5] = robots, 1.0
            for place, arriving in enumerate(flow.pages.place_rates):
                empty[mode, :, 6] += arriving * booked_empty[place]
        return busy, empty

    @cached_property
    def linear(self) -> FloatArray:
        """Linear part c of the cost of the busy states."""
        return Rates.from_table(self._rewards[0]).linear_cost(self.weights)

    def _costs(self, question: Question) -> tuple[FloatArray, FloatArray]:
        """The cost c + mu (g - V h) of the busy states and of the empty system."""
        busy, empty = self._rewards
        idle = Rates.from_table(empty).linear_cost(self.weights)
        return np.ascontiguousarray(question.cost(self.linear, busy)), np.ascontiguousarray(question.cost(idle, empty))

    def relax(self, question: Question, start: _Start | None = None, target: float = np.inf) -> Relaxed:
        """A lower bound of the least average of c + mu (g - V h), each level keeping to `allowed`.

        Parameters
        ----------
        question : Question
        start : optional
            `start` of an earlier answer.
        target : float
            The iteration stops once the bound is at least this, or once it is plain that it will not be.
        """
        costs = self._costs(question)
        values, occupied, actions, gain = self._begin(start)
        bound, swept = -np.inf, 0
        states, rates = self.states, self._rates
        for turn in range(ROUNDS):
            # A start that is nearly right needs little: short rounds first.
            sweeps = min(2 << turn, SWEEPS)
            swept += sweeps
            for _ in range(sweeps):
                improve_values(states, rates, costs, question.allowed, values, gain)
            # From the least value up: the bound needs values that are not negative.
            lift = min(float(values.ahead[0].min()), float(values.ahead_empty[0].min()))
            values.ahead[0] -= lift
            values.ahead_empty[0] -= lift
            least, gain, regrets = bellman_steps(states, rates, costs, question.allowed, values, occupied, actions)
            for _ in range(sweeps // 2):
                move_occupation(states, rates, actions, occupied)
            bound = max(bound, least)
            missing = target - gain
            hopeless = np.isfinite(target) and abs(gain - least) <= HOPELESS * missing
            if bound >= target or hopeless or abs(gain - least) <= CLOSE * abs(gain):
                break
        earned = self._earned(actions, occupied)
        keep = _Start(
            values.ahead[0].copy(),
            values.ahead_empty[0].copy(),
            occupied.p,
            occupied.p_empty,
            occupied.coming[0].copy(),
            occupied.coming_empty,
            gain,
        )
        regrets[~question.allowed] = np.inf
        return Relaxed(bound, gain, earned, regrets, keep, SWEEP_WORK * swept * self.linear.size)

    def _begin(self, start: _Start | None) -> tuple[Values, Occupation, Actions, float]:
        B, total = self.scenario.arrivals.max_batch, int(self.states.first[-1])
        W, M = self.chain.arrival_phases, self.chain.service_phases
        shape = (total, W, M)
        values = Values(np.zeros((B + 1, *shape)), np.zeros((B + 1, W)))
        even = 1.0 / (W + W * M * total)
        occupied = Occupation(np.full(shape, even), np.full(W, even), np.zeros((B + 1, *shape)), np.ones(W))
        actions = Actions(np.zeros(shape, np.int64), np.zeros(W, np.int64), np.zeros(shape, np.int64))
        if start is None:
            return values, occupied, actions, 0.0
        values.ahead[0], values.ahead_empty[0] = start.values, start.values_empty
        occupied.p[:], occupied.p_empty[:] = start.p, start.p_empty
        occupied.coming[0], occupied.coming_empty[:] = start.coming, start.coming_empty
        return values, occupied, actions, start.gain

    def _earned(self, actions: Actions, occupied: Occupation) -> FloatArray:
        """Linear rates of the policy found."""
        busy, empty = self._rewards
        chosen = np.take_along_axis(busy, actions.modes[None, ..., None], axis=0)[0]
        idle = np.take_along_axis(empty, actions.modes_empty[None, :, None], axis=0)[0]
        return np.asarray(np.einsum("xab,xabf->f", occupied.p, chosen) + occupied.p_empty @ idle)

    @cached_property
    def _solved(self) -> dict[tuple[tuple[int, ...], int], Solution]:
        return {}

    def solution(self, robots: tuple[int, ...], most: int = COST_STATES) -> Solution:
        """What `solve` finds for one table of robots by level, on windows of at most so many states; kept."""
        found = self._solved.get((robots, COST_STATES)) or self._solved.get((robots, most))
        if found is None:
            scenario = self.scenario.replace(policy=LevelPolicy(robots))
            small = self.chain.states <= EXACT_STATES
            found = self._solved[robots, most] = solve(scenario) if small else solve_by_windows(scenario, most)
        return found

    def cost_of(self, table: IntArray, start: _Start | None = None) -> float:  # noqa: ARG002 - of the protocol
        """Equation (2) for one table of actions by level, by `solve`; roughly where it is no rival anyway."""
        robots = tuple(self.robot_numbers[mode] for mode in table)
        known = min((found.measures["cost"] for found in self._solved.values()), default=np.inf)
        rough = self.solution(robots, SCREEN_STATES)
        if rough.measures["cost"] - rough.errors.get("cost", 0.0) > known:
            return float(rough.measures["cost"])
        return float(self.solution(robots).measures["cost"])


def _over_clocks(states: WindowStates, by_phase: FloatArray) -> FloatArray:
    """Sum over the waiting pages of a number for each clock phase."""
    return np.asarray(np.append(by_phase, 0.0)[states.window].sum(axis=1) + states.behind @ by_phase)
