"""Nutch's ``hadoop.log``: the *start* of each fetch, to the millisecond, in local time and without sizes.

A fetch that failed is told by a later line, ``fetch of ADDRESS failed with``; its start is taken back when all is
read. ``Fetcher: starting`` (``Fetcher: starting at ...`` in older versions) begins a new round: a run of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from fitting.readers.base import LineReader
from fitting.readers.columns import Columns, host_keys, keep, keys, no_reasons
from fitting.readers.selection import reject_unwanted
from fitting.readers.settings import ReadOptions
from fitting.readers.times import stamps

_TIME = rb"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[,.]\d{1,6})"
# `INFO  fetcher.FetcherThread - `, or since Nutch 1.19 `INFO o.a.n.f.FetcherThread [FetcherThread] FetcherThread 50 `;
# in the log of a Hadoop task `INFO [FetcherThread] org.apache.nutch.fetcher.FetcherThread: FetcherThread 50 `.
_CLASS = rb" ++[A-Z]++ ++(?:[\w.$]++ (?:\[[^\]\n]*+\] )?(?:- )?|\[[^\]\n]*+\] [\w.$]++: )"
_WHO = _CLASS + rb"(?:FetcherThread \d++ )?"
_START = re.compile(rb"^" + _TIME + _CLASS + rb"(?:FetcherThread (\d++) )?fetching ([^ \n]++)[^\n]*+$", re.MULTILINE)
_RUN = re.compile(rb"^" + _TIME + _WHO + rb"Fetcher: starting", re.MULTILINE)
_FAILED = re.compile(rb"^" + _TIME + _WHO + rb"fetch of ([^ \n]++) failed with", re.MULTILINE)


class Nutch(LineReader):
    """Lines of Nutch's fetcher."""

    name = "nutch"
    about = "Nutch hadoop.log"
    missing = "a Nutch log must hold the fetcher's lines 'fetching ADDRESS' | They are written at the level INFO"

    def score(self, head: bytes, lines: Sequence[bytes]) -> float:
        """Enough that the fetcher speaks: most lines of such a log are something else."""
        del lines
        return 0.9 if _START.search(head) else 0.0

    def parse(self, text: bytes, options: ReadOptions) -> Columns:
        """Columns of one block of lines."""
        found = _START.findall(text)
        moments, threads, address = zip(*found) if found else ([], [], [])
        time, zoned = stamps.iso(moments)
        columns = Columns(time, page=keys(address), host=host_keys(address), zoned=zoned or not found)
        if any(threads):
            columns.worker = np.array([float(thread or "nan") for thread in threads])
        columns = keep(columns, reject_unwanted(no_reasons(len(found)), options, addresses=lambda: address))
        columns.run_starts = stamps.iso(_RUN.findall(text))[0] if b"Fetcher: starting" in text else None
        failed = _FAILED.findall(text) if b" failed with" in text else []
        columns.retracted = keys([row[1] for row in failed]) if failed else None
        columns.other_lines = text.count(b"\n") - len(found)
        return columns
