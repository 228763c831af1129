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
from dataclasses import replace
from typing import Any

from fitting.readers.base import NoRows
from fitting.readers.columns import Columns, note_broken, nothing
from fitting.readers.formats.structured.messages import Messages
from fitting.readers.input.json_objects import ONE_PER_LINE, names_of, objects, values_at
from fitting.readers.input.line_blocks import blocks
from fitting.readers.input.streams import Source
from fitting.readers.named import ERROR_NAMES, STATUS_NAMES, Chosen, choose, plain_name, status_name, to_columns
from fitting.readers.settings import ReadOptions

SHORT = 2**17
"""Bytes in which a single line is looked at as a whole."""
_ERROR, _STATUS = (
    re.compile(b'"(?:%s)"\\s*:' % "|".join(names).encode(), re.IGNORECASE) for names in (ERROR_NAMES, STATUS_NAMES)
)


class JsonLines:
    """Objects of a JSON lines file."""

    name = "json-lines"
    about = "JSON lines (Scrapy, advertools, Katana and others)"
    filters = ("only_type", "only_url", "where")
    partial = True
    empty = ("JSON lines must hold one object per line; got none", ONE_PER_LINE)

    def score(self, head: bytes, lines: Sequence[bytes]) -> float:
        """Share of lines that are an object; a first line that is longer than the sample counts by its brace."""
        good = [line.lstrip()[:1] == b"{" and b'"' in line for line in lines]
        if good == [True] and len(head) < SHORT and b"\n" not in head:
            # One line without an end may be a piece of any log of objects.
            good = [objects(list(lines))[0] is not None]
        return 0.97 * sum(good) / max(len(good), 1)

    def pages(self, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The objects that may be deliveries; the others are other lines."""
        return entries

    def read(self, source: Source, options: ReadOptions) -> Iterator[Columns]:
        """The stream's deliveries, a block at a time."""
        chosen: Chosen | None = None
        messages: Messages | None = None
        place = source.name
        for block in blocks(source):
            lines = [line for line in block.text.split(b"\n") if line.strip()]
            entries = objects(lines)
            read = [entry for entry in entries if entry is not None]
            good = self.pages(read)
            if chosen is None and good:
                names = list(dict.fromkeys(name for entry in good[:50] for name in names_of(entry)))
                chosen = choose(names, options, source.name)
                messages = Messages(names, chosen, options, source.name)
            if chosen is not None and chosen.error is None and _ERROR.search(block.text):
                # Objects of failures alone may have such a field, and the first of them may come late.
                fields = dict.fromkeys(name for entry in good for name in entry)
                chosen = replace(chosen, error=next((name for name in fields if plain_name(name) in ERROR_NAMES), None))
            if chosen is not None and chosen.status is None and _STATUS.search(block.text):
                # So may those that were fetched, behind many that were only found.
                names = list(dict.fromkeys(name for entry in good for name in names_of(entry)))
                chosen = replace(chosen, status=status_name(names))
                messages = messages if chosen.status is None else Messages(names, chosen, options, source.name)
            if messages is not None:
                messages.check(good)
            columns = _columns(good, chosen, options, place) if chosen is not None and good else nothing()
            place = "" if good else place
            columns.other_lines += len(read) - len(good)
            wrong = [line for line, entry in zip(lines, entries) if entry is None]
            columns = note_broken(columns, wrong)
            columns.broken += block.too_long
            yield columns
        if chosen is None:
            raise NoRows.at(source.name, *self.empty)


class WaczPages(JsonLines):
    """Pages of a WACZ archive."""

    name = "pages-jsonl"
    about = "pages.jsonl of a WACZ archive (browsertrix-crawler)"
    empty = ("a list of pages must hold at least one page; got its header alone", "")

    def score(self, head: bytes, lines: Sequence[bytes]) -> float:
        """The header's format."""
        del lines
        return 0.99 if re.match(rb'\s*\{[^\n]{0,200}"format"\s*:\s*"json-pages', head) else 0.0

    def pages(self, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Objects with an address: the header has none."""
        return [entry for entry in entries if "url" in entry]


def _columns(entries: list[dict[str, Any]], chosen: Chosen, options: ReadOptions, place: str) -> Columns:
    table: dict[str, Sequence[Any]] = {name: values_at(entries, name) for name in chosen.used}
    return to_columns(chosen, len(entries), table, options, place=place)
