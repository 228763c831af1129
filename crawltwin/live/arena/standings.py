"""A recorded crawl replayed under several rules with the same random numbers, and who is best by how much.

The k-th fetch takes as long as the k-th of the record, the j-th delivered page is indexed as long as the j-th of the
record and lives as long as the j-th drawn lifetime, whatever the rule. Each replication begins at another place of the
record. The differences of a rule's measures to ours are taken replication by replication; the intervals hold for all
rules and all measures at once (Bonferroni).
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crawltwin.live.arena.rules import AdditiveMultiplicative, Autoscaled, AutoThrottle, Fixed, Rule, Thresholds
from crawltwin.live.demo.fitted import FittedCrawl
from crawltwin.live.record import Float, Record
from crawltwin.model import CostWeights, Interval, ThresholdPolicy
from crawltwin.model.rates import Rates
from simulate.sample.estimates import standard_errors
from simulate.sample.intervals import student

REPLICATIONS = 20
SECONDS = 150.0
"""Length of each replication."""


SHOWN = (
    *("cost", "loss_probability", "obsolescence_probability", "mean_sojourn_served"),
    *("arrival_rate", "starvation_probability", "mean_active_robots"),
)
"""What the rules are compared by; the cost decides."""
WANTED = {"arrival_rate": 1}
"""More is better for these, less for all others."""


@dataclass(frozen=True)
class Standing:
    """One rule: its mean measures, and each less that of our policy, with intervals that hold for all at once."""

    name: str
    values: dict[str, float]
    differences: dict[str, Interval]

    @property
    def cost(self) -> float:
        """Its mean cost."""
        return self.values["cost"]

    @property
    def difference(self) -> Interval:
        """Its cost less that of our policy."""
        return self.differences["cost"]

    def word(self, measure: str = "cost") -> str:
        """Better than ours in a measure, worse, or not to be told apart."""
        found, sign = self.differences[measure], WANTED.get(measure, -1)
        if sign * found.low > 0 and sign * found.high > 0:
            return "better"
        return "worse" if sign * found.low < 0 and sign * found.high < 0 else "not told apart"

    @property
    def better_in(self) -> tuple[str, ...]:
        """The measures in which it beats our policy."""
        return tuple(measure for measure in SHOWN if self.word(measure) == "better")

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "rule": self.name,
            "cost": self.cost,
            "difference": self.difference.to_json(),
            "word": self.word(),
            "measures": self.values,
            "differences": {name: found.to_json() for name, found in self.differences.items()},
            "better_in": list(self.better_in),
        }


def contestants(fitted: FittedCrawl, policy: ThresholdPolicy) -> list[Callable[[], Rule]]:
    """Our policy first, then the others; their times are set in mean indexing times."""
    most, capacity, service = fitted.robots, fitted.capacity, fitted.service.mean
    return [
        lambda: Thresholds(policy),
        *(lambda robots=robots: Fixed(robots) for robots in range(most, 0, -1)),
        lambda: AutoThrottle(most, most / 2),
        lambda: AdditiveMultiplicative(most, capacity, 10 * service),
        lambda: Autoscaled(most, capacity, 20 * service),
    ]


def contest(
    record: Record,
    fitted: FittedCrawl,
    rules: Sequence[Callable[[], Rule]],
    weights: CostWeights,
    seed: int = 1,
    confidence: float = 0.95,
) -> list[Standing]:
    """The standing of each rule; the first one is ours."""
    seen = np.empty((REPLICATIONS, len(rules), len(SHOWN)))
    fetch = record.fetch[np.isfinite(record.fetch) & (record.fetch > 0)]
    service = record.service[np.isfinite(record.service)]
    for replication in range(REPLICATIONS):
        chance = np.random.default_rng([seed, replication])
        draws = Draws(
            np.roll(fetch, -int(chance.integers(fetch.size))),
            np.roll(service, -int(chance.integers(service.size))),
            chance.exponential(np.inf if fitted.lifetime is None else fitted.lifetime.mean, 100_000)
            if fitted.lifetime is not None
            else np.full(1, np.inf),
        )
        for place, rule in enumerate(rules):
            found = replay(rule(), draws, fitted.capacity, SECONDS).measures(weights)
            seen[replication, place] = [float(found[name]) for name in SHOWN]
    level = 1 - (1 - confidence) / max((len(rules) - 1) * len(SHOWN), 1)
    standings = []
    for place, rule in enumerate(rules):
        gaps = seen[:, place] - seen[:, 0]
        pairs = zip(gaps.mean(axis=0).tolist(), np.atleast_1d(standard_errors(gaps)).tolist(), strict=True)
        differences = [student(value, error, REPLICATIONS, level) for value, error in pairs]
        values = seen[:, place].mean(axis=0).tolist()
        standings.append(Standing(rule().name, *(dict(zip(SHOWN, row, strict=True)) for row in (values, differences))))
    return standings


@dataclass(frozen=True, eq=False)
class Draws:
    """Durations of fetches, of indexing, and lifetimes, each used in order and again from the beginning."""

    fetch: Float
    service: Float
    lifetime: Float


def replay(rule: Rule, draws: Draws, capacity: int, seconds: float) -> Rates:
    """One crawl of a rule, event by event; amounts over `seconds`, from empty."""
    queue: list[tuple[float, int, str, int]] = []
    waiting: OrderedDict[int, float] = OrderedDict()
    now = level_time = robots_time = fetch_time = idle = booked = stale_booked = last_start = 0.0
    flying = fetches = pages = lost = stale = served = count = 0
    busy = -1
    arrival: dict[int, float] = {}

    def plan(time: float, kind: str, number: int) -> None:
        nonlocal count
        heapq.heappush(queue, (time, count, kind, number))
        count += 1

    def begin(time: float) -> None:
        nonlocal flying, fetches, last_start, busy
        while flying < rule.robots:
            start = max(time, last_start + rule.spacing) if fetches else time
            last_start, flying = start, flying + 1
            plan(start + float(draws.fetch[fetches % draws.fetch.size]), "fetched", fetches)
            fetches += 1
        if busy < 0 and waiting:
            busy, _ = waiting.popitem(last=False)
            plan(time + float(draws.service[busy % draws.service.size]), "indexed", busy)

    begin(0.0)
    while queue and queue[0][0] < seconds:
        time, _, kind, number = heapq.heappop(queue)
        level = len(waiting) + (busy >= 0)
        if kind == "stale" and number not in waiting:
            continue
        level_time += level * (time - now)
        robots_time += rule.robots * (time - now)
        idle += (busy < 0) * (time - now)
        now = time
        if kind == "fetched":
            flying -= 1
            fetch_time += float(draws.fetch[number % draws.fetch.size])
            page, pages, full = pages, pages + 1, level >= capacity
            lost += full
            if not full:
                waiting[page] = arrival[page] = time
                plan(time + float(draws.lifetime[page % draws.lifetime.size]), "stale", page)
            rule.fetched(time, level + (not full), float(draws.fetch[number % draws.fetch.size]), full)
        elif kind == "indexed":
            busy, served, booked = -1, served + 1, booked + time - arrival.pop(number)
            rule.changed(time, level - 1)
        else:
            del waiting[number]
            stale, stale_booked = stale + 1, stale_booked + time - arrival.pop(number)
            rule.changed(time, level - 1)
        begin(time)
    return Rates(
        pages=pages,
        lost=lost,
        obsolete=stale,
        served=served,
        robots=fetch_time if rule.charges_fetches else robots_time,
        starvation=idle,
        level=level_time,
        sojourn_served=booked,
        sojourn_obsolete=stale_booked,
        decided=lost + stale + served,
        time=now,
    )
