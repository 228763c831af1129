"""Do the intervals cover what they claim? The experiment that tells, with the naive intervals beside them.

Each experiment is a whole small simulation: replications, warm-up by MSER-5, intervals for every measure. The share of
experiments whose interval holds the true value must agree with the nominal confidence. The naive interval of the same
experiment takes one run from an empty system and treats its short bins as independent, as is often done.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from crawltwin.model import SCALAR_MEASURES, InputError, Interval, Scenario, checks
from crawltwin.model.errors import Faults
from crawltwin.model.measures import unit_of
from crawltwin.model.results.display import Drawn
from crawltwin.model.scenario import takes_scenario
from crawltwin.model.settings import setting
from crawltwin.work import workers as work
from crawltwin.work.progress import ProgressCallback
from simulate.engine.length import Length
from simulate.sample.collection import Collection
from simulate.sample.estimates import Sample
from simulate.sample.replications import Job, run_several
from simulate.sample.settings import SimulationSettings
from simulate.sample.units import Units, bin_sums


@dataclass(frozen=True)
class Share:
    """How often one measure's interval held the true value.

    `low` and `high` are the exact binomial interval for the probability of covering, at a confidence that makes the
    verdicts on all measures together right in 95% of cases; `agrees` says whether the nominal confidence is inside.
    `naive` is the share for the naive intervals, `naive_agrees` the verdict on them.
    """

    measure: str
    truth: float
    covered: int
    experiments: int
    low: float
    high: float
    agrees: bool
    naive: float
    naive_agrees: bool

    @property
    def share(self) -> float:
        """Share of experiments that covered."""
        return self.covered / self.experiments


@dataclass(frozen=True, repr=False)
class Coverage(Drawn):
    """Shares for every measure with a known value that is not certain; ``plot()`` shows them with intervals."""

    shares: tuple[Share, ...]
    confidence: float
    replications: int
    pages: int
    seed: int
    interrupted: bool = False

    @property
    def agrees(self) -> bool:
        """Whether every measure's intervals cover as claimed."""
        return all(share.agrees for share in self.shares)

    def headline(self) -> str:
        """Whether intervals cover as claimed."""
        good = sum(share.agrees for share in self.shares)
        return f"intervals of {good} of {len(self.shares)} measures cover the truth as claimed ({self.confidence:.0%})"

    def to_frame(self) -> pd.DataFrame:
        """One row per measure."""
        rows = [{**vars(share), "share": share.share} for share in self.shares]
        return pd.DataFrame([{**row, "unit": unit_of(str(row["measure"]))} for row in rows])

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "coverage": {
                share.measure: {**{k: v for k, v in vars(share).items() if k != "measure"}, "share": share.share}
                for share in self.shares
            },
            "agrees": self.agrees,
            "confidence": self.confidence,
            "replications": self.replications,
            "pages": self.pages,
            "seed": self.seed,
            "interrupted": self.interrupted,
        }


@dataclass(frozen=True, kw_only=True)
class CoverageSettings(SimulationSettings):
    """A small simulation, and how often it is repeated: a thousand `experiments` tell 93% from 95%."""

    experiments: int = setting(
        1000, help="repeat N times: how often do intervals hold the truth?", option="--coverage", metavar="N"
    )
    pages: int | None = 2000

    def _check(self, faults: Faults) -> None:
        super()._check(faults)
        checks.integer(
            self.experiments, "coverage", faults, at_least=10, way_out="A thousand experiments tell 93% from 95%."
        )
        if self.replications == 1:
            faults.add("replications", "replications must be at least 2; got 1")


@dataclass(frozen=True)
class Experiment:
    """One small simulation: the replications from `first` on."""

    job: Job
    first: int
    replications: int
    confidence: float
    truth: Mapping[str, float]


def run_experiment(experiment: Experiment) -> dict[str, tuple[bool, bool]]:
    """For each measure whether its interval, and the naive one, hold the truth."""
    job, truth = experiment.job, experiment.truth
    collection = Collection(job)
    for run, _ in run_several(job, range(experiment.first, experiment.first + experiment.replications)):
        collection.add(run)
    # The same path as the first replication, one bin per page.
    fine = replace(job, length=Length(pages=job.length.pages, bins=job.length.pages or 1))
    bins = bin_sums(next(run_several(fine, [experiment.first]))[0])
    honest, naive = (
        sample.intervals(experiment.confidence).measures
        for sample in (collection.sample(), Sample(Units.of_sums(bins), collection.reading))
    )
    return {name: (_covers(honest[name], truth[name]), _covers(naive[name], truth[name])) for name in truth}


def _covers(interval: Interval | None, truth: float) -> bool:
    return interval is not None and interval.covers(truth)


@takes_scenario
def coverage(
    scenario: Scenario,
    truth: Mapping[str, float],
    settings: CoverageSettings | None = None,
    *,
    progress: ProgressCallback | None = None,
    **options: Any,
) -> Coverage:
    """Repeat a small simulation and count how often its intervals hold the truth.

    `options` are fields of `CoverageSettings` and go before `settings`. Cost: `experiments` times `replications` times
    `pages` pages; about a minute for a thousand experiments.
    """
    settings = replace(settings, **options) if settings else CoverageSettings(**options)
    assert settings.pages is not None
    certain = {"mean_active_robots"} if len(set(scenario.policy_in_force.robots_used)) == 1 else set()
    known = {name: truth[name] for name in SCALAR_MEASURES if truth.get(name) is not None and name not in certain}
    if not known:
        raise InputError("truth must have at least one measure; got none")
    job, count = Job(scenario, Length(pages=settings.pages), settings.seed), settings.replications
    pieces = [Experiment(job, i * count, count, settings.confidence, known) for i in range(settings.experiments)]
    outcomes: list[dict[str, tuple[bool, bool]]] = []
    interrupted = False
    try:
        outcomes.extend(
            work.run(run_experiment, pieces, workers=settings.workers, cluster=settings.cluster, progress=progress)
        )
    except KeyboardInterrupt:
        if not outcomes:
            raise
        interrupted = True
    shares = tuple(_share(name, known[name], outcomes, settings.confidence, len(known)) for name in known)
    return Coverage(shares, settings.confidence, count, settings.pages, settings.seed, interrupted)


def _share(
    name: str, truth: float, outcomes: list[dict[str, tuple[bool, bool]]], nominal: float, measures: int
) -> Share:
    count = len(outcomes)
    hits = [sum(outcome[name][which] for outcome in outcomes) for which in (0, 1)]
    limits = [proportion_confint(hit, count, alpha=0.05 / measures, method="beta") for hit in hits]
    inside = [float(low) <= nominal <= float(high) for low, high in limits]
    low, high = limits[0]
    return Share(name, truth, hits[0], count, float(low), float(high), inside[0], hits[1] / count, inside[1])
