"""Replications as they come in: condensed at once to what the intervals need, so that memory stays small."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from simulate.intervals import Estimate, Method, estimate, lag_one
from simulate.records import Records, frame
from simulate.result import Diagnostics
from simulate.run_statistics import COUNTS, RunStatistics
from simulate.units import Reading, Units, bin_sums, joined
from simulate.warmup import WarmUp, find_warm_up, given_warm_up

BATCHES_A_RUN = 20
"""Batches that one long run is cut into; also those in which the correlation of neighbours is looked for."""


@dataclass
class Collection:
    """Replications of one job.

    The first round is kept bin by bin until its warm-up is known; from then on a replication is condensed to one
    unit as soon as it arrives. `alone` says that the intervals rest on batches of time, not on replications.
    """

    reading: Reading
    warmup: float | None
    at_least: int
    alone: bool = False
    runs: list[RunStatistics] = field(default_factory=list)
    warm: WarmUp | None = None
    parts: list[Units] = field(default_factory=list)
    lags: list[dict[str, float]] = field(default_factory=list)
    frames: list[pd.DataFrame] = field(default_factory=list)
    counts: Any = 0
    present: int = 0
    events: int = 0
    time: float = 0.0
    warm_time: float = 0.0
    conservation: int = 0
    little: float = 0.0
    done: int = 0

    def add(self, run: RunStatistics, records: Records | None) -> None:
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
        else:
            self._condense(run, self.warm.bins)

    def find_warm_up(self) -> WarmUp:
        """Decide what is left out, once, from the replications that are there."""
        if self.warm is None:
            if self.warmup is None:
                self.warm = find_warm_up(self.runs, self.reading, self.at_least)
            else:
                self.warm = given_warm_up(self.runs, self.warmup)
            for run in self.runs:
                self._condense(run, self.warm.bins)
            self.runs = self.runs if self.alone else []
        return self.warm

    def _condense(self, run: RunStatistics, deleted: int) -> None:
        self.warm_time = max(self.warm_time, float(run.time_at_level[:deleted].sum()))
        self.lags.append(_lags([run], self.reading, deleted))
        self.parts.append(Units.replications([run], deleted))

    def units(self) -> Units:
        """What the intervals rest on: replications, or batches of time, summed over the runs there are."""
        if self.warm is None and self.done == 1:
            self.alone = True
        warm = self.find_warm_up()
        if not self.alone:
            return joined(self.parts)
        kept = self.runs[0].bins - warm.bins
        return Units.batches(self.runs, warm.bins, min(BATCHES_A_RUN, kept))

    def estimate(self, confidence: float, method: Method) -> Estimate:
        """Intervals from what is there; two replications at least, or one long run."""
        return estimate(self.units(), self.reading, confidence, method)

    def diagnostics(self, found: Estimate, seconds: float) -> Diagnostics:
        """How it came about."""
        warm = self.find_warm_up()
        pages = {name: int(count) for name, count in zip(COUNTS, self.counts) if name != "batches"}
        pages["present"] = self.present
        lags = {name: float(np.mean([lag[name] for lag in self.lags])) for name in self.lags[0]}
        return Diagnostics(
            units="batches" if self.alone else "replications",
            count=self.units().count,
            warmup_time=self.warm_time,
            warmup_bins=warm.bins,
            warmup_found=warm.found,
            run_time=self.time,
            pages=pages,
            conservation=self.conservation,
            little=self.little,
            lag_one={name: lag for name, lag in lags.items() if math.isfinite(lag)},
            effective_size=found.effective,
            events=self.events,
            seconds=seconds,
        )


def _lags(runs: Sequence[RunStatistics], reading: Reading, deleted: int) -> dict[str, float]:
    sums = np.sum([bin_sums(run) for run in runs], axis=0)[deleted:]
    count = min(BATCHES_A_RUN, sums.shape[0])
    size = sums.shape[0] // count
    batches = sums[sums.shape[0] - size * count :].reshape(count, size, -1).sum(axis=1)
    return {name: lag_one(values) for name, values in reading.measures(batches).items()}
