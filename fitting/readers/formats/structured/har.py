"""HAR, what a browser's network panel exports: one JSON document with an entry for each request.

An entry has ``startedDateTime`` and ``time``, its length in milliseconds; it is delivered at their sum. Source: HAR 1.2
specification, w3c.github.io/web-performance/specs/HAR/Overview.html.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from crawltwin.model.errors import InputError
from fitting.readers.columns import Columns, host_keys, keep, keys
from fitting.readers.input.json_objects import value_at
from fitting.readers.input.streams import Source
from fitting.readers.selection import html_marks, reject_unwanted, status_reasons
from fitting.readers.settings import ReadOptions
from fitting.readers.times import stamps

LARGEST = 512 * 2**20
"""Bytes of a HAR that is read: it is one document and must be held as a whole."""
_HEAD = re.compile(rb'\s*+\{\s*+"log"\s*+:\s*+\{')


class Har:
    """Entries of a HAR."""

    name = "har"
    about = "HAR of a browser"
    filters = ("only_type", "only_url")

    def score(self, head: bytes, lines: Sequence[bytes]) -> float:
        """A document that begins with a log."""
        del lines
        return 0.99 if _HEAD.match(head) else 0.0

    def read(self, source: Source, options: ReadOptions) -> Iterator[Columns]:
        """The document's deliveries, all at once."""
        parts, size = [], 0
        while part := source.read(1 << 20):
            parts.append(part)
            size += len(part)
            if size > LARGEST:
                raise InputError.at(source.name, f"a HAR must have at most {LARGEST >> 20} MiB; got more")
        try:
            document = json.loads(b"".join(parts).decode("utf-8-sig", errors="replace"))
            entries = document["log"]["entries"]
        except (ValueError, RecursionError, KeyError, TypeError) as error:
            raise InputError.at(source.name, f"a HAR must be one JSON document with log.entries; got {error}") from None
        if not isinstance(entries, list):
            raise InputError.at(source.name, f"log.entries must be a list; got {type(entries).__name__}")
        yield _columns([entry for entry in entries if isinstance(entry, dict)], options)


def _columns(entries: list[dict[str, Any]], options: ReadOptions) -> Columns:
    def texts(path: str) -> list[bytes]:
        return [str(value_at(entry, path) or "").encode("utf-8", errors="replace") for entry in entries]

    begun, zoned = stamps.iso(texts("startedDateTime"))
    millis = stamps.floats(texts("time"))
    took = np.where(millis >= 0, millis / 1000, np.nan)
    length = np.rint(np.where(np.isfinite(took), took, 0) * stamps.SECOND).astype(np.int64)
    sizes = stamps.floats(texts("response.content.size"))
    addresses, types = texts("request.url"), texts("response.content.mimeType")
    columns = Columns(
        np.where(begun == stamps.INVALID, begun, begun + length),
        size=np.where(sizes >= 0, sizes, np.nan),
        page=keys(addresses),
        host=host_keys(addresses),
        took=took,
        html=html_marks(types),
        zoned=zoned or not entries,
    )
    status = [int(text) if text.isdigit() and len(text) < 9 else 0 for text in texts("response.status")]
    reason = status_reasons(np.array(status, dtype=np.int64), options)
    return keep(columns, reject_unwanted(reason, options, types=lambda: types, addresses=lambda: addresses))
