"""The record that a crawl under control writes (`crawltwin.live.recorder`): JSON lines of events.

Only deliveries are rows: the moment at which a page was handed over, its size, address and status. Pages that found the
system full were delivered too. The other events are lines of other kinds here; `crawltwin.live.record` reads them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fitting.readers.base import LineReader
from fitting.readers.columns import Columns, note_broken, nothing
from fitting.readers.input.json_objects import objects
from fitting.readers.named import Chosen, to_columns
from fitting.readers.settings import ReadOptions

_CHOSEN = Chosen("time", False, "size", "url", "status")


class CrawlRecord(LineReader):
    """Deliveries in the record of a crawl that obeyed a policy."""

    name = "crawltwin"
    about = "the record of a crawl that crawltwin controlled (JSON lines of events)"
    probe = re.compile(rb'\s*\{"time":[0-9.]+,"event":"')

    def parse(self, text: bytes, options: ReadOptions) -> Columns:
        """Deliveries of one block of whole lines."""
        lines = [line for line in text.split(b"\n") if line.strip()]
        entries = objects(lines)
        pages = [entry for entry in entries if entry is not None and entry.get("event") == "delivered"]
        names = (_CHOSEN.time, _CHOSEN.size, _CHOSEN.page, _CHOSEN.status)
        table: dict[str, Sequence[Any]] = {str(name): [entry.get(str(name)) for entry in pages] for name in names}
        columns = to_columns(_CHOSEN, len(pages), table, replace(options, values="times")) if pages else nothing()
        broken = [line for line, entry in zip(lines, entries) if entry is None]
        columns.other_lines += len(lines) - len(pages) - len(broken)
        return note_broken(columns, broken)
