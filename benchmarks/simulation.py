"""Our two engines beside Ciw and idiomatic SimPy, in one run; and two workers beside one.

On M/M/1/K with obsolescence an event is an arrival, an indexing done or a page become obsolete for everybody. Rates
are events per second of processor time, the median of rounds in which the contestants take turns: a busy machine
slows all of them. Compiling is not counted: it is kept on disk. The gain of two workers is in wall-clock time, which a
busy machine spoils.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from importlib.util import find_spec

from benchmarks.peers_simulation import SMALL, Queue, ciw_run, simpy_process_run
from benchmarks.rows import Row
from crawltwin.model import BMAP, ModeMatrices, Scenario, examples, exponential
from crawltwin.work.workers import available_cores
from simulate import simulate
from simulate.engine.length import Length
from simulate.sample.replications import Job, run_several

ROUNDS = 5
COMPILED, REFERENCE = "crawltwin compiled", "crawltwin SimPy"


def scenario_of(queue: Queue) -> Scenario:
    return Scenario(
        capacity=queue.capacity,
        arrivals=ModeMatrices({1: BMAP.poisson(queue.arrival_rate)}),
        service=exponential(1 / queue.service_rate),
        obsolescence=exponential(1 / queue.obsolescence_rate),
    )


def rate_of(job: Job, replication: int) -> float:
    """Events a second of processor time in one replication."""
    began = time.process_time()
    run, _ = next(run_several(job, [replication]))
    return run.events / (time.process_time() - began)


def medians(contestants: dict[str, Callable[[int], float]]) -> dict[str, float]:
    rates: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(ROUNDS):
        for name, measure in contestants.items():
            rates[name].append(measure(turn))
    return {name: statistics.median(found) for name, found in rates.items()}


def ours(scenario: Scenario, compiled_pages: int, reference_pages: int) -> dict[str, Callable[[int], float]]:
    fast = Job(scenario, Length(pages=compiled_pages), seed=1)
    slow = replace(fast, length=Length(pages=reference_pages), engine="simpy")
    rate_of(replace(fast, length=Length(pages=1000)), 0)  # loads the compiled code
    return {COMPILED: lambda turn: rate_of(fast, turn), REFERENCE: lambda turn: rate_of(slow, turn)}


def against_peers() -> list[Row]:
    contestants = ours(scenario_of(SMALL), 3_000_000, 50_000)
    contestants[f"SimPy {version('simpy')}"] = lambda turn: simpy_process_run(15_000.0, seed=turn).events_per_second
    notes = {COMPILED: "one core", REFERENCE: "callbacks on alarms", f"SimPy {version('simpy')}": "a process a page"}
    if find_spec("ciw"):
        contestants[f"Ciw {version('ciw')}"] = lambda turn: ciw_run(10_000.0, seed=turn).events_per_second
        notes[f"Ciw {version('ciw')}"] = "reneging"
    case = f"events, M/M/1/{SMALL.capacity} with obsolescence"
    rates = medians(contestants)
    rows = [Row(case, name, rate, "events/s", notes[name]) for name, rate in rates.items()]
    reference_first = sorted(rows, key=lambda row: row.contestant != REFERENCE)
    return rows + [
        replace(row, case=f"{case}, our SimPy engine") for row in reference_first if row.contestant != COMPILED
    ]


def engines() -> list[Row]:
    rates = medians(ours(examples.load("paper"), 2_000_000, 50_000))
    return [Row("events, the paper's first example", name, rate, "events/s") for name, rate in rates.items()]


def workers() -> list[Row]:
    """Wall-clock time of 40 replications on one process and on two that are already running."""
    scenario, options = examples.load("paper"), {"pages": 1_000_000, "replications": 40}
    seconds: dict[int, list[float]] = {2: [], 1: []}
    simulate(scenario, pages=1000, replications=8, workers=2)  # starts the processes, loads the code
    for _ in range(3):
        for count, found in seconds.items():
            found.append(simulate(scenario, workers=count, **options).diagnostics.seconds)
    case = f"40 replications of a million pages, {available_cores()} cores"
    return [
        Row(case, f"crawltwin, {count} worker{'s' if count > 1 else ''}", min(found), "s", "wall clock, best of 3")
        for count, found in seconds.items()
    ]


def run() -> list[Row]:
    return against_peers() + engines() + workers()
