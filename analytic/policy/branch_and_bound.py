r"""Branch and bound over tables of robots by level, with the decision process's bound.

A node is a set of tables (for each level the numbers of robots still allowed) and an interval of the response time V.
Its bound is `analytic.policy.decision`'s: no table of the node with V in the interval costs less than the better of two
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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal

import numpy as np

from analytic.policy.decision import Question, Relaxation, Relaxed
from analytic.policy.modes import IntArray
from analytic.policy.policy_iteration import BoolArray
from analytic.policy.response_interval import SERVED, SOJOURN, EndBound, ResponseInterval, cheapest_share
from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import Faults
from crawltwin.model.rates import Rates

Progress = Callable[[int, float, float], object]
"""Told (nodes, best cost, lower bound) after each node; a true answer ends the search with the bounds it has."""

Ending = Literal["searched", "nodes", "work", "stopped"]
"""Why a search ended: nothing was left worth searching, a limit, or it was asked to."""

NARROW = 0.1
"""An interval of response times that is to blame for less than this share of a gap is not cut."""


MOST_WORK = 6e10
"""Operations of one search: about a minute. Where each bound takes seconds, nodes alone would be no limit."""


@dataclass(frozen=True)
class SearchSettings:
    """What branch and bound compares, and when it stops.

    Parameters
    ----------
    monotone : bool
        Only tables that never rise with the level: threshold policies.
    by_level : bool
        False: the controller sees the whole state, and only V is branched on.
    tolerance : float
        Relative gap at which a node is closed.
    max_nodes : int
        Nodes examined at most; the gap that is left is reported.
    max_work : float
        Operations after which no further node is examined.
    """

    monotone: bool = False
    by_level: bool = True
    tolerance: float = 1e-9
    max_nodes: int = 200_000
    max_work: float = MOST_WORK

    def __post_init__(self) -> None:
        faults = Faults()
        if not 0 < self.tolerance < 1:
            faults.add("tolerance", f"tolerance must be in (0, 1); got {self.tolerance!r}")
        if self.max_nodes < 1:
            faults.add("max_nodes", f"max_nodes must be at least 1; got {self.max_nodes!r}")
        faults.raise_if_any()


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
    ending : {"searched", "nodes", "work", "stopped"}
        Why the search ended.
    """

    table: IntArray | None
    cost: float
    bound: float
    nodes: int
    complete: bool
    ending: Ending = "searched"


@dataclass(order=True)
class _Node:
    bound: float
    number: int
    interval: ResponseInterval = field(compare=False)
    allowed: BoolArray = field(compare=False)
    starts: tuple[Any, Any] = field(compare=False)


class BranchAndBound:
    """One search.

    Parameters
    ----------
    process : Relaxation
    allowed : ndarray of bool, shape (capacity + 1, actions)
        Numbers of robots that each level may use.
    settings : SearchSettings
    progress : callable, optional
        Called with (nodes, best cost, lower bound); a true answer ends the search.
    """

    def __init__(
        self,
        process: Relaxation,
        allowed: BoolArray,
        settings: SearchSettings = SearchSettings(),  # noqa: B008 - frozen
        progress: Progress | None = None,
    ) -> None:
        self.process, self.allowed, self.settings, self.progress = process, allowed, settings, progress
        self.weights = process.weights
        self._numbers = count()
        self._closed = np.inf
        self._work = 0.0
        # A relaxation proves no more for all tables than for the best one alone: nodes above that need no more work.
        self._ceiling = np.inf
        # Bounds are computed from costs of this size: differences below this are rounding.
        self._rounding = 1e-14 * process.cost_scale

    def run(self, start: IntArray) -> Bounded:
        """Search from a first table. Cost: two policy iterations for each node, each a few banded factorisations."""
        first = self._relax(Question.of(start, self.allowed.shape[1]))
        self.table, self.best, self.start = start.copy(), self.process.cost_of(start), first.start
        loosest = self._relax(Question(self.allowed), self.start)
        a, served = self.weights.response, first.rates[SERVED]
        if self.settings.by_level and not self.process.exact and served > 0:
            response = float(first.rates[SOJOURN] / served)
            own = Question(Question.of(start, self.allowed.shape[1]).allowed, a / served, response)
            self._ceiling = self._relax(own, self.start).bound + a * response
        longest = (self.best - loosest.bound) / a if a > 0 and np.isfinite(self.best) else 0.0
        interval = ResponseInterval(0.0, longest, a / served if served > 0 else 0.0)
        heap = [_Node(loosest.bound, next(self._numbers), interval, self.allowed, (self.start, self.start))]
        nodes, ending = 0, self._ending(0, loosest.bound)
        while heap and heap[0].bound < self._worthwhile and ending == "searched":
            for child in self._expand(heapq.heappop(heap)):
                heapq.heappush(heap, child)
            nodes += 1
            ending = self._ending(nodes, heap[0].bound if heap else self.best)
        if not heap or heap[0].bound >= self._worthwhile:
            ending = "searched"
        # No weight is negative, so no cost is: that bound holds however badly the values are known.
        bound = max(0.0, min([self._closed, self.best, *(node.bound for node in heap[:1])]))
        table = self.table if self.settings.by_level else None
        return Bounded(table, self.best, bound, nodes, complete=bound >= self._goal, ending=ending)

    def _relax(self, question: Question, start: Any = None, target: float = np.inf) -> Relaxed:
        found = self.process.relax(question, start, target)
        self._work += found.work
        return found

    def _ending(self, nodes: int, bound: float) -> Ending:
        """Whether the search must end here, and why."""
        if self.progress is not None and self.progress(nodes, self.best, bound):
            return "stopped"
        if nodes >= self.settings.max_nodes:
            return "nodes"
        return "work" if self._work >= self.settings.max_work else "searched"

    @property
    def _worthwhile(self) -> float:
        """Nodes with a lower bound are worth expanding; the final bound is at most that of what was closed."""
        return self._enough if self.process.exact else min(self._enough, self._closed)

    @property
    def _enough(self) -> float:
        """The bound at which a node is closed."""
        return min(self._goal, self._ceiling)

    @property
    def _goal(self) -> float:
        return self.best - max(self.settings.tolerance * abs(self.best), self._rounding)

    def _expand(self, node: _Node) -> list[_Node]:
        by_level, single = self.settings.by_level, bool((node.allowed.sum(axis=1) == 1).all())
        if by_level and single:
            self._offer(node.allowed.argmax(axis=1))
            if self.process.exact:
                return []
        a, (low, high, multiplier) = self.weights.response, node.interval
        found = [
            self._relax(Question(node.allowed, multiplier, v), start, self._enough - a * v)
            for v, start in zip((low, high), node.starts, strict=True)
        ]
        ends = [EndBound(end.bound + a * v, end.rates) for end, v in zip(found, (low, high), strict=True)]
        bound = max(node.bound, min(end.total for end in ends))
        worse = found[int(ends[1].total < ends[0].total)]
        slack = (high - low) * max(abs(a - multiplier * float(end.rates[SERVED])) for end in ends) / 2
        if not by_level and self.process.exact:
            # Controllers that see the phases, and those that randomise between two of them.
            one, other = ends[0].rates, ends[1].rates
            mixed = one + cheapest_share(one, other, self.weights) * (other - one)
            self.best = min(self.best, float(Rates.from_table(mixed).cost(self.weights)))
        if (
            bound >= self._enough
            or min(end.gain + a * v for end, v in zip(found, (low, high), strict=True)) >= self._enough
        ):
            # In the second case only rounding keeps the bound below the goal, and branching would not help: the node
            # is closed, and its bound counts as it is.
            return self._close(bound)
        if not self.process.exact and (
            (single and slack <= NARROW * (self._enough - bound))
            or (not by_level and slack <= self.settings.tolerance * abs(self.best))
        ):
            # What is missing is not the response time but what the relaxation does not know.
            return self._close(bound)
        regrets = worse.regrets.min(axis=1)
        if by_level and float(regrets.max()) <= self.settings.tolerance * abs(self.best):
            self._offer(worse.regrets.argmin(axis=1))
        level = int(np.argmax(regrets))
        if by_level and not single and (regrets[level] > slack or node.interval.is_point):
            if int(node.allowed[level].sum()) == 1:
                level = int(np.argmax(node.allowed.sum(axis=1) > 1))
            interval = node.interval._replace(multiplier=node.interval.balanced(ends))
            starts = (found[0].start, found[1].start)
            return [
                _Node(bound, next(self._numbers), interval, allowed, starts)
                for allowed in self._fixed_at(level, node.allowed, worse.regrets[level])
            ]
        if node.interval.is_point:
            return self._close(bound)
        lower, upper = node.interval.cut(ends)
        return [
            _Node(bound, next(self._numbers), lower, node.allowed, (found[0].start, worse.start)),
            _Node(bound, next(self._numbers), upper, node.allowed, (worse.start, found[1].start)),
        ]

    def _close(self, bound: float) -> list[_Node]:
        """Nothing is left to branch on: the bound counts as it is."""
        self._closed = min(self._closed, bound)
        return []

    def _fixed_at(self, level: int, allowed: BoolArray, regrets: FloatArray) -> Iterator[BoolArray]:
        """The parts of a set of tables with one number of robots at one level, the most promising first."""
        for action in np.argsort(regrets):
            if not allowed[level, action]:
                continue
            part = allowed.copy()
            part[level] = False
            part[level, action] = True
            if self.settings.monotone:
                part[level + 1 :, action + 1 :] = False
                part[:level, :action] = False
            if part.any(axis=1).all():
                yield part

    def _offer(self, table: IntArray) -> None:
        if self.settings.monotone and (np.diff(table) > 0).any():
            return
        cost = self.process.cost_of(table, self.start)
        if cost < self.best:
            self.table, self.best = table, cost
