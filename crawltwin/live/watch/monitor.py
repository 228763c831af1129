"""What the watch knows, in bounded memory: counts, the pace, the running test, recent deliveries.

Everything here is plain numbers and goes into one state file together with the positions in the logs, written whole
after each look: killed at any moment, the watch goes on from there and counts nothing twice.
"""

from __future__ import annotations

import heapq
import json
from collections import deque
from dataclasses import asdict, dataclass, field
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
    pending : list
        Deliveries that wait for others from before them.
    recent : deque
        Times of the last deliveries.
    reference : Reference or None
        None while it is being learnt.
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
    pending: list[float] = field(default_factory=list)
    recent: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT))
    learning: list[float] = field(default_factory=list)
    reference: Reference | None = None
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

    def take(self, times: list[float]) -> None:
        """Put deliveries among those that wait; nothing is counted yet."""
        for time in times:
            heapq.heappush(self.pending, time)
            self.newest = max(self.newest, time)

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
            self.late += 1
            time = self.last
        gap, self.last = time - self.last, time
        if self._is_pause(gap):
            self.pauses += 1
            self.recent.clear()
            self.recent.append(time)
            self.test.gathered, self.test.inside = 0.0, 0
            return 0
        self.recent.append(time)
        if self.reference is None:
            self.learning.append(gap)
            if len(self.learning) >= self.learn:
                self.reference = Reference.of(self.learning)
                self.learning = []
            return 0
        return self._tested(gap, time)

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
        self.alarms = [*self.alarms[-(KEPT_ALARMS - 1) :], alarm]
        self.learn_anew()
        return 1

    def learn_anew(self) -> None:
        """What is normal is learnt from the next deliveries."""
        self.reference, self.test, self.learning = None, Cusum(), []

    def to_json(self) -> dict[str, Any]:
        """As in the state file."""
        found = {
            name: getattr(self, name) for name in ("learn", "deliveries", "late", "pauses", "first", "last", "newest")
        }
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
        write_whole(path, json.dumps(content, separators=(",", ":")))

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
        try:
            positions = {name: Position(**one) for name, one in content["positions"].items()}
            return cls(Monitor.of(content["monitor"]), positions, dict(content["facts"]))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise InputError(f"{what} must be whole; got {str(error)[:120]} in {str(path)!r}. Remove it") from None
