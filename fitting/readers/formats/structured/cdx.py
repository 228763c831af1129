"""CDX and CDXJ indexes of web archives: one captured record per line, sorted by address, 14-digit UTC times.

The length that an index gives is that of the packed record in the archive, smaller than the page; where a CDX names
the document's length it is taken instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from fitting.readers.base import BlockReader, LineReader
from fitting.readers.columns import DNS, Columns, keep, note_broken
from fitting.readers.input import scan
from fitting.readers.input.flat_json import members
from fitting.readers.input.streams import Source
from fitting.readers.selection import html_marks, reject_unwanted, status_reasons
from fitting.readers.settings import ReadOptions
from fitting.readers.times import stamps

_HEADER = re.compile(rb"^ ?CDX((?: [a-zA-Z])+)\s*$")
_DNS, _DNS_TYPE = (np.frombuffer(what, dtype=np.uint8) for what in (b"dns:", b"text/dns"))
_MEMBERS = ("url", "mime", "status", "digest", "length")
# Letters of the CDX header: a address, b date, m type, s status, k digest, S packed length, n document length.
# Seven fields are what a CDX server answers.
_LAYOUTS = {
    11: "N b a m s k r M S V g",
    10: "N b a m s k r M V g",
    9: "N b a m s k r V g",
    8: "a e b m n g V k",
    7: "N b a m s k S",
}


class Cdxj(LineReader):
    """Lines of key, time and a JSON object."""

    name = "cdxj"
    about = "CDXJ index of a web archive"
    filters = ("only_type", "only_url")
    probe = re.compile(rb"\S+ \d{14}(?:\d{3})? \{")

    def parse(self, text: bytes, options: ReadOptions) -> Columns:
        """Columns of one block of rows."""
        block = scan.as_bytes(text)
        line_start, line_end, count, start, end = scan.split_lines(block, 3)
        time = stamps.compact_rows(scan.matrix(block, start[:, 1], end[:, 1], 18))
        good = (count == 3) & (time != stamps.INVALID)
        wrong = [text[a:b] for a, b in zip(line_start[~good], line_end[~good]) if b > a]
        begin, stop = start[good, 2], line_end[good]
        text, read, borders = members(text, begin, stop, _MEMBERS)
        wrong += [text[a:b] for a, b in zip(begin[~read], stop[~read])]
        rows = {name: (first[read], last[read]) for name, (first, last) in borders.items()}
        types = scan.texts(text, *rows["mime"])
        columns = _captures(text, time[good][read], rows)
        columns.html = html_marks([b"" if kind == b"warc/revisit" else kind for kind in types])
        columns = _kept(text, columns, rows, options)
        columns.other_lines = sum(line.startswith((b"!", b" ")) for line in wrong)
        return note_broken(columns, [line for line in wrong if not line.startswith((b"!", b" "))])


class Cdx:
    """Lines of fields between spaces, told by a header or by their number."""

    name = "cdx"
    about = "CDX index of a web archive"
    filters = ("only_type", "only_url")

    def score(self, head: bytes, lines: Sequence[bytes]) -> float:
        """A CDX header, or lines with a known number of fields of which one is a 14-digit time."""
        if _HEADER.match(head.split(b"\n", 1)[0]):
            return 1.0
        good = 0
        for line in lines:
            fields = line.split()
            layout = _LAYOUTS.get(len(fields))
            good += (
                layout is not None and re.fullmatch(rb"\d{14}|\d{17}", fields[layout.split().index("b")]) is not None
            )
        return 0.95 * good / max(len(lines), 1)

    def read(self, source: Source, options: ReadOptions) -> Iterator[Columns]:
        """The stream's captures, a block at a time."""
        head = source.peek(65536).split(b"\n", 2)
        header = _HEADER.match(head[0])
        letters = header.group(1).decode().split() if header else _LAYOUTS[_fields(head)].split()
        yield from _CdxRows(letters).read(source, options)


def _fields(head: list[bytes]) -> int:
    return next((len(line.split()) for line in head if len(line.split()) in _LAYOUTS), 11)


class _CdxRows(BlockReader):
    """Rows whose layout is known."""

    def __init__(self, letters: Sequence[str]) -> None:
        # A header may name a field twice; the first one counts.
        self._at = {letter: index for index, letter in reversed(list(enumerate(letters)))}
        self._fields = len(letters)

    def parse(self, text: bytes, options: ReadOptions) -> Columns:
        """Columns of one block of rows."""
        block = scan.as_bytes(text)
        line_start, line_end, count, start, end = scan.split_lines(block, self._fields + 1)
        good = count == self._fields
        wrong = [text[a:b] for a, b in zip(line_start[~good], line_end[~good]) if b > a]
        headers = sum(_HEADER.match(line) is not None for line in wrong)
        start, end = start[good], end[good]
        empty = np.zeros(start.shape[0], dtype=np.int64)

        def border(letter: str) -> tuple[stamps.Int, stamps.Int]:
            at = self._at.get(letter)
            return (empty, empty) if at is None else (start[:, at], end[:, at])

        rows = {
            "url": border("a" if "a" in self._at else "N"),
            "length": border("n" if "n" in self._at else "S"),
            **{name: border(letter) for name, letter in (("mime", "m"), ("status", "s"), ("digest", "k"))},
        }
        columns = _captures(text, stamps.compact_rows(scan.matrix(block, *border("b"), 18)), rows)
        columns.other_lines = headers
        return note_broken(_kept(text, columns, rows, options), [line for line in wrong if not _HEADER.match(line)])


Rows = Mapping[str, tuple[stamps.Int, stamps.Int]]
"""Borders of the fields of all captures in a block, by the names that a CDXJ gives them."""


def _captures(text: bytes, time: stamps.Int, rows: Rows) -> Columns:
    """Columns of the captures at these times."""
    block = scan.as_bytes(text)
    size = scan.integers(block, *rows["length"], -1)
    return Columns(
        time,
        size=np.where(size < 0, np.nan, size),
        page=scan.hashes(block, *rows["url"]),
        content=scan.hashes(block, *rows["digest"]),
        host=scan.host_hashes(block, *rows["url"]),
    )


def _kept(text: bytes, columns: Columns, rows: Rows, options: ReadOptions) -> Columns:
    """The captures that are delivered pages."""
    block = scan.as_bytes(text)
    dns = scan.begins_with(block, *rows["url"], _DNS) | scan.begins_with(block, *rows["mime"], _DNS_TYPE)
    # An index of a small crawl may have no status at all; a revisit has "-": both are captures of a delivered page.
    reason = status_reasons(scan.integers(block, *rows["status"], 200), options)
    reason[dns] = DNS
    reason = reject_unwanted(
        reason,
        options,
        types=lambda: scan.texts(text, *rows["mime"]),
        addresses=lambda: scan.texts(text, *rows["url"]),
    )
    return keep(columns, reason)
