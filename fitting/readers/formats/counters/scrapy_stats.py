"""Scrapy's counters: LogStats' ``Crawled 1200 pages (at 60 pages/min)`` every minute, and PeriodicLog's JSON.

Both count every response, cached ones and errors too. Source: scrapy/scrapy, scrapy/extensions/logstats.py and
scrapy/extensions/periodic_log.py; PeriodicLog writes an indented object with ``stats`` (with
``response_received_count``) and ``time`` (with ``utcnow``) behind the prefix of the line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fitting.readers.count_log import Counts
from fitting.readers.input.json_objects import value_at
from fitting.readers.input.line_blocks import blocks
from fitting.readers.input.streams import Source
from fitting.readers.settings import ReadOptions
from fitting.readers.times import stamps

_TIME = rb"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?)"
_CRAWLED = re.compile(rb"^" + _TIME + rb" \[[^\]\n]{1,200}\] INFO: Crawled (\d{1,18}) pages? \(at ", re.MULTILINE)
_PERIODIC = re.compile(rb"^" + _TIME + rb" \[[^\]\n]{1,200}\] INFO: (\{\n.{1,200000}?\n\})$", re.MULTILINE | re.DOTALL)
EVERY_RESPONSE = "Scrapy's totals count every response: errors and cached pages too"
_TOTALS = ("response_received_count", "downloader/response_count")


class ScrapyCounters:
    """Totals of Scrapy's LogStats."""

    name = "scrapy-counters"
    about = "Scrapy's 'Crawled N pages' lines"

    def score(self, head: bytes, lines: Sequence[bytes]) -> float:
        """Enough that a line of totals is there."""
        del lines
        return 0.9 if _CRAWLED.search(head) else 0.0

    def read_counts(self, source: Source, options: ReadOptions) -> Iterator[Counts]:
        """The stream's totals, a block at a time."""
        del options
        for block in blocks(source):
            found = _CRAWLED.findall(block.text)
            time, zoned = stamps.iso([row[0] for row in found])
            total = np.array([int(row[1]) for row in found], dtype=np.int64)
            others = block.text.count(b"\n") - len(found)
            yield Counts(time, total, zoned=zoned, other_lines=others, notes=[EVERY_RESPONSE] if found else [])


class ScrapyPeriodic:
    """Totals of Scrapy's PeriodicLog."""

    name = "scrapy-periodic"
    about = "Scrapy's PeriodicLog"

    def score(self, head: bytes, lines: Sequence[bytes]) -> float:
        """An indented object with statistics behind the prefix of a line; better than lines of LogStats beside it."""
        del lines
        return 0.95 if any(_totals(row[1]) for row in _PERIODIC.findall(head)) else 0.0

    def read_counts(self, source: Source, options: ReadOptions) -> Iterator[Counts]:
        """The stream's totals; an object that a block cuts is put together again."""
        del options
        rest = b""
        for block in blocks(source):
            text = rest + block.text
            found = list(_PERIODIC.finditer(text))
            rest = text[found[-1].end() if found else 0 :][-(1 << 18) :]
            rows = [(match[1], totals) for match in found if (totals := _totals(match[2])) is not None]
            moments = [str(totals[0]).encode() if totals[0] else moment for moment, totals in rows]
            time, zoned = stamps.iso(moments)
            total = np.array([totals[1] for _, totals in rows], dtype=np.int64)
            zoned = zoned or all(totals[0] for _, totals in rows)
            yield Counts(time, total, zoned=zoned, notes=[EVERY_RESPONSE] if rows else [])


def _totals(text: bytes) -> tuple[str | None, int] | None:
    """Time (UTC) and total of one object; None where it has no total."""
    try:
        entry: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    stats = entry.get("stats")
    if not isinstance(stats, dict):
        return None
    total = next((stats[name] for name in _TOTALS if type(stats.get(name)) is int and 0 <= stats[name] < 2**53), None)
    return None if total is None else (value_at(entry, "time.utcnow"), total)
