"""The built-in buffer: a bounded queue in front of the indexing function, with pages that go stale while they wait.

It is the model's own buffer, made real: first come, first served; `capacity` counts the pages being indexed; a page
that finds the system full is lost; a waiting page whose time has run out leaves as stale; a page being indexed cannot
become stale.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from functools import partial
from typing import Any

from crawltwin.live.clock import Clock, Timer
from crawltwin.model import checks
from crawltwin.model.errors import Faults


@dataclass(frozen=True)
class BufferSettings:
    """The size of the buffer.

    Parameters
    ----------
    capacity : int
        Most pages waiting or being indexed.
    indexers : int
        Pages that are indexed at the same time.
    """

    capacity: int
    indexers: int = 1

    def __post_init__(self) -> None:
        faults = Faults()
        capacity = checks.integer(self.capacity, "capacity", faults, at_least=1)
        indexers = checks.integer(self.indexers, "indexers", faults, at_least=1)
        if capacity is not None and indexers is not None and indexers > capacity:
            faults.add("indexers", f"indexers must be at most the capacity {capacity}; got {indexers}")
        faults.raise_if_any()


@dataclass
class _Waiting:
    content: Any
    arrival: float
    timer: Timer | None


class Buffer:
    """Pages between the crawler and the indexer.

    Parameters
    ----------
    settings : BufferSettings
    index : callable
        Called with a page's content, in the executor.
    executor : Executor
        Where the indexing runs; it should have as many workers as there are indexers.
    clock : Clock
    lifetime : callable, optional
        Draws the time after which a waiting page is stale, in seconds. None: pages never go stale.
    """

    def __init__(
        self,
        settings: BufferSettings,
        index: Callable[[Any], Any],
        executor: Executor,
        clock: Clock,
        lifetime: Callable[[], float] | None = None,
    ) -> None:
        self.settings = settings
        self.watchers: list[Callable[[str, dict[str, Any]], None]] = []
        self._index = index
        self._executor = executor
        self._clock = clock
        self._lifetime = lifetime
        self._waiting: OrderedDict[int, _Waiting] = OrderedDict()
        self._busy = 0
        self._next = 0
        self._closed = False

    @property
    def level(self) -> int:
        """Pages waiting or being indexed."""
        return len(self._waiting) + self._busy

    @property
    def busy(self) -> int:
        """Pages being indexed."""
        return self._busy

    def offer(self, content: Any, **about: Any) -> bool:
        """Hand a page over; False when the system is full and the page is lost.

        `about` goes into the record of the delivery.
        """
        page, self._next = self._next, self._next + 1
        enters = self.level < self.settings.capacity
        if enters:
            timer = None
            # A page that begins at once never waits, so it needs no timer.
            if self._lifetime is not None and self._busy >= self.settings.indexers:
                timer = self._clock.call_later(self._lifetime(), lambda: self._stale(page))
            self._waiting[page] = _Waiting(content, self._clock.now(), timer)
        self._tell("delivered", page=page, fate="waiting" if enters else "lost", **about)
        self._begin()
        return enters

    def _begin(self) -> None:
        while self._waiting and not self._closed and self._busy < self.settings.indexers:
            page, waiting = self._waiting.popitem(last=False)
            if waiting.timer is not None:
                waiting.timer.cancel()
            self._busy += 1
            start = self._clock.now()
            self._tell("indexing", page=page)
            future = self._executor.submit(self._index, waiting.content)
            future.add_done_callback(partial(self._hand_back, page, waiting.arrival, start))

    def _hand_back(self, page: int, arrival: float, start: float, done: Future[Any]) -> None:
        """In the executor's thread: the event loop may have ended with the buffer."""
        if not self._closed:
            self._clock.call_from_thread(self._finished, page, arrival, start, done)

    def close(self) -> None:
        """No timer goes off and no page begins any more."""
        self._closed = True
        for waiting in self._waiting.values():
            if waiting.timer is not None:
                waiting.timer.cancel()

    def _finished(self, page: int, arrival: float, start: float, done: Future[Any]) -> None:
        if self._closed:
            return
        self._busy -= 1
        now = self._clock.now()
        failure = done.exception()
        if failure is None:
            self._tell("indexed", page=page, duration=round(now - start, 6), sojourn=round(now - arrival, 6))
        else:
            self._tell("failed", page=page, duration=round(now - start, 6), message=repr(failure)[:200])
        self._begin()

    def _stale(self, page: int) -> None:
        waiting = self._waiting.pop(page, None)
        if waiting is not None:
            self._tell("stale", page=page, sojourn=round(self._clock.now() - waiting.arrival, 6))

    def _tell(self, event: str, **fields: Any) -> None:
        for watcher in self.watchers:
            watcher(event, fields)
