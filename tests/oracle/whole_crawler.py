"""The crawler with all its features, written down state by state from the words of the model.

A state is (mode of the controller, robots, pages in service, waiting pages):

- robots: a tuple with the phase of each fetch in flight, sorted (robots that finish their fetch), or the arrival phase;
- pages in service: the sorted phases of the busy indexers; waiting pages: clock phases, oldest first. One page may be
  tagged: `TAG` is added to its phase (`tests.oracle.tagged_crawler`).

Every rule is one plain function on such tuples; states are explored from the empty system and kept in a dictionary.
Slow, and independent of the product but for the values of the scenario itself (matrices, phase types, thresholds).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

TAG = 1000

State = tuple[int, Any, tuple[int, ...], tuple[int, ...]]
Drawn = list[tuple[Any, float]]


@dataclass(frozen=True)
class Event:
    """One thing that happens: where it leads, how fast, and what it counts."""

    state: State
    rate: float
    pages: int = 0
    lost: int = 0
    served: int = 0
    obsolete: int = 0
    switches: int = 0


class WholeCrawler:
    """All events out of each state of a scenario."""

    def __init__(self, scenario: Any) -> None:
        self.scenario = scenario
        policy = scenario.policy
        self.robots, self.thresholds = policy.robots, policy.thresholds
        self.resume, self.check_every = policy.resume, policy.check_every
        self.fetching = scenario.arrivals.kind == "fetching"
        stale = scenario.obsolescence
        self.gamma = [1.0] if stale is None else stale.initial.tolist()
        self.clock = [[0.0]] if stale is None else stale.subgenerator.tolist()

    def chosen(self, mode: int, level: int) -> int:
        """The controller's rule."""
        while mode + 1 < len(self.robots) and level > self.thresholds[mode]:
            mode += 1
        while mode > 0 and level <= self.resume[mode - 1]:
            mode -= 1
        return mode

    def _draw(self, law: Any, times: int) -> Drawn:
        """Independent draws of so many phases."""
        found: Drawn = [((), 1.0)]
        for _ in range(times):
            found = [((*old, k), p * q) for old, p in found for k, q in enumerate(law) if q > 0]
        return found

    def _told(self, mode: int, robots: Any) -> Drawn:
        """What the robots do when so many are wanted and no robot has just delivered: those that lack begin."""
        arrivals = self.scenario.arrivals
        if not self.fetching or arrivals.start_up is not None:
            return [(robots, 1.0)]
        spell, fetches = robots
        lacking = max(self.robots[mode] - len(fetches), 0)
        return [((spell, tuple(sorted(fetches + new))), p) for new, p in self._draw(arrivals.fetch.initial, lacking)]

    def _delivered(self, mode: int, spell: int, left: tuple[int, ...]) -> Drawn:
        """What the robots do after one of them has delivered; `left` are the fetches that go on."""
        arrivals = self.scenario.arrivals
        if arrivals.start_up is None:
            return self._told(mode, (spell, left))
        again = 1 if len(left) < self.robots[mode] else 0
        return [((spell, tuple(sorted(left + new))), p) for new, p in self._draw(arrivals.fetch.initial, again)]

    def _deliveries(self, mode: int, robots: Any) -> Iterator[tuple[int, Any, float]]:
        """Size, what is left of the robots before they are told anything, rate; size 0 changes the phase only."""
        arrivals = self.scenario.arrivals
        if not self.fetching:
            for size, D in enumerate(arrivals.mode(self.robots[mode]).D):
                for to, rate in enumerate(D[robots]):
                    if rate > 0 and (size or to != robots):
                        yield size, to, rate
            return
        spell, fetches = robots
        pace = 1.0 if arrivals.spells is None else arrivals.spells.pace[spell]
        T = arrivals.fetch.subgenerator
        for place, phase in enumerate(fetches):
            others = fetches[:place] + fetches[place + 1 :]
            for to, rate in enumerate(T[phase]):
                if to != phase and rate > 0:
                    yield 0, (spell, tuple(sorted((*others, to)))), pace * rate
            for size, share in enumerate(arrivals.pages, start=1):
                if share > 0:
                    yield size, (spell, others), pace * share * -float(T[phase].sum())
        if arrivals.spells is not None:
            for to, rate in enumerate(arrivals.spells.generator[spell]):
                if to != spell and rate > 0:
                    yield 0, (to, fetches), rate
        lacking = self.robots[mode] - len(fetches)
        if arrivals.start_up is not None and lacking > 0:
            for begun, p in enumerate(arrivals.fetch.initial):
                if p > 0:
                    yield 0, (spell, tuple(sorted((*fetches, begun)))), lacking * p / arrivals.start_up.mean

    def _enter(
        self, service: tuple[int, ...], waiting: tuple[int, ...], pages: int, tagged: int | None = None
    ) -> Drawn:
        """Pages that enter go to idle indexers, then to the queue; the one with number `tagged` is marked."""
        at_once = min(pages, self.scenario.indexers - len(service))
        begun = self._draw(self.scenario.service.initial, at_once)
        queued = self._draw(self.gamma, pages - at_once)

        def marked(phases: tuple[int, ...], first: int) -> tuple[int, ...]:
            return tuple(k + TAG if first + place == tagged else k for place, k in enumerate(phases))

        return [
            ((tuple(sorted(service + marked(b, 0))), waiting + marked(w, at_once)), p * q)
            for b, p in begun
            for w, q in queued
        ]

    def _admitted(self, level: int, size: int) -> int:
        room = self.scenario.capacity - level
        if room <= 0:
            return 0
        if self.scenario.admission == "partial":
            return min(size, room)
        if self.scenario.admission == "all-or-nothing":
            return size if size <= room else 0
        return size

    def _mode_after(self, mode: int, level: int) -> int:
        return mode if self.check_every else self.chosen(mode, level)

    def _gone(
        self, state: State, service: tuple[int, ...], waiting: tuple[int, ...], rate: float, **counts: int
    ) -> Iterator[Event]:
        """One page has left; an idle indexer takes the oldest waiting page."""
        mode, robots, _, _ = state
        then = self._mode_after(mode, len(service) + len(waiting))
        begun = self._draw(self.scenario.service.initial, 1 if waiting and len(service) < self.scenario.indexers else 0)
        queue = waiting[len(begun[0][0]) :]
        tag = waiting[0] // TAG * TAG if waiting else 0
        for new, p in begun:
            for told, q in self._told(then, robots):
                to = (then, told, tuple(sorted(service + tuple(k + tag for k in new))), queue)
                yield Event(to, rate * p * q, switches=int(self.robots[then] != self.robots[mode]), **counts)

    def events(self, state: State, tagged: int | None = None) -> Iterator[Event]:
        """Everything that can happen; of the pages that enter the one with number `tagged` is marked."""
        mode, robots, service, waiting = state
        level = len(service) + len(waiting)
        for size, left, rate in self._deliveries(mode, robots):
            if size == 0:
                yield Event((mode, left, service, waiting), rate)
                continue
            enter = self._admitted(level, size)
            then = self._mode_after(mode, level + enter)
            robots_then = self._delivered(then, *left) if self.fetching else [(left, 1.0)]
            for told, q in robots_then:
                for (new_service, new_waiting), p in self._enter(service, waiting, enter, tagged):
                    yield Event(
                        (then, told, new_service, new_waiting), rate * p * q, pages=size, lost=size - enter,
                        switches=int(self.robots[then] != self.robots[mode]),
                    )  # fmt: skip
        S = self.scenario.service.subgenerator
        for place, phase in enumerate(service):
            others = service[:place] + service[place + 1 :]
            tag, own = divmod(phase, TAG)
            for to, rate in enumerate(S[own]):
                if to != own and rate > 0:
                    yield Event((mode, robots, tuple(sorted((*others, to + tag * TAG))), waiting), rate)
            if (rate := -float(S[own].sum())) > 0:
                yield from self._gone(state, others, waiting, rate, served=1)
        for place, phase in enumerate(waiting):
            before, after = waiting[:place], waiting[place + 1 :]
            tag, own = divmod(phase, TAG)
            for to, rate in enumerate(self.clock[own]):
                if to != own and rate > 0:
                    yield Event((mode, robots, service, (*before, to + tag * TAG, *after)), rate)
            if (rate := -sum(self.clock[own])) > 0:
                yield from self._gone(state, service, before + after, rate, obsolete=1)
        if self.check_every and (then := self.chosen(mode, level)) != mode:
            for told, q in self._told(then, robots):
                to = (then, told, service, waiting)
                yield Event(to, q / self.check_every, switches=int(self.robots[then] != self.robots[mode]))

    def first_states(self) -> Drawn:
        """The empty system, robots in some phase."""
        mode = self.chosen(0, 0)
        if not self.fetching:
            return [((mode, 0, (), ()), 1.0)]
        return [
            ((mode, (0, tuple(sorted(new))), (), ()), p)
            for new, p in self._draw(self.scenario.arrivals.fetch.initial, self.robots[mode])
        ]


@dataclass(frozen=True)
class Explored:
    """Every state that can be reached, the generator, and the rate of each count in each state."""

    crawler: WholeCrawler
    states: dict[State, int]
    generator: np.ndarray
    counts: dict[str, np.ndarray]

    @classmethod
    def of(cls, scenario: Any) -> Explored:
        crawler = WholeCrawler(scenario)
        states: dict[State, int] = {}
        for state, _ in crawler.first_states():
            states.setdefault(state, len(states))
        rates: dict[tuple[int, int], float] = defaultdict(float)
        counts: dict[tuple[str, int], float] = defaultdict(float)
        todo = list(states)
        for state in todo:  # grows while it is walked
            for event in crawler.events(state):
                if event.state not in states:
                    states[event.state] = len(states)
                    todo.append(event.state)
                here = states[state]
                if event.state != state:
                    rates[here, states[event.state]] += event.rate
                for name in ("pages", "lost", "served", "obsolete", "switches"):
                    counts[name, here] += event.rate * getattr(event, name)
        generator = np.zeros((len(states),) * 2)
        for (a, b), rate in rates.items():
            generator[a, b] = rate
        generator -= np.diag(generator.sum(axis=1))
        names = ("pages", "lost", "served", "obsolete", "switches")
        return cls(crawler, states, generator, {n: np.array([counts[n, k] for k in range(len(states))]) for n in names})

    def marked(self, count: str) -> np.ndarray:
        """Rates of the events that count something, times what they count, also where they leave the state alone."""
        found = np.zeros_like(self.generator)
        for state, here in self.states.items():
            for event in self.crawler.events(state):
                found[here, self.states[event.state]] += event.rate * getattr(event, count)
        return found

    def stationary(self) -> np.ndarray:
        system = self.generator.T.copy()
        system[-1] = 1.0
        return np.linalg.solve(system, np.eye(len(self.states))[-1])

    def measures(self, p: np.ndarray | None = None) -> dict[str, Any]:
        """The measures that need no sojourn times, and the mean sojourn of all pages by Little's law."""
        p = self.stationary() if p is None else p
        crawler, states = self.crawler, list(self.states)
        level = np.array([len(service) + len(waiting) for _, _, service, waiting in states])
        busy = np.array([len(service) for _, _, service, _ in states])
        rate = {name: float(p @ counted) for name, counted in self.counts.items()}
        c = crawler.scenario.indexers
        found = {
            "arrival_rate": rate["pages"],
            "loss_probability": rate["lost"] / rate["pages"],
            "obsolescence_probability": rate["obsolete"] / rate["pages"],
            "success_probability": rate["served"] / rate["pages"],
            "starvation_probability": float(p @ (c - busy)) / c,
            "mean_active_robots": float(p @ np.array([crawler.robots[mode] for mode, _, _, _ in states])),
            "mean_pages": float(p @ level),
            "mean_sojourn": float(p @ level) / rate["pages"],
            "switch_rate": rate["switches"],
            "level_distribution": np.bincount(level, weights=p, minlength=crawler.scenario.top_level + 1),
        }
        if crawler.fetching:
            found["mean_fetches"] = float(p @ np.array([len(robots[1]) for _, robots, _, _ in states]))
        return found
