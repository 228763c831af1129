"""The numbers behind Figures 1 to 4: cost over the threshold, policy by policy and variance by variance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from analytic import solve
from crawltwin.model import Scenario, ThresholdPolicy
from validate.paper.base import first_example, with_obsolescence_variance, with_service_variance
from validate.paper.landscape import Landscape
from validate.paper.source import paper


@dataclass(frozen=True)
class Curve:
    """Cost by threshold 0, 1, ..., K - 1 of one pair of robots in one system."""

    label: str
    robots: tuple[int, int]
    parameter: float
    variance: float
    costs: tuple[float, ...]

    @property
    def best(self) -> int:
        """The threshold of the least cost."""
        return self.costs.index(min(self.costs))


def figure1() -> tuple[Curve, ...]:
    """Every pair of robots in the first example."""
    landscape, capacity = Landscape.of(first_example()), first_example().capacity
    return tuple(
        Curve(
            f"{high} or {low}",
            (high, low),
            0.0,
            0.0,
            tuple(landscape.cost((high, low), (threshold,)) for threshold in range(capacity)),
        )
        for low, high in combinations(first_example().arrivals.robot_numbers, 2)
    )


def figure2() -> tuple[Curve, ...]:
    """Robots 3 or 1, the variance of the service time varied."""
    rates = paper()["variances"]["service_rates"]
    return tuple(_service_curve(rate, (3, 1)) for rate in rates)


def figure3() -> tuple[Curve, ...]:
    """The same with the pair of robots that is best at each variance."""
    rates = paper()["variances"]["service_rates"]
    return tuple(_service_curve(rate, best_pair(with_service_variance(rate))) for rate in rates)


PairCosts = Mapping[tuple[int, int], tuple[float, ...]]
"""Cost by threshold of each pair of robots."""


def obsolescence_rates() -> tuple[float, ...]:
    """The first rates of Figure 4."""
    return tuple(float(rate) for rate in paper()["variances"]["obsolescence_rates"])


def costs_at_variance(rate: float) -> PairCosts:
    """Every pair of robots at one variance of the obsolescence time. Cost: 30 solves of 126 states."""
    scenario = with_obsolescence_variance(rate)
    pairs = [(high, low) for low, high in combinations(scenario.arrivals.robot_numbers, 2)]
    return {pair: _costs(scenario, pair) for pair in pairs}


def figure4(at: Mapping[float, PairCosts]) -> tuple[Curve, ...]:
    """Robots 3 or 1, the variance of the obsolescence time varied; `at` holds `costs_at_variance` by rate."""
    curves = []
    for rate, costs in at.items():
        clock = with_obsolescence_variance(rate).obsolescence
        assert clock is not None
        curves.append(Curve(f"3 or 1, variance {clock.variance:.3g}", (3, 1), rate, clock.variance, costs[3, 1]))
    return tuple(curves)


def best_pair(scenario: Scenario) -> tuple[int, int]:
    """The two numbers of robots with the least cost at their best threshold."""
    landscape = Landscape.of(scenario)
    pairs = (item for item in landscape.optimum.policies if len(item.robots) == 2)
    high, low = min(pairs, key=lambda item: item.cost).robots
    return high, low


def _service_curve(rate: float, robots: tuple[int, int]) -> Curve:
    scenario = with_service_variance(rate)
    spread = scenario.service.variance
    label = f"{robots[0]} or {robots[1]}, variance {spread:.3g}"
    return Curve(label, robots, float(rate), spread, _costs(scenario, robots))


def _costs(scenario: Scenario, robots: tuple[int, int]) -> tuple[float, ...]:
    costs = []
    for threshold in range(scenario.capacity):
        cost = solve(scenario.replace(policy=ThresholdPolicy(robots, (threshold,)))).measures["cost"]
        assert isinstance(cost, float)
        costs.append(cost)
    return tuple(costs)
