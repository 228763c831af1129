"""wpull's log (``-o``): its lines ``Fetched ‘http://a.org/’: 200 OK. Length: 188219392 [text/html]``.

A line of the log file begins with local time to the millisecond, the logger's name and the level, between hyphens; what
is shown on the screen has no time and is refused. ``Fetching`` of the same address tells when the fetch began. Source:
ArchiveTeam/wpull, wpull/processor/web.py and wpull/application/tasks/log.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from fitting.readers.base import BlockReader
from fitting.readers.columns import Columns, host_keys, keep, keys
from fitting.readers.input.streams import Source
from fitting.readers.selection import html_marks, reject_unwanted, status_reasons
from fitting.readers.settings import ReadOptions
from fitting.readers.times import stamps

_LINE = re.compile(
    rb"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[,.]\d{1,6}) - [\w.]{1,100} - INFO - "
    rb"(?:Fetching (?:\xe2\x80\x98|['\"])(\S{1,8192}?)(?:\xe2\x80\x99|['\"])"
    rb"|Fetched (?:\xe2\x80\x98|['\"])(\S{1,8192}?)(?:\xe2\x80\x99|['\"]): (\d{3})[^\n]{0,200}? Length: (\w{1,18}) "
    rb"\[([^\]\n]{0,200})\])",
    re.MULTILINE,
)


class Wpull:
    """Fetched files of a wpull run."""

    name = "wpull"
    about = "wpull -o log"
    filters = ("only_type", "only_url")
    missing = "a wpull log must hold lines 'Fetched ...' with their time | Write the log to a file with wpull -o FILE"

    def score(self, head: bytes, lines: Sequence[bytes]) -> float:
        """Enough that a file was fetched: most lines of such a log are something else."""
        del lines
        return 0.9 if any(row[2] for row in _LINE.findall(head)) else 0.0

    def read(self, source: Source, options: ReadOptions) -> Iterator[Columns]:
        """The stream's deliveries; fetches that are under way are kept from block to block."""
        return _WpullRows().read(source, options)


class _WpullRows(BlockReader):
    """Rows of one stream, and when the fetches under way began."""

    def __init__(self) -> None:
        self._begun: dict[bytes, int] = {}

    def parse(self, text: bytes, options: ReadOptions) -> Columns:
        """Columns of one block of lines."""
        found = _LINE.findall(text)
        times, zoned = stamps.iso([row[0] for row in found])
        rows = []
        for time, (_, begins, address, status, size, kind) in zip(times.tolist(), found):
            if begins:
                self._begun[begins] = time
                continue
            since = self._begun.pop(address, stamps.INVALID)
            took = (time - since) / stamps.SECOND if stamps.INVALID < since <= time else np.nan
            rows.append((time, address, int(status), size, kind, took))
        moments, addresses, statuses, sizes, kinds, lengths = zip(*rows) if rows else ((),) * 6
        columns = Columns(
            np.array(moments, dtype=np.int64),
            size=stamps.floats(sizes),
            page=keys(addresses),
            host=host_keys(addresses),
            took=np.array(lengths, dtype=np.float64),
            html=html_marks(kinds),
            zoned=zoned or not found,
        )
        reason = status_reasons(np.array(statuses, dtype=np.int64), options)
        reason = reject_unwanted(reason, options, types=lambda: kinds, addresses=lambda: addresses)
        columns = keep(columns, reason)
        columns.other_lines = text.count(b"\n") - len(rows)
        return columns
