"""Time for a running crawl: a clock that never jumps, and timers on whatever event loop the crawler runs.

The wall clock of a machine can be set back or forward while a crawl runs. Stamps therefore follow the monotonic clock
from one reading of the wall clock at the start, so differences between stamps are true durations.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol


class Timer(Protocol):
    """A call that was put off and can be taken back."""

    def cancel(self) -> Any:
        """Take the call back."""


class Clock(Protocol):
    """What the buffer and the controller need of time."""

    def now(self) -> float:
        """Seconds since 1970, never going back."""

    def call_later(self, delay: float, function: Callable[[], Any]) -> Timer:
        """Call `function` after `delay` seconds, in the thread of the event loop."""

    def call_from_thread(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call `function` in the thread of the event loop, soon; safe from any thread."""


class SteadyTime:
    """Stamps that follow the monotonic clock from one reading of the wall clock."""

    def __init__(self) -> None:
        self._wall = time.time()
        self._monotonic = time.monotonic()

    def now(self) -> float:
        """Seconds since 1970, never going back."""
        return self._wall + (time.monotonic() - self._monotonic)


class LoopClock(SteadyTime):
    """The clock on a running event loop: asyncio's where there is one, Twisted's reactor elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        from scrapy.utils.asyncio import is_asyncio_available

        self._loop: Any = None
        self._reactor: Any = None
        if is_asyncio_available():
            import asyncio

            self._loop = asyncio.get_event_loop()
        else:
            from twisted.internet import reactor

            self._reactor = reactor

    def call_later(self, delay: float, function: Callable[[], Any]) -> Timer:
        """Call `function` after `delay` seconds, in the thread of the event loop."""
        put_off = self._loop.call_later if self._loop is not None else self._reactor.callLater
        timer: Timer = put_off(max(0.0, delay), function)
        return timer

    def call_from_thread(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call `function` in the thread of the event loop, soon; safe from any thread."""
        hand_over = self._loop.call_soon_threadsafe if self._loop is not None else self._reactor.callFromThread
        return hand_over(function, *arguments)
