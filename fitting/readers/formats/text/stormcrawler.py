"""StormCrawler's FetcherBolt in a Storm worker's log: the end of each fetch with its status and its length.

``2026-01-11 14:17:07.143 o.a.s.b.FetcherBolt FetcherThread #44 [INFO] [Fetcher #4] Fetched https://a.org/ with status
200 in msec 315``: local time to the millisecond; older versions write ``in 315 after waiting 20``, or no length at all.
The thread's number is the robot; where the line names none, the number of the bolt is. Source:
apache/incubator-stormcrawler, core/.../bolt/FetcherBolt.java and SimpleFetcherBolt.java, and its worker logs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from fitting.readers.base import LineReader
from fitting.readers.columns import Columns, host_keys, keep, keys
from fitting.readers.selection import reject_unwanted, status_reasons
from fitting.readers.settings import ReadOptions
from fitting.readers.times import stamps

_FETCHED = re.compile(
    rb"^(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.,]\d{1,6}(?:Z|[+-]\d\d:?\d\d)?)"
    rb"(?:[^\n#]{0,200}FetcherThread #(\d{1,6}))?[^\n#]{0,200}"
    rb"\[Fetcher #(\d{1,6})\] Fetched (\S{1,8192}) with status (-?\d{1,6})(?: in (?:msec )?(\d{1,12}))?",
    re.MULTILINE,
)


class StormCrawler(LineReader):
    """Fetches of StormCrawler."""

    name = "stormcrawler"
    about = "StormCrawler's FetcherBolt"
    missing = (
        "a StormCrawler log must hold the FetcherBolt's lines 'Fetched ... with status ... in msec ...' | They are "
        "written at the level INFO"
    )

    def score(self, head: bytes, lines: Sequence[bytes]) -> float:
        """Enough that the fetcher speaks: most lines of such a log are something else."""
        del lines
        return 0.9 if _FETCHED.search(head) else 0.0

    def parse(self, text: bytes, options: ReadOptions) -> Columns:
        """Columns of one block of lines."""
        found = _FETCHED.findall(text)
        moments, threads, bolts, addresses, statuses, millis = zip(*found) if found else ([],) * 6
        time, zoned = stamps.iso(moments)
        columns = Columns(
            time,
            page=keys(addresses),
            host=host_keys(addresses),
            worker=np.array([int(thread or bolt) for thread, bolt in zip(threads, bolts)], dtype=np.float64),
            took=np.array([int(one) if one else np.nan for one in millis]) / 1000,
            zoned=zoned or not found,
        )
        reason = status_reasons(np.array([int(one) for one in statuses], dtype=np.int64), options)
        columns = keep(columns, reject_unwanted(reason, options, addresses=lambda: addresses))
        columns.other_lines = text.count(b"\n") - len(found)
        return columns
