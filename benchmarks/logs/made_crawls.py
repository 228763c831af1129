"""Made crawls of several kinds, whose end is known: to tune a forecast on some seeds and to judge it on others."""

import heapq
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from fitting import RawLog
from fitting.readers.times.stamps import SECOND

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]


@dataclass
class Made:
    """Pages in the order in which they came; a parent is the number of a page, -1 for a seed or a page of a list."""

    times: Float
    host: Int | None = None
    took: Float | None = None
    parent: Int | None = None

    def log(self) -> RawLog:
        """As a reader would give it."""
        raw = RawLog.of_times(np.rint((self.times - self.times[0]) * SECOND).astype(np.int64))
        numbers = np.arange(1, self.times.size + 1).astype(np.uint64)
        return replace(
            raw,
            took=self.took,
            host=None if self.host is None else self.host.astype(np.uint64) + np.uint64(1),
            page=None if self.parent is None else numbers,
            parent=None if self.parent is None else (self.parent + 1).astype(np.uint64),
        )


def polite_crawl(
    sizes: Int,
    pace: Float,
    delay: Callable[[float], float],
    workers: int,
    rng: np.random.Generator,
    children: Callable[[int], int] = lambda _: 0,
    most: float = np.inf,
    begins: Float | None = None,
) -> Made:
    """Queues of hosts, one fetch at a time from each, a delay after it, a few workers for all; pages bring children."""
    queues = [deque((0, -1) for _ in range(size)) for size in sizes]
    since = np.zeros(sizes.size) if begins is None else begins
    ready = [(float(since[host]), int(host)) for host in rng.permutation(sizes.size) if sizes[host]]
    heapq.heapify(ready)
    idle = {int(host): 0.0 for host in np.flatnonzero(sizes == 0)}
    under_way: list[tuple[float, int, float, int, int]] = []
    now, found = 0.0, []
    while (ready or under_way) and len(found) < most:
        while ready and ready[0][0] <= now and len(under_way) < workers:
            _, host = heapq.heappop(ready)
            length = pace[host] * rng.gamma(2, 0.5)
            heapq.heappush(under_way, (now + length, host, length, *queues[host].popleft()))
        may_start = bool(ready) and len(under_way) < workers
        if may_start and (not under_way or ready[0][0] < under_way[0][0]):
            now = ready[0][0]
            continue
        now, host, length, depth, parent = heapq.heappop(under_way)
        found.append((now, host, length, parent))
        for _ in range(children(depth)):
            to = host if rng.random() < 0.8 else int(rng.integers(sizes.size))
            queues[to].append((depth + 1, len(found) - 1))
            if to in idle:
                heapq.heappush(ready, (max(idle.pop(to), now), to))
        if queues[host]:
            heapq.heappush(ready, (now + delay(length), host))
        else:
            idle[host] = now + delay(length)
    times, hosts, took, parent = map(np.array, zip(*found, strict=True))
    return Made(times, hosts, took, parent if (parent >= 0).any() else None)


def _rule(rng: np.random.Generator) -> Callable[[float], float]:
    """A delay that is fixed, or a multiple of the fetch."""
    factor, fixed = rng.choice([0.5, 1.0, 2.0, 5.0]), rng.choice([0.5, 1.0, 3.0])
    return (lambda took: factor * took) if rng.random() < 0.6 else (lambda _: fixed)


def of_pareto_sizes(rng: np.random.Generator) -> Made:
    """Hosts of Pareto sizes."""
    hosts = int(rng.integers(30, 300))
    sizes = np.minimum(np.ceil(5 * rng.pareto(rng.uniform(0.9, 2.0), hosts) + 1), 1500).astype(np.int64)
    return polite_crawl(sizes, rng.lognormal(np.log(0.5), 0.7, hosts), _rule(rng), rng.choice([4, 8, 16, 64]), rng)


def of_like_sizes(rng: np.random.Generator) -> Made:
    """Hosts of about the same size."""
    hosts, mean = int(rng.integers(10, 100)), rng.uniform(10, 60)
    sizes = rng.poisson(mean, hosts) + 1
    return polite_crawl(sizes, rng.lognormal(np.log(0.5), 0.7, hosts), _rule(rng), rng.choice([4, 8, 16, 64]), rng)


def piece_of_a_wide_crawl(rng: np.random.Generator) -> Made:
    """New hosts of Pareto sizes all the time, and the log is a piece from the middle of the crawl."""
    hosts = int(rng.integers(100, 600))
    sizes = np.minimum(np.ceil(5 * rng.pareto(rng.uniform(0.9, 2.0), hosts) + 1), 1500).astype(np.int64)
    workers, pace = rng.choice([8, 16, 64]), rng.lognormal(np.log(0.5), 0.7, hosts)
    length = sizes @ pace / workers * rng.uniform(0.7, 3.0)
    made = polite_crawl(sizes, pace, _rule(rng), workers, rng, begins=np.sort(rng.uniform(0, length, hosts)))
    assert made.host is not None and made.took is not None
    piece = slice(*np.searchsorted(made.times, [0.25 * length, 0.9 * length]))
    return Made(made.times[piece], made.host[piece], made.took[piece])


def growing(rng: np.random.Generator) -> Made:
    """Links are found on the way: a page brings fewer new ones the deeper it lies."""
    while True:
        hosts, last = int(np.exp(rng.uniform(0, 4))), int(rng.integers(3, 8))
        links = rng.uniform(2, 12) * np.linspace(1, 0, last) ** rng.uniform(0.7, 2.0)

        def children(depth: int, links: Float = links, last: int = last) -> int:
            return 0 if depth >= last else int(rng.geometric(1 / (1 + links[depth])) - 1)

        seeds = np.append(int(rng.integers(1, 10)), rng.integers(0, 5, hosts - 1))
        pace = rng.lognormal(np.log(0.5), 0.5, hosts)
        made = polite_crawl(seeds, pace, _rule(rng), rng.choice([4, 8, 16, 64]), rng, children, most=8000)
        if 300 < made.times.size < 8000:
            return made


def with_stops(made: Made, rng: np.random.Generator) -> Made:
    """Four stops at random times, each as long as a tenth of the crawl on average; fetches are not timed."""
    at = np.searchsorted(made.times, rng.uniform(0, made.times[-1], 4))
    gaps = np.diff(made.times, prepend=0.0)
    np.add.at(gaps, at, rng.exponential(made.times[-1] / 10, 4))
    return Made(np.cumsum(gaps), made.host)


def steady(rng: np.random.Generator) -> Made:
    """One stream."""
    return Made(np.cumsum(rng.exponential(1.0, rng.integers(400, 6000))))


def of_regimes(rng: np.random.Generator) -> Made:
    """Two paces that alternate."""
    return Made(np.cumsum(rng.exponential(np.repeat(np.where(np.arange(80) % 2, 4.0, 1.0), rng.geometric(0.01, 80)))))


def slowing(rng: np.random.Generator) -> Made:
    """Ever longer gaps."""
    pages = int(rng.integers(800, 6000))
    return Made(np.cumsum(rng.exponential(np.arange(1, pages + 1) ** rng.uniform(0.2, 1))))


def in_random_order(rng: np.random.Generator) -> Made:
    """Many hosts in a list in random order."""
    pages = int(rng.integers(800, 6000))
    return Made(np.cumsum(rng.exponential(1.0, pages)), rng.integers(0, 50, pages))


KINDS: dict[str, Callable[[np.random.Generator], Made]] = {
    "steady, one stream": steady,
    "two regimes x4 of 100 pages": of_regimes,
    "slowing down, one stream": slowing,
    "steady, many hosts": in_random_order,
    "polite to hosts of Pareto sizes": of_pareto_sizes,
    "the same with four stops": lambda rng: with_stops(of_pareto_sizes(rng), rng),
    "polite to hosts of like sizes": of_like_sizes,
    "finding links on the way": growing,
    "a piece of a wide crawl": piece_of_a_wide_crawl,
}


def made_crawls(seed: int, count: int) -> Iterator[tuple[str, Made]]:
    """Crawls by kind, each kind with random numbers of its own."""
    for kind, make in KINDS.items():
        rng = np.random.default_rng([seed, list(KINDS).index(kind)])
        for _ in range(count):
            yield kind, make(rng)
