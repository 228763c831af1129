r"""Branch and bound over tables of robots by level, with the decision process's bound.

A node is a set of tables (for each level the numbers of robots still allowed) and an interval of the response time V.
Its bound is `analytic.decision`'s: no table of the node with V in the interval costs less than the better of two
decision processes whose controllers see every phase. The controller's advantage of seeing phases closes as levels are
fixed:

* where the controller would use different numbers of robots at one level, the level that matters most (largest mean
  regret of its best single number) is branched on;
* where the width of the interval of V matters more than that, the interval is halved.

A node whose bound comes within the tolerance of the best table so far is closed. What remains open when the limit of
nodes is reached enters the lower bound as it is, so the gap that is reported is true either way.

Policies with V above :math:`(J - \min c\cdot x)/a` cost more than the best known J for their response time alone:
that is where the first interval ends.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from analytic.decision import BoolArray, DecisionProcess, IntArray, Relaxed
from analytic.rewards import RATES
from crawltwin.model.checks import FloatArray

SERVED, SOJOURN = RATES.index("served"), RATES.index("sojourn_served")

Progress = Callable[[int, float, float], None]


@dataclass(frozen=True)
class Bounded:
    """What branch and bound found.

    Parameters
    ----------
    table : ndarray of int or None
        The best table, as indices of numbers of robots; None for a controller that sees the phases.
    cost : float
        Its cost. For a controller that sees the phases: the least cost found, possibly by randomising between two.
    bound : float
        No policy of the searched set costs less.
    nodes : int
        Nodes examined.
    complete : bool
        Whether the gap is within the tolerance.
    """

    table: IntArray | None
    cost: float
    bound: float
    nodes: int
    complete: bool


@dataclass(order=True)
class _Node:
    bound: float
    number: int
    low: float = field(compare=False)
    high: float = field(compare=False)
    multiplier: float = field(compare=False)
    allowed: BoolArray = field(compare=False)
    starts: tuple[IntArray, IntArray] = field(compare=False)


class BranchAndBound:
    """One search.

    Parameters
    ----------
    process : DecisionProcess
    allowed : ndarray of bool, shape (capacity + 1, actions)
        Numbers of robots that each level may use.
    monotone : bool
        Only tables that never rise with the level: threshold policies.
    by_level : bool
        False: the controller sees the whole state, and only V is branched on.
    tolerance : float
        Relative gap at which a node is closed.
    max_nodes : int
        Nodes examined at most; the gap that is left is reported.
    """

    def __init__(
        self,
        process: DecisionProcess,
        allowed: BoolArray,
        *,
        monotone: bool = False,
        by_level: bool = True,
        tolerance: float = 1e-9,
        max_nodes: int = 200_000,
        progress: Progress | None = None,
    ) -> None:
        self.process, self.allowed, self.monotone, self.by_level = process, allowed, monotone, by_level
        self.tolerance, self.max_nodes, self.progress = tolerance, max_nodes, progress
        self.a = process.weights.response
        self._numbers = count()
        self._closed = np.inf
        # Bounds are computed from costs of this size: differences below this are rounding.
        self._rounding = 1e-14 * float(np.abs(process.linear).max(initial=0.0))

    def run(self, start: IntArray) -> Bounded:
        """Search from a first table. Cost: two policy iterations a node, each a few banded factorisations."""
        first = self._evaluate(start)
        self.table, self.best = start.copy(), self.process.cost(first.rates)
        self.anchor = int(np.argmax(first.occupation))
        loosest = self.process.relax(self.allowed, 0.0, 0.0, first.actions, self.anchor)
        ceiling = (self.best - loosest.bound) / self.a if self.a > 0 and np.isfinite(self.best) else 0.0
        multiplier = self.a / first.rates[SERVED] if first.rates[SERVED] > 0 else 0.0
        heap = [
            _Node(
                loosest.bound,
                next(self._numbers),
                0.0,
                ceiling,
                multiplier,
                self.allowed,
                (first.actions, first.actions),
            )
        ]
        nodes = 0
        while heap and nodes < self.max_nodes and heap[0].bound < self._goal:
            for child in self._expand(heapq.heappop(heap)):
                heapq.heappush(heap, child)
            nodes += 1
            if self.progress is not None and nodes % 100 == 0:
                self.progress(nodes, self.best, heap[0].bound if heap else self.best)
        bound = min([self._closed, self.best, *(node.bound for node in heap[:1])])
        return Bounded(self.table if self.by_level else None, self.best, bound, nodes, bound >= self._goal)

    @property
    def _goal(self) -> float:
        return self.best - max(self.tolerance * abs(self.best), self._rounding)

    def _evaluate(self, table: IntArray) -> Relaxed:
        levels = np.arange(table.size)
        only = np.zeros_like(self.allowed)
        only[levels, table] = True
        return self.process.relax(only, 0.0, 0.0, table[self.process.slots], getattr(self, "anchor", 0))

    def _expand(self, node: _Node) -> list[_Node]:
        if self.by_level and (node.allowed.sum(axis=1) == 1).all():
            self._offer(node.allowed.argmax(axis=1))
            return []
        ends = [
            self.process.relax(node.allowed, node.multiplier, v, start, self.anchor, self._goal - self.a * v)
            for v, start in zip((node.low, node.high), node.starts, strict=True)
        ]
        totals = [end.bound + self.a * v for end, v in zip(ends, (node.low, node.high), strict=True)]
        bound = max(node.bound, min(totals))
        worse = ends[int(totals[1] < totals[0])]
        if not self.by_level:
            self._offer_seen(ends)
        if (
            bound >= self._goal
            or min(end.gain + self.a * v for end, v in zip(ends, (node.low, node.high), strict=True)) >= self._goal
        ):
            # In the second case only rounding keeps the bound below the goal, and branching would not help: the node
            # is closed, and its bound counts as it is.
            self._closed = min(self._closed, bound)
            return []
        regrets = worse.regrets.min(axis=1)
        if self.by_level and float(regrets.max()) <= self.tolerance * abs(self.best):
            self._offer(worse.regrets.argmin(axis=1))
        width = node.high - node.low
        slack = width * max(abs(self.a - node.multiplier * float(end.rates[SERVED])) for end in ends) / 2
        multiplier = self._balanced(node, ends, totals)
        level = int(np.argmax(regrets))
        if self.by_level and (regrets[level] > slack or width <= 1e-12 * node.high):
            if int(node.allowed[level].sum()) == 1:
                level = int(np.argmax(node.allowed.sum(axis=1) > 1))
            return self._split_level(node, level, worse, multiplier, bound, (ends[0].actions, ends[1].actions))
        if width <= 1e-12 * node.high:
            self._closed = min(self._closed, bound)
            return []
        return self._split_response(node, worse, multiplier, bound, (ends[0].actions, ends[1].actions))

    def _balanced(self, node: _Node, ends: list[Relaxed], totals: list[float]) -> float:
        """The multiplier at which both ends would give one bound, if their policies stayed the same."""
        slopes = [
            float(end.rates[SOJOURN] - v * end.rates[SERVED])
            for end, v in zip(ends, (node.low, node.high), strict=True)
        ]
        if slopes[0] - slopes[1] <= 1e-14 * (abs(slopes[0]) + abs(slopes[1])):
            return node.multiplier
        return max(0.0, node.multiplier + (totals[1] - totals[0]) / (slopes[0] - slopes[1]))

    def _split_level(
        self,
        node: _Node,
        level: int,
        worse: Relaxed,
        multiplier: float,
        bound: float,
        starts: tuple[IntArray, IntArray],
    ) -> list[_Node]:
        children = []
        for action in np.argsort(worse.regrets[level]):
            if not node.allowed[level, action]:
                continue
            allowed = node.allowed.copy()
            allowed[level] = False
            allowed[level, action] = True
            if self.monotone:
                allowed[level + 1 :, action + 1 :] = False
                allowed[:level, :action] = False
            if allowed.any(axis=1).all():
                children.append(_Node(bound, next(self._numbers), node.low, node.high, multiplier, allowed, starts))
        return children

    def _split_response(
        self,
        node: _Node,
        worse: Relaxed,
        multiplier: float,
        bound: float,
        starts: tuple[IntArray, IntArray],
    ) -> list[_Node]:
        margin = 0.1 * (node.high - node.low)
        own = float(worse.rates[SOJOURN] / worse.rates[SERVED]) if worse.rates[SERVED] > 0 else np.inf
        middle = own if node.low + margin < own < node.high - margin else (node.low + node.high) / 2
        return [
            _Node(bound, next(self._numbers), node.low, middle, multiplier, node.allowed, (starts[0], worse.actions)),
            _Node(bound, next(self._numbers), middle, node.high, multiplier, node.allowed, (worse.actions, starts[1])),
        ]

    def _offer(self, table: IntArray) -> None:
        if self.monotone and (np.diff(table) > 0).any():
            return
        cost = self.process.cost(self._evaluate(table).rates)
        if cost < self.best:
            self.table, self.best = table, cost

    def _offer_seen(self, ends: list[Relaxed]) -> None:
        """Controllers that see the phases, and those that randomise between two of them."""
        for share in np.linspace(0.0, 1.0, 33):
            mixed: FloatArray = (1 - share) * ends[0].rates + share * ends[1].rates
            self.best = min(self.best, self.process.cost(mixed))
