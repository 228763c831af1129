r"""A crawler's log made from a known model, so that a newcomer can walk the whole road and the answer is known.

The crawler runs four robots. It has a busy regime and a quiet one: gaps between batches are Erlang with three stages,
of mean 12 s when busy and 120 s when quiet, and after each batch the regime stays with probability 0.985. So gaps are
strongly and slowly correlated, :math:`\rho_k = 0.546 \cdot 0.97^k` (0.53 at lag 1, 0.46 at lag 6), much as in the
founding paper's measured trace. Batches have one to six pages, mostly three or four, delivered some milliseconds apart.
Content sizes are a mixture of two exponentials, 25 kB mostly and 400 kB for one page in 25. In the middle the crawl was
stopped for two days. 65,000 deliveries take some fifteen days; failed fetches and name lookups stand between them, as
they do in real logs.

The log has the form of a Heritrix crawl.log: time, status, size, address, discovery path, referrer, type, thread, start
and duration of the fetch, digest, source, remarks. Same seed, same bytes.
"""

from __future__ import annotations

import datetime as dt
import hashlib

import numpy as np
import numpy.typing as npt

from crawltwin.model import BMAP, CostWeights, Scenario, ThinnedStream, exponential, hyperexponential
from crawltwin.model.checks import FloatArray

ROBOTS = 4
DELIVERIES = 65_000
MEAN_GAPS = (12.0, 120.0)
STAGES = 3
STAY = 0.985
BATCH_SIZES = (0.05, 0.18, 0.26, 0.49, 0.01, 0.01)
SIZE_WEIGHTS = (0.04, 0.96)
SIZE_MEANS = (400_000.0, 25_000.0)
PAUSE = 2 * 86_400.0
PROCESSING_RATE = 1_500.0
OBSOLESCENCE_MEAN = 2_000.0
CAPACITY = 20
COST = CostWeights(loss=25_000, obsolescence=17_000, response=0.17, robots=8, starvation=300)
"""Weights under which every term takes part: none is above six tenths of the cost or much below a tenth."""


def true_process() -> BMAP:
    """The arrivals with all four robots running, in seconds."""
    order = 2 * STAGES
    D0, D1 = np.zeros((order, order)), np.zeros((order, order))
    for regime, mean in enumerate(MEAN_GAPS):
        rate, at = STAGES / mean, regime * STAGES
        for stage in range(STAGES):
            D0[at + stage, at + stage] = -rate
            if stage + 1 < STAGES:
                D0[at + stage, at + stage + 1] = rate
        D1[at + STAGES - 1, at] = STAY * rate
        D1[at + STAGES - 1, (1 - regime) * STAGES] = (1 - STAY) * rate
    return BMAP.from_map(D0, D1, BATCH_SIZES)


def true_scenario() -> Scenario:
    """The crawler that the log comes from; robots switched off thin its stream."""
    rates = [PROCESSING_RATE / mean for mean in SIZE_MEANS]
    return Scenario(
        title="the model behind the demonstration log",
        capacity=CAPACITY,
        arrivals=ThinnedStream(true_process(), tuple((r + 1) / ROBOTS for r in range(ROBOTS))),
        service=hyperexponential(SIZE_WEIGHTS, rates),
        obsolescence=exponential(OBSOLESCENCE_MEAN),
        cost=COST,
    )


def demo_pages(seed: int = 1, deliveries: int = DELIVERIES) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """Seconds since the start and content size in bytes of each delivered page."""
    arrivals, pages, sizes = (np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(4)[:3])
    batches = int(deliveries / np.dot(np.arange(1, 7), BATCH_SIZES) * 1.1) + 20
    found = true_process().sample(arrivals, batches)
    counts = found.sizes
    last = int(np.searchsorted(np.cumsum(counts), deliveries)) + 1
    moments, counts = found.times[:last].copy(), counts[:last]
    moments[last // 2 :] += PAUSE
    times = np.repeat(moments, counts)
    inside = np.arange(times.size) - np.repeat(np.cumsum(counts) - counts, counts)
    times = times + inside * 0.004 + pages.uniform(0.001, 0.003, times.size) * (inside > 0)
    small = sizes.random(times.size) >= SIZE_WEIGHTS[0]
    content = sizes.exponential(np.where(small, SIZE_MEANS[1], SIZE_MEANS[0]))
    return times[:deliveries], np.maximum(1, np.rint(content[:deliveries])).astype(np.int64)


def demo_log(seed: int = 1, deliveries: int = DELIVERIES) -> str:
    """The whole log as text. Cost: about two seconds."""
    return heritrix_log(*demo_pages(seed, deliveries), dt.datetime(2025, 3, 3, 6, 0, tzinfo=dt.UTC), seed)


def heritrix_log(times: FloatArray, content: npt.NDArray[np.int64], begin: dt.datetime, seed: int) -> str:
    """Pages with times in seconds after `begin` and sizes in bytes, as lines of a crawl.log."""
    rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(4)[3])
    kinds, noise = rng.random(times.size), rng.integers(0, 90, times.size)
    took = rng.integers(40, 900, times.size)
    lines: list[str] = []
    for index, (second, size) in enumerate(zip(times.tolist(), content.tolist())):
        now = begin + dt.timedelta(milliseconds=round(1000 * second))
        stamp = _stamp(now)
        site, thread = f"site-{noise[index]:02d}.example", f"#{index % 50:03d}"
        if kinds[index] < 0.02:
            lines.append(f"{stamp}     1         57 dns:{site} P http://{site}/ text/dns {thread} - - - -")
        elif kinds[index] < 0.05:
            lines.append(
                f"{stamp}    -2          - http://{site}/gone/{index} L http://{site}/ unknown {thread} - - - -"
            )
        start = (now - dt.timedelta(milliseconds=int(took[index]))).strftime("%Y%m%d%H%M%S%f")[:17]
        digest = hashlib.sha1(f"{seed} {index}".encode(), usedforsecurity=False).hexdigest()[:20]
        lines.append(
            f"{stamp}   200 {size:10d} http://{site}/page/{index} L http://{site}/ text/html {thread} "
            f"{start}+{took[index]} sha1:{digest} - -"
        )
    return "\n".join(lines) + "\n"


def _stamp(now: dt.datetime) -> str:
    return now.strftime("%Y-%m-%dT%H:%M:%S.%f")[:23] + "Z"
