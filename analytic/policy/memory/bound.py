r"""What no controller can beat: the decision process whose state holds the number of robots.

For any function h of the states let P be the best value after an event,

.. math:: P(r, y) = \min_{r'} \; \kappa\,[r' \ne r] + (M^{(r')} h(r', \cdot))(y),

with :math:`\kappa` the cost of a switch and M the entrance or the return matrix. Whatever a controller does (it may see
the level, its mode, every phase and all of the past), its average cost is at least the least Bellman step

.. math:: \min_{r, x} \; c(r, x) + \sum_y q_r(x, y) P(r, y) - q_r(x) h(r, x).

With polling the choice stands at the polls only, so the bound is one for all controllers that look so often. Policy
iteration finds an h that makes the bound good; the bound holds for every h, and its own rounding is taken off. The
quotient in the cost is treated as in `analytic.policy.decision`, by intervals of the response time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from analytic.policy.branch_and_bound import BranchAndBound, SearchSettings
from analytic.policy.decision import Question, Relaxation, Relaxed
from analytic.policy.memory.controlled_chain import ControlledChain, factor
from analytic.policy.modes import IntArray
from analytic.policy.policy_iteration import BoolArray
from crawltwin.model.checks import FloatArray
from crawltwin.model.rates import Rates

MAX_ROUNDS = 60
"""Rounds of policy iteration at most; the bound holds wherever it stops."""

RETURN_RATE = 1e-11
"""Rate, in units of the mean rate out of a state, at which values are counted from one state anew: policies that never
leave a number of robots have several closed classes."""


@dataclass(frozen=True, eq=False)
class MemoryProcess(ControlledChain, Relaxation):
    """The controlled chain as a decision process."""

    exact = True

    @cached_property
    def linear(self) -> FloatArray:
        """Linear part c of the cost of each state, without switches."""
        return Rates.from_table(self.rewards).linear_cost(self.weights)

    @cached_property
    def _out(self) -> FloatArray:
        return np.asarray(sum(np.asarray(kind.rates.sum(axis=1)).ravel() for kind in self.events))

    def relax(self, question: Question, start: list[IntArray] | None = None, target: float = np.inf) -> Relaxed:
        """Least average of c + mu (g - V h) over all controllers whose choices at each level keep to `allowed`.

        Cost: a few sparse factorisations of the controlled chain.
        """
        cost = question.cost(self.linear, self.rewards)
        forbidden = np.where(question.allowed[self.slots].T, 0.0, np.inf)
        chosen = [np.array(part) for part in (start or self._first(question.allowed))]
        best, gain = -np.inf, 0.0
        rates: FloatArray = np.zeros(len(self.names))
        for _ in range(MAX_ROUNDS):
            gain, values, rates = self._evaluate(cost, chosen)
            bound, changed = self._improve(cost, values, forbidden, chosen)
            best = max(best, bound)
            if not changed or best >= target:
                break
        return Relaxed(best, gain, rates, np.zeros(question.allowed.shape), chosen)

    def _first(self, allowed: BoolArray) -> list[IntArray]:
        """The smallest number of robots that each level allows."""
        least = allowed[self.slots].argmax(axis=1)
        own = self.own_choices()
        return [
            np.tile(least, (len(stay), 1)) if kind.free else stay for kind, stay in zip(self.events, own, strict=True)
        ]

    def _evaluate(self, cost: FloatArray, chosen: list[IntArray]) -> tuple[float, FloatArray, FloatArray]:
        """Gain, relative values and linear rates of the choices."""
        Q, switches = self.generator(chosen)
        paid = cost + self.weights.switching * switches
        numbers = [int(part[0, 0]) for part, kind in zip(chosen, self.events, strict=True) if kind.free]
        anchor = self.first_state(numbers[0])
        for _ in range(2):
            others = np.delete(np.arange(self.states), anchor)
            leak = RETURN_RATE * float(self._out.mean())
            factors = factor(-Q[others][:, others] + leak * sp.eye_array(others.size))
            row = np.asarray(Q[[anchor]].todense()).ravel()
            p, u, t = np.ones(self.states), np.zeros(self.states), np.zeros(self.states)
            p[others] = np.maximum(factors.solve(row[others], trans="T"), 0.0)
            if p[anchor] >= 0.01 * p.max():
                break
            anchor = int(np.argmax(p))
        p /= p.sum()
        u[others], t[others] = factors.solve(paid[others]), factors.solve(np.ones(others.size))
        gain = float((paid[anchor] + row @ u) / (1.0 + row @ t))
        rates = p @ self.rewards
        rates[self.names.index("switches")] = p @ switches
        return gain, u - gain * t, rates

    def _improve(
        self, cost: FloatArray, values: FloatArray, forbidden: FloatArray, chosen: list[IntArray]
    ) -> tuple[float, bool]:
        """The least Bellman step of the values, and better choices where there are any (in place)."""
        numbers, changed = len(self.robot_numbers), False
        step, size = cost - self._out * values, np.abs(cost) + self._out * np.abs(values)
        tie = 1e-11 * (1.0 + float(np.abs(values).max()))
        for kind, own in zip(self.events, chosen, strict=True):
            reached = (kind.into @ values).reshape(numbers, -1)
            if not kind.free:
                after = reached
            else:
                paid = self.weights.switching * (1.0 - np.eye(numbers))
                options = paid[:, :, None] + (reached + forbidden)[None]
                pick = options.argmin(axis=1)
                after = options.min(axis=1)
                mine = np.take_along_axis(options, own[:, None, :], axis=1)[:, 0]
                better = after < mine - tie
                changed |= bool(better.any())
                own[better] = pick[better]
            step += kind.rates @ after.ravel()
            size += kind.rates @ np.abs(after).ravel()
        most = sum(int(np.diff(kind.rates.indptr).max(initial=0)) for kind in self.events)
        return float((step - (most + 12) * 1.2e-16 * size).min()), changed

    def cost_of(self, table: IntArray, start: Any = None) -> float:  # noqa: ARG002 - of the protocol
        """Equation (2) for one table of choices by level."""
        found = self.relax(Question.of(table, len(self.robot_numbers)))
        return float(Rates.from_table(found.rates).cost(self.weights))


def controllers_bound(process: MemoryProcess, tolerance: float = 1e-7, max_nodes: int = 200) -> float:
    """No controller costs less: one that sees everything, remembers everything and pays for its switches.

    Cost: some twenty policy iterations.
    """
    numbers, K = len(process.robot_numbers), process.scenario.capacity
    settings = SearchSettings(by_level=False, tolerance=tolerance, max_nodes=max_nodes)
    fixed = [np.full(K + 1, number) for number in range(numbers)]
    start = min(fixed, key=process.cost_of)
    return BranchAndBound(process, np.ones((K + 1, numbers), dtype=bool), settings).run(start).bound
