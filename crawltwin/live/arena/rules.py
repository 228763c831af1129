"""Rules of control: how many robots run, and how far apart fetches begin.

Written from the public descriptions of what crawlers do, with the backlog in the place of the load that they look at:
none of them is a copy, and each is called "like" for that reason.
"""

from __future__ import annotations

from dataclasses import dataclass

from crawltwin.model import ThresholdPolicy


class Rule:
    """A controller. It is told everything that happens and says what is wanted."""

    name = ""
    robots = 1
    """Robots wanted now."""
    spacing = 0.0
    """Seconds between the beginnings of two fetches at least."""

    charges_fetches = False
    """Whether a robot costs only while it fetches: rules that hold fetches back keep robots waiting on purpose."""

    def fetched(self, time: float, level: int, latency: float, lost: bool) -> None:
        """A fetch has ended after `latency`; `level` pages are in the system now."""
        del latency, lost
        self.changed(time, level)

    def changed(self, time: float, level: int) -> None:
        """The number of pages in the system has changed."""


class Fixed(Rule):
    """The same number always."""

    def __init__(self, robots: int) -> None:
        self.robots = robots
        self.name = f"{robots} always"


class Thresholds(Rule):
    """A policy of this project."""

    def __init__(self, policy: ThresholdPolicy) -> None:
        self.policy = policy
        self.name = f"thresholds {policy.short}"
        self._mode = policy.mode_after(0, 0)
        self.robots = policy.robots[self._mode]

    def changed(self, time: float, level: int) -> None:
        """Step as the policy says."""
        del time
        self._mode = self.policy.mode_after(self._mode, level)
        self.robots = self.policy.robots[self._mode]


class AutoThrottle(Rule):
    """Like Scrapy's AutoThrottle: the distance of fetches goes half way to latency over the target; no backlog."""

    charges_fetches = True

    def __init__(self, most: int, target: float) -> None:
        self.robots, self.target = most, target
        self.name = f"AutoThrottle-like, target {target:g}"

    def fetched(self, time: float, level: int, latency: float, lost: bool) -> None:
        """Move the distance."""
        del time, level, lost
        wanted = latency / self.target
        self.spacing = max((self.spacing + wanted) / 2, 0.0)


class AdditiveMultiplicative(Rule):
    """Like TCP: one robot more every `every` seconds, half of them after a lost page or above half of the capacity."""

    def __init__(self, most: int, capacity: int, every: float) -> None:
        self.robots, self.most, self.capacity, self.every = most, most, capacity, every
        self.name = "AIMD"
        self._next = every
        self._calm_from = 0.0

    def fetched(self, time: float, level: int, latency: float, lost: bool) -> None:
        """Halve after a loss, then look as usual."""
        del latency
        if lost:
            self._halve(time)
        self.changed(time, level)

    def changed(self, time: float, level: int) -> None:
        """Halve when it is too full, once per `every`; grow by one per `every`."""
        if level > self.capacity / 2:
            self._halve(time)
        if time >= self._next:
            self._next = time + self.every
            self.robots = min(self.robots + 1, self.most)

    def _halve(self, time: float) -> None:
        if time >= self._calm_from:
            self.robots = max(self.robots // 2, 1)
            self._calm_from = self._next = time + self.every


@dataclass
class _Load:
    time: float = 0.0
    full: float = 0.0


class Autoscaled(Rule):
    """Like Crawlee's pool: every `every` seconds one task more if it was rarely overloaded since, else one fewer."""

    def __init__(self, most: int, capacity: int, every: float, share: float = 0.4) -> None:
        self.robots, self.most, self.capacity, self.every, self.share = 1, most, capacity, every, share
        self.name = "Crawlee-like"
        self._load = _Load()
        self._last, self._level = 0.0, 0

    def changed(self, time: float, level: int) -> None:
        """Add up how long it was overloaded (more than half of the capacity), and decide when it is time."""
        passed, self._last = time - self._last, time
        self._load.time += passed
        self._load.full += passed * (self._level > self.capacity / 2)
        self._level = level
        if self._load.time >= self.every:
            overloaded = self._load.full > self.share * self._load.time
            self.robots = max(self.robots - 1, 1) if overloaded else min(self.robots + 1, self.most)
            self._load = _Load()
