"""How often the intervals of the rare-event estimator hold the truth, and what it costs.

The truth is the solved chain. Every experiment is the whole procedure with a seed of its own: looking for thresholds,
then replications. They are short on purpose: the longer ones, the more symmetric the estimate.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

from benchmarks.rare.crawlers import rare_crawlers
from benchmarks.rows import Row
from crawltwin.model import Scenario

EXPERIMENTS = 60
PAGES = 1_000
REPLICATIONS = 30


@dataclass(frozen=True)
class Held:
    """How often intervals of 95% held the truth; those above and below it; their relative error; seconds for each."""

    count: int
    held: int
    above: int
    below: int
    relative_error: float
    seconds: float


def coverage_of(scenario: Scenario, truth: float, count: int, pages: int | None = PAGES, first: int = 1) -> Held:
    """Repeat the estimate with the seeds from `first` on."""
    from simulate import rare_loss

    began = time.process_time()
    found = [
        rare_loss(scenario, pages=pages, replications=REPLICATIONS, seed=first + index, workers=1)
        for index in range(count)
    ]
    return Held(
        count,
        sum(one.loss_probability.covers(truth) for one in found),
        sum(one.loss_probability.low > truth for one in found),
        sum(one.loss_probability.high < truth for one in found),
        sorted(one.relative_error for one in found)[count // 2],
        (time.process_time() - began) / count,
    )


def run() -> list[Row]:
    """Coverage and cost for each crawler, and coverage over all of them."""
    from analytic import solve

    rows, held, count = [], 0, 0
    for name, scenario in rare_crawlers().items():
        truth = solve(scenario).measures["loss_probability"]
        found = coverage_of(scenario, truth, EXPERIMENTS)
        note = f"loss {truth:.1e}, relative error {found.relative_error:.0%}, {found.above} above, {found.below} below"
        rows.append(Row(f"rare loss, {name}", "intervals of 95% that hold", 100 * found.held / found.count, "%", note))
        rows.append(Row(f"rare loss, {name}: one estimate", "crawltwin", found.seconds, "s", note))
        print(f"{name}: {found}", file=sys.stderr, flush=True)
        held, count = held + found.held, count + found.count
    rows.append(Row("rare loss, all crawlers", "intervals of 95% that hold", 100 * held / count, "%", f"of {count}"))
    return rows
