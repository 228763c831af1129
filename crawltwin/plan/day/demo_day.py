"""The log of a crawler whose pace follows the time of day, made from a known model.

A crawler of news: from 7 to 19 o'clock many pages are new, at night few are. Batches come at random (a Poisson stream)
at `RATES`, busy and quiet; a batch has one to five pages. Four robots wrote the log; fewer robots bring as much less.
Where a running robot costs much, four of them are worth it by day while the indexer would be idle, and one at night:
no rule that knows only the backlog can do both, because the backlog is 0 in both cases.
"""

from __future__ import annotations

import datetime as dt

import numpy as np
import numpy.typing as npt

from crawltwin.model import BMAP, CostWeights, Scenario, ThinnedStream, exponential
from crawltwin.model.checks import FloatArray
from crawltwin.plan.demo_trace import heritrix_log

HOUR, DAY = 3_600.0, 86_400.0
BUSY = (7 * HOUR, 19 * HOUR)
RATES = (0.05, 0.008)
"""Batches per second while busy and while quiet."""
BATCH_SIZES = (0.4, 0.2, 0.2, 0.1, 0.1)
ROBOTS = 4
DAYS = 10
SIZE_MEAN = 24_000.0
PROCESSING_RATE = 1_200.0
OBSOLESCENCE_MEAN = 1_800.0
CAPACITY = 12
COST = CostWeights(loss=2_000, obsolescence=1_000, response=0.05, robots=8, starvation=60)


def true_scenarios() -> tuple[Scenario, Scenario]:
    """The crawler while it is busy and while it is quiet, each for half of the day."""
    busy, quiet = (
        Scenario(
            title=f"the crawler of news, {words}",
            capacity=CAPACITY,
            arrivals=ThinnedStream(
                BMAP.from_map([[-rate]], [[rate]], BATCH_SIZES), tuple((r + 1) / ROBOTS for r in range(ROBOTS))
            ),
            service=exponential(SIZE_MEAN / PROCESSING_RATE),
            obsolescence=exponential(OBSOLESCENCE_MEAN),
            cost=COST,
        )
        for rate, words in zip(RATES, ("by day", "at night"), strict=True)
    )
    return busy, quiet


def day_pages(seed: int = 1, days: int = DAYS) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """Seconds since the first midnight and content size in bytes of each delivered page."""
    rng = np.random.default_rng([seed, 24])
    drawn = np.sort(rng.uniform(0, days * DAY, rng.poisson(RATES[0] * days * DAY)))
    hour = drawn % DAY
    kept = (BUSY[0] <= hour) & (hour < BUSY[1]) | (rng.random(drawn.size) < RATES[1] / RATES[0])
    moments = drawn[kept]
    counts = rng.choice(np.arange(1, len(BATCH_SIZES) + 1), moments.size, p=BATCH_SIZES)
    inside = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    times = np.repeat(moments, counts) + 0.004 * inside
    content = np.maximum(1, np.rint(rng.exponential(SIZE_MEAN, times.size))).astype(np.int64)
    order = np.argsort(times, kind="stable")
    return times[order], content


def day_log(seed: int = 1, days: int = DAYS) -> str:
    """The whole log as text, in the form of a Heritrix crawl.log."""
    return heritrix_log(*day_pages(seed, days), dt.datetime(2025, 3, 3, tzinfo=dt.UTC), seed)
