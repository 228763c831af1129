"""Heritrix's ``progress-statistics.log``: a line every twenty seconds with totals and the threads that are busy.

Fields: time, discovered, queued, downloaded, documents per second (mean), KB per second (mean), failures, busy threads,
memory. Lines such as ``20080602165807 CRAWL RESUMED - Running`` tell events. Source: internetarchive/heritrix3,
StatisticsTracker.java and CrawlStatSnapshot.java.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from fitting.readers.count_log import Counts
from fitting.readers.input.line_blocks import blocks
from fitting.readers.input.streams import Source
from fitting.readers.settings import ReadOptions
from fitting.readers.times import stamps

_LINE = re.compile(
    rb"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)[ \t]+(\d{1,18})[ \t]+-?\d+[ \t]+(\d{1,18})[ \t]+"
    rb"[\d.,]+\([^)\n]*\)[ \t]+"
    rb"[\d.,]+\([^)\n]*\)[ \t]+\d+[ \t]+(\d{1,9})",
    re.MULTILINE,
)


class HeritrixProgress:
    """Totals of a Heritrix crawl."""

    name = "heritrix-progress"
    about = "Heritrix progress-statistics.log"

    def score(self, head: bytes, lines: Sequence[bytes]) -> float:
        """The legend, or a line of totals."""
        del lines
        legend = b" discovered " in head[:4096] and b"busy-thread" in head[:4096]
        return 0.9 if legend or _LINE.search(head) else 0.0

    def read_counts(self, source: Source, options: ReadOptions) -> Iterator[Counts]:
        """The stream's totals, a block at a time."""
        del options
        for block in blocks(source):
            found = _LINE.findall(block.text)
            yield Counts(
                stamps.iso([row[0] for row in found])[0],
                np.array([int(row[2]) for row in found], dtype=np.int64),
                robots=np.array([int(row[3]) for row in found], dtype=np.int64),
                discovered=np.array([int(row[1]) for row in found], dtype=np.int64),
                other_lines=block.text.count(b"\n") - len(found),
            )
