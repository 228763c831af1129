"""Scenarios of every kind of arrivals under every admission rule, and runs of both engines on the same numbers."""

from dataclasses import replace

import numpy as np

from crawltwin.model import ADMISSIONS, Scenario, examples
from simulate.engine.length import Length, Start
from simulate.engine.records import Records
from simulate.engine.statistics import RunStatistics
from simulate.sample.replications import Job, Piece, run_piece

KINDS = {"modes": "paper", "independent": "independent", "thinned": "thinned", "marked": "marked", "scaled": "scaled"}
CASES = [(kind, admission) for kind in KINDS for admission in ADMISSIONS]


def scenario_of(kind: str, admission: str) -> Scenario:
    scenario = examples.load(KINDS[kind]).replace(admission=admission)
    assert scenario.arrivals.kind == kind
    return scenario


def both(job: Job, replication: int = 0) -> list[tuple[RunStatistics, Records]]:
    found = []
    for engine in ("simpy", "compiled"):
        statistics, records = run_piece(Piece(replace(job, engine=engine, recording=True), replication))
        assert records is not None
        found.append((statistics, records))
    return found


def assert_same(job: Job, replication: int = 0) -> tuple[RunStatistics, Records]:
    """Every field of every page and every sum, bit for bit; returns the run."""
    (first, pages), (second, other_pages) = both(job, replication)
    for name in Records._fields:
        np.testing.assert_array_equal(getattr(pages, name), getattr(other_pages, name), err_msg=name)
    for name in first.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name)
    return first, pages


def job_of(scenario: Scenario, seed: int = 5, start: Start | None = None, **length: float) -> Job:
    return Job(scenario, Length(**(length or {"pages": 3000})), seed, start=start or Start())
