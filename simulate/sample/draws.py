"""Samples drawn: replications run here, in processes or on a cluster, and put together.

`simulate` and the cross-check of `validate` both stand on `draw_sample`, so the cross-check tests the estimator that
users get. `draw_approach` gives averages over the first time from an empty system, from many short runs.
"""

from __future__ import annotations

import math
import time as clock
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from crawltwin.model import Scenario
from crawltwin.model.checks import FloatArray
from crawltwin.model.scenario import takes_scenario
from crawltwin.work import workers as work
from crawltwin.work.progress import ProgressCallback
from crawltwin.work.store import Store, key_of
from simulate.engine.columns import SUM
from simulate.engine.records import Records
from simulate.engine.statistics import RunStatistics
from simulate.sample.collection import Collection
from simulate.sample.diagnostics import Diagnostics
from simulate.sample.estimates import Sample
from simulate.sample.replications import Job, Piece, run_piece, run_several
from simulate.sample.result import versions
from simulate.sample.settings import SampleSettings
from simulate.sample.units import Reading, Units, bin_sums

RUNS_PER_PIECE = 250
"""Short runs that are handed to a worker at once."""
_SMALL_WORK = 20_000_000


@takes_scenario
def draw_sample(
    scenario: Scenario,
    settings: SampleSettings | None = None,
    *,
    progress: ProgressCallback | None = None,
) -> Sample:
    """Independent replications of a scenario.

    Parameters
    ----------
    settings : SampleSettings, optional
        How many, how long, from which start, with which seed.
    progress : callable, optional
        Told (done, planned) after each replication.

    Notes
    -----
    Cost: 0.1 to 0.2 microseconds per page and 2 milliseconds per replication with the compiled engine.

    Examples
    --------
    >>> from crawltwin.model import examples
    >>> sample = draw_sample(examples.load("mm1k"), SampleSettings(pages=5000, seed=4))
    >>> sample.intervals(0.95).measures["loss_probability"].covers(0.018176)
    True
    """
    settings = settings or SampleSettings()
    return draw(Job.of(scenario, settings), settings, progress=progress)


def draw(
    job: Job,
    settings: SampleSettings,
    *,
    by_batches: bool = False,
    progress: ProgressCallback | None = None,
) -> Sample:
    """The sample of a job; with `by_batches` its units are batches of time, summed over the replications."""
    began = clock.perf_counter()
    collection = Collection(job, settings.warmup, by_batches or settings.replications == 1)
    for run, records in run_replications(job, range(settings.replications), settings):
        collection.add(run, records)
        if progress is not None:
            progress(collection.done, settings.replications)
    return collection.sample(clock.perf_counter() - began)


@takes_scenario
def draw_approach(
    scenario: Scenario,
    settings: SampleSettings,
    ends: Sequence[int],
) -> tuple[Sample, ...]:
    """One sample per end: averages over the first `end` bins of the same replications, with no warm-up left out.

    Each run starts as `settings.start` says (empty by default), lasts `settings.time` and is cut into `settings.bins`
    bins, so the sample of `end` is about [0, time * end / bins]. Probabilities of fates are shares of the delivered
    pages, as in the transient measures. Quantiles of sojourn times are not kept.

    Cost: 0.6 milliseconds per short run.

    Examples
    --------
    >>> from crawltwin.model import examples
    >>> settings = SampleSettings(time=8.0, bins=4, replications=500)
    >>> early, late = draw_approach(examples.load("mm1k"), settings, ends=(1, 4))
    >>> early.plain["mean_pages"] < late.plain["mean_pages"]
    True
    """
    job = Job.of(scenario, settings)
    first, last = settings.first, settings.first + settings.replications
    pieces = [(job, range(at, min(at + RUNS_PER_PIECE, last))) for at in range(first, last, RUNS_PER_PIECE)]
    sums = np.concatenate(list(work.run(run_bins, pieces, workers=settings.workers, cluster=settings.cluster)))
    reading = Reading.of(scenario, of_delivered=True)
    whole = sums.sum(axis=(0, 1))
    diagnostics = Diagnostics(
        count=sums.shape[0], run_time=float(whole[SUM.time]), pages={"delivered": int(whole[SUM.delivered])}
    )
    return tuple(Sample(Units.of_sums(sums[:, :end].sum(axis=1)), reading, diagnostics) for end in ends)


def run_bins(piece: tuple[Job, range]) -> FloatArray:
    """The sums of every bin of several short runs: (runs, bins, columns)."""
    job, replications = piece
    return np.array([bin_sums(run) for run, _ in run_several(job, replications)])


def run_replications(
    job: Job, replications: range, settings: SampleSettings, store: Store | None = None
) -> Iterator[tuple[RunStatistics, Records | None]]:
    """The replications of those numbers (counted from `settings.first`), in order, each as soon as it is there."""
    pieces = [Piece(job, settings.first + index) for index in replications]
    length, workers = job.length, settings.workers
    events = 3.0 * (length.pages or math.inf) * len(pieces)
    if workers is None and job.engine == "compiled" and events < _SMALL_WORK:
        workers = 1
    if store is None:
        return work.run(run_piece, pieces, workers=workers, cluster=settings.cluster)
    content = (job.scenario, length.time, length.pages, length.bins, job.seed, job.engine, job.start.levels)
    keys = [key_of("replication", *content, versions(), piece.replication) for piece in pieces]
    kept = work.run(run_to_keep, pieces, workers=workers, cluster=settings.cluster, store=store, keys=keys)
    return ((RunStatistics(**plain), None) for plain in kept)


def run_to_keep(piece: Piece) -> dict[str, Any]:
    """The statistics of a replication as plain values, for a store."""
    return dict(vars(run_piece(piece)[0]))
