"""A crawl played event by event in plain Python: records whose true law is known, written from the model's words."""

import heapq
import random

from crawltwin.live.record import Record
from crawltwin.live.recorder import FORMAT


def made_record(policy, seconds, seed, **more):
    """What `made_events` plays, as a record."""
    return Record.of(made_events(policy, seconds, seed, **more))


def made_events(
    policy, seconds, seed, *, capacity=10, latencies=((0.7, 0.3), (0.3, 0.9)), service=0.1, lifetime=1.2, spells=None
):
    """`spells` = (mean normal, mean slow, factor); exponential service and lifetime; fetches are never broken off."""
    chance = random.Random(seed)
    queue, count = [], 0

    def plan(time, kind, data=None):
        nonlocal count
        heapq.heappush(queue, (time, count, kind, data))
        count += 1

    waiting, busy, mode, flying, pages, slow = [], None, policy.mode_after(0, 0), 0, 0, False
    events = [
        {"time": 0.0, "event": "opened", "format": FORMAT, "capacity": capacity, "indexers": 1, "level": 0}
        | {"robots": policy.robots[mode], "in_flight": 0}
    ]

    def level():
        return len(waiting) + (busy is not None)

    def write(time, event, **fields):
        state = {"level": level(), "robots": policy.robots[mode], "in_flight": flying}
        events.append({"time": time, "event": event, **fields, **state})

    def begin_fetches(time):
        nonlocal flying
        while flying < policy.robots[mode]:
            mean = chance.choices([m for _, m in latencies], [w for w, _ in latencies])[0]
            took = chance.expovariate(1 / mean) * (spells[2] if slow else 1.0)
            flying += 1
            write(time, "fetching")
            plan(time + took, "fetched", (time, took))

    def look(time, polled=False):
        nonlocal mode
        if policy.check_every and not polled:
            return
        new = policy.mode_after(mode, level())
        if new != mode:
            mode = new
            write(time, "robots")

    def begin_indexing(time):
        nonlocal busy
        if busy is None and waiting:
            page, arrival = waiting.pop(0)
            busy = page
            write(time, "indexing", page=page)
            plan(time + chance.expovariate(1 / service), "indexed", (page, arrival, time))

    if spells:
        plan(chance.expovariate(1 / spells[0]), "spell")
    if policy.check_every:
        plan(chance.expovariate(1 / policy.check_every), "look")
    begin_fetches(0.0)
    while queue and queue[0][0] < seconds:
        time, _, kind, data = heapq.heappop(queue)
        if kind == "fetched":
            flying -= 1
            page, pages = pages, pages + 1
            fate = "waiting" if level() < capacity else "lost"
            if fate == "waiting":
                waiting.append((page, time))
                if busy is not None:
                    plan(time + chance.expovariate(1 / lifetime), "stale", (page, time))
            write(time, "delivered", page=page, fate=fate, size=100, status=200, start=data[0], duration=data[1])
            begin_indexing(time)
        elif kind == "indexed":
            page, arrival, start = data
            busy = None
            write(time, "indexed", page=page, duration=time - start, sojourn=time - arrival)
            begin_indexing(time)
        elif kind == "stale":
            if data not in waiting:
                continue
            waiting.remove(data)
            write(time, "stale", page=data[0], sojourn=time - data[1])
        elif kind == "spell":
            slow = not slow
            plan(time + chance.expovariate(1 / spells[slow]), "spell")
        else:
            plan(time + chance.expovariate(1 / policy.check_every), "look")
        look(time, polled=kind == "look")
        begin_fetches(time)
    write(seconds, "closed", present=level())
    return events
