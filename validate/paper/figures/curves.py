"""The numbers behind Figures 1 to 4: cost over the threshold, policy by policy and variance by variance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from crawltwin.model import Scenario
from validate.paper.judging.landscape import Landscape
from validate.paper.printed.source import paper
from validate.paper.printed.systems import first_example, with_obsolescence_variance, with_service_variance


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
    landscape = Landscape.of(first_example())
    pairs = combinations(first_example().arrivals.robot_numbers, 2)
    return tuple(
        Curve(f"{high} or {low}", (high, low), 0.0, 0.0, _costs(landscape, (high, low))) for low, high in pairs
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
    """Every pair of robots at one variance of the obsolescence time. Cost: about a second."""
    landscape = Landscape.of(with_obsolescence_variance(rate))
    pairs = [(high, low) for low, high in combinations(landscape.scenario.arrivals.robot_numbers, 2)]
    return {pair: _costs(landscape, pair) for pair in pairs}


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
    landscape = Landscape.of(with_service_variance(rate))
    spread = landscape.scenario.service.variance
    label = f"{robots[0]} or {robots[1]}, variance {spread:.3g}"
    return Curve(label, robots, float(rate), spread, _costs(landscape, robots))


def _costs(landscape: Landscape, robots: tuple[int, int]) -> tuple[float, ...]:
    return tuple(landscape.cost(robots, (threshold,)) for threshold in range(landscape.scenario.capacity))
