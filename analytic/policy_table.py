r"""Many policies of one scenario at once: one backward recursion, its tails shared (exponential obsolescence).

The first-passage matrices :math:`G_i` of the paper's backward recursion depend only on the numbers of robots at the
levels from i up. Tables (robots by level) are evaluated in an order in which the high levels change least, and only the
levels below the highest change are computed again. What remains for each policy is the forward substitution.

A policy's cost needs a handful of rates, each linear in the stationary vector: pages delivered, lost, obsolete and
served, robots, and the *sojourn of served pages a unit of time*, whose quotient by the rate of served pages is
:math:`\bar V^{(1)}`. The last is linear too, because what lies ahead of a tagged page does not depend on the policy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from analytic.chain import Chain, LevelFlow, level_flow
from analytic.gth import factor_in_place, solve_left_in_place, solve_right_in_place, stationary_in_place
from analytic.rewards import RATES, Prospects, cost_of_rates
from crawltwin.model import CostWeights, Fault, InputError, LevelPolicy, Scenario
from crawltwin.model.checks import FloatArray


@dataclass(frozen=True, eq=False)
class PolicyTables:
    """Evaluates tables of robots by level for one scenario with one obsolescence phase (or none).

    Parameters
    ----------
    scenario : Scenario
        Its policy is ignored.
    """

    scenario: Scenario

    def __post_init__(self) -> None:
        if self._chain.obsolescence_phases != 1:
            raise InputError(
                [
                    Fault(
                        "obsolescence",
                        "shared recursions over policies must have exponential obsolescence times, or none; "
                        f"got {self._chain.obsolescence_phases} phases",
                    )
                ]
            )

    @cached_property
    def _chain(self) -> Chain:
        some = self.scenario.arrivals.robot_numbers[0]
        return Chain.of(self.scenario.replace(policy=LevelPolicy([some] * (self.scenario.capacity + 1))))

    @property
    def robot_numbers(self) -> tuple[int, ...]:
        """What a table may contain."""
        return self.scenario.arrivals.robot_numbers

    def rates(self, tables: npt.NDArray[np.int64]) -> FloatArray:
        """The linear rates `RATES` of each table, shape (tables, 8).

        Parameters
        ----------
        tables : ndarray of int, shape (tables, capacity + 1)
            Robots at each level 0..capacity. Sort them so that high levels change least (`sorted_tables`).

        Notes
        -----
        Cost: a few microseconds a level and table; less where tails are shared.
        """
        numbers = np.array(self.robot_numbers)
        index = np.searchsorted(numbers, tables)
        levels = np.minimum(np.arange(self._chain.top + 1), self.scenario.capacity)
        return np.asarray(_evaluate(np.ascontiguousarray(index[:, levels]), *self._pieces))

    def level_distributions(self, tables: npt.NDArray[np.int64]) -> FloatArray:
        """Probability of each number of pages under each table, shape (tables, levels). Cost: as `rates`."""
        up, up0, stay0, down, down1, rewards, rewards0, rooms = self._pieces
        top = self._chain.top
        # The reward of a level is 1 while the chain is there.
        inside = np.zeros((rewards.shape[0], top + 1, top + 1, rewards.shape[3]))
        inside[:, np.arange(top + 1), np.arange(top + 1)] = 1.0
        empty = np.zeros((rewards0.shape[0], top + 1, rewards0.shape[2]))
        empty[:, 0] = 1.0
        index = np.searchsorted(np.array(self.robot_numbers), tables)
        levels = np.minimum(np.arange(top + 1), self.scenario.capacity)
        pieces = (up, up0, stay0, down, down1, inside, empty, rooms)
        return np.asarray(_evaluate(np.ascontiguousarray(index[:, levels]), *pieces))

    def costs(self, tables: npt.NDArray[np.int64], weights: CostWeights) -> FloatArray:
        """Equation (2) for each table."""
        return cost_of_rates(self.rates(tables), weights)

    @cached_property
    def _pieces(self) -> tuple[Any, ...]:
        chain, scenario = self._chain, self.scenario
        W, M, top, B = chain.arrival_phases, chain.service_phases, chain.top, scenario.arrivals.max_batch
        n, modes, K = W * M, len(self.robot_numbers), scenario.capacity
        S, S0, beta, stale = (
            chain.service.subgenerator,
            chain.service.exit_rates,
            chain.service.initial,
            float(chain.Gamma0[0]),
        )
        up, up0 = np.zeros((modes, B + 1, B + 1, n, n)), np.zeros((modes, B + 1, W, n))
        stay0 = np.zeros((modes, W, W))
        down = np.kron(np.eye(W), np.outer(S0, beta)) + stale * np.maximum(np.arange(top + 1) - 1, 0)[
            :, None, None
        ] * np.eye(n)
        down1 = np.kron(np.eye(W), S0[:, None])
        rewards, rewards0 = np.zeros((modes, top + 1, len(RATES), n)), np.zeros((modes, len(RATES), W))
        waits = Prospects.of(chain).wait
        inner = np.kron(np.eye(W), S)
        for mode, robots in enumerate(self.robot_numbers):
            flows: dict[int, LevelFlow] = {}
            for room in range(B + 1):
                flow = flows[room] = level_flow(scenario.arrivals.mode(robots), room, scenario.admission)
                up[mode, room, 0] = np.kron(flow.stay, np.eye(M)) + inner
                np.fill_diagonal(up[mode, room, 0], 0.0)
                for step, rates in flow.jumps.items():
                    up[mode, room, step] = np.kron(rates, np.eye(M))
            flow = flows[min(K, B)]
            stay0[mode] = flow.stay - np.diag(np.diag(flow.stay))
            for step, rates in flow.jumps.items():
                up0[mode, step] = np.kron(rates, beta[None, :])
            for level in range(top + 1):
                flow = flows[min(max(K - level, 0), B)]
                sojourn = np.zeros((W, M if level else 1))
                for place, rates in enumerate(flow.place_rates, start=1):
                    ahead = waits[level + place - 1][:, 0]
                    sojourn += np.outer(rates, ahead if level else [beta @ ahead])
                columns = (
                    np.repeat(flow.page_rates, sojourn.shape[1]),
                    np.repeat(flow.loss_rates, sojourn.shape[1]),
                    stale * max(level - 1, 0),
                    np.tile(S0, W) if level else 0.0,
                    robots,
                    float(level == 0),
                    sojourn.ravel(),
                    level,
                )
                for column, value in enumerate(columns):
                    if level:
                        rewards[mode, level, column] = value
                    else:
                        rewards0[mode, column] = value
        rooms = np.minimum(np.maximum(K - np.arange(top + 1), 0), B)
        return up, up0, stay0, down, down1, rewards, rewards0, rooms


@njit(cache=True)
def _evaluate(
    tables: npt.NDArray[np.int64],
    up: FloatArray,
    up0: FloatArray,
    stay0: FloatArray,
    down: FloatArray,
    down1: FloatArray,
    rewards: FloatArray,
    rewards0: FloatArray,
    rooms: npt.NDArray[np.int64],
) -> FloatArray:  # pragma: no cover - compiled
    # Plain loops throughout: array expressions would multiply the compile time, which every new user pays once.
    count, top = tables.shape[0], tables.shape[1] - 1
    reach, W, n, columns = up0.shape[1] - 1, up0.shape[2], up0.shape[3], rewards.shape[2]
    out = np.zeros((count, columns))
    censored, first = np.zeros((top + 1, reach + 1, n, n)), np.zeros((reach + 1, W, n))
    factors, G, G1 = np.zeros((top + 1, n, n)), np.zeros((top + 1, n, n)), np.zeros((n, W))
    p, inside, sums = np.zeros((top + 1, n)), np.zeros((W, W)), np.zeros(n)
    for t in range(count):
        highest = top
        if t > 0:
            while highest > 0 and tables[t, highest] == tables[t - 1, highest]:
                highest -= 1
        for i in range(highest, 0, -1):
            _copy3(up[tables[t, i], rooms[i]], censored[i])
            for up_by in range(min(reach, top - i), 0, -1):
                _add_product(censored[i, up_by], G[i + up_by], censored[i, up_by - 1])
            _copy2(censored[i, 0], factors[i])
            leave = down1 if i == 1 else down[i]
            into = G1 if i == 1 else G[i]
            for a in range(n):
                sums[a] = 0.0
                for b in range(leave.shape[1]):
                    sums[a] += leave[a, b]
            factor_in_place(factors[i], sums)
            _copy2(leave, into)
            solve_right_in_place(factors[i], into)
        _copy3(up0[tables[t, 0]], first)
        _copy2(stay0[tables[t, 0]], inside)
        for up_by in range(min(reach, top), 1, -1):
            _add_product(first[up_by], G[up_by], first[up_by - 1])
        _add_product(first[1], G1, inside)
        p0 = stationary_in_place(inside)
        for i in range(1, top + 1):
            for a in range(n):
                p[i, a] = 0.0
            if i <= reach:
                for w in range(W):
                    for a in range(n):
                        p[i, a] += p0[w] * first[i, w, a]
            for up_by in range(1, min(reach, i - 1) + 1):
                for b in range(n):
                    for a in range(n):
                        p[i, a] += p[i - up_by, b] * censored[i - up_by, up_by, b, a]
            solve_left_in_place(factors[i], p[i : i + 1])
            if p[i, 0] > 1e150:
                # Overload: keep the numbers in range; the common factor cancels in the normalisation.
                for w in range(W):
                    p0[w] *= 1e-150
                for j in range(1, i + 1):
                    for a in range(n):
                        p[j, a] *= 1e-150
        total = 0.0
        for w in range(W):
            total += p0[w]
            for f in range(columns):
                out[t, f] += p0[w] * rewards0[tables[t, 0], f, w]
        for i in range(1, top + 1):
            for a in range(n):
                total += p[i, a]
                for f in range(columns):
                    out[t, f] += p[i, a] * rewards[tables[t, i], i, f, a]
        for f in range(columns):
            out[t, f] /= total
    return out


@njit(cache=True)
def _copy2(source: FloatArray, target: FloatArray) -> None:  # pragma: no cover - compiled
    for a in range(source.shape[0]):
        for b in range(source.shape[1]):
            target[a, b] = source[a, b]


@njit(cache=True)
def _copy3(source: FloatArray, target: FloatArray) -> None:  # pragma: no cover - compiled
    for a in range(source.shape[0]):
        _copy2(source[a], target[a])


@njit(cache=True)
def _add_product(left: FloatArray, right: FloatArray, target: FloatArray) -> None:  # pragma: no cover - compiled
    for a in range(left.shape[0]):
        for b in range(left.shape[1]):
            if left[a, b] != 0.0:
                for c in range(right.shape[1]):
                    target[a, c] += left[a, b] * right[b, c]
