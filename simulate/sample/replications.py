"""One replication, from its seed to its statistics: the piece of work that is handed to workers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crawltwin.model import Scenario
from simulate.engine.effort import check_effort
from simulate.engine.length import Length, Start
from simulate.engine.records import Records
from simulate.engine.run_plan import RunPlan, Trace, draw_opening, make_plan, opening
from simulate.engine.statistics import RunStatistics
from simulate.engine.streams import open_streams

if TYPE_CHECKING:
    from simulate.sample.settings import SampleSettings


@dataclass(frozen=True)
class Job:
    """What all replications of one simulation have in common.

    `trace` replays recorded batches in place of the scenario's arrivals, see `simulate.questions.recorded`.
    """

    scenario: Scenario
    length: Length
    seed: int
    engine: str = "compiled"
    start: Start = field(default_factory=Start)
    recording: bool = False
    trace: Trace | None = None
    recorded_robots: int | None = None

    @classmethod
    def of(cls, scenario: Scenario, settings: SampleSettings) -> Job:
        """The job of a scenario under settings; a scenario whose policy is open is refused."""
        scenario.policy_in_force  # noqa: B018
        start = Start.checked(settings.start, scenario.top_level)
        length = settings.length_for(scenario)
        check_effort(scenario, length)
        return cls(scenario, length, settings.seed, settings.engine, start, settings.records)

    def plan(self) -> RunPlan:
        """The tables and rules for an engine."""
        return make_plan(self.scenario, self.length, self.trace, self.recorded_robots)


@dataclass(frozen=True)
class Piece:
    """One replication of a job."""

    job: Job
    replication: int


def run_piece(piece: Piece) -> tuple[RunStatistics, Records | None]:
    """Run one replication; the same bits wherever it runs."""
    return next(run_several(piece.job, [piece.replication]))


def run_several(job: Job, replications: Iterable[int]) -> Iterator[tuple[RunStatistics, Records | None]]:
    """Run some replications of a job here, with its tables made once."""
    if job.engine == "simpy":
        from simulate.engine import reference as engine
    else:
        from simulate.engine import compiled as engine  # type: ignore[no-redef]
    plan = job.plan()
    walkers = opening(job.scenario, plan)
    for replication in replications:
        streams = open_streams(job.seed, replication, every=plan.general)
        level, rows = draw_opening(walkers, job.start, streams)
        yield engine.run(plan, streams, level, rows, job.recording)
