"""Replications as they come in: condensed at once to what the intervals need, so that memory stays small."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simulate.engine.columns import COUNT
from simulate.engine.records import Records, frame
from simulate.engine.statistics import RunStatistics
from simulate.sample.diagnostics import Diagnostics
from simulate.sample.estimates import Sample
from simulate.sample.replications import Job
from simulate.sample.units import Reading, Units, bin_sums, in_batches, joined
from simulate.sample.warm_up import WarmUp, find_warm_up, given_warm_up

BATCHES_PER_RUN = 20
"""Batches that one long run is cut into; also those in which the correlation of neighbours is looked for."""
WARM_BINS = 5
"""Bins that are left out at least where a run starts empty and the warm-up is looked for."""


@dataclass
class Collection:
    """Replications of one job.

    The first round is kept bin by bin until its warm-up is known; from then on a replication is condensed to one
    unit as soon as it arrives. `by_batches` says that the intervals rest on batches of time, not on replications.
    """

    job: Job
    warmup: float | None = None
    by_batches: bool = False
    runs: list[RunStatistics] = field(default_factory=list)
    warm: WarmUp | None = None
    parts: list[Units] = field(default_factory=list)
    lags: list[dict[str, float]] = field(default_factory=list)
    frames: list[Any] = field(default_factory=list)
    counts: Any = 0
    present: int = 0
    events: int = 0
    time: float = 0.0
    warm_time: float = 0.0
    conservation: int = 0
    little: float = 0.0
    done: int = 0

    def __post_init__(self) -> None:
        self.reading = Reading.of(self.job.scenario, self.job.plan().levels, traced=self.job.trace is not None)

    @property
    def delivered(self) -> int:
        """Pages delivered so far, warm-up included."""
        return int(self.counts[COUNT.delivered])

    def add(self, run: RunStatistics, records: Records | None = None) -> None:
        """Take one replication in."""
        if records is not None:
            self.frames.append(frame(records, self.done))
        self.done += 1
        self.counts = self.counts + run.counts.sum(axis=0)
        self.present += run.present
        self.events += run.events
        self.time += run.time
        self.conservation += abs(run.check_conservation())
        self.little = max(self.little, abs(run.check_little()))
        if self.warm is None:
            self.runs.append(run)
            if self.warmup is not None and self.job.length.time is not None and not self.by_batches:
                # Bins of equal time: the first run tells how many of them the warm-up covers.
                self.find_warm_up()
        else:
            self._condense(run, self.warm.bins)

    def find_warm_up(self) -> WarmUp:
        """Decide what is left out, once, from the replications that are there."""
        if self.warm is None:
            if self.warmup is None:
                at_least = 0 if self.job.start.levels is not None else WARM_BINS
                self.warm = find_warm_up(self.runs, self.reading, at_least)
            else:
                self.warm = given_warm_up(self.runs, self.warmup)
            for run in self.runs:
                self._condense(run, self.warm.bins)
            self.runs = self.runs if self.by_batches else []
        return self.warm

    def _condense(self, run: RunStatistics, deleted: int) -> None:
        self.warm_time = max(self.warm_time, float(run.time_at_level[:deleted].sum()))
        batches = in_batches(bin_sums(run), deleted, min(BATCHES_PER_RUN, run.bins - deleted))
        self.lags.append({name: lag_one(values) for name, values in self.reading.measures(batches).items()})
        self.parts.append(Units.replications([run], deleted))

    def units(self) -> Units:
        """What the intervals rest on: replications, or batches of time, summed over the runs there are."""
        if self.warm is None and self.done == 1:
            self.by_batches = True
        warm = self.find_warm_up()
        if not self.by_batches:
            return joined(self.parts)
        return Units.batches(self.runs, warm.bins, min(BATCHES_PER_RUN, self.runs[0].bins - warm.bins))

    def sample(self, seconds: float = 0.0) -> Sample:
        """The sample of the replications that are there: two at least, or one long run."""
        import pandas as pd

        units, warm = self.units(), self.find_warm_up()
        pages = {name: int(count) for name, count in zip(COUNT._fields, self.counts) if name != "batches"}
        lags = {name: float(np.mean([lag[name] for lag in self.lags])) for name in self.lags[0]}
        diagnostics = Diagnostics(
            units="batches" if self.by_batches else "replications",
            count=units.count,
            warmup_time=self.warm_time,
            warmup_bins=warm.bins,
            warmup_found=warm.found,
            run_time=self.time,
            pages={**pages, "present": self.present},
            conservation=self.conservation,
            little=self.little,
            lag_one={name: lag for name, lag in lags.items() if math.isfinite(lag)},
            events=self.events,
            seconds=seconds,
        )
        records = pd.concat(self.frames, ignore_index=True) if self.frames else None
        return Sample(units, self.reading, diagnostics, records)


def lag_one(values: Any) -> float:
    """Correlation of neighbours in a series; 0 for a constant one."""
    centred = values - values.mean()
    power = float(centred @ centred)
    return float(centred[1:] @ centred[:-1]) / power if power > 0 else 0.0
