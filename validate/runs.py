"""Independent replications of one scenario, each reduced to its sums where it was run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from crawltwin import workers
from crawltwin.model import Scenario
from simulate.plan import BINS_A_GROUP, Length
from simulate.replications import Job, Piece, run_piece
from simulate.run_statistics import DELIVERED, RunStatistics
from simulate.units import Reading, Units, joined
from validate.estimates import Estimates

Progress = Callable[[float, float], None]

BINS = 20 * BINS_A_GROUP
"""Bins of a replication; its first group of bins, a twentieth of it, is the warm-up."""
WARMUP_SHARE = BINS_A_GROUP / BINS
"""Share of each replication that is left out."""


@dataclass(frozen=True)
class Sample:
    """The simulated side: what the replications gave, and the identities that each of them must meet exactly.

    Parameters
    ----------
    estimates : Estimates
    conservation : int
        Largest number of pages unaccounted for in a replication.
    little : float
        Largest relative gap of Little's law on the path of a replication.
    pages, events : int
        Delivered and handled in all replications, warm-up included.
    seconds : float
        Wall-clock time.
    """

    estimates: Estimates
    conservation: int
    little: float
    pages: int
    events: int
    seconds: float


@dataclass(frozen=True)
class Reduced:
    """One replication without its bins."""

    units: Units
    conservation: int
    little: float
    pages: int
    events: int


def reduce_run(run: RunStatistics, deleted: int) -> Reduced:
    """The sums of a replication without its first `deleted` bins."""
    return Reduced(
        Units.replications([run], deleted),
        run.check_conservation(),
        run.check_little(),
        int(run.counts[:, DELIVERED].sum()),
        run.events,
    )


def run_reduced(piece: Piece) -> Reduced:
    """Run one replication and reduce it: the piece of work that is handed to workers."""
    return reduce_run(run_piece(piece)[0], BINS_A_GROUP)


def gather(scenario: Scenario, reduced: Sequence[Reduced], seconds: float) -> Sample:
    """One sample from the replications."""
    units = joined([one.units for one in reduced])
    reading = Reading.of(scenario, scenario.top_level + 1)
    return Sample(
        Estimates(units, reading),
        max((one.conservation for one in reduced), key=abs),
        max((one.little for one in reduced), key=abs),
        sum(one.pages for one in reduced),
        sum(one.events for one in reduced),
        seconds,
    )


def simulate_sample(
    scenario: Scenario,
    time_each: float,
    *,
    replications: int,
    seed: int,
    engine: str = "compiled",
    processes: int | None = 1,
    cluster: str | None = None,
    progress: Progress | None = None,
) -> Sample:
    """Replications from an empty system, each of length `time_each` after its warm-up.

    Cost: 0.1 to 0.2 microseconds a page and 2 milliseconds a replication with the compiled engine.
    """
    began = time.perf_counter()
    job = Job(scenario, Length(time=time_each / (1 - WARMUP_SHARE), bins=BINS), seed, engine)
    pieces = [Piece(job, index) for index in range(replications)]
    reduced = []
    for one in workers.run(run_reduced, pieces, workers=processes, cluster=cluster):
        reduced.append(one)
        if progress is not None:
            progress(len(reduced), replications)
    return gather(scenario, reduced, time.perf_counter() - began)
