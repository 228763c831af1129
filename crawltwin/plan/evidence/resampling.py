"""Uncertainty that reaches the decision: resample the trace, fit again, choose again.

For each resampled trace every candidate policy is evaluated in the model refitted to it. So it is known how often the
recommended policy is the best one, what it costs to use it where it is not (its regret), how far its cost may be off,
and whether the data can tell it from another policy at all. Candidates are the best policies of the fitted model; a
policy that is far from the best there has no part in the comparison, and the result says how many took part. Where
limits decide instead of a cost, it is counted on how many resampled traces the recommended policy keeps them. Today's
crawl is evaluated on the same traces.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from analytic import Optimum
from analytic.policy.tables import sorted_tables, table_of
from crawltwin.model import ConvergenceError, CostWeights, InputError, LevelPolicy, Scenario
from crawltwin.model.checks import FloatArray
from crawltwin.model.interval import ends_of_draws
from crawltwin.model.measures import PROBABILITIES
from crawltwin.model.rates import RATES, Rates
from crawltwin.plan.choosing import aim_of, excess_of
from crawltwin.plan.day.logged_crawl import RobotsLogged, as_logged, crawl_of
from crawltwin.plan.day.parts import WHOLE_DAY, rates_over_day, redrawn
from crawltwin.plan.limits import Limits
from crawltwin.plan.prepare import arrivals_again, robot_model
from crawltwin.plan.settings import PlanSettings
from crawltwin.plan.wording import named
from crawltwin.work import workers as crew
from crawltwin.work.progress import ProgressCallback
from fitting import FitResult
from fitting.choose.refit import Resampler
from fitting.choose.service import as_service
from fitting.robots.robot_model import RobotModel
from fitting.season.pace import PacePart

if TYPE_CHECKING:
    from crawltwin.plan.day.schedule import DayPlan

CANDIDATES = 150
"""Policies that are compared on every resampled trace."""
CONFIDENCE = 0.95
SAME = 0.01
"""Regret, relative to the cost, below which two policies may be taken as equally good."""
MEASURES = (
    "loss_probability",
    "obsolescence_probability",
    "starvation_probability",
    "mean_sojourn_served",
    "mean_active_robots",
    "arrival_rate",
    "indexed_rate",
)
"""Measures that get an interval, and the pages indexed per unit of time."""


@dataclass(frozen=True)
class Spread:
    """A number over the resampled traces: its value in the fit, and the interval; NaN where none is known."""

    value: float
    low: float = math.nan
    high: float = math.nan

    @property
    def known(self) -> bool:
        """Whether there is an interval."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    def to_json(self) -> dict[str, float | None]:
        """Plain numbers."""
        low, high = (self.low, self.high) if self.known else (None, None)
        return {"value": self.value, "low": low, "high": high, "confidence": CONFIDENCE}


@dataclass(frozen=True)
class Rival:
    """Another policy beside the recommended one.

    Parameters
    ----------
    policy : str
        In its short form.
    share : float
        Of the resampled traces on which it is the best.
    difference : Spread
        Its cost minus that of the recommended policy.
    told_apart : bool
        Whether the interval of the difference excludes 0.
    """

    policy: str
    share: float
    difference: Spread
    told_apart: bool


@dataclass(frozen=True)
class Uncertainty:
    """What the scatter of the trace does to the decision.

    Parameters
    ----------
    redraws, failed, candidates : int
        Resampled traces that were used, those on which the fit or the chain failed, policies compared on each.
    share : float
        Of the resampled traces on which the recommended policy is the best; where limits decide: on which it keeps
        the limits on numbers of pages.
    regret_mean, regret_high : float
        Mean and 95% quantile of what it costs above the best policy of each trace.
    cost : Spread
        Of the recommended policy.
    measures, today : mapping of Spread
        Of the recommended policy, and of the crawl as it was logged.
    rivals : tuple of Rival
        Those that are best somewhere, most often first; none where limits decide.
    limits : Limits or None
        What decides instead of the cost.
    saving : Spread or None
        What a policy for each part of the day saves, relative to the single one.
    schedule : mapping of Spread
        Measures under a policy for each part of the day.
    page_rates : ndarray
        Pages delivered per unit of time on each trace, by the recommended single policy, today, and by a policy for
        each part of the day where there are such.
    """

    redraws: int
    failed: int
    candidates: int
    share: float
    regret_mean: float
    regret_high: float
    cost: Spread
    measures: Mapping[str, Spread]
    today: Mapping[str, Spread]
    rivals: tuple[Rival, ...]
    limits: Limits | None = None
    page_rates: FloatArray = field(repr=False, default_factory=lambda: np.zeros((0, 2)))
    costs: FloatArray = field(repr=False, default_factory=lambda: np.zeros((0, 0)))
    saving: Spread | None = None
    schedule: Mapping[str, Spread] = field(default_factory=dict)

    @property
    def cannot_tell(self) -> tuple[Rival, ...]:
        """Policies that the data cannot tell from the recommended one."""
        return tuple(rival for rival in self.rivals if not rival.told_apart)

    def in_words(self, policy: str) -> tuple[str, ...]:
        """What follows for the decision."""
        often = f"On {self.share:.0%}" if self.share < 1 else "On all"
        if self.limits is not None:
            return (f"{often} of {self.redraws} resampled traces it keeps the limits on numbers of pages.",)
        if self.candidates == 1:
            return ("There is one policy to choose, so the resampled traces do not bear on the choice.",)
        words = [f"{often} of {self.redraws} resampled traces `{policy}` is the best of {self.candidates} policies."]
        if self.share < 1:
            words.append(
                f"Over all of them, using it costs {self.regret_mean:.3g} more than the best policy of the trace on "
                f"average, and more than {self.regret_high:.3g} in one case of twenty; it costs {self.cost.value:.5g}."
            )
        if not self.cannot_tell:
            return (*words, f"The data tell `{policy}` from every other policy that was compared.")
        names = ", ".join(f"`{named(rival.policy)}`" for rival in self.cannot_tell[:4])
        many = f" and {len(self.cannot_tell) - 4} more" if len(self.cannot_tell) > 4 else ""
        words.append(f"**The data cannot tell** `{policy}` from {names}{many}: the difference may have either sign.")
        if self.regret_high <= SAME * abs(self.cost.value):
            words.append(
                "It hardly matters which of them is used: in 19 cases of 20 the choice costs at most "
                f"{self.regret_high / abs(self.cost.value):.2%} more than the best one."
            )
        return tuple(words)

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries and numbers."""
        return {
            "redraws": self.redraws,
            "failed": self.failed,
            "candidates": self.candidates,
            "best_share": self.share,
            "regret": {"mean": self.regret_mean, "high": self.regret_high},
            "cost": self.cost.to_json(),
            "measures": {name: spread.to_json() for name, spread in self.measures.items()},
            "today": {name: spread.to_json() for name, spread in self.today.items()},
            "rivals": [
                {
                    "policy": rival.policy,
                    "best_share": rival.share,
                    "difference": rival.difference.to_json(),
                    "told_apart": rival.told_apart,
                }
                for rival in self.rivals
            ],
        }


@dataclass(frozen=True, eq=False)
class Redraw:
    """One piece of work: a seed, and everything that the refit and the evaluation need."""

    resampler: Resampler
    scenario: Scenario
    settings: PlanSettings
    bytes_rate: float | None
    tables: npt.NDArray[np.int64]
    seed: np.random.SeedSequence
    robots: RobotModel | None = None
    parts: tuple[PacePart, ...] = (WHOLE_DAY,)
    schedule: npt.NDArray[np.int64] | None = None
    logged: RobotsLogged | None = None


def evaluate(piece: Redraw) -> FloatArray | None:
    """Rates over the day of every candidate, of a schedule, of today's crawl, on a resampled trace; None: it failed."""
    rng = np.random.default_rng(piece.seed)
    try:
        process, sizes = piece.resampler.draw(rng)
        logged = None if piece.logged is None else piece.logged.redrawn(rng)
        changes: dict[str, Any] = {"arrivals": arrivals_again(process, piece.robots, logged, piece.settings, rng)}
        if sizes is not None and piece.bytes_rate is not None:
            changes["service"] = as_service(sizes, piece.bytes_rate)
        scenario = piece.scenario.replace(**changes)
        parts = redrawn(piece.parts, rng)
        extra = [piece.tables[:0]] * len(parts) if piece.schedule is None else piece.schedule
        policies = [np.vstack([piece.tables, own]) for own in extra]
        today = crawl_of(process, logged, scenario, piece.settings, parts)
        return np.vstack([rates_over_day(scenario, policies, parts), today.rates()])
    except (ConvergenceError, InputError):
        return None


def uncertainty(
    fit: FitResult,
    optimum: Optimum,
    settings: PlanSettings,
    bytes_rate: float | None,
    *,
    day: DayPlan | None = None,
    workers: int | None = 1,
    progress: ProgressCallback | None = None,
) -> Uncertainty | None:
    """Resample, refit, choose again; None where fewer than ten resampled traces could be used.

    Where there is a plan by part of the `day`, `optimum` is that of the whole day.

    Cost: a few EM steps and `CANDIDATES` evaluations for each resampled trace: 0.1 to 1 s.
    """
    scenario = optimum.scenario
    own_table = _table(optimum.best, scenario.capacity)
    tables = candidate_tables(optimum)
    seeds = np.random.SeedSequence(settings.seed, spawn_key=(11,)).spawn(settings.redraws)
    again, model, logged = Resampler.of(fit), robot_model(fit, settings), RobotsLogged.of(fit, settings)
    parts, schedule = ((WHOLE_DAY,), None) if day is None else (day.parts, day.tables[:-1])
    pieces = [
        Redraw(again, scenario, settings, bytes_rate, tables, seed, model, parts, schedule, logged) for seed in seeds
    ]
    drawn = crew.run(evaluate, pieces, workers=workers, progress=progress)
    found = [rates for rates in drawn if rates is not None and np.isfinite(rates).all()]
    if len(found) < 10:
        return None
    assert scenario.cost is not None
    stacked = np.stack(found)
    own = int(np.flatnonzero((tables == own_table).all(axis=1))[0])
    costs = Rates.from_table(stacked[:, : len(tables)]).cost(scenario.cost)
    base_costs = dict(zip(map(tuple, optimum.tables.tolist()), optimum.costs.tolist(), strict=True))
    base = np.array([base_costs[row] for row in map(tuple, tables.tolist())])
    regret = costs[:, own] - costs.min(axis=1)
    winners = costs.argmin(axis=1)
    # Of equal costs the recommended policy counts as the best: nothing is gained by leaving it.
    winners[regret <= 1e-12 * np.abs(costs[:, own])] = own
    at = int(np.flatnonzero((optimum.tables == own_table).all(axis=1))[0])
    kept = (
        winners == own if settings.limits is None else excess_of(stacked[:, own], stacked[:, -1], settings.limits) <= 0
    )
    return Uncertainty(
        redraws=len(found),
        failed=len(pieces) - len(found),
        candidates=len(tables),
        share=float(np.mean(kept)),
        regret_mean=float(regret.mean()),
        regret_high=float(np.quantile(regret, CONFIDENCE, method="weibull")),
        cost=_spread(costs[:, own], float(base[own])),
        measures=_spreads(stacked[:, own], optimum.rates[at], settings.robots),
        today=_spreads(stacked[:, -1], as_logged(fit, scenario, settings, parts).rates()[0], settings.recorded),
        rivals=() if settings.limits is not None else rivals(tables, costs, winners, own, base),
        limits=settings.limits,
        page_rates=stacked[:, [own, -1] if day is None else [own, -1, -2], RATES.index("pages")],
        costs=costs,
        **({} if day is None else _schedule(day, stacked, own, scenario.cost, settings.limits)),
    )


def _schedule(day: DayPlan, stacked: FloatArray, own: int, cost: CostWeights, limits: Limits | None) -> dict[str, Any]:
    """The saving of the schedule against the single policy, and its measures."""
    single, schedule = (aim_of(stacked[:, at], cost, limits) for at in (own, -2))
    saving = 1 - schedule / np.where(single > 0, single, np.inf)
    return {
        "saving": _spread(saving, day.saving.value),
        "schedule": _spreads(stacked[:, -2], day.rates[0], day.tables.max()),
    }


def _spreads(stacked: FloatArray, fitted: FloatArray, most: float) -> dict[str, Spread]:
    """The measures of one policy over the resampled traces; `most` robots can run."""
    values = {name: np.asarray(value) for name, value in Rates.from_table(stacked).measures().items()}
    values["indexed_rate"] = stacked[..., RATES.index("served")]
    base = {**Rates.from_table(fitted).measures(), "indexed_rate": fitted[RATES.index("served")]}
    found = {name: _spread(values[name], float(base[name])) for name in MEASURES if np.isfinite(values[name]).all()}
    # Ends of few draws may lie beyond all draws, never beyond what is possible.
    bounds = {**dict.fromkeys(PROBABILITIES, 1.0), "mean_active_robots": most}
    return {name: replace(one, high=min(one.high, bounds.get(name, math.inf))) for name, one in found.items()}


def candidate_tables(optimum: Optimum, count: int = CANDIDATES) -> npt.NDArray[np.int64]:
    """The cheapest evaluated policies, and the best of every set of robots."""
    cheapest = optimum.tables[np.argsort(optimum.costs, kind="stable")[:count]]
    chosen = (*optimum.policies, optimum.best)
    sets = np.array([_table(item, optimum.scenario.capacity) for item in chosen], dtype=np.int64)
    return sorted_tables(np.vstack([cheapest, sets]))


def _table(item: Any, capacity: int) -> npt.NDArray[np.int64]:
    return np.array(table_of(item.robots, item.thresholds, capacity), dtype=np.int64)


def rivals(
    tables: npt.NDArray[np.int64], costs: FloatArray, winners: npt.NDArray[np.int64], own: int, base: FloatArray
) -> tuple[Rival, ...]:
    """Policies that are the best on some trace, most often first, and the runner-up of the fit."""
    shares = {int(index): float(np.mean(winners == index)) for index in np.unique(winners) if index != own}
    if base.size > 1:
        shares.setdefault(int(np.argmin(np.where(np.arange(base.size) == own, np.inf, base))), 0.0)
    found = []
    for index in sorted(shares, key=lambda k: (-shares[k], base[k])):
        difference = _spread(costs[:, index] - costs[:, own], float(base[index] - base[own]))
        short, apart = LevelPolicy(tables[index].tolist()).short, difference.low > 0 or difference.high < 0
        found.append(Rival(short, shares[index], difference, apart))
    return tuple(found)


def _spread(values: FloatArray, value: float) -> Spread:
    ends = (*ends_of_draws(values, CONFIDENCE), value)  # where all traces lie on one side, it reaches to the fit
    return Spread(value, min(ends), max(ends))
