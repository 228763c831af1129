"""Policies of controllers with a memory, evaluated one by one: rates, and how much work that is.

Where the controlled chain fits, its events are built once and each policy costs one sparse factorisation of its own
states (`controlled_chain`). Otherwise each policy is solved by itself (`analytic.solve`), whatever method that chooses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, product
from math import comb

import numpy as np

from analytic.policy.block_table import MAX_WIDTH
from analytic.policy.memory.bound import MemoryProcess
from analytic.policy.modes import IntArray
from analytic.policy.tables import (
    as_thresholds,
    monotone_tables,
    rates_of_tables,
    table_of,
    threshold_vectors,
    widest_level,
)
from analytic.stationary.choice import solve
from crawltwin.model import Scenario, ThresholdPolicy, TooLargeError
from crawltwin.model.checks import FloatArray
from crawltwin.model.rates import EVERY_RATE

MAX_LEVELS = 1e6
"""Most levels, over all policies without resume points, that are evaluated together."""

Points = tuple[tuple[int, int], ...]
"""Threshold and resume point of each number of robots but the last."""


@dataclass(frozen=True)
class MemoryClass:
    """Which controllers are compared.

    Parameters
    ----------
    resume : bool
        Whether resume points below the thresholds are looked for.
    check_every : float
        Mean distance of the controller's looks; 0: it sees every event.
    """

    resume: bool = False
    check_every: float = 0.0

    @classmethod
    def of(cls, scenario: Scenario, resume: bool | None = None, check_every: float | None = None) -> MemoryClass:
        """The controllers to compare: as asked for, otherwise as the scenario's costs and policy suggest."""
        own = frozenset() if scenario.policy is None else scenario.policy.features
        switching = scenario.cost is not None and scenario.cost.switching > 0
        looks = 0.0 if scenario.policy is None else scenario.policy.check_every
        wanted = switching or "resume" in own if resume is None else resume
        return cls(wanted, looks if check_every is None else check_every)

    def points(self, size: int, capacity: int) -> Iterator[Points]:
        """All thresholds and resume points for a set of `size` numbers of robots that all are used.

        A number of robots is used when its threshold or its resume point differs from those before it.
        """
        for thresholds in threshold_vectors(size, capacity):
            options: Iterable[tuple[int, ...]] = [thresholds]
            if self.resume:
                rising = product(*(range(limit, -1, -1) for limit in thresholds))
                options = (resume for resume in rising if all(a <= b for a, b in pairwise(resume)))
            for resume in options:
                found = tuple(zip(thresholds, resume, strict=True))
                if all(a != b for a, b in pairwise(found)):
                    yield found

    def count(self, size: int, capacity: int) -> int:
        """At most so many points of a set of `size` numbers of robots, the unused ones included.

        Without resume points C(K + n - 1, n) for n thresholds; with them pairs of rising sequences, one nowhere above
        the other: a determinant of two by two (Lindstroem, Gessel, Viennot).
        """
        n = size - 1
        plain = comb(capacity + n - 1, n)
        if not self.resume:
            return plain
        return plain * comb(capacity + n, n) // (n + 1)

    def policy(self, robots: Sequence[int], points: Points) -> ThresholdPolicy:
        """As a policy object."""
        return ThresholdPolicy(robots, [j for j, _ in points], [u for _, u in points], self.check_every)


@dataclass(frozen=True, eq=False)
class Evaluator:
    """Rates of policies of one scenario, each evaluated once.

    Parameters
    ----------
    scenario : Scenario
        With cost weights; its policy is ignored.
    kind : MemoryClass
    """

    scenario: Scenario
    kind: MemoryClass
    known: dict[tuple[tuple[int, ...], Points], FloatArray] = field(default_factory=dict)

    @cached_property
    def process(self) -> MemoryProcess | None:
        """The controlled chain; None where it does not fit."""
        try:
            return MemoryProcess(self.scenario, self.kind.check_every)
        except TooLargeError:
            return None

    @property
    def names(self) -> tuple[str, ...]:
        """Columns of the rates."""
        return EVERY_RATE if self.scenario.arrivals.kind == "fetching" else EVERY_RATE[:-1]

    @cached_property
    def _of_levels(self) -> dict[tuple[int, ...], FloatArray]:
        """Rates of all policies without resume points where the paper's model holds: to the last bit those of it."""
        plain = not self.scenario.replace(policy=None).features and self.kind.check_every == 0
        robots, K = self.scenario.arrivals.robot_numbers, self.scenario.capacity
        if not plain or comb(K + len(robots), len(robots) - 1) * K > MAX_LEVELS:
            return {}
        tables = monotone_tables(robots, K)
        return dict(zip(map(tuple, tables.tolist()), rates_of_tables(self.scenario, tables), strict=True))

    def rates(self, robots: tuple[int, ...], points: Points) -> FloatArray:
        """The linear rates of one policy. Cost: some milliseconds where the controlled chain is small."""
        key = (robots, points)
        if key not in self.known:
            policy = self.kind.policy(robots, points)
            if self.process is not None:
                found = self.process.rates_of(policy)
            else:
                found = solve(self.scenario.replace(policy=policy)).rates.columns(self.names)
            if not policy.features:
                own = self._of_levels.get(table_of(robots, policy.thresholds, self.scenario.capacity), found)
                found = np.concatenate([own, found[own.size :]])
            self.known[key] = found
        return self.known[key]


def needs_memory(scenario: Scenario, kind: MemoryClass) -> bool:
    """Whether policies must be evaluated with the number of robots in the state."""
    features = scenario.replace(policy=None).features
    if kind != MemoryClass() or features - {"indexers"}:
        return True
    return "indexers" in features and widest_level(scenario) > MAX_WIDTH


def rates_of_levels(scenario: Scenario, tables: IntArray) -> FloatArray:
    """The linear rates (`EVERY_RATE`) of tables of robots by level, also where robots finish their fetch.

    Cost: as `rates_of_tables`, or some milliseconds for each table where policies are evaluated one by one.
    """
    plain = scenario.replace(policy=None)
    if not needs_memory(plain, MemoryClass()):
        return rates_of_tables(plain, tables)
    evaluator = Evaluator(plain, MemoryClass())
    policies = [as_thresholds(table) for table in tables.tolist()]
    return np.array([evaluator.rates(robots, tuple((j, j) for j in thresholds)) for robots, thresholds in policies])
