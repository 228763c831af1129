"""JSON lines, one object per line, as Scrapy, advertools, Katana and others write them; names of the fields vary.

The fields, nested ones too, are chosen from the first objects by `fitting.readers.named`; Katana's are
``timestamp``, ``request.endpoint`` and ``response.status_code`` (projectdiscovery/katana, pkg/output/output.go). A file
that is one JSON array is refused with the way out.

``pages.jsonl`` of a WACZ archive, as browsertrix-crawler writes it, begins with a header of the format
``json-pages-1.0``; each further object is a page with ``url`` and ``ts`` (specs.webrecorder.net/wacz, pages.jsonl).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from crawltwin.model.errors import InputError
from fitting.readers.columns import Columns, note_broken, nothing
from fitting.readers.formats.structured.messages import Messages
from fitting.readers.input.json_objects import names_of, objects, values_at
from fitting.readers.input.line_blocks import blocks
from fitting.readers.input.streams import Source
from fitting.readers.named import Chosen, choose, to_columns
from fitting.readers.settings import ReadOptions


class JsonLines:
    """Objects of a JSON lines file."""

    name = "json-lines"
    about = "JSON lines (Scrapy, advertools, Katana and others)"
    filters = ("only_type", "only_url", "where")
    partial = True

    def score(self, head: bytes, lines: Sequence[bytes]) -> float:
        """Share of lines that are an object; a first line that is longer than the sample counts by its brace."""
        del head
        good = [line.lstrip()[:1] == b"{" and b'"' in line for line in lines]
        return 0.97 * sum(good) / max(len(good), 1)

    def pages(self, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The objects that may be deliveries; the others are other lines."""
        return entries

    def read(self, source: Source, options: ReadOptions) -> Iterator[Columns]:
        """The stream's deliveries, a block at a time."""
        chosen: Chosen | None = None
        messages: Messages | None = None
        for block in blocks(source):
            lines = [line for line in block.text.split(b"\n") if line.strip()]
            entries = objects(lines)
            read = [entry for entry in entries if entry is not None]
            good = self.pages(read)
            if chosen is None and good:
                names = list(dict.fromkeys(name for entry in good[:50] for name in names_of(entry)))
                chosen = choose(names, options, source.name)
                messages = Messages(names, chosen.page, options, source.name)
            if messages is not None:
                messages.check(good)
            columns = _columns(good, chosen, options) if chosen is not None and good else nothing()
            columns.other_lines += len(read) - len(good)
            wrong = [line for line, entry in zip(lines, entries) if entry is None]
            columns = note_broken(columns, wrong)
            columns.broken += block.too_long
            yield columns
        if chosen is None:
            raise InputError.at(
                source.name,
                "JSON lines must hold one object per line; got none",
                "A file that is one array becomes JSON lines with: jq -c '.[]'",
            )


class WaczPages(JsonLines):
    """Pages of a WACZ archive."""

    name = "pages-jsonl"
    about = "pages.jsonl of a WACZ archive (browsertrix-crawler)"

    def score(self, head: bytes, lines: Sequence[bytes]) -> float:
        """The header's format."""
        del lines
        return 0.99 if re.match(rb'\s*\{[^\n]{0,200}"format"\s*:\s*"json-pages', head) else 0.0

    def pages(self, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Objects with an address: the header has none."""
        return [entry for entry in entries if "url" in entry]


def _columns(entries: list[dict[str, Any]], chosen: Chosen, options: ReadOptions) -> Columns:
    table: dict[str, Sequence[Any]] = {name: values_at(entries, name) for name in chosen.used}
    return to_columns(chosen, len(entries), table, options)
