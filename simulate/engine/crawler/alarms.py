"""SimPy's environment with alarms that can be taken back.

SimPy has no cancellation: a timeout that lost its race stays in the queue until its time comes. Here an alarm
that is cancelled loses its callback at once, and the queue is swept when more than half of it is cancelled,
so that a long run does not collect the past.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappush
from typing import Any

from simpy import Environment, Event

END_OF_SERVICE, OBSOLESCENCE, ARRIVAL, LOOK, SPELL, END_OF_BIN = range(6)
"""What happens first where moments coincide."""

_FEW = 64


class Alarm(Event):
    """An event at a given moment that calls one function with itself; `subject` says whose it is."""

    # What Event.__init__ would set each time: an alarm is certain from the start, and nobody waits for its value.
    _ok = True
    _value = None
    _defused = True

    def __init__(self, moment: float, callback: Callable[[Any], None], subject: Any) -> None:
        self.moment = moment
        self.callbacks = [callback]
        self.subject = subject


class Calendar(Environment):
    """Moments in absolute time, so that both engines add the same numbers in the same order."""

    def __init__(self) -> None:
        super().__init__()
        self._cancelled = 0
        # SimPy's own queue under a name with a type.
        self._moments: list[Any] = self._queue

    def at(self, moment: float, priority: int, callback: Callable[[Any], None], subject: Any = None) -> Alarm:
        """Call `callback` at `moment`."""
        alarm = Alarm(moment, callback, subject)
        entry: tuple[Any, ...] = (moment, priority, next(self._eid), alarm)
        heappush(self._moments, entry)
        return alarm

    def cancel(self, alarm: Alarm) -> None:
        """Take an alarm back that has not rung."""
        alarm.callbacks = []
        self._cancelled += 1
        if self._cancelled > _FEW and 2 * self._cancelled > len(self._moments):
            # In place: SimPy's loop holds on to the same list.
            self._moments[:] = [entry for entry in self._moments if entry[3].callbacks]
            heapify(self._moments)
            self._cancelled = 0
