"""WARC files, read with warcio: responses and revisits, with the HTTP status and the payload's size.

Requests, metadata, name look-ups and conversions are no deliveries. A revisit is one: the page was fetched and
found to be unchanged. The size is that of the body, HTTP headers not counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fitting.readers import stamps
from fitting.readers.base import ReadOptions
from fitting.readers.columns import DNS, FAILED, Columns, keep, keys, note_broken, status_reasons
from fitting.readers.streams import Source

_PIECE = 20_000


class Warc:
    """Records of a WARC file."""

    name = "warc"
    about = "WARC"

    def score(self, head: bytes, lines: Sequence[bytes]) -> float:
        """The format's first five bytes."""
        del lines
        return 1.0 if head[:5] == b"WARC/" else 0.0

    def read(self, source: Source, options: ReadOptions) -> Iterator[Columns]:
        """The file's deliveries, some thousand records at a time."""
        del options
        from warcio.archiveiterator import ArchiveIterator
        from warcio.exceptions import ArchiveLoadFailed

        rows: list[tuple[bytes, float, bytes, bytes, int]] = []
        others = 0
        broken: list[bytes] = []
        try:
            for record in ArchiveIterator(source, arc2warc=False):
                kind = record.rec_type
                if kind not in ("response", "revisit"):
                    others += 1
                    continue
                rows.append(_row(record, kind))
                if len(rows) >= _PIECE:
                    yield _columns(rows, others, broken)
                    rows, others, broken = [], 0, []
        except (ArchiveLoadFailed, EOFError, ValueError) as error:
            # What came before the damage counts; the damage is shown as one broken line.
            broken.append(str(error).encode("utf-8", errors="replace"))
        yield _columns(rows, others, broken)


def _row(record: Any, kind: str) -> tuple[bytes, float, bytes, bytes, int]:
    headers = record.rec_headers
    http = record.http_headers
    address = (headers.get_header("WARC-Target-URI") or "").strip("<>").encode("utf-8", errors="replace")
    digest = (headers.get_header("WARC-Payload-Digest") or "").encode("utf-8", errors="replace")
    length = headers.get_header("Content-Length") or ""
    size = float(length) if length.isdigit() else float("nan")
    if http is not None:
        # warcio has read the HTTP headers already; the body is what is left.
        size -= len(http.to_bytes())
        status_text = http.get_statuscode() or ""
        status = int(status_text) if status_text.isdigit() and len(status_text) < 9 else 0
    else:
        status = 200
    if address.startswith(b"dns:"):
        status = 1
    if kind == "revisit":
        # A revisit's body is not in this file: its size is that of the first visit, unknown here.
        size, status = float("nan"), status or 200
    moment = (headers.get_header("WARC-Date") or "").encode("utf-8", errors="replace")
    return moment, max(size, 0.0) if size == size else size, address, digest, status


def _columns(rows: list[tuple[bytes, float, bytes, bytes, int]], others: int, broken: list[bytes]) -> Columns:
    moments, sizes, address, digest, statuses = zip(*rows) if rows else ([],) * 5
    columns = Columns(
        stamps.iso(moments)[0],
        size=np.array(sizes, dtype=np.float64),
        page=keys(address),
        content=keys(digest),
        other_lines=others,
    )
    status = np.array(statuses, dtype=np.int64)
    reason = status_reasons(status)
    reason[status == 0] = FAILED
    reason[status == 1] = DNS
    return note_broken(keep(columns, reason), broken)
