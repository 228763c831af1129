"""The paper's systems, built from the printed data after their repair, and what its tables vary in them."""

from __future__ import annotations

from functools import cache
from typing import Any

from crawltwin.model import BMAP, CostWeights, ModeMatrices, PhaseType, Scenario, hyperexponential
from validate.paper.printed.matrices import repaired
from validate.paper.printed.source import paper


@cache
def first_example() -> Scenario:
    """Section 7's example, with the one repair of its matrices that makes them generators."""
    given: dict[str, Any] = paper()["example"]
    return Scenario(
        title="first example of section 7",
        capacity=given["capacity"],
        arrivals=ModeMatrices({item["robots"]: BMAP(repaired(item["robots"])) for item in paper()["matrices"]}),
        service=PhaseType(**given["service"]),
        obsolescence=PhaseType(**given["obsolescence"]),
        cost=CostWeights(**given["cost"]),
    )


def with_capacity(capacity: int) -> Scenario:
    """A row of Table 2."""
    return first_example().replace(capacity=capacity, title=f"first example, K = {capacity}")


def with_service_scaled(factor: float) -> Scenario:
    """A row of Table 3: S multiplied by s."""
    faster = first_example().service.scaled(factor)
    return first_example().replace(service=faster, title=f"first example, service rates times {factor:g}")


def with_obsolescence_scaled(factor: float) -> Scenario:
    """A row of Table 4: Gamma multiplied by s."""
    clock = first_example().obsolescence
    assert clock is not None
    faster = clock.scaled(factor)
    return first_example().replace(obsolescence=faster, title=f"first example, obsolescence rates times {factor:g}")


def two_branches(first_rate: float, mean: float) -> PhaseType:
    """Hyperexponential with the weights (0.9, 0.1), a given first rate and mean (before Figures 2 and 4)."""
    p, q = paper()["variances"]["weights"]
    return hyperexponential([p, q], [first_rate, q * first_rate / (mean * first_rate - p)])


def with_service_variance(first_rate: float) -> Scenario:
    """A curve of Figures 2 and 3."""
    service = two_branches(first_rate, first_example().service.mean)
    return first_example().replace(service=service, title=f"first example, service of first rate {first_rate:g}")


def with_obsolescence_variance(first_rate: float) -> Scenario:
    """A curve of Figure 4."""
    clock = first_example().obsolescence
    assert clock is not None
    slower = two_branches(first_rate, clock.mean)
    return first_example().replace(
        obsolescence=slower, title=f"first example, obsolescence of first rate {first_rate:g}"
    )
