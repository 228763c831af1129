"""Transient against transient: the approach to equilibrium from an empty system, solved and simulated.

Both sides give averages over [0, t]: time averages, and shares of the pages delivered until t. Each replication starts
empty with the arrival phase in equilibrium and runs once through the whole approach, so precision comes from many
short runs, not from long ones; the margin is wider than that of the stationary measures.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from analytic import transient
from analytic.chain.summary import BASIC_MEASURES
from crawltwin.model import Scenario
from simulate import SampleSettings, draw_approach
from validate.comparison import ROUNDING, scalar_error
from validate.parts import FromEmpty
from validate.plan import ValidationPlan
from validate.verdict import Comparison, reach

BINS = (1, 2, 4)
"""The approach is looked at after a quarter and a half of the way, and at its end; in bins of a quarter."""
PILOT_RUNS = {"compiled": 1000, "simpy": 100}
"""Runs that set the number of runs, with each engine."""
MOST_RUNS = {"compiled": 20_000, "simpy": 1000}
"""Runs from empty at most."""
SPARE = 1.1
"""Factor on the pilot's standard errors, for their own error."""
WIDER = 10.0
"""Margin of the approach, as a multiple of the stationary margin."""


@dataclass(frozen=True)
class Approach:
    """Both sides of the approach, and the pages that the simulated one rests on."""

    comparisons: tuple[Comparison, ...] = ()
    pages: int = 0


def compare_approach(
    scenario: Scenario, plan: ValidationPlan, settled: float | None, settings: SampleSettings
) -> Approach:
    """Averages over [0, t] from empty at three times up to half the settling time; nothing for a chain too large.

    Nothing either for a crawler that is settled from the first moment on, such as one that is nearly always empty.
    A pilot sets the number of runs, which then are fresh ones. `settings` holds the seed, the engine and the workers.

    Cost: 0.6 milliseconds per run, and (fastest rate) (settling time) sparse products for the solved side.
    """
    if not settled:
        return Approach()
    horizon = settled / 2
    times = [horizon * bins / BINS[-1] for bins in BINS]
    solved = transient(scenario, times)

    def compare_runs(first: int, count: int) -> Approach:
        runs = replace(settings, time=horizon, bins=BINS[-1], first=first, replications=count)
        samples = draw_approach(scenario, runs, BINS)
        found = []
        for time, sample, averaged in zip(times, samples, solved.averaged, strict=True):
            for name in BASIC_MEASURES:
                seen, truth = sample.scalars.get(name), averaged.get(name)
                if seen is not None and truth is not None and name in plan.measures:
                    margin = WIDER * plan.margin_of(name, truth, averaged["arrival_rate"])
                    error, own = scalar_error(name, truth, seen.error, sample), ROUNDING * truth
                    found.append(
                        Comparison(name, FromEmpty(time), truth, seen.value, error, sample.freedom, margin, own)
                    )
        return Approach(tuple(found), samples[-1].pages)

    pilot = PILOT_RUNS[plan.engine]
    seen = [one for one in compare_runs(0, pilot).comparisons if one.margin > 0]
    # Runs that saw too few pages to tell an error ask for as many as there may be.
    ratio = min(max((one.error / one.margin for one in seen), default=0.0), 1e6)
    wanted = math.ceil(pilot * (SPARE * reach(plan.confidence, plan.power) * ratio) ** 2)
    return compare_runs(pilot, max(pilot, min(wanted, MOST_RUNS[plan.engine])))
