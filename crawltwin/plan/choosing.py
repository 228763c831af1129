"""The choice under limits.

Of all evaluated policies those that keep the limits are ranked by what is to be small; equal ones by the number of
different numbers of robots. The share of pages that are indexed in time needs the law of the time in the system, one
solution per policy: it is asked of the ranked policies one after the other until one keeps it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from analytic import Optimum, solve
from analytic.policy.optimum import PolicyCost
from analytic.policy.tables import as_thresholds, weights_of
from crawltwin.model import CostWeights, Policy, Scenario, ThresholdPolicy
from crawltwin.model.checks import FloatArray
from crawltwin.model.rates import Rates
from crawltwin.plan.limits import AIM_WORDS, IndexWithin, Limits
from crawltwin.plan.wording import listed
from crawltwin.work.progress import ProgressCallback

AIM_MEASURES = {
    "robots": "mean_active_robots",
    "loss": "loss_probability",
    "obsolescence": "obsolescence_probability",
    "response": "mean_sojourn_served",
    "starvation": "starvation_probability",
}
"""The measure of each aim; the cost has several."""


@dataclass(frozen=True)
class Limited:
    """The choice under limits.

    Parameters
    ----------
    limits : Limits
    kept : bool
        Whether the chosen policy keeps all of them; else it is the one that comes nearest.
    compared, keeping : int
        Policies that were compared, and those that keep the limits on numbers of pages.
    in_time : float or None
        Share of the indexed pages within the time of `index_within`, under the chosen policy.
    """

    limits: Limits
    kept: bool
    compared: int
    keeping: int
    in_time: float | None

    def in_words(self) -> str:
        """What was compared, as a sentence."""
        among = f"Policies compared: {self.compared:,}; {self.keeping:,} of them keep the limits on numbers of pages."
        if not self.kept:
            return f"{among} No policy keeps all limits ({self.limits.in_words()}): this one comes nearest."
        return f"{among} Of those that keep all limits this one has the least of: {AIM_WORDS[self.limits.minimise]}."

    def objection(self, measures: Mapping[str, Any], today: Mapping[str, Any], where: str = "") -> str:
        """What is wrong where no policy keeps the limits, with what the nearest one does, as a clause."""
        broken = listed(self.limits.broken(measures, today, self.in_time))
        nearest = f", and the nearest one {broken}" if broken else ""
        return f"no policy keeps the limits{where} ({self.limits.in_words()}){nearest}"

    def to_json(self) -> dict[str, Any]:
        """Plain numbers."""
        return {
            **self.limits.to_json(),
            "kept": self.kept,
            "compared": self.compared,
            "keeping_shares": self.keeping,
            "in_time": self.in_time,
        }


def aim_of(rates: FloatArray, cost: CostWeights, limits: Limits | None) -> FloatArray:
    """What is made small, for each row of rates: the cost, or what the limits name."""
    every = Rates.from_table(rates)
    minimised = "cost" if limits is None else limits.minimise
    return every.cost(cost) if minimised == "cost" else every.value(AIM_MEASURES[minimised])


def excess_of(rates: FloatArray, today: FloatArray, limits: Limits) -> FloatArray:
    """How far each policy exceeds the limits on numbers of pages, relative to them; at most 0 where they are kept.

    `today` are the rates of the crawl as it was logged, of a shape that broadcasts.
    """
    every = Rates.from_table(rates)
    found = [np.full(rates.shape[:-1], -1.0)]
    for name, bound in (("loss", limits.lose_at_most), ("obsolescence", limits.stale_at_most)):
        if bound is not None:
            # A limit of nothing at all is nearly kept by one page in a thousand.
            found.append((every.value(AIM_MEASURES[name]) - bound) / max(bound, 1e-3))
    if limits.index_at_least is not None:
        found.append(limits.index_at_least - every.served / Rates.from_table(today).served)
    return np.asarray(np.max(found, axis=0))


def share_in_time(scenario: Scenario, within: IndexWithin) -> float:
    """Share of the indexed pages that spend at most the time in the system, under the scenario's policy."""
    late = solve(scenario).sojourn.survival(within.seconds, "served")
    return 1.0 if late is None else 1.0 - float(np.asarray(late))


def with_policy(optimum: Optimum, at: int) -> Optimum:
    """The optimum with another of its evaluated policies in place of the cheapest one."""
    robots, thresholds = as_thresholds(optimum.tables[at].tolist())
    best = PolicyCost(tuple(robots), tuple(thresholds), float(optimum.costs[at]), proof=optimum.method)
    return replace(optimum, best=best)


def choose_within(
    optimum: Optimum,
    limits: Limits,
    today: FloatArray,
    progress: ProgressCallback | None = None,
    *,
    beside: Sequence[tuple[Optimum, FloatArray]] = (),
    busiest: Scenario | None = None,
) -> tuple[Optimum, Limited]:
    """The optimum with the policy that keeps the limits in place of the cheapest one.

    `today` are the rates of the crawl as it was logged. `beside` are other models of the same policies with their
    rates of today: the limits must be kept in all of them, and the largest of their aims is made small. `busiest` is
    the crawler at the time of day at which pages must be in time, where that is not the scenario of the optimum. Cost:
    with `index_within` one solution for each policy that is tried, most often a few.
    """
    every = [(optimum, today), *beside]
    costs = np.max([one.costs for one, _ in every], axis=0)
    aim = np.max([aim_of(one.rates, weights_of(one.scenario, "choose"), limits) for one, _ in every], axis=0)
    excess = np.max([excess_of(one.rates, now, limits) for one, now in every], axis=0)
    numbers = np.array([len(set(row)) for row in optimum.tables.tolist()])
    # Of equal aims (to nine digits) the policy with the fewest numbers of robots, then the cheapest.
    order = np.lexsort((costs, numbers, np.array([float(f"{value:.9g}") for value in aim.tolist()])))
    keeping = [int(at) for at in order if excess[at] <= 0 and np.isfinite(aim[at])]
    scenarios = [busiest] if busiest is not None else [one.scenario for one, _ in every]
    at, share, kept = _first_in_time(optimum.tables, scenarios, limits, keeping, progress)
    if at is None:
        at = int(np.lexsort((aim, np.maximum(excess, 0.0)))[0])
    changed = with_policy(optimum, at)
    if share is None and limits.index_within is not None:
        share = _least_share(scenarios, changed.best.policy, limits.index_within)
    return changed, Limited(limits, kept, len(optimum.tables), len(keeping), share)


def _least_share(scenarios: Iterable[Scenario], policy: Policy, within: IndexWithin) -> float:
    return min(share_in_time(scenario.replace(policy=policy), within) for scenario in scenarios)


def _first_in_time(
    tables: npt.NDArray[np.int64],
    scenarios: Sequence[Scenario],
    limits: Limits,
    keeping: Iterable[int],
    progress: ProgressCallback | None,
) -> tuple[int | None, float | None, bool]:
    """The first policy that indexes in time; else the one with the largest share in time."""
    ranked, within = list(keeping), limits.index_within
    if within is None:
        return (ranked[0], None, True) if ranked else (None, None, False)
    best: tuple[int | None, float | None] = (None, None)
    for done, at in enumerate(ranked, start=1):
        share = _least_share(scenarios, ThresholdPolicy(*as_thresholds(tables[at].tolist())), within)
        if share >= within.share:
            return at, share, True
        if best[1] is None or share > best[1]:
            best = at, share
        if progress is not None:
            progress(done, len(ranked))
    return *best, False
