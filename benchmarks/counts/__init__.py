"""Counts per minute against the whole log: whether the same policy is found, and what the difference costs.

Made crawlers with known truth, a seed for each: regimes of two or three rates that last from two minutes to an hour,
and single streams without regimes; 400 minutes with some 20 pages each, a buffer of 6 to 14 pages, two or three robots,
an indexer that is overrun in the busy regime, the plan's own weights. Both fits are the default ones and are told
nothing; the policy of each is the best of its model, and its cost is looked up in the true one. Crawlers whose pages
come in batches of one to four stand apart: counts do not tell them from bursts, the model with fewer numbers is taken.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.rows import Row

CRAWLERS = 50
BATCHED = 50
MINUTES, STEP, PAGES = 400, 60.0, 20.0


@dataclass(frozen=True)
class Found:
    """What both ways gave for one crawler: policies, costs in the truth, seconds of the processor."""

    policies: tuple[str, str, str]
    costs: tuple[float, float, float]
    seconds: tuple[float, float]


def truth(rng: np.random.Generator, batched: bool = False) -> Any:
    """A stream of some 20 pages per minute; rates per second."""
    from crawltwin.model import BMAP

    phases = int(rng.choice([1, 2, 2, 2, 3]))
    if batched:
        return BMAP.poisson(PAGES / STEP / 2.5, [0.25] * 4)
    lasting = STEP * np.exp(rng.uniform(np.log(2), np.log(60), phases))
    share = rng.dirichlet(np.full(max(phases - 1, 1), 3.0), phases)
    moves = np.zeros((phases, phases))
    for i in range(phases):
        others = [j for j in range(phases) if j != i]
        moves[i, others] = share[i, : len(others)] / lasting[i]
    rates = np.cumprod(np.concatenate([[1.0], rng.uniform(2.0, 6.0, phases - 1)]))
    stream = BMAP([moves - np.diag(moves.sum(axis=1) + rates), np.diag(rates)])
    factor = PAGES / STEP / stream.page_rate
    return BMAP([moves - np.diag(moves.sum(axis=1) + factor * rates), np.diag(factor * rates)])


def _process(found: Any, unit: float, shares: Any = None) -> Any:
    from fitting.choose.candidates import choose

    best = choose(found[0], "bic", 40).model
    return (best if shares is None else best.with_batch_sizes(shares)).bmap().scaled(1 / unit)


def compare(seed: int, batched: bool = False) -> Found:
    """One crawler: drawn, fitted both ways, optimised three times."""
    from analytic import optimize
    from crawltwin.model import ScaledStream, Scenario, exponential
    from crawltwin.plan.prepare import default_cost
    from fitting import FitOptions
    from fitting.choose.candidates import fit_candidates
    from fitting.choose.counted.rivals import fit_rivals
    from fitting.trace.segments import CountedIntervals, Segments

    rng = np.random.default_rng([seed, int(batched)])
    stream = truth(rng, batched)
    drawn = stream.sample(rng, int(2 * stream.batch_rate * MINUTES * STEP) + 200)
    inside = drawn.times < MINUTES * STEP
    times, sizes = drawn.times[inside], drawn.sizes[inside]
    robots, capacity = int(rng.integers(2, 4)), int(rng.integers(6, 15))
    service = exponential(rng.uniform(0.6, 1.0) / stream.page_rate)

    began = time.process_time()
    whole = Segments.of(np.diff(times), sizes[1:])
    unit = float(whole.gaps.mean())
    by_log = _process(fit_candidates(whole.scaled(1 / unit), FitOptions()), unit, whole.batch_shares)
    between = time.process_time()
    total = np.concatenate([[0], np.cumsum(sizes)])
    counts = np.diff(total[np.searchsorted(times, np.arange(MINUTES + 1) * STEP)])
    data = CountedIntervals(np.ones(MINUTES), counts, np.zeros(1, np.int64))
    by_counts = _process(fit_rivals(data, FitOptions()), STEP)
    seconds = (between - began, time.process_time() - between)

    cost = default_cost(stream.page_rate, service.mean, robots)
    optima = []
    for process in (stream, by_log, by_counts):
        arrivals = ScaledStream(process.scaled(1 / robots), robots)
        optima.append(optimize(Scenario(capacity=capacity, arrivals=arrivals, service=service, cost=cost)))
    table = [optimum.best.policy.robots_by_level(capacity) for optimum in optima]
    known = dict(zip(map(tuple, optima[0].tables.tolist()), optima[0].costs.tolist(), strict=True))
    costs = tuple(known[tuple(row)] for row in table)
    return Found(tuple(one.best.policy.short for one in optima), costs, seconds)  # type: ignore[arg-type]


def _rows(case: str, found: list[Found]) -> list[Row]:
    same = np.mean([one.policies[1] == one.policies[2] for one in found])
    rows = [
        Row(case, "same policy from counts as from the whole log", 100 * float(same), "%", f"{len(found)} crawlers")
    ]
    for at, name in ((1, "the whole log"), (2, "counts per minute")):
        above = np.array([one.costs[at] / one.costs[0] - 1 for one in found])
        best = np.mean([one.policies[at] == one.policies[0] for one in found])
        rows += [
            Row(case, f"true optimum found from {name}", 100 * float(best), "%"),
            Row(case, f"cost above the true optimum, mean, {name}", 100 * float(above.mean()), "%"),
            Row(case, f"cost above the true optimum, largest, {name}", 100 * float(above.max()), "%"),
            Row(case, f"fit to {name}, mean", float(np.mean([one.seconds[at - 1] for one in found])), "s"),
        ]
    return rows


def run() -> list[Row]:
    """Both groups of crawlers."""
    groups = {"regimes and single streams": (CRAWLERS, False), "batches of 1 to 4 pages": (BATCHED, True)}
    return [
        row
        for case, (count, batched) in groups.items()
        for row in _rows(case, [compare(seed, batched) for seed in range(count)])
    ]
