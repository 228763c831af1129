"""WARC files: responses and revisits, with the HTTP status and the payload's size.

Requests, metadata, name look-ups and conversions are no deliveries. A revisit is one: the page was fetched and
found to be unchanged. The size is that of the body, HTTP headers not counted.

A record is a block of headers, an empty line and as many bytes as ``Content-Length`` says (ISO 28500; WARC 1.1,
iipc.github.io/warc-specifications). Only headers are looked at; a body is passed over, be it one line of gigabytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from fitting.readers.columns import DNS, FAILED, Columns, host_keys, keep, keys, note_broken
from fitting.readers.input.streams import Source
from fitting.readers.selection import html_marks, reject_unwanted, status_reasons
from fitting.readers.settings import ReadOptions
from fitting.readers.times import stamps

_PIECE = 20_000
_CHUNK = 1 << 18
_MAX_HEADERS = 1 << 20
"""Bytes of headers that are looked at; more are damage."""
_END = re.compile(rb"\r?\n\r?\n")
_FIELD = re.compile(
    rb"^(WARC-Type|WARC-Date|WARC-Target-URI|WARC-Payload-Digest|Content-Length)[ \t]*:[ \t]*([^\r\n]*)",
    re.MULTILINE | re.IGNORECASE,
)
_STATUS = re.compile(rb"HTTP/[\d.]+[ \t]+(\d{1,8})")
_TYPE = re.compile(rb"^Content-Type[ \t]*:[ \t]*([^\r\n]*)", re.MULTILINE | re.IGNORECASE)


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
            while (found := records.next_record()) is not None:
                if found is _OTHER:
                    others += 1
                    continue
                rows.append(found)
                if len(rows) >= _PIECE:
                    yield _columns(rows, others, broken, options)
                    rows, others, broken = [], 0, []
        except _DamagedError as error:
            # What came before the damage counts; the damage is shown as one broken line.
            broken.append(str(error).encode("utf-8", errors="replace"))
        yield _columns(rows, others, broken, options)


_OTHER = _Row(b"", 0.0, b"", b"", 0, b"")
"""Stands for a record that is neither a response nor a revisit."""


class _Records:
    """A stream cut into records; never more than headers and one chunk in memory."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._text = b""
        self._at = 0

    def _more(self) -> bool:
        data = self._source.read(_CHUNK)
        self._text = self._text[self._at :] + data
        self._at = 0
        return bool(data)

    def _headers_end(self, limit: int) -> tuple[int, int] | None:
        """Where the headers that begin here end, and where what follows begins; None where there is no end."""
        plain = self._text.find(b"\r\n\r\n", self._at, self._at + 4096)
        if plain >= 0 and self._text.find(b"\n\n", self._at, plain) < 0:
            return plain, plain + 4
        looked = self._at
        while True:
            found = _END.search(self._text, looked)
            if found is not None:
                return found.start(), found.end()
            have = len(self._text) - self._at
            if have > limit:
                return None
            if not self._more():
                return None
            looked = max(self._at, self._at + have - 3)

    def next_record(self) -> _Row | None:
        """The next record, `_OTHER` for one that tells no delivery, None at the end."""
        if self._text.startswith(b"\r\n\r\nWARC/", self._at):
            self._at += 4
        while True:
            while self._at < len(self._text) and self._text[self._at] in b"\r\n":
                self._at += 1
            if self._at < len(self._text) or not self._more():
                break
        if self._at >= len(self._text):
            return None
        while len(self._text) - self._at < 5 and self._more():
            pass
        if not self._text.startswith(b"WARC/", self._at):
            raise _DamagedError(f"no record where one must begin: {self._text[self._at : self._at + 40]!r}")
        borders = self._headers_end(_MAX_HEADERS)
        if borders is None:
            raise _DamagedError("a record's headers have no end")
        fields = {name.lower(): value.strip() for name, value in _FIELD.findall(self._text[self._at : borders[0]])}
        length_text = fields.get(b"content-length", b"")
        if not length_text.isdigit() or len(length_text) > 18:
            raise _DamagedError(f"a record must have a Content-Length; got {length_text[:40]!r}")
        length = int(length_text)
        self._at = borders[1]
        kind = fields.get(b"warc-type", b"").lower()
        row = self._delivery(fields, kind, length) if kind in (b"response", b"revisit") else _OTHER
        self._skip(length)
        return row

    def _delivery(self, fields: dict[bytes, bytes], kind: bytes, length: int) -> _Row:
        address = fields.get(b"warc-target-uri", b"").strip(b"<>")
        status, size, media = 200, float(length), b""
        if address[:5].lower() == b"http:" or address[:6].lower() == b"https:":
            http = self._http_headers(length)
            if http or kind == b"response":
                found = _STATUS.match(http)
                status = int(found[1]) if found else 0
                size = float(length - len(http))
                typed = _TYPE.search(http)
                media = typed[1] if typed else b""
        if address.startswith(b"dns:"):
            status = 1
        if kind == b"revisit":
            # A revisit's body is not in this file: its size is that of the first visit, unknown here.
            size, status = float("nan"), status or 200
        moment = fields.get(b"warc-date", b"")
        return _Row(moment, size, address, fields.get(b"warc-payload-digest", b""), status, media)

    def _http_headers(self, length: int) -> bytes:
        """The HTTP headers of the record whose body begins here, the empty line included."""
        plain = self._text.find(b"\r\n\r\n", self._at, self._at + min(length, 4096))
        if plain >= 0 and self._text.find(b"\n\n", self._at, plain) < 0:
            return self._text[self._at : plain + 4]
        wanted = min(length, _MAX_HEADERS)
        looked = 0
        while True:
            body = self._text[self._at : self._at + wanted]
            found = _END.search(body, looked)
            if found is not None:
                return body[: found.end()]
            if len(body) >= wanted or not self._more():
                return body
            looked = max(0, len(body) - 3)

    def _skip(self, length: int) -> None:
        """Pass over the body."""
        left = length - (len(self._text) - self._at)
        if left <= 0:
            self._at += length
            return
        self._text, self._at = b"", 0
        while left > 0:
            data = self._source.read(min(left, 1 << 20))
            if not data:
                return
            left -= len(data)


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
