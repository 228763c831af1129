"""What the watch knows, in bounded memory: counts, the pace, the running test, recent deliveries.

Everything here is plain numbers and goes into one state file together with the positions in the logs, written whole
after each look: killed at any moment, the watch goes on from there and counts nothing twice.
"""

from __future__ import annotations

import hashlib
import heapq
import json
import math
from collections import deque
from dataclasses import asdict, dataclass, field
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from crawltwin.live.watch.change import BLOCK, FEWEST_BLOCKS, Cusum, Reference
from crawltwin.live.watch.follow import Position
from crawltwin.model.errors import InputError
from crawltwin.model.files import parse, read_text, write_whole

FORMAT = "crawltwin watch 1"
RECENT = 5_000
"""Deliveries that are kept for a new fit."""
KEPT_ALARMS = 100
WINDOW = 5.0
"""Seconds within which deliveries may come out of order, or from another file."""
LATE = 20
"""So many deliveries in a row that come too late, over a minute and more, mean that the clock was set back."""
PLAIN = (
    *("learn", "deliveries", "late", "pauses", "first", "last", "newest"),
    *("late_run", "late_since", "deviation", "raised", "references"),
)
"""Attributes that go into the state file as they are."""
PAUSE = 30.0
"""A gap of so many mean gaps, and of a minute at least, means that the crawl stood still; it is left out."""


@dataclass
class Monitor:
    """The running account.

    Attributes
    ----------
    learn : int
        Deliveries that make the reference.
    deliveries, late, pauses : int
        Pages delivered; those that came too late to be put in order; times that the crawl stood still.
    first, last : float or None
        Seconds since 1970 of the first and the last delivery that was taken.
    late_run, late_since : int, float
        Deliveries that came too late since the last one in order, and the time of the first of them.
    pending : list
        Deliveries that wait for others from before them.
    recent : deque
        Times of the last deliveries.
    reference : Reference or None
        None while it is being learnt.
    deviation : float
        Relative deviation of the time of a block, when it was last learnt; that of Poisson deliveries before.
    raised, references : int
        Alarms since the watch began, of which the last hundred are kept; times that the normal pace was learnt.
    alarms : list
        Time, direction, and the pace before and after.
    """

    learn: int = 5_000
    deliveries: int = 0
    late: int = 0
    pauses: int = 0
    first: float | None = None
    last: float | None = None
    newest: float = 0.0
    late_run: int = 0
    late_since: float = 0.0
    pending: list[float] = field(default_factory=list)
    recent: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT))
    learning: list[float] = field(default_factory=list)
    reference: Reference | None = None
    deviation: float = BLOCK**-0.5
    raised: int = 0
    references: int = 0
    test: Cusum = field(default_factory=Cusum)
    alarms: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.learn < BLOCK * FEWEST_BLOCKS:
            raise InputError(f"learn must be at least {BLOCK * FEWEST_BLOCKS} deliveries; got {self.learn}")

    @property
    def pace(self) -> float | None:
        """Deliveries per second over the recent ones."""
        if len(self.recent) < 2 or self.recent[-1] <= self.recent[0]:
            return None
        return (len(self.recent) - 1) / (self.recent[-1] - self.recent[0])

    def take(self, times: list[float], others: float | None = None) -> int:
        """Put deliveries of one file in order, and count those that are older than the window; returns new alarms.

        One after the other: what comes too late does not depend on how many are taken at once. `others` is how far the
        other files were read, where there are any.
        """
        raised, front = 0, -math.inf
        for time in times:
            heapq.heappush(self.pending, time)
            self.newest = max(self.newest, time)
            front = max(front, time)
            raised += self.settle(self.newest - WINDOW if others is None else min(others, front) - WINDOW)
        return raised

    def settle(self, until: float | None = None) -> int:
        """Count what waits and is older than the window (or than `until`); returns the number of new alarms."""
        limit = self.newest - WINDOW if until is None else until
        raised = 0
        while self.pending and self.pending[0] <= limit:
            raised += self._count(heapq.heappop(self.pending))
        return raised

    def _count(self, time: float) -> int:
        self.deliveries += 1
        if self.last is None:
            self.first = self.last = time
            self.recent.append(time)
            return 0
        if time < self.last:
            return self._count_late(time, self.last)
        late, self.late_run = self.late_run, 0
        gap, self.last = time - self.last, time
        if self._is_pause(gap):
            self._stand_still(time)
            return 0
        # Those that came too late were delivered in this gap.
        return sum(self._learn_or_test(part, time) for part in chain(repeat(0.0, late), [gap]))

    def _count_late(self, time: float, last: float) -> int:
        self.late += 1
        self.late_run += 1
        self.late_since = time if self.late_run == 1 else self.late_since
        if self.late_run >= LATE and time - self.late_since >= 60.0:
            # The deliveries that wait are ordered by the new clock as well.
            self.newest = max([time, *(one for one in self.pending if one < last)])
            self._stand_still(time)
        return 0

    def _stand_still(self, time: float) -> None:
        """What is before `time` tells nothing about the gaps after it."""
        self.pauses += 1
        self.last = time
        self.late_run = 0
        self.recent.clear()
        self.recent.append(time)
        self.test.gathered, self.test.inside = 0.0, 0

    def _learn_or_test(self, gap: float, time: float) -> int:
        self.recent.append(time)
        if self.reference is not None:
            return self._tested(gap, time)
        self.learning.append(gap)
        if len(self.learning) == BLOCK:
            self._drop_early_pauses()
        if len(self.learning) >= self.learn:
            if sum(self.learning) > 0:
                self.reference = Reference.of(self.learning)
                self.deviation = self.reference.deviation
                self.references += 1
            self.learning = []
        return 0

    def _drop_early_pauses(self) -> None:
        """The first gaps could not yet be told from pauses; one of them would make the normal pace far too slow."""
        largest = max(self.learning)
        rest = (sum(self.learning) - largest) / (len(self.learning) - 1)
        if largest > max(PAUSE * rest, 60.0):
            self.learning.remove(largest)
            self.pauses += 1

    def _is_pause(self, gap: float) -> bool:
        if self.reference is not None:
            typical = self.reference.gap
        elif len(self.learning) >= BLOCK:
            typical = sum(self.learning) / len(self.learning)
        else:
            return False
        return gap > max(PAUSE * typical, 60.0)

    def _tested(self, gap: float, time: float) -> int:
        assert self.reference is not None
        word = self.test.add(gap, self.reference)
        if word is None:
            return 0
        count, seconds = self.test.since_slower if word == "slower" else self.test.since_faster
        after = count / seconds if seconds > 0 else None
        alarm = {"time": time, "direction": word, "pace_before": 1 / self.reference.gap, "pace_after": after}
        alarm["deliveries"] = int(count)
        self.raised += 1
        self.alarms = [*self.alarms[-(KEPT_ALARMS - 1) :], alarm]
        self.learn_anew()
        return 1

    def learn_anew(self) -> None:
        """What is normal is learnt from the next deliveries."""
        self.reference, self.test, self.learning = None, Cusum(), []

    def to_json(self) -> dict[str, Any]:
        """As in the state file."""
        found = {name: getattr(self, name) for name in PLAIN}
        return found | {
            "pending": self.pending,
            "recent": list(self.recent),
            "learning": self.learning,
            "reference": None if self.reference is None else asdict(self.reference),
            "test": self.test.to_json(),
            "alarms": self.alarms,
        }

    @classmethod
    def of(cls, content: dict[str, Any]) -> Monitor:
        """What `to_json` wrote."""
        reference = content["reference"]
        return cls(
            **{
                **content,
                "recent": deque(content["recent"], maxlen=RECENT),
                "reference": None if reference is None else Reference(**reference),
                "test": Cusum(**content["test"]),
            }
        )


@dataclass
class State:
    """The account and the positions in the logs, kept together in one file."""

    monitor: Monitor
    positions: dict[str, Position] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)

    def save(self, path: str | Path) -> None:
        """Write the file whole."""
        content = {
            "format": FORMAT,
            "positions": {name: asdict(one) for name, one in self.positions.items()},
            "facts": self.facts,
            "monitor": self.monitor.to_json(),
        }
        write_whole(path, _compact(content | {"digest": _digest(content)}))

    @classmethod
    def read(cls, path: str | Path) -> State:
        """The state of an earlier watch.

        Raises
        ------
        InputError
            When the file is something else.
        """
        what = "the state file"
        content = parse(read_text(path, what), what, json_text=True)
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise InputError(f"{what} must be one that `crawltwin watch` wrote; got {str(path)!r}. Name another file")
        if content.pop("digest", None) != _digest(content):
            raise InputError(f"{what} must be whole, as it was written; got a damaged one, {str(path)!r}. Remove it")
        positions = {name: Position(**one) for name, one in content["positions"].items()}
        return cls(Monitor.of(content["monitor"]), positions, content["facts"])


def _compact(content: dict[str, Any]) -> str:
    return json.dumps(content, separators=(",", ":"))


def _digest(content: dict[str, Any]) -> str:
    """Of what a state file says, so that one that was changed is never gone on with."""
    return hashlib.sha256(_compact(content).encode()).hexdigest()
