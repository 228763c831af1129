r"""Many policies of one scenario at once: one backward recursion, its tails shared (exponential obsolescence).

The first-passage matrices :math:`G_i` of the paper's backward recursion depend only on the numbers of robots at the
levels from i up. Tables (robots by level) are evaluated in an order in which the high levels change least, and only the
levels below the highest change are computed again. What remains for each policy is the forward substitution.

A policy's cost needs a handful of rates, each linear in the stationary vector: pages delivered, lost, obsolete and
served, robots, and the *sojourn time of served pages per unit of time*, whose quotient by the rate of served pages is
:math:`\bar V^{(1)}`. The last is linear too, because what lies ahead of a tagged page does not depend on the policy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from analytic.linear.elimination import LARGE
from analytic.linear.elimination_kernels import (
    factor_in_place,
    solve_left_in_place,
    solve_right_in_place,
    stationary_in_place,
)
from analytic.policy.modes import IntArray, ModeChains, rooms_by_level
from crawltwin.model import Fault, InputError
from crawltwin.model.checks import FloatArray
from crawltwin.work.compiling import njit


class _Blocks(NamedTuple):
    """Blocks of the generators of all modes, diagonals set to zero, and what the states earn.

    `up[mode, room, step]` and `up0[mode, step]` lead `step` levels up, from a busy level with `room` free places and
    from the empty one; `down[level]` and `down1` lead one level down; `stay0[mode]` changes the phase when empty.
    `rewards[mode, level, column]` and `rewards0[mode, column]` are by state. `rooms[level]` is the room of a level.
    """

    up: FloatArray
    up0: FloatArray
    stay0: FloatArray
    down: FloatArray
    down1: FloatArray
    rewards: FloatArray
    rewards0: FloatArray
    rooms: IntArray


@dataclass(frozen=True, eq=False)
class PolicyTables(ModeChains):
    """Evaluates tables of robots by level for one scenario with one obsolescence phase (or none).

    Parameters
    ----------
    scenario : Scenario
        Its policy is ignored.
    """

    def __post_init__(self) -> None:
        phases = self.chain.obsolescence_phases
        if phases != 1:
            rule = "shared recursions over policies must have exponential obsolescence times, or none"
            raise InputError([Fault("obsolescence", f"{rule}; got {phases} phases")])

    def rates(self, tables: IntArray) -> FloatArray:
        """The linear rates `RATES` of each table, shape (tables, 8).

        Parameters
        ----------
        tables : ndarray of int, shape (tables, capacity + 1)
            Robots at each level 0..capacity. Sort them so that high levels change least (`sorted_tables`).

        Notes
        -----
        Cost: a few microseconds for each level of each table; less where tails are shared.
        """
        return np.asarray(_evaluate(self.modes_by_level(tables), self._blocks))

    def level_distributions(self, tables: IntArray) -> FloatArray:
        """Probability of each number of pages under each table, shape (tables, levels). Cost: as `rates`."""
        modes, levels, _, n = self._blocks.rewards.shape
        # The reward of a level is 1 while the chain is there.
        inside = np.zeros((modes, levels, levels, n))
        inside[:, np.arange(levels), np.arange(levels)] = 1.0
        empty = np.zeros((modes, levels, self._blocks.rewards0.shape[2]))
        empty[:, 0] = 1.0
        return np.asarray(_evaluate(self.modes_by_level(tables), self._blocks._replace(rewards=inside, rewards0=empty)))

    @cached_property
    def _blocks(self) -> _Blocks:
        chain, B, modes = self.chain, self.scenario.arrivals.max_batch, len(self.robot_numbers)
        W, top, n = chain.arrival_phases, chain.top, chain.arrival_phases * chain.service_phases
        rooms = rooms_by_level(self.scenario, top)
        up, up0 = np.zeros((modes, B + 1, B + 1, n, n)), np.zeros((modes, B + 1, W, n))
        stay0, down = np.zeros((modes, W, W)), np.zeros((top + 1, n, n))
        # One level for each room: those with the same room have the same blocks.
        first = np.zeros(top + 1, dtype=bool)
        first[1 + np.unique(rooms[1:], return_index=True)[1]] = True
        for mode, events in enumerate(self.events):
            entries = events.matrix.tocoo()
            off = entries.row != entries.col
            row, column, rate = entries.row[off], entries.col[off], entries.data[off]
            level, step = events.levels[row], events.levels[column] - events.levels[row]
            a, b = row - events.starts[level], column - events.starts[level + step]
            here = (step >= 0) & first[level]
            up[mode, rooms[level[here]], step[here], a[here], b[here]] = rate[here]
            here = (level == 0) & (step > 0)
            up0[mode, step[here], a[here], b[here]] = rate[here]
            here = (level == 0) & (step == 0)
            stay0[mode, a[here], b[here]] = rate[here]
            here = step < 0
            down[level[here], a[here], b[here]] = rate[here]
        busy = self.rewards[:, W:].reshape(modes, top, n, -1).swapaxes(2, 3)
        rewards = np.concatenate([np.zeros_like(busy[:, :1]), busy], axis=1)
        rewards0 = np.ascontiguousarray(self.rewards[:, :W].swapaxes(1, 2))
        return _Blocks(up, up0, stay0, down, np.ascontiguousarray(down[1, :, :W]), rewards, rewards0, rooms)


@njit(cache=True)
def _evaluate(tables: IntArray, blocks: _Blocks) -> FloatArray:  # pragma: no cover - compiled
    # Plain loops throughout: array expressions would multiply the compile time, which every new user pays once.
    up, up0, stay0, down, down1, rewards, rewards0, rooms = blocks
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
            largest = 0.0
            for a in range(n):
                largest = max(largest, p[i, a])
            if largest > LARGE:
                # Overload: keep the numbers in range; the common factor cancels in the normalisation.
                for w in range(W):
                    p0[w] /= largest
                for j in range(1, i + 1):
                    for a in range(n):
                        p[j, a] /= largest
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
