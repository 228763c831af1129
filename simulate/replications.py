"""One replication, from its seed to its statistics: the piece of work that is handed to workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from crawltwin.model import InputError, Scenario
from simulate.plan import Length, Plan, Start, Trace, make_plan, opening
from simulate.records import Records
from simulate.statistics import RunStatistics
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
    start: Start = Start()
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
    job = piece.job
    plan, streams = job.plan(), open_streams(job.seed, piece.replication)
    level, rows = opening(job.scenario, plan, job.start, streams)
    if job.engine == "simpy":
        from simulate import engine_simpy

        return engine_simpy.run(plan, streams, level, rows, job.recording)
    from simulate import engine_numba

    return engine_numba.run(plan, streams, level, rows, job.recording)
