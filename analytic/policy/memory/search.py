r"""Best thresholds and resume points for every set of robots, for controllers beyond the paper's.

Used where robots finish their fetch, switches cost, resume points are looked for, or the controller polls. For n
numbers of robots, largest first, the points are :math:`0 \le j_1 \le \dots \le j_{n-1} \le K - 1` and, with hysteresis,
:math:`0 \le u_1 \le \dots \le u_{n-1}` with :math:`u_k \le j_k`.

*enumerated*: every policy is evaluated. *searched*: points are moved by powers of two, one or all from one on, while
that helps. Either way one lower bound for all controllers comes from the decision process (`bound`) where that fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np

from analytic.policy.memory.bound import controllers_bound
from analytic.policy.memory.evaluator import Evaluator, MemoryClass, Points
from analytic.policy.optimum import Optimum, PolicyCost, Proof, chosen_best
from analytic.policy.tables import table_of, weights_of
from crawltwin.model import Scenario
from crawltwin.model.rates import Rates
from crawltwin.work.progress import ProgressCallback

MAX_WORK = 6e6
"""Most states, over all policies, for which enumeration is chosen by itself: about a minute."""

LEAST_STATES = 200
"""What a policy counts for at least."""

UNKNOWN_STATES = 20_000
"""What a policy counts for whose chain is too large to be held."""


@dataclass(frozen=True, eq=False)
class MemorySearch:
    """One search.

    Parameters
    ----------
    scenario : Scenario
        With cost weights; its policy is ignored.
    kind : MemoryClass
    method : {"auto", "enumerate", "bound", "search"}
        `bound` is `search`: the bound is always given.
    progress : callable, optional
        Called with (policies evaluated, in all).
    """

    scenario: Scenario
    kind: MemoryClass
    method: str = "auto"
    progress: ProgressCallback | None = None

    @cached_property
    def evaluator(self) -> Evaluator:
        """What was evaluated so far."""
        return Evaluator(self.scenario, self.kind)

    @cached_property
    def _sets(self) -> list[tuple[int, ...]]:
        """Every set of robots, largest number first, single numbers first."""
        numbers = sorted(self.scenario.arrivals.robot_numbers)
        return [chosen[::-1] for size in range(1, len(numbers) + 1) for chosen in combinations(numbers, size)]

    @property
    def policies(self) -> int:
        """How many policies enumeration would evaluate, at most."""
        return sum(self.kind.count(len(robots), self.scenario.capacity) for robots in self._sets)

    def run(self) -> Optimum:
        """The best of every set of robots, and the bound."""
        process = self.evaluator.process
        work = self.policies * (UNKNOWN_STATES if process is None else max(process.base_states, LEAST_STATES))
        whole = self.method == "enumerate" or (self.method == "auto" and work <= MAX_WORK)
        proof: Proof = "enumerated" if whole else "searched"
        own = {robots: (self._all if whole else self._descend)(robots) for robots in self._sets}
        best = {robots: self._best_of_set(robots, own, proof) for robots in self._sets}
        winner = chosen_best(best.values())
        bound = None if process is None else min(controllers_bound(process), winner.cost)
        items = tuple(best.values())
        keys = list(self.evaluator.known)
        tables = [table_of(robots, [j for j, _ in points], self.scenario.capacity) for robots, points in keys]
        return Optimum(
            self.scenario,
            winner,
            items,
            np.array(tables, dtype=np.int64),
            np.array(list(self.evaluator.known.values())),
            proof,
            tuple(self.kind.policy(*key) for key in keys),
            bound,
        )

    def _cost(self, robots: tuple[int, ...], points: Points) -> float:
        new = (robots, points) not in self.evaluator.known
        found = float(
            Rates.from_table(self.evaluator.rates(robots, points)).cost(weights_of(self.scenario, "optimise"))
        )
        if new and self.progress is not None:
            self.progress(len(self.evaluator.known), max(self.policies, len(self.evaluator.known)))
        return found

    def _all(self, robots: tuple[int, ...]) -> Points | None:
        """The best points that use every number, of all; None where there are none."""
        found = list(self.kind.points(len(robots), self.scenario.capacity))
        return min(found, key=self._order(robots), default=None)

    def _descend(self, robots: tuple[int, ...]) -> Points | None:
        """The best points reached by moves that help."""
        K, n = self.scenario.capacity, len(robots) - 1
        if n > K:
            return None
        here: Points = tuple(((k + 1) * K // (n + 1) - (n == K), (k + 1) * K // (n + 1) - (n == K)) for k in range(n))
        here = here if self._admissible(here) else tuple((k, k) for k in range(n))
        while True:
            near = [moved for moved in self._moves(here) if self._admissible(moved)]
            best = min([here, *near], key=self._order(robots))
            if best == here:
                return here
            here = best

    def _order(self, robots: tuple[int, ...]) -> Callable[[Points], tuple[float, int]]:
        """Cheapest first; of equal costs (within rounding) the one with the fewest resume points."""
        return lambda points: (float(f"{self._cost(robots, points):.12g}"), sum(u != j for j, u in points))

    def _moves(self, here: Points) -> Iterator[Points]:
        """One threshold with its resume point, one of both, or all from one on, moved by a power of two."""
        steps = [sign * 2**power for power in range(self.scenario.capacity.bit_length()) for sign in (-1, 1)]
        kinds = ((1, 1), (1, 0), (0, 1)) if self.kind.resume else ((1, 1),)
        for k in range(len(here)):
            for step in steps:
                for a, b in kinds:
                    yield tuple((j + a * step, u + b * step) if i == k else (j, u) for i, (j, u) in enumerate(here))
                    yield tuple((j + a * step, u + b * step) if i >= k else (j, u) for i, (j, u) in enumerate(here))

    def _admissible(self, points: Points) -> bool:
        inside = all(0 <= u <= j < self.scenario.capacity for j, u in points)
        return inside and all(a[0] <= b[0] and a[1] <= b[1] and a != b for a, b in pairwise(points))

    def _best_of_set(
        self, robots: tuple[int, ...], own: dict[tuple[int, ...], Points | None], proof: Proof
    ) -> PolicyCost:
        """The best of a set of robots: that which uses every number, or that of a smaller set with the same ends."""
        options = []
        for size in range(max(len(robots) - 2, 0) + 1):
            for inner in combinations(robots[1:-1], size):
                used = (robots[0], *inner, robots[-1]) if len(robots) > 1 else robots
                points = own[used]
                if points is not None:
                    options.append((used, points))
        used, points = min(options, key=lambda option: (self._order(option[0])(option[1]), len(option[0])))
        spread = tuple(points[sum(r >= number for r in used) - 1] for number in robots[:-1])
        item = self._item(robots, used, points, proof)
        item = replace(item, thresholds=tuple(j for j, _ in spread), resume=self._resume(spread))
        mine = own[robots]
        if mine is None:
            return item
        found = item.with_strict(tuple(j for j, _ in mine), self._cost(robots, mine), proof)
        return replace(found, strict_resume=self._resume(mine))

    def _item(self, robots: tuple[int, ...], used: tuple[int, ...], points: Points, proof: Proof) -> PolicyCost:
        cost = self._cost(used, points)
        bound = cost if proof == "enumerated" else None
        return PolicyCost(robots, (), cost, proof, bound, check_every=self.kind.check_every)

    def _resume(self, points: Points) -> tuple[int, ...] | None:
        return tuple(u for _, u in points) if self.kind.resume else None
