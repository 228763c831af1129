"""How worker processes live and end: Ctrl-C is for the process that owns them, and they do not outlive it."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from crawltwin.work.interrupts import waiting_signals

PAUSE = 0.5
"""Seconds between two looks at whether the owner still lives."""
_TRACKER = "ignore::UserWarning:joblib.externals.loky.backend.resource_tracker"


@contextmanager
def starting_workers() -> Iterator[None]:
    """What holds for the moment in which worker processes are started, because they inherit it.

    Ctrl-C and SIGTERM wait until the workers are there: a terminal sends Ctrl-C to the workers too, and one that is
    still importing would print a traceback of its own. Here they are heeded afterwards; the workers keep Ctrl-C
    waiting for good. The process that cleans up after the workers does so in silence, also where they were killed.
    """
    before = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = f"{before},{_TRACKER}" if before else _TRACKER
    try:
        _start_trackers()
        with waiting_signals():
            yield
    finally:
        if before is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = before


def _start_trackers() -> None:
    """The processes that clean up: they are started first, because that ends all waiting of signals."""
    from multiprocessing import resource_tracker

    from joblib.externals.loky.backend.resource_tracker import ensure_running

    resource_tracker.ensure_running()
    ensure_running()


def become_worker(owner: int) -> None:
    """The first thing that a worker process does: ignore Ctrl-C, and end when its owner is gone, however it ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    threading.Thread(target=_end_with, args=(owner,), daemon=True).start()


def _end_with(owner: int) -> None:
    # A process whose parent is gone gets another parent.
    while os.getppid() == owner:
        time.sleep(PAUSE)
    os._exit(1)


@contextmanager
def quiet_when_given_up() -> Iterator[None]:
    """Hide one race of the library: its thread looks for a piece that was taken back when the work was given up.

    That is the one way in which a KeyError can leave that thread. The thread ends, as it was asked to.
    """
    usual = threading.excepthook

    def told(unraised: threading.ExceptHookArgs) -> None:
        ours = type(unraised.thread).__module__.startswith("joblib.externals.loky")
        if not (ours and issubclass(unraised.exc_type, KeyError)):
            usual(unraised)

    threading.excepthook = told
    try:
        yield
    finally:
        threading.excepthook = usual
