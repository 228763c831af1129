"""How far long work is, on standard error: for people at a terminal, and never with --json or --quiet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from crawltwin.cli.output import console, visible

if TYPE_CHECKING:
    import argparse

    from rich.progress import Progress, Task

    from crawltwin.plan.steps import StepProgress

AFTER = 2.0
"""Seconds after which work counts as long."""


def is_quiet(options: argparse.Namespace) -> bool:
    """Whether nobody is to see progress: programs, those who do not want it, and files."""
    return bool(options.json or options.quiet) or not console(error=True).is_terminal


@contextmanager
def progress(words: str, options: argparse.Namespace, after: float = AFTER) -> Iterator[Callable[..., None]]:
    """A line that appears after some seconds, whether or not anything is done by then.

    Gives `update(done, total, words)`: where the total is a whole number the line counts, "sweeping, 3 of 55".
    """
    if is_quiet(options):
        yield lambda *_: None
        return
    import threading

    bar = _line()
    task = bar.add_task(words, total=None)
    timer = threading.Timer(after, bar.start)
    timer.daemon = True
    timer.start()

    def update(done: float, total: float, now: str = "") -> None:
        bar.update(task, completed=done, total=total or None, description=visible(now or words + _count(done, total)))

    try:
        yield update
    finally:
        timer.cancel()
        timer.join()
        if bar.live.is_started:
            bar.stop()


@contextmanager
def asked_to_stop() -> Iterator[Callable[[], bool]]:
    """Ctrl-C asks the work to end with what it has; pressed again, it interrupts as ever. Gives `asked()`."""
    import signal
    import threading

    asked = False

    def ask(_signal: int, _frame: object) -> None:
        nonlocal asked
        asked = True
        signal.signal(signal.SIGINT, before)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.signal(signal.SIGINT, ask)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def step_line(options: argparse.Namespace) -> Iterator[Callable[[StepProgress], None] | None]:
    """A line for work in steps: step i of n, what is done, how far it is, the time left."""
    if is_quiet(options):
        yield None
        return
    with _line() as bar:
        task, step = bar.add_task("beginning", total=None), 0

        def show(at: StepProgress) -> None:
            nonlocal step
            if at.step != step:
                step = at.step
                bar.reset(task, total=None)
            described = visible(f"step {at.step} of {at.steps}: {at.words}")
            bar.update(task, description=described, completed=at.done, total=at.total or None)

        yield show


def time_left(done: float, total: float | None, elapsed: float | None) -> str:
    """The time left at the mean pace so far; where nothing is known of the pace, the time that has passed.

    Examples
    --------
    >>> time_left(1, 4, 20.0), time_left(0, 4, 75.0), time_left(0, None, None)
    ('about 0:01:00 left', '0:01:15 so far', '')
    """
    from datetime import timedelta

    if elapsed is None:
        return ""
    if not total or done <= 0:
        return f"{timedelta(seconds=int(elapsed))} so far"
    return f"about {timedelta(seconds=round(elapsed * max(0.0, total - done) / done))} left"


def _count(done: float, total: float) -> str:
    """The piece of the work that is being done, where pieces are counted."""
    return f", {min(int(done) + 1, int(total))} of {int(total)}" if total >= 2 and total == int(total) else ""


def _line() -> Progress:
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn
    from rich.text import Text

    class TimeLeft(ProgressColumn):
        """rich's own looks at the last seconds alone: with pieces of very different length it tells anything."""

        def render(self, task: Task) -> Text:
            return Text(time_left(task.completed, task.total, task.elapsed))

    columns: tuple[Any, ...] = (TextColumn("{task.description}", markup=False), BarColumn(bar_width=6), TimeLeft())
    return Progress(*columns, console=console(error=True), transient=True)
