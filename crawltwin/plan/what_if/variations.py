"""The questions that follow every plan: another buffer, indexer, number of robots, staleness, other weights."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from itertools import product

from analytic import Optimum
from analytic.policy.search import best_of_sets
from crawltwin.model import CostWeights, Scenario
from crawltwin.model.rates import Rates
from crawltwin.plan.what_if.axes import Axis
from crawltwin.plan.what_if.sweeps import Sweep, measures_of_best, sweep
from crawltwin.work.progress import ProgressCallback

SPEEDS = (0.5, 0.7, 1.0, 1.4, 2.0)
STALENESS = (0.25, 0.5, 1.0, 2.0, 4.0)
WEIGHTS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)


def axes_of(scenario: Scenario) -> list[list[Axis]]:
    """Sweeps that need new solutions: capacity; robots; speed by staleness."""
    K, law = scenario.capacity, scenario.obsolescence
    capacities = sorted({max(1, round(K * share)) for share in (0.25, 0.5, 0.75, 1.0, 1.5)})
    found = [[Axis("capacity", tuple(capacities))]]
    most = max(scenario.arrivals.robot_numbers)
    if most > 1:
        found.append([Axis("robots", tuple(range(1, most + 1)))])
    speed = Axis("service.scale", SPEEDS)
    if law is None:
        found.append([speed])
    else:
        found.append([speed, Axis("obsolescence.mean", tuple(law.mean * share for share in STALENESS))])
    return found


def what_if(optimum: Optimum, workers: int | None = 1, progress: ProgressCallback | None = None) -> tuple[Sweep, ...]:
    """All sweeps of a plan. Cost: one `optimize` for each of some 35 points; the weights need none."""
    scenario = optimum.scenario
    grids = axes_of(scenario)
    points = [math.prod(len(axis.values) for axis in axes) for axes in grids]

    def told(before: int) -> ProgressCallback:
        return lambda done, _: None if progress is None else progress(before + done, sum(points))

    found = [sweep(scenario, axes, workers=workers, progress=told(sum(points[:k]))) for k, axes in enumerate(grids)]
    weights = weight_axes(scenario)
    return (*found, weight_sweep(optimum, weights)) if weights else tuple(found)


def weight_axes(scenario: Scenario) -> list[Axis]:
    """Two weights of the cost against one another, around their present values; empty where fewer are set."""
    cost = scenario.cost
    assert cost is not None
    heavy = [field.name for field in fields(CostWeights) if getattr(cost, field.name) > 0]
    pair = [name for name in ("loss", "starvation", "response", "robots", "obsolescence") if name in heavy][:2]
    if len(pair) < 2:
        return []
    return [Axis(f"cost.{name}", tuple(getattr(cost, name) * share for share in WEIGHTS)) for name in pair]


def weight_sweep(optimum: Optimum, axes: list[Axis]) -> Sweep:
    """Other weights choose among the policies that were evaluated already: nothing is solved again."""
    rows = []
    robots = tuple(sorted(optimum.scenario.arrivals.robot_numbers))
    keys = list(map(tuple, optimum.tables.tolist()))
    for values in product(*[axis.values for axis in axes]):
        changed = optimum.scenario
        for axis, value in zip(axes, values, strict=True):
            changed = axis.change(changed, value)
        assert changed.cost is not None
        costs = Rates.from_table(optimum.rates).cost(changed.cost)
        sets = best_of_sets(robots, dict(zip(keys, costs.tolist(), strict=True)))
        # Of costs that are equal to seven digits the policy with the fewest numbers of robots, as everywhere.
        best = min(sets.values(), key=lambda item: (float(f"{item.cost:.7g}"), len(item.robots)))
        point = replace(optimum, scenario=changed, best=best, policies=tuple(sets.values()))
        rows.append(
            {
                "point": dict(zip((axis.name for axis in axes), values, strict=True)),
                "best": {"robots": list(best.robots), "thresholds": list(best.thresholds), "cost": best.cost},
                "fixed": {str(number): sets[(number,)].cost for number in robots if (number,) in sets},
                "own": None,
                "measures": {**measures_of_best(point), "cost": best.cost},
                "proof": optimum.method,
                "error": "",
            }
        )
    return Sweep(optimum.scenario, tuple(axes), tuple(rows))


def present(scenario: Scenario, name: str) -> float:
    """The value of a varied quantity in the scenario as it is."""
    if name == "capacity":
        return float(scenario.capacity)
    if name == "robots":
        return float(max(scenario.arrivals.robot_numbers))
    if name == "obsolescence.mean":
        assert scenario.obsolescence is not None
        return scenario.obsolescence.mean
    if name.startswith("cost."):
        return float(getattr(scenario.cost, name.removeprefix("cost.")))
    return 1.0
