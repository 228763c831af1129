"""Parts of the day: the crawler in each of them, and what a policy does over all of them.

The stream of a part is that of the fit with its rates times the pace of the part. A part is taken as stationary by
itself; `crawltwin.plan.day.followed_day` checks that. Rates over the day are those of the parts, weighted with their
shares of the running time; measures and the cost are quotients of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np
import numpy.typing as npt

from analytic import Optimum, PolicyCost, Solution, optimize, solve
from analytic.policy.memory.evaluator import rates_of_levels
from analytic.policy.optimum import Proof
from analytic.policy.tables import as_thresholds, sorted_tables, thresholds_of
from crawltwin.model import Scenario
from crawltwin.model.checks import FloatArray
from crawltwin.model.rates import Rates
from fitting import FitResult
from fitting.season.pace import PacePart
from fitting.season.season import Season

Tables = npt.NDArray[np.int64]
WHOLE_DAY = PacePart(0.0, 0.0, 1.0, 0.0, 1.0)
"""One pace always."""


def parts_of(fit: FitResult) -> tuple[PacePart, ...]:
    """The parts of the day in which the crawler ran, in order; none where the rate does not follow the time of day."""
    return () if fit.season is None else running_parts(fit.season)


def running_parts(season: Season) -> tuple[PacePart, ...]:
    """The parts of a period in which the crawler ran."""
    return () if season.pace is None else tuple(part for part in season.pace.parts if part.share > 0)


def at_pace(scenario: Scenario, pace: float) -> Scenario:
    """The scenario with the rates of its arrivals times the pace."""
    return scenario if pace == 1 else scenario.replace(arrivals=scenario.arrivals.scaled(pace))


def shares(parts: Sequence[PacePart]) -> FloatArray:
    """Share of the running time of each part."""
    return np.array([part.share for part in parts])


def rates_by_part(scenario: Scenario, tables: Sequence[Tables], parts: Sequence[PacePart]) -> FloatArray:
    """Rates of the tables of each part, as many in every one: parts, tables, rates."""
    both = zip(tables, parts, strict=True)
    return np.stack([rates_of_levels(at_pace(scenario, part.pace), own) for own, part in both])


def over_day(rates: FloatArray, parts: Sequence[PacePart]) -> FloatArray:
    """Averages over the day of rates by part (first axis)."""
    return np.tensordot(shares(parts), rates, axes=1)


def rates_over_day(scenario: Scenario, tables: Sequence[Tables], parts: Sequence[PacePart]) -> FloatArray:
    """Rates of the tables of each part, averaged over the day."""
    return over_day(rates_by_part(scenario, tables, parts), parts)


def redrawn(parts: tuple[PacePart, ...], rng: np.random.Generator) -> tuple[PacePart, ...]:
    """The parts with paces drawn around those of the fit; their mean over the day stays."""
    if len(parts) == 1:
        return parts
    weight, pace, error = np.array([(part.share, part.pace, part.error) for part in parts]).T
    drawn = pace * np.exp(error * rng.standard_normal(len(parts)))
    drawn *= (weight @ pace) / (weight @ drawn)
    return tuple(replace(part, pace=float(own)) for part, own in zip(parts, drawn, strict=True))


def day_optimum(optimum: Optimum, parts: Sequence[PacePart]) -> tuple[Optimum, FloatArray]:
    """The best single policy for the whole day, and the rates of every policy by part.

    The policies are those that were looked at for the mean pace or for any part. Cost: an optimisation for each part.
    """
    scenario = optimum.scenario
    paces = [at_pace(scenario, part.pace) for part in parts]
    tables = sorted_tables(np.vstack([optimum.tables, *(optimize(one).tables for one in paces)]))
    rates = rates_by_part(scenario, [tables] * len(parts), parts)
    mean = replace(optimum, tables=tables, rates=over_day(rates, parts))
    costs = mean.costs
    proof: Proof = "enumerated" if optimum.method == "enumerated" else "searched"
    found = []
    for item in optimum.policies:
        own = np.flatnonzero(
            np.isin(tables, item.robots).all(axis=1)
            & (tables[:, 0] == item.robots[0])
            & (tables[:, -1] == item.robots[-1])
        )
        at = own[np.argmin(costs[own])]
        thresholds = thresholds_of(tables[at].tolist(), item.robots)
        found.append(PolicyCost(item.robots, thresholds, float(costs[at]), proof))
    at = int(np.argmin(costs))
    best = PolicyCost(*as_thresholds(tables[at].tolist()), float(costs[at]), proof)
    return replace(mean, best=best, policies=tuple(found), method=proof), rates


def day_solution(every: Sequence[Scenario], parts: Sequence[PacePart]) -> Solution:
    """Measures over the day of a scenario for each part; all else is that of the part with the largest pace."""
    solutions = [solve(scenario) for scenario in every]
    weights = shares(parts)
    names = [
        one.name for one in fields(Rates) if getattr(solutions[0].rates, one.name) is not None and one.name != "time"
    ]
    mean = Rates(**{name: weights @ np.array([getattr(one.rates, name) for one in solutions]) for name in names})
    measures = {
        name: float(value) if np.isfinite(value) else None for name, value in mean.measures(every[0].cost).items()
    }
    levels = sum(
        share * np.array(one.measures["level_distribution"]) for share, one in zip(weights, solutions, strict=True)
    )
    busiest = solutions[busiest_of(parts)]
    own = {name: measures.get(name, value) for name, value in busiest.measures.items()}
    return replace(busiest, measures={**own, "level_distribution": np.asarray(levels).tolist()})


def busiest_of(parts: Sequence[PacePart]) -> int:
    """Number of the part with the largest pace."""
    return int(np.argmax([part.pace for part in parts]))
