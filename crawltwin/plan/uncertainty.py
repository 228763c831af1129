"""Uncertainty that reaches the decision: resample the trace, fit again, choose again.

For each resampled trace every candidate policy is evaluated in the model refitted to it. So it is known how often the
recommended policy is the best one, what it costs to use it where it is not (its regret), how far its cost may be off,
and whether the data can tell it from another policy at all. Candidates are the best policies of the fitted model; a
policy that is far from the best there has no part in the comparison, and the result says how many took part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from analytic import Optimum
from analytic.rewards import cost_of_rates, measures_of_rates
from analytic.tables import rates_of_tables, sorted_tables, table_of
from crawltwin import workers as crew
from crawltwin.model import ConvergenceError, InputError, Scenario
from crawltwin.model.checks import FloatArray
from crawltwin.plan.prepare import arrivals_of
from crawltwin.plan.settings import PlanSettings
from crawltwin.plan.sweep import short_policy
from fitting import FitResult
from fitting.refit import Resampler
from fitting.service import as_service

CANDIDATES = 150
"""Policies that are compared on every resampled trace."""
CONFIDENCE = 0.95
SAME = 0.01
"""Regret, relative to the cost, below which two policies may be taken as equally good."""

MEASURES = ("loss_probability", "obsolescence_probability", "starvation_probability", "mean_sojourn_served")


@dataclass(frozen=True)
class Spread:
    """A number over the resampled traces: its value in the fit, and the interval."""

    value: float
    low: float
    high: float

    def to_json(self) -> dict[str, float]:
        """Plain numbers."""
        return {"value": self.value, "low": self.low, "high": self.high, "confidence": CONFIDENCE}


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
    redraws, failed : int
        Resampled traces that were used, and those on which the fit or the chain failed.
    candidates : int
        Policies compared on each.
    share : float
        Of the resampled traces on which the recommended policy is the best.
    regret_mean, regret_high : float
        Mean and 95% quantile of what it costs above the best policy of each trace.
    cost : Spread
        Of the recommended policy.
    measures : mapping of Spread
        Of the recommended policy.
    rivals : tuple of Rival
        Those that are best somewhere, most often first.
    """

    redraws: int
    failed: int
    candidates: int
    share: float
    regret_mean: float
    regret_high: float
    cost: Spread
    measures: dict[str, Spread]
    rivals: tuple[Rival, ...]
    costs: FloatArray = field(repr=False)

    @property
    def cannot_tell(self) -> tuple[Rival, ...]:
        """Policies that the data cannot tell from the recommended one."""
        return tuple(rival for rival in self.rivals if not rival.told_apart)

    def in_words(self, policy: str) -> tuple[str, ...]:
        """What follows for the decision."""
        often = f"On {self.share:.0%}" if self.share < 1 else "On all"
        words = [f"{often} of {self.redraws} resampled traces `{policy}` is the best of {self.candidates} policies."]
        if self.share < 1:
            words.append(
                f"Over all of them, using it costs {self.regret_mean:.3g} more than the best policy of the trace on "
                f"average, and more than {self.regret_high:.3g} in one case of twenty; the cost itself is "
                f"{self.cost.value:.5g}."
            )
        if self.cannot_tell:
            names = ", ".join(f"`{rival.policy}`" for rival in self.cannot_tell[:4])
            many = f" and {len(self.cannot_tell) - 4} more" if len(self.cannot_tell) > 4 else ""
            words.append(
                f"**The data cannot tell `{policy}` from {names}{many}**: the difference may have either sign."
            )
            if self.regret_high <= SAME * abs(self.cost.value):
                words.append(
                    f"It hardly matters which of them is used: in 19 cases of 20 the choice costs at most "
                    f"{self.regret_high / abs(self.cost.value):.2%} more than the best one."
                )
        else:
            words.append(f"The data tell `{policy}` from every other policy that was compared.")
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


def evaluate(piece: Redraw) -> FloatArray | None:
    """Rates of every candidate in the model of one resampled trace; None where fit or chain failed."""
    rng = np.random.default_rng(piece.seed)
    try:
        process, sizes = piece.resampler.draw(rng)
        changes: dict[str, Any] = {"arrivals": arrivals_of(process, piece.settings)}
        if sizes is not None and piece.bytes_rate is not None:
            changes["service"] = as_service(sizes, piece.bytes_rate)
        return rates_of_tables(piece.scenario.replace(**changes), piece.tables)
    except (ConvergenceError, InputError):
        return None


def uncertainty(
    fit: FitResult,
    optimum: Optimum,
    settings: PlanSettings,
    bytes_rate: float | None,
    *,
    workers: int | None = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Uncertainty | None:
    """Resample, refit, choose again; None where fewer than ten resampled traces could be used.

    Cost: a few EM steps and `CANDIDATES` evaluations for each resampled trace: 0.1 to 1 s.
    """
    scenario, best = optimum.scenario, optimum.best
    tables = candidate_tables(optimum)
    children = np.random.SeedSequence(settings.seed, spawn_key=(11,)).spawn(settings.redraws)
    resampler = Resampler.of(fit)
    pieces = [Redraw(resampler, scenario, settings, bytes_rate, tables, child) for child in children]
    found: list[FloatArray] = []
    for done, rates in enumerate(crew.run(evaluate, pieces, workers=workers), start=1):
        if rates is not None and np.isfinite(rates).all():
            found.append(rates)
        if progress is not None:
            progress(done, len(pieces))
    if len(found) < 10:
        return None
    assert scenario.cost is not None
    stacked = np.stack(found)
    costs = cost_of_rates(stacked, scenario.cost)
    own = int(np.flatnonzero((tables == _table(best, scenario.capacity)).all(axis=1))[0])
    base_costs = dict(zip(map(tuple, optimum.tables.tolist()), optimum.costs.tolist(), strict=True))
    base = np.array([base_costs[row] for row in map(tuple, tables.tolist())])
    values = {name: np.asarray(value) for name, value in measures_of_rates(stacked[:, own]).items()}
    at = int(np.flatnonzero((optimum.tables == _table(best, scenario.capacity)).all(axis=1))[0])
    fitted = measures_of_rates(optimum.rates[at])
    regret = costs[:, own] - costs.min(axis=1)
    winners = costs.argmin(axis=1)
    # Of equal costs the recommended policy counts as the best: nothing is gained by leaving it.
    winners[regret <= 1e-12 * np.abs(costs[:, own])] = own
    return Uncertainty(
        redraws=len(found),
        failed=len(pieces) - len(found),
        candidates=len(tables),
        share=float(np.mean(winners == own)),
        regret_mean=float(regret.mean()),
        regret_high=float(np.quantile(regret, CONFIDENCE)),
        cost=_spread(costs[:, own], float(base[own])),
        measures={
            name: _spread(values[name], float(fitted[name])) for name in MEASURES if np.isfinite(values[name]).all()
        },
        rivals=_rivals(tables, costs, winners, own, base),
        costs=costs,
    )


def candidate_tables(optimum: Optimum, count: int = CANDIDATES) -> npt.NDArray[np.int64]:
    """The cheapest evaluated policies, and the best of every set of robots."""
    cheapest = optimum.tables[np.argsort(optimum.costs, kind="stable")[:count]]
    sets = np.array([_table(item, optimum.scenario.capacity) for item in optimum.policies], dtype=np.int64)
    return sorted_tables(np.vstack([cheapest, sets]))


def _table(item: Any, capacity: int) -> npt.NDArray[np.int64]:
    return np.array(table_of(item.robots, item.thresholds, capacity), dtype=np.int64)


def _rivals(
    tables: npt.NDArray[np.int64], costs: FloatArray, winners: npt.NDArray[np.int64], own: int, base: FloatArray
) -> tuple[Rival, ...]:
    shares = {int(index): float(np.mean(winners == index)) for index in np.unique(winners) if index != own}
    # The runner-up of the fit is always shown, be it never the best.
    runner_up = int(np.argsort(np.where(np.arange(base.size) == own, np.inf, base), kind="stable")[0])
    shares.setdefault(runner_up, 0.0)
    found = []
    for index in sorted(shares, key=lambda k: (-shares[k], base[k])):
        difference = _spread(costs[:, index] - costs[:, own], float(base[index] - base[own]))
        apart = difference.low > 0 or difference.high < 0
        found.append(Rival(short_table(tables[index].tolist()), shares[index], difference, apart))
    return tuple(found)


def short_table(table: list[int]) -> str:
    """A table that never rises, in the short form of a threshold policy."""
    robots = sorted(set(table), reverse=True)
    thresholds = [max(level for level, own in enumerate(table) if own >= r) for r in robots[:-1]]
    return short_policy({"robots": robots, "thresholds": thresholds}) or ""


def _spread(values: FloatArray, value: float) -> Spread:
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(values, (tail, 1 - tail))
    return Spread(value, float(low), float(high))
