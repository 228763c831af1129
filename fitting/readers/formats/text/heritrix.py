"""Heritrix ``crawl.log``, versions 1 to 3.

Fields: log time, status, size, address, path, parent, type, thread, fetch start + duration in ms, digest, source,
annotations and, in version 3, JSON. A page is delivered when its fetch ends: field 9's start plus duration. Field 1
is written later, after the page was parsed and stored, and in some versions by another zone's clock; it serves only
where field 9 is missing. Statuses below zero are the crawler's own (-9998 is robots.txt, -5000 and below quotas and
scope), 1 is a successful name look-up. The thread (``#012``) is the robot; the discovery path has one letter for each
link from the seed, and ``9+LLL`` where it is too long to be written out.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from fitting.readers.base import LineReader
from fitting.readers.columns import DNS, FAILED, QUOTA, ROBOTS, Columns, keep, note_broken
from fitting.readers.input import scan
from fitting.readers.selection import reject_unwanted, status_reasons
from fitting.readers.settings import ReadOptions
from fitting.readers.times import stamps

_HEADER = (b"metadata:", b"filedesc:")
_NO_STATUS = -(10**12)
_DNS, _HTML = (np.frombuffer(what, dtype=np.uint8) for what in (b"dns:", b"text/html"))


class Heritrix(LineReader):
    """Rows of ``crawl.log``."""

    name = "heritrix"
    about = "Heritrix crawl.log"
    filters = ("only_type", "only_url")
    probe = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.,]\d{3}Z?[ \t]+-?\d+[ \t]+(?:-|\d+)(?:[ \t]+\S+){4}[ \t]+#\d")

    def parse(self, text: bytes, options: ReadOptions) -> Columns:
        """Columns of one block of rows."""
        block = scan.as_bytes(text)
        line_start, line_end, count, start, end = scan.split_lines(block, 10)
        written = stamps.iso_rows(scan.matrix(block, start[:, 0], end[:, 0], 36))[0]
        status = scan.integers(block, start[:, 1], end[:, 1], _NO_STATUS)
        good = (count == 10) & (written != stamps.INVALID) & (status != _NO_STATUS)
        wrong = [text[a:b] for a, b in zip(line_start[~good], line_end[~good]) if b > a]
        start, end, written, status = start[good], end[good], written[good], status[good]
        time, took = _fetch_end(block, start[:, 8], end[:, 8])
        thread = scan.integers(block, np.minimum(start[:, 7] + 1, end[:, 7]), end[:, 7], -1)
        size = scan.integers(block, start[:, 2], end[:, 2], -1)
        columns = Columns(
            np.where(time == stamps.INVALID, written, time),
            size=np.where(size < 0, np.nan, size),
            page=scan.hashes(block, start[:, 3], end[:, 3]),
            content=scan.hashes(block, start[:, 9], end[:, 9]),
            took=took,
            worker=np.where(thread < 0, np.nan, thread),
            host=scan.host_hashes(block, start[:, 3], end[:, 3]),
            parent=scan.hashes(block, start[:, 5], end[:, 5]),
            depth=scan.hops(block, start[:, 4], end[:, 4]),
            html=scan.begins_with(block, start[:, 6], end[:, 6], _HTML).astype(np.int8),
        )
        reason = status_reasons(status, options)
        reason[status == -9998] = ROBOTS
        reason[(status <= -4000) & (status > -6000)] = QUOTA
        dns = scan.begins_with(block, start[:, 3], end[:, 3], _DNS)
        reason[(dns & (status > 0)) | (status == 1)] = DNS
        reason[dns & (status <= 0)] = FAILED
        both = time != stamps.INVALID
        if both.any():
            columns.notes["written after fetch, s"] = float(np.median((written - time)[both])) / stamps.SECOND
        reason = reject_unwanted(
            reason,
            options,
            types=lambda: scan.texts(text, start[:, 6], end[:, 6]),
            addresses=lambda: scan.texts(text, start[:, 3], end[:, 3]),
        )
        columns = keep(columns, reason)
        columns.other_lines = sum(line.startswith(_HEADER) for line in wrong)
        return note_broken(columns, [line for line in wrong if not line.startswith(_HEADER)])


def _fetch_end(block: scan.Bytes, start: stamps.Int, end: stamps.Int) -> tuple[stamps.Int, npt.NDArray[np.float64]]:
    """Field 9, `20160331143536323+981`: the end and the duration in seconds; INVALID and NaN for anything else."""
    plus = np.minimum(start + 17, end)
    begun = stamps.compact_rows(scan.matrix(block, start, plus, 18))
    millis = scan.integers(block, np.minimum(plus + 1, end), end, -1)
    known = (begun != stamps.INVALID) & (millis >= 0) & (millis < 10**10)
    moment = np.where(known, begun + np.where(known, millis, 0) * 1_000_000, stamps.INVALID)
    return moment, np.where(known, millis / 1000, np.nan)
