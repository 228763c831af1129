"""CDX and CDXJ indexes of web archives: one captured record per line, sorted by address, 14-digit UTC times.

The length that an index gives is that of the packed record in the archive, smaller than the page; where a CDX names
the document's length it is taken instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from fitting.readers.base import BlockReader, LineReader
from fitting.readers.columns import DNS, Columns, host_keys, keep, keys, note_broken
from fitting.readers.input import scan
from fitting.readers.input.json_objects import objects
from fitting.readers.input.streams import Source
from fitting.readers.selection import html_marks, reject_unwanted, status_reasons
from fitting.readers.settings import ReadOptions
from fitting.readers.times import stamps

_HEADER = re.compile(rb"^ ?CDX((?: [a-zA-Z])+)\s*$")
_DNS, _DNS_TYPE = (np.frombuffer(what, dtype=np.uint8) for what in (b"dns:", b"text/dns"))
# Letters of the CDX header: a address, b date, m type, s status, k digest, S packed length, n document length.
_LAYOUTS = {11: "N b a m s k r M S V g", 9: "N b a m s k r V g", 10: "N b a m s k r M V g", 8: "a e b m n g V k"}


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
        texts = [text[a:b] for a, b in zip(start[good, 2].tolist(), line_end[good].tolist())]
        entries = objects(texts)
        wrong += [line for line, entry in zip(texts, entries) if entry is None]
        read = np.array([entry is not None for entry in entries], dtype=bool)
        known = [entry for entry in entries if entry is not None]
        status = [entry.get("status", "") for entry in known]
        address = [str(entry.get("url", "")) for entry in known]
        pages = [text.encode("utf-8", errors="replace") for text in address]
        types = [str(entry.get("mime", "")).encode("utf-8", errors="replace") for entry in known]
        columns = Columns(
            time[good][read],
            size=stamps.floats([str(entry.get("length", "nan")) for entry in known]),
            page=keys(address),
            content=keys([str(entry.get("digest", "")) for entry in known]),
            host=host_keys(pages),
            html=html_marks([b"" if text == b"warc/revisit" else text for text in types]),
        )
        dns = [a[:4] == "dns:" or entry.get("mime") == "text/dns" for a, entry in zip(address, known)]
        reason = _reasons([str(s) for s in status], dns, options)
        columns = keep(columns, reject_unwanted(reason, options, types=lambda: types, addresses=lambda: pages))
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

        size = scan.integers(block, *border("n" if "n" in self._at else "S"), -1)
        address = border("a" if "a" in self._at else "N")
        columns = Columns(
            stamps.compact_rows(scan.matrix(block, *border("b"), 18)),
            size=np.where(size < 0, np.nan, size),
            page=scan.hashes(block, *address),
            content=scan.hashes(block, *border("k")),
            other_lines=headers,
            host=scan.host_hashes(block, *address),
        )
        dns = scan.begins_with(block, *address, _DNS) | scan.begins_with(block, *border("m"), _DNS_TYPE)
        # An index of a small crawl may have no status at all; a revisit has "-": both are captures of a delivered page.
        reason = status_reasons(scan.integers(block, *border("s"), 200), options)
        reason[dns] = DNS
        reason = reject_unwanted(
            reason,
            options,
            types=lambda: scan.texts(text, *border("m")),
            addresses=lambda: scan.texts(text, *address),
        )
        return note_broken(keep(columns, reason), [line for line in wrong if not _HEADER.match(line)])


def _reasons(
    status: Sequence[str], dns: Sequence[bool], options: ReadOptions
) -> np.ndarray[tuple[int], np.dtype[np.object_]]:
    # An index of a small crawl may have no status at all; a revisit has "-": both are captures of a delivered page.
    known = {text: int(text) if text.isdigit() and len(text) < 9 else 200 for text in set(status)}
    reason = status_reasons(np.array([known[text] for text in status], dtype=np.int64), options)
    reason[np.array(dns, dtype=bool)] = DNS
    return reason
