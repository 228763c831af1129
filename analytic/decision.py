r"""The controlled chain as a decision process: a lower bound for every controller that sees some of the state.

Cost (2) of a stationary policy is :math:`c\cdot x + a\, (g\cdot x)/(h\cdot x)`: x the occupation measure (how much of
the time each state runs with each number of robots), c the linear costs, g the sojourn booked by pages that will be
served, h the rate of served pages. The quotient makes the problem neither linear nor quasi-convex. It is made linear
so:

**Bound.** Let :math:`V = g\cdot x/h\cdot x`. For every multiplier :math:`\mu`,

.. math:: J(x) = c\cdot x + \mu (g - V h)\cdot x + aV \ge \psi(\mu, V) + aV, \qquad
          \psi(\mu, V) = \min_y\, (c + \mu g - \mu V h)\cdot y,

because the middle term vanishes, and the minimum is over all occupation measures y. :math:`\psi(\mu, \cdot)` is a
minimum of functions linear in V, hence concave, and so is :math:`\psi(\mu, V) + aV`: on an interval of V it is
smallest at an end. So *every* policy with response time in :math:`[v_0, v_1]` costs at least
:math:`\min_{v\in\{v_0,v_1\}} \psi(\mu, v) + av`, whichever :math:`\mu` is used. At an optimal x with :math:`\mu =
a/h\cdot x` and :math:`v = V` the bound is exact: that is the first-order condition of J.

**Average cost.** :math:`\psi` is the optimal average cost of a decision process with the cost c + mu g - mu V h,
found by policy iteration. What is returned is not the iteration's last gain but :math:`\min_{s,k} (c_k + Q_k u)(s)`
for its last relative values u: for any vector u and any occupation measure x, :math:`\sum_k x_k Q_k = 0` gives
:math:`x\cdot c = \sum_k x_k\cdot(c_k + Q_k u) \ge` that minimum. The bound thus holds wherever the iteration stopped.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from analytic.chain import Chain
from analytic.events import EventChain
from analytic.rewards import RATES, Prospects, cost_of_rates, state_rewards
from crawltwin.model import CostWeights, Fault, InputError, LevelPolicy, Scenario, TooLargeError
from crawltwin.model.checks import FloatArray

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

MAX_WORK = 4e9
"""Most operations for one factorisation of the controlled chain."""


class Relaxed(NamedTuple):
    """A solved decision process: a lower bound of its average cost, the policy found and how good it is.

    `regrets[level, action]` is the mean extra cost of using one action throughout a level, to first order.
    """

    bound: float
    gain: float
    actions: IntArray
    values: FloatArray
    rates: FloatArray
    regrets: FloatArray
    occupation: FloatArray


@dataclass(frozen=True, eq=False)
class DecisionProcess:
    """A scenario whose number of robots may depend on everything in the state.

    Parameters
    ----------
    scenario : Scenario
        With cost weights; its policy is ignored.

    Notes
    -----
    The state is that of the explicit chain: level, arrival phase, service phase and, with phase-type obsolescence, the
    clocks of all waiting pages. A controller that sees less cannot do better.
    """

    scenario: Scenario

    def __post_init__(self) -> None:
        if self.scenario.cost is None:
            raise InputError(
                [
                    Fault(
                        "cost",
                        "cost must be given to compare policies; got nothing",
                        "Add [cost] with loss, obsolescence, response, robots and starvation.",
                    )
                ]
            )
        work = float(self.states) * self.widths[0] * self.widths[1]
        if work > MAX_WORK:
            raise TooLargeError(
                [
                    Fault(
                        "capacity",
                        f"the controlled chain must need at most {MAX_WORK:.0e} operations a policy; got {work:.1e} "
                        f"for {self.states:,} states",
                        "Use a smaller capacity or fewer obsolescence phases.",
                    )
                ]
            )

    @property
    def weights(self) -> CostWeights:
        """Of the cost criterion."""
        assert self.scenario.cost is not None
        return self.scenario.cost

    @property
    def robot_numbers(self) -> tuple[int, ...]:
        """What an action stands for."""
        return self.scenario.arrivals.robot_numbers

    @cached_property
    def _chain(self) -> Chain:
        return Chain.of(self._fixed(self.robot_numbers[0]))

    def _fixed(self, robots: int) -> Scenario:
        return self.scenario.replace(policy=LevelPolicy([robots] * (self.scenario.capacity + 1)))

    @property
    def states(self) -> int:
        """Number of states."""
        return self._chain.states

    @cached_property
    def widths(self) -> tuple[int, int]:
        """Most places to the left and right of the diagonal that a rate lies."""
        top, reach = self._chain.top, max(1, min(self.scenario.arrivals.max_batch, self._chain.top))
        sizes = [self._chain.level_states(level) for level in range(max(0, top - reach - 1), top + 1)]
        return sum(sizes[-2:]), sum(sizes[-reach - 1 :])

    @cached_property
    def slots(self) -> IntArray:
        """For each state the level that its action belongs to; under `overflow` levels above the capacity share one."""
        return np.minimum(self._events[0].levels, self.scenario.capacity)

    @cached_property
    def _events(self) -> list[EventChain]:
        first = EventChain.of(self._chain)
        return [first, *(EventChain.of(Chain.of(self._fixed(robots)), first) for robots in self.robot_numbers[1:])]

    @cached_property
    def rewards(self) -> FloatArray:
        """The linear rates of each action and state, shape (actions, states, 8)."""
        prospects = Prospects.of(self._chain)
        return np.stack([state_rewards(events, prospects) for events in self._events])

    @cached_property
    def _rows(self) -> tuple[IntArray, FloatArray]:
        """Rates by action and state: columns and values, padded."""
        matrices = [events.generator for events in self._events]
        most = max(int(np.diff(matrix.indptr).max()) for matrix in matrices)
        shape = (len(matrices), self.states, most)
        columns, values = np.zeros(shape, np.int64), np.zeros(shape)
        for action, matrix in enumerate(matrices):
            counts = np.diff(matrix.indptr)
            at = np.arange(matrix.nnz) - np.repeat(matrix.indptr[:-1], counts)
            row = np.repeat(np.arange(self.states), counts)
            columns[action, row, at], values[action, row, at] = matrix.indices, matrix.data
        return columns, values

    @cached_property
    def linear(self) -> FloatArray:
        """Linear part c of the cost, shape (actions, states)."""
        weight = self.weights
        column = dict(zip(RATES, np.moveaxis(self.rewards, -1, 0), strict=True))
        return np.asarray(
            weight.loss * column["lost"]
            + weight.obsolescence * column["obsolete"]
            + weight.robots * column["robots"]
            + weight.starvation * column["starvation"]
        )

    @cached_property
    def sojourn(self) -> FloatArray:
        """Sojourn booked by pages that will be served, g, shape (actions, states)."""
        return np.ascontiguousarray(self.rewards[:, :, RATES.index("sojourn_served")])

    @cached_property
    def served(self) -> FloatArray:
        """Rate of served pages, h, shape (actions, states)."""
        return np.ascontiguousarray(self.rewards[:, :, RATES.index("served")])

    def relax(
        self,
        allowed: BoolArray,
        multiplier: float,
        response: float,
        actions: IntArray,
        anchor: int,
        target: float = np.inf,
    ) -> Relaxed:
        """Least average of c + mu (g - V h) over controllers that see the state, each level keeping to `allowed`.

        Parameters
        ----------
        allowed : ndarray of bool, shape (capacity + 1, actions)
        multiplier, response : float
            mu and V.
        actions : ndarray of int
            Where policy iteration starts.
        anchor : int
            A state that is visited often; relative values are counted from it.
        target : float
            Iteration may stop once the bound is at least this.
        """
        cost = self.linear + multiplier * (self.sojourn - response * self.served)
        columns, values = self._rows
        chosen = actions.copy()
        bound, gain, u, regrets, p, evaluated = _policy_iteration(
            columns,
            values,
            cost,
            self.slots,
            allowed,
            chosen,
            anchor,
            *self.widths,
            target,
        )
        rates = np.einsum("s,sf->f", p, self.rewards[evaluated, np.arange(self.states)])
        return Relaxed(bound, gain, chosen, u, rates, regrets, p)

    def cost(self, rates: FloatArray) -> float:
        """Equation (2) of linear rates."""
        return float(cost_of_rates(rates, self.weights))


@njit(cache=True)
def _policy_iteration(
    columns: IntArray,
    values: FloatArray,
    cost: FloatArray,
    slots: IntArray,
    allowed: BoolArray,
    chosen: IntArray,
    anchor: int,
    low: int,
    high: int,
    target: float,
) -> tuple[float, float, FloatArray, FloatArray, FloatArray, IntArray]:  # pragma: no cover - compiled
    actions, states = cost.shape
    entries = columns.shape[2]
    band = np.zeros((states - 1, low + high + 1))
    u, t, p = np.zeros(states), np.zeros(states), np.zeros(states)
    regrets = np.zeros((allowed.shape[0], actions))
    for s in range(states):
        if not allowed[slots[s], chosen[s]]:
            for k in range(actions):
                if allowed[slots[s], k]:
                    chosen[s] = k
                    break
    evaluated, relative = chosen.copy(), np.zeros(states)
    gain, bound, scale = 0.0, -np.inf, np.abs(cost).max()
    for _ in range(200):
        if not _factor_policy(columns, values, chosen, anchor, low, high, band):
            # Some phases are never left under this policy: keep what the last one proved.
            break
        _occupation(band, low, high, columns[chosen[anchor], anchor], values[chosen[anchor], anchor], anchor, p)
        if p[anchor] < 0.01 * p.max():
            # Values counted from a rare state would be differences of long times: count from the most frequent.
            anchor = int(np.argmax(p))
            if not _factor_policy(columns, values, chosen, anchor, low, high, band):
                break
        evaluated[:] = chosen
        for s in range(states):
            u[s], t[s] = cost[chosen[s], s], 1.0
        u[anchor], t[anchor] = 0.0, 0.0
        _solve_band(band, low, high, u, anchor)
        _solve_band(band, low, high, t, anchor)
        k = chosen[anchor]
        above, below = cost[k, anchor], 1.0
        for e in range(entries):
            c = columns[k, anchor, e]
            if c != anchor:
                above += values[k, anchor, e] * u[c]
                below += values[k, anchor, e] * t[c]
        gain = above / below
        for s in range(states):
            relative[s] = u[s] - gain * t[s]
        bound, changed = np.inf, False
        for s in range(states):
            best, own, safe = np.inf, 0.0, np.inf
            pick = chosen[s]
            for k in range(actions):
                if allowed[slots[s], k]:
                    q = cost[k, s]
                    size = abs(q)
                    for e in range(entries):
                        part = values[k, s, e] * relative[columns[k, s, e]]
                        q += part
                        size += abs(part)
                    # The sum's own rounding is taken off: what is left is a bound in floating point too.
                    safe = min(safe, q - (entries + 2) * 1.2e-16 * size)
                    if k == chosen[s]:
                        own = q
                    if q < best:
                        best, pick = q, k
            bound = min(bound, safe)
            # Ties within rounding keep the action, or the iteration would circle.
            if best < own - 1e-11 * scale:
                chosen[s] = pick
                changed = True
        if not changed or bound >= target:
            break
    for s in range(states):
        for k in range(actions):
            if allowed[slots[s], k]:
                q = cost[k, s] - gain
                for e in range(entries):
                    q += values[k, s, e] * relative[columns[k, s, e]]
                regrets[slots[s], k] += p[s] * q
            else:
                regrets[slots[s], k] = np.inf
    return bound, gain, relative, regrets, p, evaluated


@njit(cache=True)
def _factor_policy(
    columns: IntArray, values: FloatArray, chosen: IntArray, anchor: int, low: int, high: int, band: FloatArray
) -> bool:  # pragma: no cover - compiled
    """LU of -Q without the anchor's row and column, `band[i, j - i + low]`, with no subtraction (see `analytic.gth`).

    False when the anchor cannot be reached from everywhere.
    """
    size = band.shape[0]
    into = np.zeros(size)
    band[:] = 0.0
    for i in range(size):
        s = i + (i >= anchor)
        for e in range(columns.shape[2]):
            c = columns[chosen[s], s, e]
            rate = values[chosen[s], s, e]
            if rate > 0.0 and c == anchor:
                into[i] += rate
            elif rate > 0.0 and c != s:
                band[i, c - (c > anchor) - i + low] -= rate
    for k in range(size):
        last = min(high, size - 1 - k)
        pivot = into[k]
        for j in range(1, last + 1):
            pivot -= band[k, low + j]
        if not pivot > 0.0:
            return False
        band[k, low] = pivot
        for i in range(k + 1, min(k + low, size - 1) + 1):
            at = k - i + low
            if band[i, at] != 0.0:
                share = band[i, at] / pivot
                band[i, at] = share
                into[i] -= share * into[k]
                for j in range(1, last + 1):
                    if k + j != i:
                        band[i, at + j] -= share * band[k, low + j]
    return True


@njit(cache=True)
def _solve_band(
    band: FloatArray, low: int, high: int, x: FloatArray, anchor: int
) -> None:  # pragma: no cover - compiled
    """Solve for one right-hand side in place, the anchor's entry left out."""
    size = band.shape[0]
    for i in range(size):
        at = i + (i >= anchor)
        total = x[at]
        for j in range(max(0, i - low), i):
            total -= band[i, j - i + low] * x[j + (j >= anchor)]
        x[at] = total
    for i in range(size - 1, -1, -1):
        at = i + (i >= anchor)
        total = x[at]
        for j in range(i + 1, min(i + high, size - 1) + 1):
            total -= band[i, j - i + low] * x[j + (j >= anchor)]
        x[at] = total / band[i, low]


@njit(cache=True)
def _occupation(
    band: FloatArray,
    low: int,
    high: int,
    columns: IntArray,
    values: FloatArray,
    anchor: int,
    p: FloatArray,
) -> None:  # pragma: no cover - compiled
    """Stationary probabilities from the factors, by the transposed solves."""
    size = band.shape[0]
    p[:] = 0.0
    for e in range(columns.size):
        if columns[e] != anchor:
            p[columns[e]] += values[e]
    for j in range(size):
        at = j + (j >= anchor)
        p[at] /= band[j, low]
        for i in range(j + 1, min(j + high, size - 1) + 1):
            p[i + (i >= anchor)] -= band[j, i - j + low] * p[at]
    for j in range(size - 1, -1, -1):
        at = j + (j >= anchor)
        for i in range(max(0, j - low), j):
            p[i + (i >= anchor)] -= band[j, i - j + low] * p[at]
    p[anchor] = 1.0
    p /= p.sum()
