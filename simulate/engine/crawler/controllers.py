"""Controllers of the reference engine: how many robots are wanted, and which batches they let in.

The paper's controller sees every change of the level at once and has no memory: the level says how many robots are
wanted. The general one is in a mode: it steps down while the level is above the threshold of its mode and up while it
is not above the resume point of the mode before, after every event or only when it looks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulate.engine.crawler.alarms import LOOK, Alarm
from simulate.engine.streams import Streams, one_by_one

if TYPE_CHECKING:
    from simulate.engine.reference import Crawler


class LevelController:
    """The paper's controller: the level decides at once which robots are active."""

    def __init__(self, crawler: Crawler, streams: Streams) -> None:
        plan = crawler.plan
        self.crawler, self.account = crawler, crawler.account
        self._robots: list[int] = plan.robots.tolist()
        self._keep: list[float] | None = plan.keep.tolist() if plan.coins else None
        self._coin = one_by_one(streams.coins.random)
        self.account.mode = plan.first_mode
        self.account.robots = self._robots[plan.first_mode]
        self.account.robots_then = lambda: self._robots[self.chosen()]

    @property
    def place(self) -> int:
        """Where the tables of robots, rates and coins are read: the level."""
        return self.account.level

    def chosen(self) -> int:
        """The place in the tables that the controller would choose now."""
        return self.account.level

    def start(self) -> None:
        """Take up what the level at time 0 asks for."""
        self.account.robots = self._robots[self.account.level]

    def lets_in(self, mark: int) -> bool:
        """Whether a batch arrives: its coin falls well where there are coins, and its robot is active."""
        if self._keep is not None and self._coin() >= self._keep[self.place]:
            return False
        return mark < self._robots[self.place]

    def look(self, jumping: int = -1) -> None:
        """After an event: where another number of robots is wanted, the robots follow."""
        robots = self._robots[self.chosen()]
        if robots != self.account.robots:
            self.account.robots = robots
            self.account.control.switches += 1
            self.crawler.robots.follow(jumping)


class ModeController(LevelController):
    """A controller with a memory of its mode, which sees the level at once or polls it."""

    def __init__(self, crawler: Crawler, streams: Streams) -> None:
        super().__init__(crawler, streams)
        plan = crawler.plan
        self._thresholds: list[int] = plan.thresholds.tolist()
        self._resume: list[int] = plan.resume.tolist()
        self._check_every = plan.check_every
        self._distance = one_by_one(streams.looks.standard_exponential)

    @property
    def place(self) -> int:
        """Where the tables of robots, rates and coins are read: the mode."""
        return self.account.mode

    def chosen(self) -> int:
        """The mode after this event; one that polls stays as it is."""
        return self.account.mode if self._check_every else self.mode_seeing_level()

    def mode_seeing_level(self) -> int:
        """The rule."""
        mode, level = self.account.mode, self.account.level
        while mode < len(self._thresholds) and level > self._thresholds[mode]:
            mode += 1
        while mode > 0 and level <= self._resume[mode - 1]:
            mode -= 1
        return mode

    def start(self) -> None:
        """Take up what the level at time 0 asks for; a controller that polls waits for its first look."""
        self._take(self.mode_seeing_level())
        if self._check_every:
            self._wait()

    def _take(self, mode: int) -> bool:
        """Take up a mode; whether the number of robots changes."""
        before, self.account.mode = self.account.robots, mode
        self.account.robots = self._robots[mode]
        return self.account.robots != before

    def _wait(self) -> None:
        self.crawler.calendar.at(self.account.now + self._check_every * self._distance(), LOOK, self.poll)

    def look(self, jumping: int = -1) -> None:
        """After an event: the mode follows the level at once, unless the controller polls."""
        if not self._check_every:
            self._follow(jumping)

    def poll(self, alarm: Alarm) -> None:
        """The controller looks at the level."""
        self.account.time_passes(alarm.moment)
        self._follow(-1)
        self._wait()

    def _follow(self, jumping: int) -> None:
        if self._take(self.mode_seeing_level()):
            self.account.control.switches += 1
            self.crawler.robots.follow(jumping)
            if self._check_every:
                self.account.tell("switched", 0)
