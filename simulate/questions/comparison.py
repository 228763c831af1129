"""Policies side by side on common random numbers, with paired intervals.

All policies run the same replications of one seed, so they meet the same phases, coins, indexing and obsolescence
times as far as their decisions allow, and the noise that they share cancels in the difference. The interval of a
difference is Student's t on the differences of the replications' pseudo-values; with several policies it is widened
(Bonferroni) so that all differences from the first policy hold together at the stated confidence. Where the difference
is the same in every replication, because no policy saw any case or because their runs never parted, the replications
say nothing about how far it may lie elsewhere: the limits of both make that of the difference, as of independent runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from crawltwin.model import SCALAR_MEASURES, Interval, Policy, Scenario
from crawltwin.model.errors import Faults, InputError, wrong_object
from crawltwin.model.measures import unit_of
from crawltwin.model.results.display import Drawn
from crawltwin.model.scenario import takes_scenario
from crawltwin.work import workers as work
from crawltwin.work.progress import ProgressCallback
from simulate.questions.recorded import RecordedTrace, replay_request
from simulate.sample.collection import BATCHES_PER_RUN, WARM_BINS
from simulate.sample.estimates import Sample, standard_errors
from simulate.sample.intervals import student
from simulate.sample.replications import Job, Piece, run_piece
from simulate.sample.settings import SimulationSettings
from simulate.sample.units import Reading, Units
from simulate.sample.warm_up import find_warm_up


@dataclass(frozen=True)
class Difference:
    """One measure of one policy less that of the first policy.

    `saved` is the share of the difference's variance that common random numbers took away, against independent runs.
    """

    policy: str
    measure: str
    difference: Interval
    saved: float

    @property
    def verdict(self) -> str:
        """`smaller`, `larger` or `undecided`."""
        if self.difference.high < 0:
            return "smaller"
        return "larger" if self.difference.low > 0 else "undecided"


@dataclass(frozen=True, repr=False)
class Comparison(Drawn):
    """Measures of every policy, and differences from the first one; ``plot(measure=...)`` shows the intervals."""

    policies: tuple[str, ...]
    measures: Mapping[str, Mapping[str, Interval]]
    differences: tuple[Difference, ...]
    confidence: float
    units: int
    seed: int

    def headline(self) -> str:
        """How many differences are sure."""
        sure = sum(found.verdict != "undecided" for found in self.differences)
        return (
            f"{len(self.policies)} policies; {sure} of {len(self.differences)} differences from the first are sure "
            f"at {self.confidence:.0%} confidence"
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per policy and measure: value, interval, difference from the first policy and its interval."""
        rows: list[dict[str, Any]] = []
        of = {(found.policy, found.measure): found for found in self.differences}
        for policy in self.policies:
            for name, interval in self.measures[policy].items():
                row: dict[str, Any] = {"policy": policy, "measure": name, **interval.to_json()}
                if found := of.get((policy, name)):
                    gap = found.difference
                    row |= {"difference": gap.value, "difference_low": gap.low, "difference_high": gap.high}
                    row |= {"verdict": found.verdict, "saved": found.saved}
                rows.append({**row, "unit": unit_of(name)})
        return pd.DataFrame(rows)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "policies": list(self.policies),
            "measures": {p: {n: i.to_json() for n, i in own.items()} for p, own in self.measures.items()},
            "differences": [
                {
                    "policy": found.policy,
                    "measure": found.measure,
                    **found.difference.to_json(),
                    "verdict": found.verdict,
                    "saved": found.saved,
                }
                for found in self.differences
            ],
            "confidence": self.confidence,
            "units": self.units,
            "seed": self.seed,
        }


@takes_scenario
def compare(
    scenario: Scenario,
    policies: Mapping[str, Policy],
    *,
    trace: RecordedTrace | None = None,
    processing_rate: float | None = None,
    recorded_robots: int | None = None,
    progress: ProgressCallback | None = None,
    **options: Any,
) -> Comparison:
    """Compare policies with the first of them.

    Parameters
    ----------
    policies : mapping
        Name to policy, two at least; the first one is what the others are compared with.
    trace, processing_rate, recorded_robots
        Compare on recorded batches, see `replay`; the pairs are then batches of time.
    progress : callable, optional
        Told (done, planned) after each replication.
    **options
        Fields of `SimulationSettings`: pages or time, replications, seed, confidence, workers, cluster.

    Examples
    --------
    >>> from crawltwin.model import ThresholdPolicy, examples
    >>> found = compare(
    ...     examples.load("thinned"),
    ...     {"four": ThresholdPolicy([4]), "one": ThresholdPolicy([1])},
    ...     pages=4000,
    ... )
    >>> next(d.verdict for d in found.differences if d.measure == "arrival_rate")
    'smaller'
    """
    faults = Faults()
    check_policies(policies, faults)
    settings = SimulationSettings()
    with faults.under(""):
        settings = SimulationSettings(**({"workers": 1} | options))
    if trace is None and settings.replications == 1:
        faults.add("replications", "replications must be at least 2; got 1")
    faults.raise_if_any()
    variants = [scenario.replace(policy=policy) for policy in policies.values()]
    if trace is None:
        jobs = [Job.of(variant, settings) for variant in variants]
    else:
        known: dict[str, Any] = {
            "processing_rate": processing_rate,
            "recorded_robots": recorded_robots,
            "seed": settings.seed,
        }
        jobs = [replay_request(variant, trace, **known).job for variant in variants]
    count = settings.replications if trace is None else 1
    pieces = [Piece(job, index) for job in jobs for index in range(count)]
    outputs = work.run(run_piece, pieces, workers=settings.workers, cluster=settings.cluster, progress=progress)
    runs = [run for run, _ in outputs]
    readings = [Reading.of(job.scenario, job.plan().levels, traced=trace is not None) for job in jobs]
    own = [runs[index * count : (index + 1) * count] for index in range(len(jobs))]
    if trace is not None:
        units = [Units.batches(mine, 0, BATCHES_PER_RUN) for mine in own]
    else:
        cut = max(find_warm_up(mine, reading, WARM_BINS).bins for mine, reading in zip(own, readings))
        units = [Units.replications(mine, cut) for mine in own]
    names = tuple(policies)
    samples = {name: Sample(unit, reading) for name, unit, reading in zip(names, units, readings)}
    return Comparison(
        policies=names,
        measures={name: _intervals(sample, settings.confidence) for name, sample in samples.items()},
        differences=tuple(_differences(samples, settings.confidence)),
        confidence=settings.confidence,
        units=units[0].count,
        seed=settings.seed,
    )


def check_policies(policies: Mapping[str, Policy], faults: Faults) -> None:
    """Two at least, each a policy with its name."""
    way_out = "For example {'always 4': ThresholdPolicy([4]), '4 or 1': ThresholdPolicy([4, 1], [2])}."
    if not isinstance(policies, Mapping):
        words = f"policies must be a mapping of names to policies; got {wrong_object(policies)}"
        raise InputError.at("policies", words, way_out)
    for name, policy in policies.items():
        if not isinstance(policy, Policy):
            words = f"each policy must be a ThresholdPolicy or a LevelPolicy; got {wrong_object(policy)}"
            faults.add(f"policies[{name!r}]", words, way_out)
    if len(policies) < 2:
        faults.add("policies", f"policies must be two at least; got {len(policies)}")


def _intervals(sample: Sample, confidence: float) -> dict[str, Interval]:
    found = sample.intervals(confidence).measures
    return {name: one for name in SCALAR_MEASURES if (one := found.get(name)) is not None}


def _differences(samples: Mapping[str, Sample], confidence: float) -> list[Difference]:
    found = []
    joint = 1 - (1 - confidence) / (len(samples) - 1)
    pseudo = {name: sample.pseudo() for name, sample in samples.items()}
    own = {name: _intervals(sample, joint) for name, sample in samples.items()}
    base, *others = samples
    for name in others:
        for measure in SCALAR_MEASURES:
            pair = [pseudo[policy].get(measure) for policy in (name, base)]
            if any(values is None or not np.isfinite(values).all() for values in pair):
                continue
            mine, first = (np.asarray(values) for values in pair)
            gaps = mine - first
            apart = float(mine.var(ddof=1) + first.var(ddof=1))
            saved = 1 - float(gaps.var(ddof=1)) / apart if apart > 0 else 0.0
            interval = student(float(gaps.mean()), float(standard_errors(gaps)), gaps.size, joint)
            if np.ptp(gaps) == 0.0:
                interval = _apart(own[name][measure], own[base][measure])
            stated = Interval(interval.value, interval.low, interval.high, confidence)
            found.append(Difference(name, measure, stated, saved))
    return found


def _apart(mine: Interval, first: Interval) -> Interval:
    """A difference that no replication changes: from the limits of each number, as if their runs were independent.

    Where neither policy lost a page, say, the losses have upper limits, and so has their difference. Where two policies
    differ at levels that no run reached, their runs are the same, which proves no difference of 0 (the rule of Zou and
    Donner, Statistics in Medicine 27, 2008).
    """
    value = mine.value - first.value
    low = value - math.hypot(mine.value - mine.low, first.high - first.value)
    high = value + math.hypot(mine.high - mine.value, first.value - first.low)
    return Interval(value, low, high, mine.confidence)
