"""`python -m benchmarks.logs.finish [LOG ...]`: when is a crawl done? Logs cut at 25, 50 and 75% of their pages.

The rest of each log is the list to be finished. For the logs that are named and for kinds of made crawls: how often the
interval of 90% holds the true time, and the median error beside that of "pages done over time elapsed".
"""

import heapq
import sys
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import numpy as np
import numpy.typing as npt

from analytic import Completion
from crawltwin.plan.evidence.finish import finish_of
from fitting import FitResult, RawLog, read_log
from fitting.readers.times.stamps import SECOND
from fitting.trace.cleaning import clean

Float = npt.NDArray[np.float64]
CUTS = (0.25, 0.5, 0.75)
CRAWLS = 40


def polite(rng: np.random.Generator) -> tuple[Float, npt.NDArray[np.uint64]]:
    """Hosts of Pareto sizes, each fetched from by one of a few workers at a time, with a delay in between."""
    total, hosts = int(rng.integers(800, 6000)), int(rng.integers(30, 300))
    left = np.minimum(np.ceil(5 * rng.pareto(rng.uniform(0.9, 2.0), hosts) + 1), total // 3)
    mean, delay = rng.lognormal(np.log(0.5), 0.7, hosts), rng.choice([0.5, 1.0, 2.0])
    ready = [(0.0, int(host)) for host in rng.permutation(hosts)]
    free = [0.0] * int(rng.choice([4, 8, 16]))
    heapq.heapify(ready)
    found = []
    while ready and len(found) < total:
        since, host = heapq.heappop(ready)
        took = mean[host] * rng.gamma(2, 0.5)
        end = max(since, heapq.heappop(free)) + took
        heapq.heappush(free, end)
        found.append((end, host + 1))
        left[host] -= 1
        if left[host] > 0:
            heapq.heappush(ready, (end + delay * took, host))
    times, names = zip(*sorted(found), strict=True)
    return np.array(times) - times[0], np.array(names, dtype=np.uint64)


def with_stops(times: Float, rng: np.random.Generator) -> Float:
    """Four stops at random, each as long as a tenth of the crawl on average."""
    gaps = np.diff(times, prepend=0.0)
    gaps[rng.choice(times.size, 4, replace=False)] += rng.exponential(times[-1] / 10, 4)
    return np.cumsum(gaps)


def made(rng: np.random.Generator) -> Iterator[tuple[str, Float, npt.NDArray[np.uint64] | None]]:
    """Made crawls, by kind."""
    for _ in range(CRAWLS):
        yield "steady, one stream", np.cumsum(rng.exponential(1.0, rng.integers(400, 6000))), None
        lengths = rng.geometric(0.01, 80)
        means = np.repeat(np.where(np.arange(80) % 2, 4.0, 1.0), lengths)
        yield "two regimes x4 of 100 pages", np.cumsum(rng.exponential(means)), None
        pages = int(rng.integers(800, 6000))
        yield "steady, many hosts", np.cumsum(rng.exponential(1.0, pages)), rng.integers(1, 50, pages).astype(np.uint64)
        times, hosts = polite(rng)
        yield "polite to hosts of Pareto sizes", times, hosts
        yield "the same with four stops", with_stops(times, rng), hosts


def forecast(log: RawLog, pages: int) -> tuple[bool, float, float]:
    """Whether the interval holds the true time, the error of the median, and that of the linear formula."""
    kept = {name: column[:pages] for name in ("time", "host") if (column := getattr(log, name)) is not None}
    begun, rest = replace(log, **kept), len(log) - pages
    fit = SimpleNamespace(log=begun, cleaning=clean(begun.seconds))
    elapsed, true = float(begun.seconds[-1]), float(log.seconds[-1] - log.seconds[pages - 1])
    pace = (elapsed - fit.cleaning.paused_seconds) / pages
    done = SimpleNamespace(urls=rest, mean=rest * pace, variance=rest * pace**2)
    found = finish_of(cast(Completion, done), np.zeros(0), 1.0, cast(FitResult, fit), seed=1)
    return found.low <= true <= found.high, abs(found.median / true - 1), abs(elapsed / pages * rest / true - 1)


def main(paths: list[str]) -> None:
    """Print the table."""
    cases: dict[str, list[tuple[bool, float, float]]] = {}
    logs = [("logs that were named", read_log(path)) for path in paths]
    empty = dict.fromkeys(("size", "page", "content", "took", "worker", "depth", "robots", "run_starts"))
    for kind, times, hosts in made(np.random.default_rng(1)):
        time = np.rint(times * SECOND).astype(np.int64)
        counts = dict.fromkeys(("rows", "other_lines", "broken", "out_of_order"), 0)
        words = {"format": "made", "files": (), "broken_shown": (), "notes": (), "dropped": {}}
        clock = {"detected": False, "resolution": 1e-9, "zoned": True, "from_gaps": False}
        columns = {"time": time, "host": hosts, "size": None, "page": None, "content": None}
        logs.append((kind, RawLog(**counts, **words, **clock, **columns)))  # type: ignore[arg-type]
    for kind, log in logs:
        bare = replace(log, **empty)
        cases.setdefault(kind, []).extend(forecast(bare, int(len(log) * cut)) for cut in CUTS)
    print("| crawls | forecasts | intervals that held | median error | of the linear formula |")
    print("|---|---:|---:|---:|---:|")
    for kind, rows in cases.items():
        held, own, linear = (np.array(column) for column in zip(*rows, strict=True))
        print(f"| {kind} | {len(rows)} | {held.mean():.0%} | {np.median(own):.0%} | {np.median(linear):.0%} |")


if __name__ == "__main__":
    main(sys.argv[1:])
