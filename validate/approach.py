"""Transient against transient: the approach to equilibrium from an empty system, solved and simulated.

Both sides give averages over [0, t]: time averages, and shares of the pages delivered until t. Each replication starts
empty with the arrival phase in equilibrium and runs once through the whole approach, so precision comes from many
short runs, not from long ones; the margin is wider than that of the stationary measures.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analytic import transient
from crawltwin import workers as pool
from crawltwin.model import Scenario
from crawltwin.model.checks import FloatArray
from simulate.engine_numba import run as run_compiled
from simulate.engine_simpy import run as run_simpy
from simulate.plan import Length, opening
from simulate.replications import Job
from simulate.streams import open_streams
from simulate.units import DELIVERED, LEVELS, LOST, OBSOLETE, SERVED, TIME, bin_sums
from validate.comparison import ROUNDING
from validate.estimates import jackknife
from validate.plan import ValidationPlan
from validate.verdict import Comparison

TIMES = 3
"""Times at which the approach is looked at: a quarter and a half of the way, and the end."""
BINS = 4
RUNS = {"compiled": 2000, "simpy": 400}
"""Runs from empty with each engine."""
RUNS_A_PIECE = 250
"""Runs handed to a worker at once."""
WIDER = 10.0
"""Margin of the approach, as a multiple of the stationary margin."""
MEASURES = (
    "arrival_rate",
    "loss_probability",
    "obsolescence_probability",
    "success_probability",
    "starvation_probability",
    "mean_active_robots",
    "mean_pages",
)
"""What is compared at each time."""


def compare_approach(
    scenario: Scenario,
    plan: ValidationPlan,
    settled: float | None,
    seed: int,
    workers: int | None = 1,
    cluster: str | None = None,
) -> tuple[Comparison, ...]:
    """Averages over [0, t] from empty at three times up to the settling time; nothing where the chain is too large.

    Cost: some 100 microseconds a run and the transient solution, (fastest rate) (settling time) sparse products.
    """
    if settled is None:
        return ()
    horizon = settled / 2
    times = [horizon / 4, horizon / 2, horizon]
    solved = transient(scenario, times)
    count = RUNS[plan.engine]
    job = Job(scenario, Length(time=horizon, bins=BINS), seed, plan.engine)
    pieces = [(job, first, min(first + RUNS_A_PIECE, count)) for first in range(0, count, RUNS_A_PIECE)]
    sums = np.concatenate(list(pool.run(run_many, pieces, workers=workers, cluster=cluster)))
    robots = job.plan().robots.astype(np.float64)
    found = []
    for at, (bins, averaged) in enumerate(zip((1, 2, 4), solved.averaged, strict=True)):
        values, errors = jackknife(sums[:, :bins].sum(axis=1), lambda rows: _read(rows, robots))
        for name, value, error in zip(MEASURES, values, errors, strict=True):
            truth = float(averaged[name])
            margin = WIDER * plan.margin_of(name, truth)
            found.append(
                Comparison(
                    name, f"t = {times[at]:.6g}", truth, float(value), float(error), count - 1, margin, ROUNDING * truth
                )
            )
    return tuple(one for one in found if np.isfinite(one.simulated) and one.measure in plan.measures)


def run_many(piece: tuple[Job, int, int]) -> FloatArray:
    """The bins' sums of several short runs: (runs, bins, columns)."""
    job, first, last = piece
    plan = job.plan()
    rows = []
    for replication in range(first, last):
        streams = open_streams(job.seed, replication)
        level, phases = opening(job.scenario, plan, job.start, streams)
        engine = run_simpy if job.engine == "simpy" else run_compiled
        rows.append(bin_sums(engine(plan, streams, level, phases)[0]))
    return np.array(rows)


def _read(rows: FloatArray, robots: FloatArray) -> FloatArray:
    """The measures, as averages over time and shares of the delivered pages."""
    at_level, delivered, time = rows[:, LEVELS:], rows[:, DELIVERED], rows[:, TIME]
    columns: Sequence[FloatArray] = (
        delivered / time,
        rows[:, LOST] / delivered,
        rows[:, OBSOLETE] / delivered,
        rows[:, SERVED] / delivered,
        at_level[:, 0] / time,
        at_level @ robots / time,
        at_level @ np.arange(at_level.shape[1]) / time,
    )
    return np.stack(columns, axis=1)
