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

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from analytic.chain.primitives import Chain
from analytic.policy.modes import IntArray, ModeChains
from analytic.policy.policy_iteration import BoolArray, Rows, iterate_policies
from analytic.policy.response_interval import SERVED, SOJOURN
from analytic.policy.tables import weights_of
from crawltwin.model import CostWeights, Fault, Scenario, TooLargeError
from crawltwin.model.checks import FloatArray
from crawltwin.model.rates import Rates

MAX_WORK = 4e9
"""Most operations for one factorisation of the controlled chain."""


def band_widths(chain: Chain) -> tuple[int, int]:
    """Most places to the left and right of the diagonal that a rate of the explicit chain lies, for all modes."""
    top, reach = chain.top, max(1, min(chain.scenario.arrivals.max_batch, chain.top))
    sizes = [chain.level_states(level) for level in range(max(0, top - reach - 1), top + 1)]
    return sum(sizes[-2:]), sum(sizes[-reach - 1 :])


def explicit_work(chain: Chain) -> float:
    """Operations of one factorisation of the explicit controlled chain."""
    low, high = band_widths(chain)
    return float(chain.states) * low * high


class Question(NamedTuple):
    """Which least average is asked for: that of c + mu (g - V h), each level keeping to `allowed`.

    `allowed` has the shape (capacity + 1, actions); `multiplier` is mu and `response` is V.
    """

    allowed: BoolArray
    multiplier: float = 0.0
    response: float = 0.0

    @classmethod
    def of(cls, table: IntArray, actions: int) -> Question:
        """The average of c under one table of actions by level."""
        return cls(np.eye(actions, dtype=bool)[table])

    def cost(self, linear: FloatArray, rewards: FloatArray) -> FloatArray:
        """C + mu (g - V h), from c and the linear rates (last axis)."""
        return np.asarray(linear + self.multiplier * (rewards[..., SOJOURN] - self.response * rewards[..., SERVED]))


class Relaxed(NamedTuple):
    """A solved decision process: a lower bound of its average cost, the policy found and how good it is.

    `gain` is the average of the policy found and `rates` are its linear rates. `regrets[level, action]` is the mean
    extra cost of using one action throughout a level, to first order. `start` is where a similar question may begin.
    `work` is the number of operations that the answer took, roughly: the same on every machine.
    """

    bound: float
    gain: float
    rates: FloatArray
    regrets: FloatArray
    start: Any
    work: float = 0.0


class Relaxation(ABC):
    """What branch and bound needs: lower bounds for sets of policies, and the costs of single ones.

    `exact` says whether the bound of a single table is its cost.
    """

    exact: ClassVar[bool]
    scenario: Scenario

    @property
    def weights(self) -> CostWeights:
        """Of the cost criterion."""
        return weights_of(self.scenario, "compare policies")

    @property
    @abstractmethod
    def linear(self) -> FloatArray:
        """Linear part c of the cost."""

    @property
    def cost_scale(self) -> float:
        """Size of the numbers that bounds are computed from."""
        return float(np.abs(self.linear).max(initial=0.0))

    @abstractmethod
    def relax(self, question: Question, start: Any = None, target: float = np.inf) -> Relaxed:
        """A lower bound of the least average; it may stop early once the bound reaches `target`."""

    @abstractmethod
    def cost_of(self, table: IntArray, start: Any = None) -> float:
        """Equation (2) for one table of actions by level."""


@dataclass(frozen=True, eq=False)
class DecisionProcess(ModeChains, Relaxation):
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

    exact = True

    def __post_init__(self) -> None:
        weights_of(self.scenario, "compare policies")
        self.scenario.replace(policy=None).check_features(("indexers",), "the decision process")
        work = explicit_work(self.chain)
        if work > MAX_WORK:
            rule = f"the controlled chain must need at most {MAX_WORK:.0e} operations for each policy"
            got = f"{work:.1e} for {self.chain.states:,} states"
            way_out = "Use a smaller capacity or fewer obsolescence phases."
            raise TooLargeError([Fault("capacity", f"{rule}; got {got}", way_out)])

    @cached_property
    def _rows(self) -> Rows:
        matrices, states = [events.matrix for events in self.events], self.chain.states
        most = max(int(np.diff(matrix.indptr).max()) for matrix in matrices)
        shape = (len(matrices), states, most)
        columns, values = np.zeros(shape, np.int64), np.zeros(shape)
        for action, matrix in enumerate(matrices):
            counts = np.diff(matrix.indptr)
            at = np.arange(matrix.nnz) - np.repeat(matrix.indptr[:-1], counts)
            row = np.repeat(np.arange(states), counts)
            columns[action, row, at], values[action, row, at] = matrix.indices, matrix.data
        return Rows(columns, values, self.slots[self.events[0].levels], *band_widths(self.chain))

    @cached_property
    def linear(self) -> FloatArray:
        """Linear part c of the cost, shape (actions, states)."""
        return Rates.from_table(self.rewards).linear_cost(self.weights)

    def relax(self, question: Question, start: tuple[IntArray, int] | None = None, target: float = np.inf) -> Relaxed:
        """Least average of c + mu (g - V h) over controllers that see the state, each level keeping to `allowed`.

        Parameters
        ----------
        question : Question
        start : tuple, optional
            `start` of an earlier answer: the actions to begin with, and the state that values are counted from.
        target : float
            Iteration may stop once the bound is at least this.
        """
        cost = question.cost(self.linear, self.rewards)
        states = self.chain.states
        chosen, anchor = (np.zeros(states, np.int64), 0) if start is None else (start[0].copy(), start[1])
        bound, gain, regrets, p, evaluated, factored = iterate_policies(
            self._rows, cost, question.allowed, chosen, anchor, target
        )
        rates = np.einsum("s,sf->f", p, self.rewards[evaluated, np.arange(states)])
        start = (chosen, int(np.argmax(p)) if start is None else anchor)
        return Relaxed(bound, gain, rates, regrets, start, factored * explicit_work(self.chain))

    def cost_of(self, table: IntArray, start: tuple[IntArray, int] | None = None) -> float:
        """Equation (2) for one table of actions by level."""
        found = self.relax(Question.of(table, len(self.robot_numbers)), start)
        return float(Rates.from_table(found.rates).cost(self.weights))
