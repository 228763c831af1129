"""HTTrack's ``hts-cache/new.txt``: one line per file with the time of day, and the date from ``hts-log.txt`` beside it.

Fields between tabs: time of day, size and remote size, flags, status, what was done with it, type, etag or date,
address, local file, parent. The day stands in ``hts-log.txt`` in the folder above (``launched on Sat, 20 May 2017
10:00:00``); without it the file is refused. A time of day that falls by more than half a day begins the next day.
Source: xroche/httrack, src/htscache.c and src/htscore.c; nla/httrack2warc, HtsTxtParser.java.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

import numpy as np

from crawltwin.model.errors import InputError
from fitting.readers.columns import Columns, host_keys, keep, keys, note_broken
from fitting.readers.input.line_blocks import blocks
from fitting.readers.input.streams import Source
from fitting.readers.selection import html_marks, reject_unwanted, status_reasons
from fitting.readers.settings import ReadOptions
from fitting.readers.times.stamps import SECOND, Int

_HEADER = b"date\tsize'/'remotesize\t"
_LINE = re.compile(
    rb"^(\d\d):(\d\d):(\d\d)\t(-?\d{1,18})/-?\d+\t[^\t\n]*\t(-?\d{1,6})\t[^\t\n]*\t([^\t\n]*)\t[^\t\n]*\t([^\t\n]*)[^\n]*$"
)
_LAUNCHED = re.compile(rb"launched on \w{3}, (\d{1,2}) (\w{3}) (\d{4}) (\d\d):(\d\d):(\d\d)")
_DAY = 86400
_LOG, _LOG_BYTES = "hts-log.txt", 1 << 20


class Httrack:
    """Files of an HTTrack mirror."""

    name = "httrack"
    about = "HTTrack hts-cache/new.txt"
    filters = ("only_type", "only_url")

    def score(self, head: bytes, lines: Sequence[bytes]) -> float:
        """The header, or rows of its shape."""
        if head.startswith(_HEADER):
            return 1.0
        return sum(_LINE.match(line) is not None for line in lines) / max(len(lines), 1)

    def read(self, source: Source, options: ReadOptions) -> Iterator[Columns]:
        """The file's deliveries, a block at a time."""
        clock = _Clock(_midnight(source))
        for block in blocks(source):
            lines = [line for line in block.text.split(b"\n") if line and not line.startswith(_HEADER)]
            yield _columns(lines, clock, options)


class _Clock:
    """Times of day in the order of the file as times."""

    def __init__(self, midnight: int) -> None:
        self._midnight, self._last = midnight, 0

    def times(self, seconds: Sequence[int]) -> Int:
        found = np.zeros(len(seconds), dtype=np.int64)
        for i, second in enumerate(seconds):
            self._midnight += _DAY * (second < self._last - _DAY // 2)
            self._last = second
            found[i] = (self._midnight + second) * SECOND
        return found


def _columns(lines: list[bytes], clock: _Clock, options: ReadOptions) -> Columns:
    matched = [(line, _LINE.match(line)) for line in lines]
    found = [match.groups() for _, match in matched if match is not None]
    hours, minutes, seconds, sizes, statuses, types, addresses = zip(*found) if found else ((),) * 7
    of_day = [int(h) * 3600 + int(m) * 60 + int(s) for h, m, s in zip(hours, minutes, seconds)]
    size = np.array([int(one) for one in sizes], dtype=np.float64)
    columns = Columns(
        clock.times(of_day),
        size=np.where(size < 0, np.nan, size),
        page=keys(addresses),
        host=host_keys(addresses),
        html=html_marks(types),
        zoned=False,
    )
    reason = status_reasons(np.array([int(one) for one in statuses], dtype=np.int64), options)
    reason = reject_unwanted(reason, options, types=lambda: types, addresses=lambda: addresses)
    return note_broken(keep(columns, reason), [line for line, match in matched if match is None])


def _midnight(source: Source) -> int:
    """Seconds from 1970 to the midnight before the first row, by the wall clock."""
    for text in _logs(source):
        launched = _LAUNCHED.search(text)
        if launched is not None:
            day, month, year = (part.decode() for part in launched.groups()[:3])
            try:
                moment = dt.datetime.strptime(f"{day} {month} {year} +0000", "%d %b %Y %z")
            except ValueError:
                continue
            return int(moment.timestamp())
    raise InputError.at(
        source.name,
        "new.txt must have hts-log.txt in its folder or the one above, with 'launched on' and the date; got none",
        "new.txt has times of the day only. Keep both files together, in folders or in a zip archive.",
    )


def _logs(source: Source) -> Iterator[bytes]:
    """What begins the logs beside the file, in its folder or the one above, there or in the same archive."""
    if source.beside is not None:
        member = PurePosixPath(source.name.removeprefix(source.archive)[1:])
        for above in (member.parent, member.parent.parent):
            text = source.beside(str(above / _LOG))
            if text is not None:
                yield text
    elif not source.archive:
        path = Path(source.name)
        for folder in (path.parent, path.parent.parent):
            if (folder / _LOG).is_file():
                with (folder / _LOG).open("rb") as stream:
                    yield stream.read(_LOG_BYTES)
