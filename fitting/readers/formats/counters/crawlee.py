"""Crawlee's request statistics: a line every minute with totals since the start, and the concurrency beside it.

``INFO  CheerioCrawler:Statistics: CheerioCrawler request statistics: {"requestsFinishedPerMinute":49, ...,
"requestsTotal":49,"crawlerRuntimeMillis":60076,...}``, with an ISO time before it where the log's settings or the
platform add one; without it, the run time is the clock and there is no calendar. ``AutoscaledPool: state
{"currentConcurrency":14,...}`` tells the robots. Source: apify/crawlee, packages/core/src, crawlers/statistics.ts and
autoscaling/autoscaled_pool.ts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fitting.readers.count_log import Counts
from fitting.readers.input.line_blocks import blocks
from fitting.readers.input.streams import Source
from fitting.readers.settings import ReadOptions
from fitting.readers.times import stamps

_LINE = re.compile(
    rb"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z)?[^\n{]{0,200}"
    rb"(?:request statistics: |AutoscaledPool: state )(\{[^\n]{1,8000}\})\s*$",
    re.MULTILINE,
)
NO_TIME = "the lines have no time: the crawler's run time is the clock"


class CrawleeStatistics:
    """Totals of a Crawlee run."""

    name = "crawlee"
    about = "Crawlee's request statistics"

    def score(self, head: bytes, lines: Sequence[bytes]) -> float:
        """Enough that statistics are there."""
        del lines
        return 0.9 if b"crawlerRuntimeMillis" in head and _LINE.search(head) else 0.0

    def read_counts(self, source: Source, options: ReadOptions) -> Iterator[Counts]:
        """The stream's totals, a block at a time."""
        del options
        robots = -1
        for block in blocks(source):
            rows: list[tuple[bytes, int, int, int]] = []
            failed = False
            found = _LINE.findall(block.text)
            for moment, text in found:
                entry = _read(text)
                robots = _whole(entry.get("currentConcurrency"), robots)
                total, runtime = _whole(entry.get("requestsTotal")), _whole(entry.get("crawlerRuntimeMillis"))
                failed |= any(_whole(entry.get(name)) > 0 for name in ("requestsFailed", "requestsFailedPerMinute"))
                if total >= 0 and runtime >= 0:
                    rows.append((moment, runtime, total, robots))
            notes = ["Crawlee's totals count failed requests too, and some have failed"] if failed else []
            dated = bool(rows) and all(moment for moment, *_ in rows)
            clock = np.array([runtime for _, runtime, *_ in rows], dtype=np.int64) * 1_000_000
            yield Counts(
                stamps.iso([moment for moment, *_ in rows])[0] if dated else clock,
                np.array([total for *_, total, _ in rows], dtype=np.int64),
                robots=np.array([running for *_, running in rows], dtype=np.int64),
                other_lines=block.text.count(b"\n") - len(found),
                undated=bool(rows) and not dated,
                notes=notes if dated or not rows else [*notes, NO_TIME],
            )


def _read(text: bytes) -> dict[str, Any]:
    try:
        entry = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return entry if isinstance(entry, dict) else {}


def _whole(value: Any, otherwise: int = -1) -> int:
    return int(value) if isinstance(value, int | float) and 0 <= value < 2**53 else otherwise
