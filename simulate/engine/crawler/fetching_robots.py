"""Robots of the reference engine that finish their fetch, each walking through the phases of its own fetch.

Told to stop, a robot finishes its fetch and delivers; the number wanted is the one after the delivery. While fewer
fetches are in flight than robots are wanted, idle robots begin one: at once, or after a start-up time, which they give
up when they are no longer wanted. A robot that has just delivered needs no start-up. Spells of the web multiply the
rates of all fetches; the rest of a sojourn is stretched then, and waits while the pace is 0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from simulate.engine.crawler.alarms import ARRIVAL, SPELL, Alarm
from simulate.engine.crawler.walking import Choices, rows_of
from simulate.engine.state import IDLE, STARTING
from simulate.engine.streams import Streams, one_by_one
from simulate.engine.tables import IntArray

if TYPE_CHECKING:
    from simulate.engine.reference import Crawler


class FetchingRobots:
    """`phases` holds the phase of each robot's fetch, or IDLE or STARTING."""

    def __init__(self, crawler: Crawler, streams: Streams, rows: IntArray) -> None:
        plan = crawler.plan
        self.crawler, self.account, self.calendar = crawler, crawler.account, crawler.calendar
        count = int(plan.robots.max())
        self.phases: list[int] = [*rows[:-1].tolist(), *[IDLE] * (count - rows.size + 1)]
        self.spell = int(rows[-1])
        self.account.in_flight = rows.size - 1
        self.rates = [0.0] * count
        self.left = [0.0] * count
        self.alarms: list[Alarm | None] = [None] * count
        self._start_up = plan.start_up
        self._initial, self._first = plan.fetch_initial.tolist(), plan.fetch_first.tolist()
        self._phase_rates: list[float] = plan.jumps.rate.tolist()
        self._shares = rows_of(plan.jumps.begin, plan.jumps.cumulative.tolist())
        self._jumps = rows_of(plan.jumps.begin, list(zip(plan.jumps.size.tolist(), plan.jumps.target.tolist())))
        self._pace: list[float] = plan.pace.tolist()
        self._spell_rates: list[float] = plan.spells.rate.tolist()
        self._spell_shares = rows_of(plan.spells.begin, plan.spells.cumulative.tolist())
        self._next_spells = rows_of(plan.spells.begin, plan.spells.target.tolist())
        self._sojourn, self._choices = (
            one_by_one(streams.arrival_times.standard_exponential),
            Choices(streams.arrival_jumps),
        )
        self._start_ups = one_by_one(streams.start_ups.standard_exponential)
        self._spell_times, self._spell_choices = (
            one_by_one(streams.spell_times.standard_exponential),
            Choices(streams.spell_jumps),
        )

    def start(self) -> None:
        """Draw the rest of every fetch that is in flight, and let more robots begin where more are wanted."""
        self._wait_for_spell()
        for robot, phase in enumerate(self.phases):
            if phase >= 0:
                self._stay(robot)
        self._call_up()

    def _stay(self, robot: int) -> None:
        """Draw the sojourn in a phase of a fetch."""
        self.rates[robot] = self._phase_rates[self.phases[robot]] * self._pace[self.spell]
        self._wait(robot, self._sojourn())

    def _wait(self, robot: int, left: float) -> None:
        """Wait for the end of a sojourn of which so much is left at pace 1 of the phase's rate."""
        rate = self.rates[robot]
        self.left[robot] = left
        self.alarms[robot] = (
            self.calendar.at(self.account.now + left / rate, ARRIVAL, self.jump, robot) if rate > 0 else None
        )

    def jump(self, alarm: Alarm) -> None:
        """A phase of a fetch ends, and perhaps the fetch, which delivers."""
        self.account.time_passes(alarm.moment)
        robot: int = alarm.subject
        phase = self.phases[robot]
        size, self.phases[robot] = self._jumps[phase][self._choices.pick(self._shares[phase])]
        if size == 0:
            self._stay(robot)
            return
        self.alarms[robot] = None
        self.account.in_flight -= 1
        self.crawler.buffer.deliver(size)
        self.crawler.controller.look(robot)
        if self.account.in_flight < self.account.robots:
            self._begin(robot)
        self._call_up()
        self.account.close_full_bin()

    def follow(self, jumping: int) -> None:
        """The number of robots wanted has changed; a robot that delivers just now has the first choice."""
        if jumping < 0:
            self._call_up()

    def _begin(self, robot: int) -> None:
        """Begin a fetch."""
        self.phases[robot] = self._first[self._choices.pick(self._initial)]
        self.account.in_flight += 1
        self._stay(robot)

    def _call_up(self) -> None:
        """Idle robots begin or start up where more are wanted; starting ones give up where fewer are."""
        missing = self.account.robots - self.account.in_flight
        if not self._start_up:
            for _ in range(missing):
                self._begin(self.phases.index(IDLE))
            return
        starting = self.phases.count(STARTING)
        for _ in range(missing - starting):
            robot = self.phases.index(IDLE)
            self.phases[robot] = STARTING
            moment = self.account.now + self._start_up * self._start_ups()
            self.alarms[robot] = self.calendar.at(moment, ARRIVAL, self.started, robot)
        for _ in range(starting - max(0, missing)):
            robot = len(self.phases) - 1 - self.phases[::-1].index(STARTING)
            alarm = self.alarms[robot]
            assert alarm is not None
            self.calendar.cancel(alarm)
            self.phases[robot], self.alarms[robot] = IDLE, None

    def started(self, alarm: Alarm) -> None:
        """The start-up of a robot is over."""
        self.account.time_passes(alarm.moment)
        self._begin(alarm.subject)

    def _wait_for_spell(self) -> None:
        if self._spell_rates[self.spell] > 0:
            moment = self.account.now + self._spell_times() / self._spell_rates[self.spell]
            self.calendar.at(moment, SPELL, self.change_spell)

    def change_spell(self, alarm: Alarm) -> None:
        """A spell of the web ends: the rest of every sojourn is stretched to the pace of the next one."""
        self.account.time_passes(alarm.moment)
        now = self.account.now
        self.spell = self._next_spells[self.spell][self._spell_choices.pick(self._spell_shares[self.spell])]
        self._wait_for_spell()
        for robot, phase in enumerate(self.phases):
            if phase < 0:
                continue
            old, new = self.rates[robot], self._phase_rates[phase] * self._pace[self.spell]
            waiting = self.alarms[robot]
            self.rates[robot] = new
            if waiting is None:
                self._wait(robot, self.left[robot])
                continue
            self.calendar.cancel(waiting)
            due = now + (waiting.moment - now) * old / new if new > 0 else math.inf
            self.left[robot] = (waiting.moment - now) * old
            self.alarms[robot] = self.calendar.at(due, ARRIVAL, self.jump, robot) if new > 0 else None
