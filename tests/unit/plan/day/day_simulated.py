"""A crawler whose pace follows the time of day, event by event, with nothing of crawltwin but its numbers.

Poisson batches whose rate depends on the time, thinned by the number of robots; one indexer with exponential times,
first come, first served; waiting pages become stale after exponential times; a full buffer loses what comes.
"""

import heapq
import itertools

import numpy as np


def cost_of_days(truth, robots_at, days, seed):
    """The paper's cost over `days` days; `robots_at(level, seconds)` is the policy, `truth` holds the true numbers."""
    rng, order, events = np.random.default_rng(seed), itertools.count(), []
    end, now, level, queue, serving = days * truth.DAY, 0.0, 0, [], None
    lost = stale = served = 0
    waited = robot_time = idle_time = 0.0
    sizes = np.arange(1, len(truth.BATCH_SIZES) + 1)

    def put(delay, kind, page=None):
        heapq.heappush(events, (now + delay, next(order), kind, page))

    def is_busy(seconds):
        return truth.BUSY[0] <= seconds % truth.DAY < truth.BUSY[1]

    for day, border in itertools.product(range(days), truth.BUSY):
        put(day * truth.DAY + border, "border")
    put(end, "end")
    put(rng.exponential(1 / truth.RATES[0]), "batch")
    while True:
        time, _, kind, page = heapq.heappop(events)
        # Between two events, borders of the day among them, the number of robots stays.
        robots = robots_at(level, (now + time) / 2)
        robot_time += robots * (time - now)
        idle_time += (serving is None) * (time - now)
        now = time
        if kind == "end":
            break
        if kind == "batch":
            put(rng.exponential(1 / truth.RATES[0]), "batch")
            pace = 1.0 if is_busy(now) else truth.RATES[1] / truth.RATES[0]
            if rng.random() < pace * robots / truth.ROBOTS:
                for _ in range(rng.choice(sizes, p=truth.BATCH_SIZES)):
                    if level == truth.CAPACITY:
                        lost += 1
                    else:
                        level += 1
                        queue.append({"came": now, "waits": True})
                        put(rng.exponential(truth.OBSOLESCENCE_MEAN), "stale", queue[-1])
        elif kind == "indexed":
            served, waited, serving, level = served + 1, waited + now - serving["came"], None, level - 1
        elif kind == "stale" and page["waits"]:
            page["waits"] = False
            queue.remove(page)
            stale, level = stale + 1, level - 1
        if serving is None and queue:
            serving = queue.pop(0)
            serving["waits"] = False
            put(rng.exponential(truth.SIZE_MEAN / truth.PROCESSING_RATE), "indexed")
    weights = truth.COST
    return (
        weights.loss * lost / end
        + weights.obsolescence * stale / end
        + weights.response * waited / served
        + weights.robots * robot_time / end
        + weights.starvation * idle_time / end
    )
