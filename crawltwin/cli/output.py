"""What people and programs get to see: tables, sentences and progress for people, one JSON object for programs.

Whatever comes from a file or from the command line is shown with its control characters made visible: a file name may
hold sequences that move the cursor, change colours or forge a line.
"""

from __future__ import annotations

import sys
from functools import cache

TYPE_CHECKING = False  # what `typing` would say: help is shown without loading it
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path
    from typing import Any

    from rich.console import Console

    from crawltwin.cli.tables.layout import Layout
    from crawltwin.report.blocks import Report

MOST_FAULTS = 100
"""Faults that are told one by one."""
LONGEST_FAULT = 2_000
"""Characters of a fault that are shown: what comes from input may have any length."""


def visible(text: object) -> str:
    r"""The text with every character that a terminal would obey or hide written as an escape.

    Examples
    --------
    >>> visible("a\x1b[31mb\nc")
    'a\\x1b[31mb\\nc'
    """
    return "".join(_escaped(character) for character in str(text))


def _escaped(character: str) -> str:
    import unicodedata

    if character.isprintable() or unicodedata.category(character) == "Zs":
        return character
    return character.encode("unicode_escape", "backslashreplace").decode()


@cache
def console(error: bool = False) -> Console:
    """A terminal for people: standard output, or standard error for progress."""
    from rich.console import Console

    return Console(stderr=error, highlight=False, soft_wrap=False)


def complain(faults: Iterable[object]) -> None:
    """Say what is wrong on standard error, one line for each fault; of very many, the first ones and their number."""
    found = list(faults)
    for fault in found[:MOST_FAULTS]:
        words = visible(fault)
        print(f"crawltwin: {words if len(words) <= LONGEST_FAULT else words[:LONGEST_FAULT] + ' ...'}", file=sys.stderr)
    if len(found) > MOST_FAULTS:
        print(f"crawltwin: {len(found) - MOST_FAULTS:,} more of the kind", file=sys.stderr)


def say(*sentences: str, style: str | None = None, whole: bool = False) -> None:
    """Sentences for people on standard output, each on a line of its own; `whole`: a command to copy, never broken."""
    for sentence in sentences:
        console().print(visible(sentence), style=style, markup=False, soft_wrap=whole)


def show_notes(notes: Iterable[str], word: str = "Note", style: str = "dim") -> None:
    """Remarks below a table."""
    say(*(f"{word}: {note}." for note in notes), style=style)


def show_table(
    title: str, headings: Sequence[str], rows: Iterable[Sequence[str]], bold: int | None = None, keys: int = 1
) -> None:
    """A table for people that breaks no word; what does not fit stands in further tables, below the same first columns.

    A heading that begins with > is that of a column of numbers, `bold` the row to point out, and `keys` the number of
    first columns that name a row.
    """
    from crawltwin.cli.tables.layout import laid_out

    cells = [[visible(cell) for cell in row] for row in rows]
    shown = [visible(heading.removeprefix(">")) for heading in headings]
    for part in laid_out([list(column) for column in zip(shown, *cells, strict=True)], keys, console().width):
        console().print(_table(title if part.first else "", headings, cells, bold, part))


def _table(title: str, headings: Sequence[str], cells: Sequence[Sequence[str]], bold: int | None, part: Layout) -> Any:
    from rich.table import Table
    from rich.text import Text

    found = Table(
        title=Text(visible(title)) if title else None,
        title_justify="left",
        title_style="bold",
        header_style="bold",
        pad_edge=False,
        padding=(0, part.padding),
    )
    for at, width in zip(part.columns, part.widths, strict=True):
        side: Any = "right" if headings[at].startswith(">") else "left"
        found.add_column(Text(visible(headings[at].removeprefix(">"))), justify=side, overflow="fold", width=width)
    for index, row in enumerate(cells):
        found.add_row(*[Text(row[at]) for at in part.columns], style="bold" if index == bold else None)
    return found


def number(value: float | None, digits: int = 6) -> str:
    """A number for people; a dash for one that does not exist."""
    import math

    return "-" if value is None or not math.isfinite(value) else f"{value:.{digits}g}"


def to_json(answer: Any) -> str:
    """One JSON object; what is not a number (NaN, infinity) becomes null."""
    import json

    return json.dumps(plain_json(answer), indent=1, allow_nan=False) + "\n"


def hand_out(options: argparse.Namespace, answer: Any, show: Callable[[], None]) -> None:
    """The answer where it was asked for: in a file, as the only text on standard output, or as tables for people."""
    if options.out:
        save(options.out, to_json(answer))
    tell(options, answer, show)


def tell(options: argparse.Namespace, answer: Any, show: Callable[[], None]) -> None:
    """The answer on standard output: one JSON object for programs, or tables for people."""
    if options.json:
        sys.stdout.write(to_json(answer))
    else:
        show()


def save(path: str | Path, text: str | bytes) -> None:
    """Write an output file whole or not at all, and say so to people."""
    from crawltwin.model.files import write_whole

    write_whole(path, text)
    print(f"wrote {visible(path)}", file=sys.stderr)


def save_report(report: Report, directory: str, beside: Mapping[str, str] | None = None) -> None:
    """Write the report in all its forms with what stands beside it, and say where."""
    from crawltwin.pages.files import write_report

    print(f"wrote {visible(write_report(report, directory, beside or {})[-1])}", file=sys.stderr)


def command_line() -> str:
    """The command as it was typed, for the provenance of a report."""
    import shlex

    return "crawltwin " + shlex.join(sys.argv[1:])


def plain_json(value: Any) -> Any:
    """Plain values for JSON; what is not a number (NaN, infinity) becomes None."""
    if isinstance(value, dict):
        return {str(key): plain_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(item) for item in value]
    if hasattr(value, "tolist"):
        return plain_json(value.tolist())
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    return value
