"""The cost of every threshold policy of one scenario, to look things up in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from analytic import Optimum, PolicyCost, optimize, solve
from analytic.policy.tables import table_of, threshold_vectors
from crawltwin.model import Scenario, ThresholdPolicy


@dataclass(frozen=True, eq=False)
class Landscape:
    """All threshold policies of all sets of robots, each with its cost (2)."""

    optimum: Optimum

    @classmethod
    def of(cls, scenario: Scenario) -> Landscape:
        """Compute it. Cost: milliseconds for exponential obsolescence, about a second for phase types at K = 5."""
        return cls(optimize(scenario.replace(policy=None), method="enumerate"))

    @property
    def scenario(self) -> Scenario:
        """What it is about."""
        return self.optimum.scenario

    @property
    def best(self) -> PolicyCost:
        """The best of all."""
        return self.optimum.best

    @property
    def fixed(self) -> Mapping[int, float]:
        """The paper's C_r."""
        return self.optimum.fixed

    @property
    def profit(self) -> float:
        """The paper's R, in percent."""
        return self.optimum.profit

    def best_of(self, robots: tuple[int, ...]) -> PolicyCost:
        """The best thresholds of one set of robots."""
        return next(item for item in self.optimum.policies if item.robots == robots)

    def cost(self, robots: tuple[int, ...], thresholds: tuple[int, ...]) -> float:
        """Cost of one policy."""
        return self.optimum.cost_by_table[table_of(robots, thresholds, self.scenario.capacity)]

    def every(self) -> Iterator[PolicyCost]:
        """All policies: best of each set first, then all thresholds of each set."""
        yield from self.optimum.policies
        for item in self.optimum.policies:
            for thresholds in threshold_vectors(len(item.robots), self.scenario.capacity):
                if thresholds != item.thresholds:
                    yield PolicyCost(item.robots, thresholds, self.cost(item.robots, thresholds))

    def solved_again(self, robots: tuple[int, ...], thresholds: tuple[int, ...]) -> float:
        """The cost by another method: sparse elimination of the explicit generator."""
        policy = ThresholdPolicy(robots, thresholds)
        cost = solve(self.scenario.replace(policy=policy), method="direct").measures["cost"]
        assert isinstance(cost, float)
        return cost
