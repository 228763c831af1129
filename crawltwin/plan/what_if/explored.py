"""What the page to explore shows: the measures and the backlog of every policy that was evaluated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import product

import numpy as np

from analytic import Optimum
from analytic.policy.banded_table import PolicyTables
from analytic.policy.tables import single_clock, table_of
from crawltwin.model import LevelPolicy, Scenario
from crawltwin.model.checks import FloatArray
from crawltwin.model.rates import RATES, Rates
from crawltwin.plan.day.parts import WHOLE_DAY, at_pace, over_day, rates_over_day
from crawltwin.plan.day.schedule import DayPlan
from crawltwin.plan.limits import Limits
from crawltwin.plan.settings import PlanSettings
from crawltwin.plan.wording import instruction

MOST = 6_000
"""Policies that are kept; the cheapest ones where more were evaluated."""
FEW = 300
"""The same where each is solved by itself."""
KEYS = ("loss_rate", "obsolete_rate", "lost", "stale", "response", "robots", "idle", "pages", "arrival_rate")
"""What is kept of each policy."""
_MEASURES = (
    "loss_probability",
    "obsolescence_probability",
    "mean_sojourn_served",
    "mean_active_robots",
    "starvation_probability",
    "mean_pages",
    "arrival_rate",
)
SPEEDS = (0.5, 0.7, 1.0, 1.4, 2.0)
"""Speeds of indexing and of becoming stale, times the present ones."""
FEW_SPEEDS = (0.5, 1.0, 2.0)
"""Those where there are many policies, so that the page stays small, or where each is solved by itself."""
MANY = 2_400
"""Policies above which there are few speeds."""
CRITERIA = ("lost", "stale", "response", "robots", "idle")
"""What a policy on the front must not be beaten in all at once."""


@dataclass(frozen=True)
class ExploredPolicy:
    """One policy.

    Parameters
    ----------
    name, words : str
        Its short form, and a sentence.
    table : tuple of int
        Robots by level.
    measures : tuple of float or None
        In the order of `KEYS`.
    levels : tuple of float or None
        Probabilities of each number of pages, where the shared recursion can give them.
    """

    name: str
    words: str
    table: tuple[int, ...]
    measures: tuple[float | None, ...]
    levels: tuple[float, ...] | None


@dataclass(frozen=True)
class World:
    """The same policies at other speeds, times the present ones; measures by policy and `KEYS`."""

    indexing: float
    staleness: float
    measures: tuple[tuple[float | None, ...], ...] = field(repr=False)


@dataclass(frozen=True)
class Explored:
    """All policies to choose among.

    Parameters
    ----------
    scenario : Scenario
    policies : tuple of ExploredPolicy
    plan : int
        Index of the plan's policy.
    evaluated : int
        Policies that were evaluated in all.
    method : str
        How they were evaluated.
    worlds : tuple of World
        A grid over the speeds of indexing and of becoming stale, without the present ones.
    limits : Limits or None
        What decided, where it was not the cost.
    fetches_per_robot : int
    day : str
        What a reader should know where the rate follows the time of day; empty where it does not.
    indexed_today : float or None
        Pages that are indexed per second today, where it is known.
    unheeded : str
        What decided the plan and is not on the page, as sentences; empty where there is nothing.
    by_part : bool
        Whether the plan recommends a policy for each part of the day; `plan` is then its best single policy.
    """

    scenario: Scenario
    policies: tuple[ExploredPolicy, ...] = field(repr=False)
    plan: int
    evaluated: int
    method: str
    worlds: tuple[World, ...] = ()
    limits: Limits | None = None
    fetches_per_robot: int = 1
    day: str = ""
    indexed_today: float | None = None
    unheeded: str = ""
    by_part: bool = False

    @property
    def weights(self) -> dict[str, float]:
        """Weights with which the page begins: those of the cost, or what the limits make small alone."""
        assert self.scenario.cost is not None
        weights = asdict(self.scenario.cost)
        if self.limits is None or self.limits.minimise == "cost":
            return weights
        return {name: 1.0 if name == self.limits.minimise else 0.0 for name in weights}

    @property
    def bounds(self) -> dict[str, float | None]:
        """Limits with which the page begins, by the names of `CRITERIA`; `indexed` is a share of today's pages."""
        if self.limits is None:
            return {}
        found = {"lost": self.limits.lose_at_most, "stale": self.limits.stale_at_most}
        return found | {"indexed": self.limits.index_at_least}


def explored_policies(
    optimum: Optimum,
    settings: PlanSettings | None = None,
    day: DayPlan | None = None,
    *,
    indexed_today: float | None = None,
    two_readings: bool = False,
) -> Explored:
    """Everything that the page needs; averages over the day where the rate follows it.

    `indexed_today` are the pages that are indexed per second today; with `two_readings` the plan's policy was chosen
    for both readings of a coarse clock.

    Cost: for each part of the day an evaluation of every policy at each speed, and one for the level distributions.
    """
    parts = (WHOLE_DAY,) if day is None else day.parts
    scenario, said = optimum.scenario, settings or PlanSettings()
    # Policies of robots that finish their fetch are solved one by one: fewer of them, without distributions of levels.
    plain = scenario.arrivals.kind != "fetching"
    own = np.array(table_of(optimum.best.robots, optimum.best.thresholds, scenario.capacity))
    # Limits may choose a policy that is far from the cheapest: it is always among those on the page.
    cheapest = np.argsort(optimum.costs, kind="stable")[: MOST if plain else FEW]
    chosen = np.union1d(cheapest, np.flatnonzero((optimum.tables == own).all(axis=1)))
    tables, rates = optimum.tables[chosen], optimum.rates[chosen]
    measured = _measured(rates)
    levels = None
    if plain and single_clock(scenario):
        by_part = [PolicyTables(at_pace(scenario, part.pace)).level_distributions(tables) for part in parts]
        levels = over_day(np.stack(by_part), parts)
    policies = [
        ExploredPolicy(
            LevelPolicy(row).short,
            instruction(LevelPolicy(row), scenario.capacity),
            tuple(row),
            measured[index],
            None if levels is None else tuple(levels[index].tolist()),
        )
        for index, row in enumerate(tables.tolist())
    ]
    at = int(np.flatnonzero((tables == own).all(axis=1))[0])
    worlds = tuple(
        World(*speeds, _measured(rates_over_day(changed, [tables] * len(parts), parts), digits=5))
        for speeds, changed in _other_worlds(scenario, SPEEDS if plain and len(tables) <= MANY else FEW_SPEEDS)
    )
    return Explored(
        scenario,
        tuple(policies),
        at,
        len(optimum.tables),
        optimum.method,
        worlds,
        said.limits,
        said.fetches_per_robot,
        "" if day is None else _day_words(day),
        indexed_today,
        _unheeded(said.limits, two_readings),
        day is not None and day.worth_it,
    )


def _unheeded(limits: Limits | None, two_readings: bool) -> str:
    """What decided the plan beside the weights and limits that can be moved."""
    words = []
    if limits is not None and limits.minimise != "cost":
        words.append(
            f"The plan asks for limits and as little as possible of one thing ({limits.minimise}), so its weight is 1 "
            "here, the other weights are 0, and the cost is not the cost of the report."
        )
    if limits is not None and limits.index_within is not None:
        alone = Limits(index_within=limits.index_within).in_words()
        words.append(f"The plan also had to {alone}, which is not checked here: the best policy may be another one.")
    if two_readings:
        words.append(
            "The plan's policy was chosen for both readings of a coarse clock; the likelier one is shown here."
        )
    return " ".join(words)


def _day_words(day: DayPlan) -> str:
    own = " The plan recommends a policy for each part: see the report." if day.worth_it else ""
    return (
        f"The pace of this crawl changes over the {day.season.name}: every number here is an average over its "
        f"{len(day.parts)} parts, with one policy for all of them.{own}"
    )


def _other_worlds(scenario: Scenario, speeds: tuple[float, ...]) -> Iterator[tuple[tuple[float, float], Scenario]]:
    """Scenarios over the grid of both speeds; staleness only where pages become stale at all."""
    law = scenario.obsolescence
    for one, other in product(speeds, (1.0,) if law is None else speeds):
        if (one, other) != (1.0, 1.0):
            stale = None if law is None else law.scaled(other)
            yield (one, other), scenario.replace(service=scenario.service.scaled(one), obsolescence=stale)


def _measured(rates: FloatArray, digits: int = 0) -> tuple[tuple[float | None, ...], ...]:
    """Measures by policy, in the order of `KEYS`; to so many digits where a page need not hold more."""
    measures = Rates.from_table(rates).measures()
    columns = np.column_stack(
        [rates[:, RATES.index("lost")], rates[:, RATES.index("obsolete")], *(measures[name] for name in _MEASURES)]
    )
    return tuple(
        tuple(None if not np.isfinite(value) else float(f"{value:.{digits}g}") if digits else value for value in row)
        for row in columns.tolist()
    )
