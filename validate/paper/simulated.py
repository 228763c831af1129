"""The main rows of each table simulated, so that the reproduction rests on two legs.

The intervals hold jointly: each has confidence 1 - 0.05/n for n rows, so that by Bonferroni all hold together with
95%. One solved cost outside its interval is therefore a reason to look for a fault.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from crawltwin.model import Scenario, ThresholdPolicy
from simulate import simulate
from validate.paper.base import (
    first_example,
    with_capacity,
    with_obsolescence_scaled,
    with_obsolescence_variance,
    with_service_scaled,
    with_service_variance,
)
from validate.paper.landscape import Landscape
from validate.paper.measured import from_A

PAGES, REPLICATIONS = 200_000, 40
"""Length and number of the runs of one row."""
FIRST_SEED = 2001


@dataclass(frozen=True)
class Row:
    """A row to simulate: where it stands, its system, and a fixed number of robots or the best policy."""

    where: str
    what: str
    build: Callable[[], Scenario]
    robots: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Simulated:
    """A solved cost beside its simulated interval."""

    where: str
    what: str
    policy: str
    solved: float
    value: float
    low: float
    high: float
    confidence: float
    seed: int

    @property
    def inside(self) -> bool:
        """Whether the solved cost lies in the interval."""
        return self.low <= self.solved <= self.high


def rows() -> tuple[Row, ...]:
    """The main rows: fixed numbers and the best policy of Table 1, corners and the middle of the others."""
    sets = ((1,), (2,), (3,), (4,), (3, 1), (4, 2, 1), (4, 3, 1))
    found = [Row("Table 1", " or ".join(map(str, robots)), first_example, robots) for robots in sets]
    found += [Row("Table 2", f"K = {K}", partial(with_capacity, K)) for K in (1, 3, 10, 30)]
    found += [Row("Table 2", f"K = {K}, C_1", partial(with_capacity, K), (1,)) for K in (8, 9)]
    found += [Row("Table 3", f"s = {s:g}", partial(with_service_scaled, s)) for s in (0.1, 3.0, 9.0, 15.0)]
    found += [Row("Table 4", f"s = {s:g}", partial(with_obsolescence_scaled, s)) for s in (0.01, 10.0, 100.0)]
    found += [Row("Table 5", "4", from_A().scenario, (4,)), Row("Table 5", "1,4", from_A().scenario, (4, 1))]
    found += [Row("Figure 3", f"first rate {a:g}", partial(with_service_variance, a)) for a in (3.0, 9.0)]
    found += [
        Row("Figure 4", f"first rate {a:g}", partial(with_obsolescence_variance, a)) for a in (0.5, 1.0, 3.0, 7.0)
    ]
    return tuple(found)


def judge(index: int) -> Simulated:
    """Simulate one row. Cost: a few seconds, 8 million pages."""
    every = rows()
    row, seed = every[index], FIRST_SEED + index
    landscape = Landscape.of(row.build())
    best = landscape.best if row.robots is None else landscape.best_of(row.robots)
    scenario = landscape.scenario.replace(policy=ThresholdPolicy(best.robots, best.thresholds))
    confidence = 1 - 0.05 / len(every)
    result = simulate(
        scenario, pages=PAGES, replications=REPLICATIONS, seed=seed, confidence=confidence, workers=1
    ).measures["cost"]
    return Simulated(
        row.where, row.what, best.words, best.cost, result.value, result.low, result.high, confidence, seed
    )
