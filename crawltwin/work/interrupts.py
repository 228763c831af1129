"""Moments in which Ctrl-C and SIGTERM have to wait."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def waiting_signals() -> Iterator[None]:
    """While this lasts, Ctrl-C and SIGTERM wait; they are heeded at its end.

    The mask is what workers inherit. It holds for this thread alone: another thread (of a progress bar, say) still
    takes the signal and lets this one run the handler, so that the handler has to wait too.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    heard: list[int] = []
    handlers: dict[signal.Signals, Any] = {}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(number) is not None:
                    handlers[number] = signal.signal(number, lambda number, _: heard.append(number))
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if heard:
            signal.raise_signal(heard[0])
