"""Do the intervals cover what they claim? The experiment that tells, with the naive intervals beside them.

Each experiment is a whole small simulation: replications, warm-up by MSER-5, intervals for every measure. The share of
experiments whose interval holds the true value must agree with the nominal confidence. The naive interval of the same
experiment takes one run from an empty system and treats its short bins as independent, as is often done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from crawltwin import workers as work
from crawltwin.model import SCALAR_MEASURES, InputError, Scenario, checks
from crawltwin.model.errors import Faults
from simulate.collect import Collection
from simulate.intervals import Estimate, estimate
from simulate.plan import Length
from simulate.replications import Job, run_several
from simulate.streams import check_seed
from simulate.units import Reading, Units, bin_sums

_WARM_BINS = 5
_NAIVE_PAGES = 1


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


@dataclass(frozen=True)
class Coverage:
    """Shares for every measure with a known value that is not certain."""

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

    def to_frame(self) -> pd.DataFrame:
        """One row a measure."""
        return pd.DataFrame([{**vars(share), "share": share.share} for share in self.shares])

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
    reading = Reading.of(job.scenario, job.plan().robots.size)
    collection = Collection(reading, None, _WARM_BINS)
    for run, records in run_several(job, range(experiment.first, experiment.first + experiment.replications)):
        collection.add(run, records)
    honest = collection.estimate(experiment.confidence, "jackknife")
    # The same path as the first replication, one bin a page.
    assert job.length.pages is not None
    fine = replace(job, length=Length(pages=job.length.pages, bins=job.length.pages // _NAIVE_PAGES))
    bins = bin_sums(next(run_several(fine, [experiment.first]))[0])
    naive = estimate(Units(bins, np.zeros((bins.shape[0], 2, 1), np.int64), 0), reading, experiment.confidence)
    return {name: (_covers(honest, name, truth[name]), _covers(naive, name, truth[name])) for name in truth}


def _covers(found: Estimate, name: str, truth: float) -> bool:
    interval = found.measures[name]
    return interval is not None and interval.covers(truth)


def coverage(
    scenario: Scenario,
    truth: Mapping[str, float],
    *,
    experiments: int = 1000,
    replications: int = 20,
    pages: int = 2000,
    seed: int = 1,
    confidence: float = 0.95,
    workers: int | None = None,
    cluster: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Coverage:
    """Repeat a small simulation and count how often its intervals hold the truth.

    Cost: `experiments` times `replications` times `pages` pages; about a minute for a thousand experiments.
    """
    faults = Faults()
    checks.integer(experiments, "coverage", faults, at_least=10, way_out="A thousand experiments tell 93% from 95%.")
    checks.integer(replications, "replications", faults, at_least=2)
    with faults.under(""):
        check_seed(seed)
    with faults.under(""):
        Length(pages=pages)
    faults.raise_if_any()
    certain = {"mean_active_robots"} if len(set(scenario.policy_in_force.robots_used)) == 1 else set()
    known = {name: truth[name] for name in SCALAR_MEASURES if truth.get(name) is not None and name not in certain}
    if not known:
        raise InputError("truth must have at least one measure; got none")
    job = Job(scenario, Length(pages=pages), seed)
    pieces = [Experiment(job, i * replications, replications, confidence, known) for i in range(experiments)]
    outcomes: list[dict[str, tuple[bool, bool]]] = []
    interrupted = False
    try:
        for outcome in work.run(run_experiment, pieces, workers=workers, cluster=cluster):
            outcomes.append(outcome)
            if progress is not None:
                progress(len(outcomes), experiments)
    except KeyboardInterrupt:
        if not outcomes:
            raise
        interrupted = True
    shares = tuple(_share(name, known[name], outcomes, confidence, len(known)) for name in known)
    return Coverage(shares, confidence, replications, pages, seed, interrupted)


def _share(
    name: str, truth: float, outcomes: list[dict[str, tuple[bool, bool]]], nominal: float, measures: int
) -> Share:
    count = len(outcomes)
    hits = [sum(outcome[name][which] for outcome in outcomes) for which in (0, 1)]
    limits = [proportion_confint(hit, count, alpha=0.05 / measures, method="beta") for hit in hits]
    inside = [float(low) <= nominal <= float(high) for low, high in limits]
    low, high = limits[0]
    return Share(name, truth, hits[0], count, float(low), float(high), inside[0], hits[1] / count, inside[1])
