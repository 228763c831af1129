"""JSON lines, one object a line, as Scrapy and advertools export them; names of the fields vary.

The fields are chosen from the first objects by `fitting.readers.named`. A file that is one JSON array is refused with
the way out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from crawltwin.model.errors import Fault, InputError
from fitting.readers.base import ReadOptions
from fitting.readers.blocks import blocks
from fitting.readers.columns import Columns, note_broken
from fitting.readers.json_objects import objects
from fitting.readers.named import Chosen, choose, to_columns
from fitting.readers.streams import Source


class JsonLines:
    """Objects of a JSON lines file."""

    name = "json-lines"
    about = "JSON lines (Scrapy, advertools and others)"

    def score(self, head: bytes, lines: Sequence[bytes]) -> float:
        """Share of lines that are an object; a first line that is longer than the sample counts by its brace."""
        del head
        good = [line.lstrip()[:1] == b"{" and b'"' in line for line in lines]
        return 0.97 * sum(good) / max(len(good), 1)

    def read(self, source: Source, options: ReadOptions) -> Iterator[Columns]:
        """The stream's deliveries, a block at a time."""
        chosen: Chosen | None = None
        for block in blocks(source):
            lines = [line for line in block.text.split(b"\n") if line.strip()]
            entries = objects(lines)
            good = [entry for entry in entries if entry is not None]
            if chosen is None and good:
                names = dict.fromkeys(name for entry in good[:50] for name in entry)
                chosen = choose(names, options, source.name)
            columns = _columns(good, chosen, options) if chosen is not None and good else to_nothing()
            wrong = [line for line, entry in zip(lines, entries) if entry is None]
            columns = note_broken(columns, wrong)
            columns.broken += block.too_long
            yield columns
        if chosen is None:
            raise InputError(
                [
                    Fault(
                        source.name,
                        "JSON lines must hold one object a line; got none",
                        "A file that is one array becomes JSON lines with: jq -c '.[]'",
                    )
                ]
            )


def to_nothing() -> Columns:
    """Columns without a row."""
    import numpy as np

    return Columns(np.zeros(0, dtype=np.int64))


def _columns(entries: list[dict[str, Any]], chosen: Chosen, options: ReadOptions) -> Columns:
    used = {chosen.time, chosen.size, chosen.page, chosen.status, chosen.content, chosen.cached} - {None}
    table: dict[str, Sequence[Any]] = {str(name): [entry.get(str(name)) for entry in entries] for name in used}
    return to_columns(chosen, len(entries), table, values=options.values)
