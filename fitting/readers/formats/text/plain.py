"""Plain columns: one time per line (epoch s, ms, us, ns or ISO 8601), or one gap per line, perhaps with a size.

Whether small numbers are times from some origin or gaps is judged when all is read: times never fall.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from fitting.readers.base import LineReader
from fitting.readers.columns import Columns, keep, no_reasons, note_broken
from fitting.readers.settings import ReadOptions
from fitting.readers.times import stamps

_NUMBER = rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?"
_DATE = rb"\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,12})?(?: ?(?:Z|UTC|[+-]\d\d(?::?\d\d)?))?"
_LINE = re.compile(
    rb"^[ \t]*+(?:(" + _DATE + rb"|" + _NUMBER + rb")(?:[ \t,;]++(" + _NUMBER + rb"))?[ \t]*+|(#[^\n]*+)|([^\n]++))$",
    re.MULTILINE,
)

_HEADER = re.compile(rb'[ \t]*"?[@A-Za-z_][^,;\t|]*[,;\t|]')


class Plain(LineReader):
    """A column of times or gaps."""

    name = "plain"
    about = "plain column of times or gaps"
    filters = ()
    probe = re.compile(rb"[ \t]*(?:" + _DATE + rb"|" + _NUMBER + rb")(?:[ \t,;]+" + _NUMBER + rb")?[ \t]*$|#")

    def score(self, head: bytes, lines: Sequence[bytes]) -> float:
        """As any reader of lines; less below a header of names, which tells what the columns are."""
        named = bool(lines) and _HEADER.match(lines[0]) is not None
        return super().score(head, lines) * (0.9 if named else 1.0)

    def parse(self, text: bytes, options: ReadOptions) -> Columns:
        """Columns of one block of lines."""
        found = _LINE.findall(text)
        moments = [row[0] for row in found if row[0]]
        second = [row[1] or b"nan" for row in found if row[0]]
        wrong = [row[3] for row in found if row[3]]
        times, writing = stamps.parse_any(moments)
        kind = "numbers" if writing == "number" else "times"
        if writing == "number" and options.values != "auto":
            kind = options.values
        columns = Columns(times, zoned=writing != "local" or not moments, kind=kind)
        if any(value != b"nan" for value in second[:1000]):
            columns.size = stamps.floats(second)
        columns.other_lines = sum(1 for row in found if row[2])
        columns = keep(columns, no_reasons(len(moments)))
        return note_broken(columns, wrong)
