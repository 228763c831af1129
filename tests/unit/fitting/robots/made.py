"""Made crawls whose truth is known: robots that fetch without a break, with fast and slow spells if wanted."""

import heapq

import numpy as np

from crawltwin.model.arrivals.spells import Spells
from fitting.robots.fetches import Fetches


def crawl(law, robots, seconds, seed=0, spells=None):
    """Begins, ends and robots of all fetches that end within `seconds`, by ends.

    A fetch needs an amount of work with law `law`; in spell j work is done at the pace of the spell.
    """
    rng = np.random.default_rng(seed)
    spells = spells or Spells([[0.0]], [1.0])
    change, pace, state = [0.0], [], int(rng.choice(spells.count, p=spells.shares))
    while change[-1] < 2 * seconds:
        pace.append(spells.pace[state])
        rate = -spells.generator[state, state]
        change.append(change[-1] + (rng.exponential(1 / rate) if rate > 0 else 1e9))
        if spells.count > 1:
            state = 1 - state
    work_at = np.concatenate([[0.0], np.cumsum(np.diff(change) * np.array(pace))])
    amounts = iter(law.sample(rng, int(4 * robots * seconds / law.mean) + 100 * robots))
    begin, end, worker = [], [], []
    queue = [(0.0, robot) for robot in range(robots)]
    while queue:
        now, robot = heapq.heappop(queue)
        done = np.interp(now, change, work_at) + next(amounts)
        then = float(np.interp(done, work_at, change))
        if then <= seconds:
            begin.append(now)
            end.append(then)
            worker.append(robot)
            heapq.heappush(queue, (then, robot))
    order = np.argsort(end)
    return np.array(begin)[order], np.array(end)[order], np.array(worker)[order]


def fetches(*made, seconds):
    """As one stretch from 0 to `seconds`."""
    begin, end, worker = made
    return Fetches(begin, end, worker, np.zeros(end.size, dtype=np.int64), np.array([[0.0, seconds]]))


def heritrix(path, begin, end, worker):
    """A Heritrix log of the crawl, times and durations to the millisecond."""
    with path.open("w") as stream:
        for b, e, w in zip(begin, end, worker, strict=True):
            first = np.datetime64(round((1.46e9 + b) * 1000), "ms").astype(str)
            packed = first.translate({ord(c): None for c in "-T:."})
            took = max(round((e - b) * 1000), 1)
            stamp = np.datetime64(round((1.46e9 + e) * 1000), "ms").astype(str)
            stream.write(f"{stamp}Z 200 1000 http://a.org/ L - text/html #{w + 1:03d} {packed}+{took} sha1:X - -\n")
    return path
