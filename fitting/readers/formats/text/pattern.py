"""Any other log, through the user's regular expression with a group ``time`` and, where there is one, ``size``.

Groups ``url`` and ``status`` are used too. The expression is searched in each line; lines without a match are other
lines of the log. Lines longer than `LONGEST` are not searched, so that a careless expression cannot hang on one.
"""

from __future__ import annotations

import re

import numpy as np

from crawltwin.model.errors import InputError
from fitting.readers.base import LineReader
from fitting.readers.columns import Columns, keep, keys, no_reasons, note_broken
from fitting.readers.named import refuse_times
from fitting.readers.selection import reject_unwanted, status_reasons
from fitting.readers.settings import ReadOptions
from fitting.readers.times import stamps

LONGEST = 16 * 2**10


def compiled(pattern: str) -> re.Pattern[bytes]:
    """The user's expression, checked.

    Raises
    ------
    InputError
        When it is no regular expression or has no group ``time``.
    """
    try:
        expression = re.compile(pattern.encode())
    except (re.error, OverflowError, RecursionError) as error:
        raise InputError.at("pattern", f"pattern must be a regular expression; got {pattern!r} ({error})") from error
    if "time" not in expression.groupindex:
        raise InputError.at(
            "pattern",
            f"pattern must have a named group 'time'; got {pattern!r}",
            "Write it like (?P<time>\\S+) .* (?P<size>\\d+)",
        )
    return expression


class Pattern(LineReader):
    """Lines that match the user's expression."""

    name = "pattern"
    about = "regular expression of the user"
    partial = True
    probe = re.compile(rb"(?!)")

    def parse(self, text: bytes, options: ReadOptions) -> Columns:
        """Columns of one block of lines."""
        search = compiled(options.pattern or "").search
        lines = text.split(b"\n")
        lines.pop()
        found = [hit for line in lines if len(line) <= LONGEST and (hit := search(line))]
        groups = found[0].re.groupindex if found else {}

        def column(name: str) -> list[bytes]:
            return [hit[name] or b"" for hit in found]

        times, writing = stamps.parse_any(column("time") if found else [])
        if writing == "unreadable":
            refuse_times(column("time") if found else [], "pattern, group time")
        kind = "numbers" if writing == "number" else "times"
        if writing == "number" and options.values != "auto":
            kind = options.values
        columns = Columns(times, zoned=writing != "local" or not found, kind=kind)
        columns.size = stamps.floats(column("size")) if "size" in groups else None
        columns.page = keys(column("url")) if "url" in groups else None
        reason = no_reasons(len(found))
        if "status" in groups:
            reason = status_reasons(
                np.array([int(s) if s.isdigit() and len(s) < 9 else 0 for s in column("status")], dtype=np.int64),
                options,
            )
        if "url" in groups:
            reason = reject_unwanted(reason, options, addresses=lambda: column("url"))
        long = [line[:80] for line in lines if len(line) > LONGEST]
        columns.other_lines = len(lines) - len(found) - len(long)
        return note_broken(keep(columns, reason), long)
