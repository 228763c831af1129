"""What people and programs get to see: tables and progress for people, one JSON object for programs."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console
    from rich.table import Table


def console(error: bool = False) -> Console:
    """A terminal for people: standard output, or standard error for progress and complaints."""
    from rich.console import Console

    return Console(stderr=error, highlight=False, soft_wrap=False)


def complain(faults: Iterable[object]) -> None:
    """Say what is wrong on standard error, one line a fault."""
    for fault in faults:
        print(f"crawltwin: {fault}", file=sys.stderr)


def to_json(answer: Any) -> str:
    """One JSON object; what is not a number (NaN, infinity) becomes null."""
    return json.dumps(_plain(answer), indent=1, allow_nan=False) + "\n"


def print_json(answer: Any) -> None:
    """The whole answer on standard output, nothing else there."""
    sys.stdout.write(to_json(answer))


def save(path: str | Path, text: str) -> None:
    """Write an output file whole or not at all, and say so to people."""
    from crawltwin.model.files import write_whole

    write_whole(path, text)
    print(f"wrote {path}", file=sys.stderr)


def table(
    title: str, columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]], bold: int | None = None
) -> Table:
    """A rich table; `columns` are (heading, "left" or "right"), `bold` the row to point out."""
    from rich.table import Table
    from rich.text import Text

    found = Table(title=Text(title), title_justify="left", title_style="bold", header_style="bold", pad_edge=False)
    for heading, side in columns:
        found.add_column(heading, justify="right" if side == "right" else "left")
    for index, row in enumerate(rows):
        found.add_row(*[Text(cell) for cell in row], style="bold" if index == bold else None)
    return found


def number(value: float | None, digits: int = 6) -> str:
    """A number for people; a dash for one that does not exist."""
    return "-" if value is None or not math.isfinite(value) else f"{value:.{digits}g}"


@contextmanager
def progress(words: str, quiet: bool = False) -> Iterator[Callable[[float, float], None]]:
    """A progress bar on standard error that appears only after two seconds; gives `update(done, total)`."""
    import time

    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(),
        console=console(error=True),
        transient=True,
        disable=quiet,
    )
    began = time.monotonic()
    task = bar.add_task(words, total=None)
    shown = False

    def update(done: float, total: float) -> None:
        nonlocal shown
        if not shown and time.monotonic() - began > 2:
            bar.start()
            shown = True
        bar.update(task, completed=done, total=total)

    try:
        yield update
    finally:
        if shown:
            bar.stop()


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
