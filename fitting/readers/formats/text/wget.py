"""wget's messages (``-o``): ``... 'index.html' saved [14181/14181]``, and its short form (``-nv``).

Whole seconds, local time, exact sizes. The word is that of the user's language (``gespeichert``, ``enregistré``), so a
line is known by its rate and its bytes; the Chinese one ends with a bracket too many. Requests and errors between the
saved files are other lines.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from fitting.readers.base import LineReader
from fitting.readers.columns import Columns, keep, keys, no_reasons
from fitting.readers.settings import ReadOptions
from fitting.readers.times import stamps

_SAVED = re.compile(
    rb"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)"
    rb"(?: \([^)\n]{1,40}\) - [^\n]{1,4096}? \[(\d{1,18})(?:/\d+)?\]\)?"
    rb"| URL:([^ \n]{1,4096}) \[(\d{1,18})(?:/\d+)?\] -> [^\n]*+)$",
    re.MULTILINE,
)


class Wget(LineReader):
    """Saved files of a wget run."""

    name = "wget"
    about = "wget -o messages"
    filters = ()
    missing = "a wget log must hold lines '... saved [BYTES]' | wget -o FILE writes them, unless --quiet is given"

    def score(self, head: bytes, lines: Sequence[bytes]) -> float:
        """Enough that a file was saved: most lines of such a log are something else."""
        del lines
        return 0.9 if _SAVED.search(head) else 0.0

    def parse(self, text: bytes, options: ReadOptions) -> Columns:
        """Columns of one block of lines."""
        del options
        found = _SAVED.findall(text)
        moments, size, address, size_short = zip(*found) if found else ([],) * 4
        time, zoned = stamps.iso(moments)
        sizes = stamps.floats([a or b for a, b in zip(size, size_short)])
        columns = Columns(time, size=sizes, page=keys(address), zoned=zoned or not found)
        columns = keep(columns, no_reasons(len(found)))
        columns.other_lines = text.count(b"\n") - len(found)
        return columns
