"""The main rows of each table cross-checked, so that the reproduction rests on two legs.

Each row goes through the validation room: simulated for as long as the chain says is needed, then judged equivalent,
different or inconclusive at a margin of 1% with 99.9% confidence, the cost and every term of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from crawltwin.model import Scenario, ThresholdPolicy
from validate.cross_check import crosscheck
from validate.paper.judging.landscape import Landscape
from validate.paper.printed.systems import (
    first_example,
    with_capacity,
    with_obsolescence_scaled,
    with_obsolescence_variance,
    with_service_scaled,
    with_service_variance,
)
from validate.paper.tables.measured import from_A
from validate.plan import ValidationPlan

MARGIN, CONFIDENCE = 0.01, 0.999
"""What counts as the same, relative; and the confidence of each verdict."""
MEASURES = (
    "arrival_rate",
    "loss_probability",
    "obsolescence_probability",
    "starvation_probability",
    "mean_active_robots",
    "mean_sojourn_served",
    "cost",
)
"""The cost and the terms it is made of."""
FIRST_SEED = 2001


@dataclass(frozen=True)
class MainRow:
    """A row to simulate: where it stands, its system, and a fixed number of robots or the best policy."""

    where: str
    what: str
    build: Callable[[], Scenario]
    robots: tuple[int, ...] | None = None


@dataclass(frozen=True)
class SimulatedRow:
    """A solved cost beside its simulated interval, and the verdict on the cost and all its terms.

    `low` and `high` are one-sided bounds of the simulated cost; `verdict` is that of the validation room: equivalent,
    different or inconclusive, for the worst of the measures.
    """

    where: str
    what: str
    policy: str
    solved: float
    value: float
    low: float
    high: float
    verdict: str
    pages: int
    seed: int


_FIGURE_3 = ((3.0, (3, 1)), (9.0, (4, 1)), (9.0, (4, 3, 1)))


def main_rows() -> tuple[MainRow, ...]:
    """The main rows: fixed numbers and the best policy of Table 1, corners and the middle of the others."""
    sets = ((1,), (2,), (3,), (4,), (3, 1), (4, 2, 1), (4, 3, 1))
    found = [MainRow("Table 1", " or ".join(map(str, robots)), first_example, robots) for robots in sets]
    found += [MainRow("Table 2", f"K = {K}", partial(with_capacity, K)) for K in (1, 3, 10, 30)]
    found += [MainRow("Table 2", f"K = {K}, C_1", partial(with_capacity, K), (1,)) for K in (8, 9)]
    found += [MainRow("Table 3", f"s = {s:g}", partial(with_service_scaled, s)) for s in (0.1, 3.0, 9.0, 15.0)]
    found += [MainRow("Table 4", f"s = {s:g}", partial(with_obsolescence_scaled, s)) for s in (0.01, 10.0, 100.0)]
    found += [MainRow("Table 5", "4", from_A().scenario, (4,)), MainRow("Table 5", "1,4", from_A().scenario, (4, 1))]
    found += [
        MainRow("Figure 3", f"first rate {a:g}, robots {','.join(map(str, r))}", partial(with_service_variance, a), r)
        for a, r in _FIGURE_3
    ]
    found += [
        MainRow("Figure 4", f"first rate {a:g}", partial(with_obsolescence_variance, a)) for a in (0.5, 1.0, 3.0, 7.0)
    ]
    return tuple(found)


def simulate_row(index: int) -> SimulatedRow:
    """Cross-check one row. Cost: some seconds, a few million pages, planned by the chain itself."""
    row, seed = main_rows()[index], FIRST_SEED + index
    landscape = Landscape.of(row.build())
    best = landscape.best if row.robots is None else landscape.best_of(row.robots)
    scenario = landscape.scenario.replace(policy=ThresholdPolicy(best.robots, best.thresholds))
    plan = ValidationPlan(margin=MARGIN, confidence=CONFIDENCE, seed=seed, measures=MEASURES)
    result = crosscheck(scenario, plan, approach=False)
    cost = next(item for item in result.verdicts if item.comparison.measure == "cost")
    simulated = cost.comparison.simulated
    return SimulatedRow(
        row.where,
        row.what,
        best.policy.phrase,
        best.cost,
        simulated,
        cost.low,
        cost.high,
        result.verdict,
        result.pages,
        seed,
    )
