"""Transient against transient: the approach to equilibrium from an empty system, solved and simulated.

Both sides give averages over [0, t]: time averages, and shares of the pages delivered until t. Each replication starts
empty with the arrival phase in equilibrium and runs once through the whole approach, so precision comes from many
short runs, not from long ones; the margin is wider than that of the stationary measures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analytic import transient
from crawltwin import workers as pool
from crawltwin.model import Scenario
from crawltwin.model.checks import FloatArray
from simulate.plan import Length
from simulate.replications import Job, run_several
from simulate.units import DELIVERED, LEVELS, LOST, OBSOLETE, SERVED, TIME, bin_sums
from validate.comparison import ROUNDING
from validate.estimates import jackknife
from validate.plan import ValidationPlan
from validate.verdict import Comparison, reach

BINS = (1, 2, 4)
"""The approach is looked at after a quarter and a half of the way, and at its end; in bins of a quarter."""
PILOT_RUNS = {"compiled": 1000, "simpy": 100}
"""Runs that set the number of runs, with each engine."""
MOST_RUNS = {"compiled": 20_000, "simpy": 1000}
"""Runs from empty at most."""
RUNS_A_PIECE = 250
"""Runs handed to a worker at once."""
SPARE = 1.1
"""Factor on the pilot's standard errors, for their own error."""
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


@dataclass(frozen=True)
class Approach:
    """Both sides of the approach, and the pages that the simulated one rests on."""

    comparisons: tuple[Comparison, ...] = ()
    pages: int = 0


def compare_approach(
    scenario: Scenario,
    plan: ValidationPlan,
    settled: float | None,
    seed: int,
    workers: int | None = 1,
    cluster: str | None = None,
) -> Approach:
    """Averages over [0, t] from empty at three times up to half the settling time; nothing for a chain too large.

    A pilot sets the number of runs, which then are fresh ones.

    Cost: 0.6 milliseconds a run, and (fastest rate) (settling time) sparse products for the solved side.
    """
    if settled is None:
        return Approach()
    horizon = settled / 2
    times = [horizon * bins / BINS[-1] for bins in BINS]
    solved = transient(scenario, times)
    job = Job(scenario, Length(time=horizon, bins=BINS[-1]), seed, plan.engine)
    robots = job.plan().robots.astype(np.float64)

    def compare_runs(first: int, last: int) -> Approach:
        pieces = [(job, at, min(at + RUNS_A_PIECE, last)) for at in range(first, last, RUNS_A_PIECE)]
        sums = np.concatenate(list(pool.run(run_many, pieces, workers=workers, cluster=cluster)))
        found = []
        for time, bins, averaged in zip(times, BINS, solved.averaged, strict=True):
            values, errors = jackknife(sums[:, :bins].sum(axis=1), lambda rows: _read(rows, robots))
            for name, value, error in zip(MEASURES, values, errors, strict=True):
                truth = float(averaged[name])
                margin = WIDER * plan.margin_of(name, truth)
                part, own = f"t = {time:.6g}", ROUNDING * truth
                if np.isfinite(value) and name in plan.measures:
                    found.append(Comparison(name, part, truth, float(value), float(error), len(sums) - 1, margin, own))
        return Approach(tuple(found), int(sums[:, :, DELIVERED].sum()))

    pilot = PILOT_RUNS[plan.engine]
    ratios = [one.error / one.margin for one in compare_runs(0, pilot).comparisons if one.margin > 0]
    wanted = math.ceil(pilot * (SPARE * reach(plan.confidence, plan.power) * max(ratios, default=0.0)) ** 2)
    return compare_runs(pilot, pilot + max(pilot, min(wanted, MOST_RUNS[plan.engine])))


def run_many(piece: tuple[Job, int, int]) -> FloatArray:
    """The bins' sums of several short runs: (runs, bins, columns)."""
    job, first, last = piece
    return np.array([bin_sums(run) for run, _ in run_several(job, range(first, last))])


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
