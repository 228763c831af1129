"""WARC files: responses and revisits, with the HTTP status and the payload's size.

Requests, metadata, name look-ups and conversions are no deliveries. A revisit is one: the page was fetched and
found to be unchanged. The size is that of the body, HTTP headers not counted.

A record is a block of headers, an empty line and as many bytes as ``Content-Length`` says (ISO 28500; WARC 1.1,
iipc.github.io/warc-specifications). Only headers are looked at; a body is passed over, be it one line of gigabytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from fitting.readers.columns import DNS, FAILED, Columns, host_keys, keep, keys, note_broken
from fitting.readers.input import record_scan as scan
from fitting.readers.input.scan import as_bytes
from fitting.readers.input.streams import Source
from fitting.readers.selection import html_marks, reject_unwanted, status_reasons
from fitting.readers.settings import ReadOptions
from fitting.readers.times import stamps
from fitting.readers.times.stamps import Int

_PIECE = 20_000
_CHUNK = 1 << 19
_ROWS = 1024
_SHOWN = 40
_NOT_KNOWN = float("nan")


class _Row(NamedTuple):
    moment: bytes
    size: float
    address: bytes
    digest: bytes
    status: int
    kind: bytes


class _DamagedError(Exception):
    """The file goes on in a way that no WARC does."""


class Warc:
    """Records of a WARC file."""

    name = "warc"
    about = "WARC"
    filters = ("only_type", "only_url")

    def score(self, head: bytes, lines: Sequence[bytes]) -> float:
        """The format's first five bytes."""
        del lines
        return 1.0 if head[:5] == b"WARC/" else 0.0

    def read(self, source: Source, options: ReadOptions) -> Iterator[Columns]:
        """The file's deliveries, some thousand records at a time."""
        rows: list[_Row] = []
        others = 0
        broken: list[bytes] = []
        records = _Records(source)
        try:
            for found, other in records:
                rows += found
                others += other
                if len(rows) >= _PIECE:
                    yield _columns(rows, others, broken, options)
                    rows, others, broken = [], 0, []
        except _DamagedError as error:
            # What came before the damage counts; the damage is shown as one broken line.
            broken.append(str(error).encode("utf-8", errors="replace"))
            source.broken_off = source.broken_off or str(error)
        yield _columns(rows, others, broken, options)


class _Records:
    """A stream cut into records; never more than headers and one chunk in memory."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._text = b""
        self._at = 0
        self._table = np.zeros((_ROWS, scan.WIDTH), dtype=np.int64)

    def __iter__(self) -> Iterator[tuple[list[_Row], int]]:
        """Deliveries, and the number of records between them that are none."""
        final = False
        while True:
            count, self._at, why = scan.scan_records(as_bytes(self._text), self._at, final, self._table)
            if count:
                told = self._table[:count]
                told = told[told[:, scan.KIND] != scan.OTHER]
                yield [_row(self._text, row) for row in told.tolist()], count - len(told)
            if why == scan.MORE:
                if final:
                    self._note_end()
                    return
                final = not self._more()
            elif why != scan.FULL:
                raise _DamagedError(self._damage(why, self._table[count]))

    def _more(self) -> bool:
        """Read on; False at the end."""
        beyond = self._at - len(self._text)
        while beyond > 0:
            data = self._source.read(min(beyond, _CHUNK))
            if not data:
                self._text, self._at = b"", beyond
                return False
            beyond -= len(data)
        data = self._source.read(_CHUNK)
        self._text = self._text[self._at :] + data
        self._at = 0
        return bool(data)

    def _note_end(self) -> None:
        """Note a last record whose body is not all there."""
        beyond = self._at - len(self._text)
        if beyond > 0 and not self._source.broken_off:
            self._source.broken_off = f"the last record ends {beyond} bytes before its Content-Length says"

    def _damage(self, why: int, row: Int) -> str:
        if why == scan.NO_RECORD:
            return f"no record where one must begin: {self._text[self._at : self._at + _SHOWN]!r}"
        if why == scan.NO_END:
            return "a record's headers have no end"
        first, last = row[scan.DATE], row[scan.DATE + 1]
        return f"a record must have a Content-Length; got {self._text[first : min(last, first + _SHOWN)]!r}"


def _row(text: bytes, row: list[int]) -> _Row:
    """A delivery from the borders that the scanner has found."""
    kind, length, http, status, part = row[: scan.DATE]
    address = text[row[scan.ADDRESS] : row[scan.ADDRESS + 1]].strip(b"<>")
    media = text[row[scan.MEDIA] : row[scan.MEDIA + 1]]
    size = float(length)
    if http == scan.CUT:
        size = _NOT_KNOWN
    elif http > 0 or (http == 0 and kind == scan.RESPONSE):
        size -= http
    else:
        status = 200
    if address.startswith(b"dns:"):
        status = 1
    if part:
        # The first of several segments: the others are continuations, and the body's size is known to none of them.
        size = _NOT_KNOWN
    if kind == scan.REVISIT:
        # A revisit's body is not in this file: its size is that of the first visit, unknown here.
        size, status = _NOT_KNOWN, status or 200
    moment, digest = text[row[scan.DATE] : row[scan.DATE + 1]], text[row[scan.DIGEST] : row[scan.DIGEST + 1]]
    return _Row(moment, size, address, digest, status, media)


def _columns(rows: list[_Row], others: int, broken: list[bytes], options: ReadOptions) -> Columns:
    moments, sizes, address, digest, statuses, kinds = zip(*rows) if rows else ([],) * 6
    columns = Columns(
        stamps.iso(moments)[0],
        size=np.array(sizes, dtype=np.float64),
        page=keys(address),
        content=keys(digest),
        host=host_keys(address),
        html=html_marks(kinds),
        other_lines=others,
    )
    status = np.array(statuses, dtype=np.int64)
    reason = status_reasons(status, options)
    reason[status == 0] = FAILED
    reason[status == 1] = DNS
    reason = reject_unwanted(reason, options, types=lambda: kinds, addresses=lambda: address)
    return note_broken(keep(columns, reason), broken)
