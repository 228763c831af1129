"""A tiny crawler written state by state: one robot number in force, a level, the fetches in flight or nothing.

Exponential everything and single pages. `rate(r)` gives pages per unit of time with r robots (the paper's robots), or
each robot fetches at `fetch_rate` and finishes its fetch. The controller is any function of (robots in force, level).
Nothing is shared with the chains of `analytic`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

State = tuple[int, int, int]


@dataclass(frozen=True)
class TinyCrawler:
    capacity: int
    indexers: int
    service: float
    stale: float
    rate: Callable[[int], float] | None = None
    fetch_rate: float = 0.0
    check_every: float = 0.0

    def events(self, state: State, rule: Callable[[int, int], int]) -> Iterator[tuple[State, float, dict[str, float]]]:
        """Where each event leads, its rate and what it counts; a state is (robots wanted, level, fetches in flight)."""
        wanted, level, flying = state
        at_once = self.check_every == 0

        def led(to: int, left: int, counted: dict[str, float], look: bool = at_once) -> tuple[State, dict[str, float]]:
            then = rule(wanted, to) if look else wanted
            after = max(left, then) if self.fetch_rate else 0
            return (then, to, after), counted | {"switches": float(then != wanted)}

        pages = flying * self.fetch_rate if self.rate is None else self.rate(wanted)
        lost = level == self.capacity
        to, counted = led(level if lost else level + 1, flying - 1, {"pages": 1.0, "lost": float(lost)})
        yield to, pages, counted
        if level:
            to, counted = led(level - 1, flying, {})
            yield to, min(level, self.indexers) * self.service, counted
        if level > self.indexers:
            to, counted = led(level - 1, flying, {"obsolete": 1.0})
            yield to, (level - self.indexers) * self.stale, counted
        if not at_once:
            to, counted = led(level, flying, {}, look=True)
            yield to, 1 / self.check_every, counted

    def averages(self, first: State, rule: Callable[[int, int], int]) -> dict[str, float]:
        """Rates of what is counted, mean robots wanted and mean share of idle indexers."""
        states, waiting = {first: 0}, [first]
        while waiting:
            for to, _, _ in self.events(waiting.pop(), rule):
                if to not in states:
                    states[to] = len(states)
                    waiting.append(to)
        Q = np.zeros((len(states), len(states)))
        for state, at in states.items():
            for to, rate, _ in self.events(state, rule):
                Q[at, states[to]] += rate
                Q[at, at] -= rate
        A = np.vstack([Q.T, np.ones(len(states))])
        p = np.linalg.lstsq(A, np.r_[np.zeros(len(states)), 1.0], rcond=None)[0]
        found = dict.fromkeys(("pages", "lost", "obsolete", "switches"), 0.0)
        for state, at in states.items():
            for _, rate, counted in self.events(state, rule):
                for name, amount in counted.items():
                    found[name] += p[at] * rate * amount
        found["robots"] = sum(p[at] * wanted for (wanted, _, _), at in states.items())
        c = self.indexers
        found["starvation"] = sum(p[at] * max(c - level, 0) / c for (_, level, _), at in states.items())
        return found
