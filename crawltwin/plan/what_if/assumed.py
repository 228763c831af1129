"""What is missing, asked for: the policy over the plausible range of each number that was assumed.

A plan rests on numbers that the operator did not give. Each is moved over the range that is plausible for any crawler,
and the policy is chosen again. Where the policy moves, the plan is provisional until the number is measured; where it
does not, the number need not be known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from analytic import optimize
from crawltwin.model import ConvergenceError, InputError, Scenario
from crawltwin.plan.choosing import choose_within
from crawltwin.plan.day.logged_crawl import AsLogged, as_logged
from crawltwin.plan.prepare import scenario_of
from crawltwin.plan.settings import PlanSettings
from crawltwin.plan.what_if.measuring import HOW_TO_MEASURE
from crawltwin.plan.what_if.sweeps import measures_of_best
from crawltwin.plan.wording import in_percent, in_time, listed
from crawltwin.work import workers as crew
from crawltwin.work.progress import ProgressCallback
from fitting import FitResult

LOADS = (0.1, 0.2, 0.4, 0.8, 1.2, 1.6)
"""Loads of the indexer with all robots on that are plausible."""
STALENESS = (10.0, 100.0, 1_000.0)
"""Mean times until stale in mean indexing times, beside never."""
CAPACITIES = (5, 10, 20, 40)
SAME_SHARE = 0.01
"""Difference of shares of lost or stale pages that does not matter."""
_FATES = {"loss_probability": "are lost", "obsolescence_probability": "go stale"}


@dataclass(frozen=True)
class AssumedPoint:
    """The policy at one value of an assumed number; None where it could not be found."""

    value: str
    policy: str | None
    measures: dict[str, float | None]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"value": self.value, "policy": self.policy, "measures": self.measures}


@dataclass(frozen=True)
class Assumption:
    """A number that was not given, and what it does to the policy.

    Parameters
    ----------
    name, option : str
        For people, and on the command line.
    value : str
        What was assumed.
    measure : str
        How it can be measured.
    points : tuple of AssumedPoint
    """

    name: str
    option: str
    value: str
    measure: str
    points: tuple[AssumedPoint, ...]

    @property
    def moves(self) -> bool:
        """Whether the policy depends on it."""
        return len({point.policy for point in self.points}) > 1

    @property
    def matters(self) -> bool:
        """Whether the policy depends on it, or how many pages are lost or stale."""
        return self.moves or any(high - low > SAME_SHARE for low, high in self._shares.values())

    @property
    def _shares(self) -> dict[str, tuple[float, float]]:
        """Least and largest share of lost and of stale pages over the range."""
        found = {}
        for name, words in _FATES.items():
            values = [value for point in self.points if (value := point.measures.get(name)) is not None]
            if values:
                found[words] = min(values), max(values)
        return found

    def in_words(self) -> str:
        """What is missing and what it does, as a clause."""
        span = f"from {self.points[0].value} to {self.points[-1].value}"
        if self.moves:
            return f"{self.name} is assumed ({self.value}), and the policy changes {span}: give {self.option}"
        moved = [
            f"between {in_percent(low)} and {in_percent(high)} of the pages {words}"
            for words, (low, high) in self._shares.items()
            if high - low > SAME_SHARE
        ]
        hang = f"the policy is the same {span}, but {listed(moved)}"
        return f"{self.name} is assumed ({self.value}): {hang} (give {self.option})"

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "name": self.name,
            "option": self.option,
            "assumed": self.value,
            "how_to_measure": self.measure,
            "moves_the_policy": self.moves,
            "points": [point.to_json() for point in self.points],
        }


def assumptions(
    fit: FitResult,
    settings: PlanSettings,
    *,
    workers: int | None = 1,
    progress: ProgressCallback | None = None,
) -> tuple[Assumption, ...]:
    """Every number that was not given, with the policy over its range.

    Cost: one optimisation for each of some fifteen points.
    """
    asked = _asked(fit, settings)
    points = [(scenario_of(fit, changed), changed) for _, _, own in asked for _, changed in own]
    pieces = [(as_logged(fit, scenario, changed), scenario, changed) for scenario, changed in points]
    answers = iter(list(crew.run(policy_at, pieces, workers=workers, progress=progress)))
    return tuple(
        Assumption(*words, value, measure, tuple(AssumedPoint(label, *next(answers)) for label, _ in own))
        for (words, value), measure, own in asked
    )


def policy_at(piece: tuple[AsLogged, Scenario, PlanSettings]) -> tuple[str | None, dict[str, float | None]]:
    """The policy of one point in its short form, with its measures."""
    today, scenario, settings = piece
    try:
        optimum = optimize(scenario)
        if settings.limits is not None:
            optimum, limited = choose_within(optimum, settings.limits, today.rates())
            if not limited.kept:
                return None, {}
        best = optimum.best
        measures = measures_of_best(optimum)
    except (InputError, ConvergenceError):
        return None, {}
    return best.policy.short, measures


_Asked = tuple[tuple[tuple[str, str], str], str, Sequence[tuple[str, PlanSettings]]]


def _asked(fit: FitResult, settings: PlanSettings) -> list[_Asked]:
    """What was not given: its name, option and value, how to measure it, and settings over its range."""
    found: list[_Asked] = []
    rate = scenario_of(fit, settings).arrivals.mode(settings.robots).page_rate
    service = fit.service(settings.processing_rate, settings.service_mean).mean
    if settings.processing_rate is None and settings.service_mean is None:
        means = [load / rate for load in LOADS]
        found.append(
            (
                (("the indexing time", "--service-mean"), in_time(service)),
                HOW_TO_MEASURE["service_mean"],
                [(in_time(mean), replace(settings, service_mean=mean)) for mean in means],
            )
        )
    if settings.obsolescence_mean is None and fit.obsolescence is None:
        means = [factor * service for factor in STALENESS]
        found.append(
            (
                (("the time until a page is stale", "--obsolescence-mean"), "never"),
                HOW_TO_MEASURE["obsolescence_mean"],
                [
                    *((in_time(mean), replace(settings, obsolescence_mean=mean)) for mean in means),
                    ("never", settings),
                ],
            )
        )
    if not settings.is_given("capacity"):
        found.append(
            (
                (("the capacity", "--capacity"), f"{settings.capacity} pages"),
                HOW_TO_MEASURE["capacity"],
                [(f"{capacity} pages", replace(settings, capacity=capacity)) for capacity in CAPACITIES],
            )
        )
    return found
