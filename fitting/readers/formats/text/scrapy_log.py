"""Scrapy's own log: the engine's ``Crawled (200) <GET address>`` lines among everything else.

The clock has whole seconds and local time unless the log's format was changed. Answers from Scrapy's cache are no
deliveries. The referer is the page on which an address was found. Tracebacks, statistics and other messages are
counted as other lines, not as broken ones. ``Spider opened`` begins a new run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from fitting.readers.base import LineReader
from fitting.readers.columns import CACHED, Columns, host_keys, keep, keys
from fitting.readers.selection import reject_unwanted, status_reasons
from fitting.readers.settings import ReadOptions
from fitting.readers.times import stamps

_TIME = rb"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?)"
_LINE = re.compile(
    rb"^" + _TIME + rb" \[[^\]\n]{1,200}\] DEBUG: Crawled \((\d{3})\) <[A-Z]{1,10} ([^>\n]*+)>([^\n]*+)$", re.MULTILINE
)
_REFERER = re.compile(rb"\(referer: ([^)\n]*+)\)")
_RUN = re.compile(rb"^" + _TIME + rb" \[[^\]\n]{1,200}\] INFO: Spider opened", re.MULTILINE)


class ScrapyLog(LineReader):
    """Lines of the engine in a Scrapy log."""

    name = "scrapy"
    about = "Scrapy log"
    missing = (
        "a Scrapy log must hold the engine's DEBUG lines 'Crawled (200) <GET ...>' | Run the spider with LOG_LEVEL = "
        "'DEBUG'; where it has lines 'Crawled N pages (at M pages/min)', fit these counts with --format scrapy-counters"
    )
    probe = re.compile(_TIME + rb" \[(?:scrapy|twisted|py\.warnings)?[^\]\n]{0,200}\] (?:DEBUG|INFO|WARNING|ERROR): ")

    def score(self, head: bytes, lines: Sequence[bytes]) -> float:
        """Enough that the engine speaks: most lines of such a log are something else."""
        if _LINE.search(head):
            return 0.9
        return 0.8 if super().score(head, lines) > 0.2 and b"[scrapy" in head else 0.0

    def parse(self, text: bytes, options: ReadOptions) -> Columns:
        """Columns of one block of lines."""
        found = _LINE.findall(text)
        moments, status_text, address, rest = zip(*found) if found else ([],) * 4
        time, zoned = stamps.iso(moments)
        status = np.array(status_text, dtype="S").astype(np.int64) if found else np.zeros(0, dtype=np.int64)
        reason = status_reasons(status, options)
        cached = np.fromiter((b"'cached'" in tail for tail in rest), dtype=bool, count=len(rest))
        reason[cached] = CACHED
        reason = reject_unwanted(reason, options, addresses=lambda: address)
        columns = Columns(time, page=keys(address), host=host_keys(address), zoned=zoned or not found)
        columns.parent = keys([_referer(tail) for tail in rest])
        columns = keep(columns, reason)
        columns.run_starts = stamps.iso(_RUN.findall(text))[0] if b"Spider opened" in text else None
        columns.other_lines = text.count(b"\n") - len(found)
        return columns


def _referer(tail: bytes) -> bytes:
    """The referer at the end of a line; nothing for a seed."""
    found = _REFERER.search(tail)
    return b"" if found is None or found[1] == b"None" else found[1]
