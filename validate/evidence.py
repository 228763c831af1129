"""Both sides of one scenario, gathered before any verdict.

The order of events is fixed: solve, pilot (sets the length, nothing else), run, compare. The pilot, the run, the
approach to equilibrium and the splitting for a rare loss use random numbers of their own, children of the plan's seed.

A run whose warm-up ends before the start is forgotten is biased, however many runs there are. Where the budget is
short, fewer and longer replications are run; where not even `LEAST_REPLICATIONS` of them outlast the settling time,
nothing can be concluded: every standard error is infinite.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np

from analytic import Solution, solve
from crawltwin.model import Scenario
from crawltwin.work.progress import ProgressCallback
from simulate import Sample, SampleSettings, draw_sample
from validate.approach import Approach, compare_approach
from validate.comparison import compare
from validate.identities import Identity, engines_agree, simulated_identities, solved_identities
from validate.length import (
    LEAST_REPLICATIONS,
    PILOT_PAGES,
    PILOT_REPLICATIONS,
    WARMUP_SHARE,
    PlannedLength,
    StartUp,
    chain_sigmas,
    given_length,
    longest_stay,
    plan_length,
    settling,
    too_short,
)
from validate.plan import ValidationPlan
from validate.splitting import RARE, compare_by_splitting, too_rare_to_count
from validate.verdict import Comparison

RUN_BINS = 200
"""Bins of a replication; a twentieth of them is its warm-up."""
PILOT, MAIN, APPROACH, SPLITTING = range(4)
"""Children of the plan's seed."""


@dataclass(frozen=True)
class Evidence:
    """Both sides of one scenario, before any verdict."""

    scenario: Scenario
    solution: Solution
    sample: Sample
    comparisons: tuple[Comparison, ...]
    approach: Approach
    identities: tuple[Identity, ...]
    length: PlannedLength
    seconds: float
    notes: tuple[str, ...] = ()


def child_seed(seed: int, scenario: Scenario, child: int) -> int:
    """A seed of its own for each scenario and each part of a cross-check."""
    entropy = [seed, int(scenario.content_hash[:16], 16), child]
    return int(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0])


def runs_after_warm_up(settings: SampleSettings, time_each: float, replications: int) -> SampleSettings:
    """Replications from an empty system, each of length `time_each` after its warm-up, a twentieth of the run."""
    whole = time_each / (1 - WARMUP_SHARE)
    # The warm-up is cut between bins; a hair less keeps rounding from taking one bin more.
    warmup = whole * WARMUP_SHARE * (1 - 1e-9)
    return replace(settings, time=whole, bins=RUN_BINS, warmup=warmup, replications=replications)


def gather_evidence(
    scenario: Scenario,
    plan: ValidationPlan,
    approach: bool = True,
    workers: int | None = 1,
    cluster: str | None = None,
    progress: ProgressCallback | None = None,
) -> Evidence:
    """Both sides of one scenario, compared number by number."""
    began = time.perf_counter()
    solution = solve(scenario)
    rate = float(solution.measures["arrival_rate"])
    settled = settling(scenario, solution.solver.states)
    start_up = StartUp(rate, settled, longest_stay(solution))

    def settings(child: int) -> SampleSettings:
        seed = child_seed(plan.seed, scenario, child)
        return SampleSettings(seed=seed, engine=plan.engine, workers=workers, cluster=cluster)

    def run(pages: float, replications: int, child: int, told: ProgressCallback | None) -> Sample:
        runs = runs_after_warm_up(settings(child), pages / replications / rate, replications)
        return draw_sample(scenario, runs, progress=told)

    rare = too_rare_to_count(plan, float(solution.measures["loss_probability"]))
    least, replications = start_up.least_pages(plan.replications), plan.replications
    if plan.pages is not None:
        planned = given_length(plan.pages, least, settled)
    elif pilots := start_up.replications(plan.budget // 2, PILOT_REPLICATIONS):
        first = max(min(PILOT_PAGES[plan.engine], plan.budget // 4), start_up.least_pages(pilots))
        pilot = run(first, pilots, PILOT, None)
        sigmas = chain_sigmas(scenario, rate, solution.solver.states)
        counted = tuple(one for one in compare(solution, pilot, plan) if not (rare and one.measure == RARE))
        planned = plan_length(counted, pilot.pages, plan, least, settled, sigmas)
        replications = start_up.replications(planned.pages, plan.replications)
    else:
        replications = 0
    if not replications:
        planned = too_short(plan.budget, 2 * start_up.least_pages(LEAST_REPLICATIONS), settled)
    told = _halves(progress) if rare else (progress, None)
    sample = run(planned.pages, replications or LEAST_REPLICATIONS, MAIN, told[0])
    comparisons = compare(solution, sample, plan)
    notes: tuple[str, ...] = ()
    if rare and replications:
        seed = child_seed(plan.seed, scenario, SPLITTING)
        split, note = compare_by_splitting(solution, plan, seed, workers, cluster, told[1])
        comparisons, notes = tuple(split if one.measure == RARE else one for one in comparisons), (note,)
    return Evidence(
        scenario,
        solution,
        sample,
        comparisons if replications else tuple(replace(one, error=math.inf) for one in comparisons),
        compare_approach(scenario, plan, settled, settings(APPROACH)) if approach else Approach(),
        (*solved_identities(solution), *simulated_identities(sample), engines_agree(scenario, plan.seed)),
        planned,
        time.perf_counter() - began,
        notes,
    )


def _halves(progress: ProgressCallback | None) -> tuple[ProgressCallback | None, ProgressCallback | None]:
    """Progress of two parts, one after the other."""
    if progress is None:
        return None, None
    return lambda done, total: progress(done, 2 * total), lambda done, total: progress(total + done, 2 * total)
