"""One replication, from its seed to its statistics: the piece of work that is handed to workers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from crawltwin.model import InputError, Scenario
from simulate.plan import Length, Plan, Start, Trace, draw_opening, make_plan, opening
from simulate.records import Records
from simulate.run_statistics import RunStatistics
from simulate.streams import open_streams

Engine = Literal["compiled", "simpy"]
ENGINES: tuple[str, ...] = ("compiled", "simpy")


@dataclass(frozen=True)
class Job:
    """What all replications of one simulation have in common.

    `trace` replays recorded batches in place of the scenario's arrivals, see `simulate.replay`.
    """

    scenario: Scenario
    length: Length
    seed: int
    engine: str = "compiled"
    start: Start = field(default_factory=Start)
    recording: bool = False
    trace: Trace | None = None
    recorded_robots: int | None = None

    def plan(self) -> Plan:
        """The tables and rules for an engine."""
        return make_plan(self.scenario, self.length, self.trace, self.recorded_robots)


@dataclass(frozen=True)
class Piece:
    """One replication of a job."""

    job: Job
    replication: int


def check_engine(engine: str) -> str:
    """One of the engines' names."""
    if engine not in ENGINES:
        raise InputError(f"engine must be one of {', '.join(ENGINES)}; got {engine!r}")
    return engine


def run_piece(piece: Piece) -> tuple[RunStatistics, Records | None]:
    """Run one replication; the same bits wherever it runs."""
    return next(run_several(piece.job, [piece.replication]))


def run_several(job: Job, replications: Iterable[int]) -> Iterator[tuple[RunStatistics, Records | None]]:
    """Run some replications of a job here, with its tables made once."""
    plan = job.plan()
    walkers = opening(job.scenario, plan)
    for replication in replications:
        streams = open_streams(job.seed, replication)
        level, rows = draw_opening(walkers, job.start, streams)
        if job.engine == "simpy":
            from simulate import engine_simpy

            yield engine_simpy.run(plan, streams, level, rows, job.recording)
        else:
            from simulate import engine_numba

            yield engine_numba.run(plan, streams, level, rows, job.recording)
