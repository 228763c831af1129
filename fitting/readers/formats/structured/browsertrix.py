"""browsertrix-crawler's own log: JSON objects with ``timestamp``, ``logLevel``, ``context``, ``message``, ``details``.

A page is delivered when its ``Page Finished`` is told (context ``pageStatus``); ``Starting page`` of the same worker
tells when it was begun. Both carry ``details.page`` and ``details.workerid``. A load state of 0 is a failed page, and
other messages of the context ``pageStatus`` at the levels error and warn tell failures. A new run introduces itself
with ``Browsertrix-Crawler`` and its version. Source: webrecorder/browsertrix-crawler, src/crawler.ts,
src/util/worker.ts and src/util/logger.ts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fitting.readers.columns import FAILED, Columns, host_keys, keep, keys, no_reasons
from fitting.readers.input.json_objects import objects
from fitting.readers.input.line_blocks import blocks
from fitting.readers.input.streams import Source
from fitting.readers.selection import reject_unwanted
from fitting.readers.settings import ReadOptions
from fitting.readers.times import stamps

_FIELDS = (b'"logLevel"', b'"context"', b'"message"')
_FINISHED, _STARTING, _INTRODUCTION = "Page Finished", "Starting page", "Browsertrix-Crawler "


class Browsertrix:
    """Pages in the log of browsertrix-crawler."""

    name = "browsertrix"
    about = "browsertrix-crawler log"
    filters = ("only_url",)
    missing = (
        "a browsertrix-crawler log must hold 'Page Finished' messages | Run it with --logging stats or without "
        "--logLevel, so that messages of the context pageStatus are kept"
    )

    def score(self, head: bytes, lines: Sequence[bytes]) -> float:
        """Share of lines that are objects with the three fields of this log."""
        del head
        good = [line.lstrip()[:1] == b"{" and all(field in line for field in _FIELDS) for line in lines]
        return 0.99 * sum(good) / max(len(good), 1)

    def read(self, source: Source, options: ReadOptions) -> Iterator[Columns]:
        """The stream's deliveries, a block at a time; when each worker began its page is kept in between."""
        begun: dict[tuple[Any, str], int] = {}
        for block in blocks(source):
            lines = [line for line in block.text.split(b"\n") if line.strip()]
            entries = objects(lines)
            told = [entry for entry in entries if entry is not None and isinstance(entry.get("message"), str)]
            columns = _columns(told, begun, options)
            # The browser and its tools write plain lines in between; they are other lines, not broken ones.
            columns.other_lines += len(entries) - len(told)
            yield columns


def _columns(entries: list[dict[str, Any]], begun: dict[tuple[Any, str], int], options: ReadOptions) -> Columns:
    times = stamps.iso([str(entry.get("timestamp", "")).encode() for entry in entries])[0].tolist()
    rows: list[tuple[int, str, float, float, bool]] = []
    starts: list[int] = []
    for entry, time in zip(entries, times):
        details = entry.get("details")
        details = details if isinstance(details, dict) else {}
        message, page = entry["message"], str(details.get("page") or details.get("url") or "")
        number = details.get("workerid")
        worker = float(number) if isinstance(number, int) and 0 <= number < 2**31 else np.nan
        if message == _STARTING:
            begun[number, page] = time
        elif message == _FINISHED:
            since = begun.pop((number, page), stamps.INVALID)
            took = (time - since) / stamps.SECOND if stamps.INVALID < since <= time else np.nan
            rows.append((time, page, worker, took, details.get("loadState") != 0))
        elif entry.get("context") == "pageStatus" and entry.get("logLevel") in ("error", "warn"):
            rows.append((time, page, worker, np.nan, False))
        elif message.startswith(_INTRODUCTION):
            starts.append(time)
    moments, pages, workers, lengths, good = zip(*rows) if rows else ((),) * 5
    addresses = [page.encode("utf-8", errors="replace") for page in pages]
    columns = Columns(
        np.array(moments, dtype=np.int64),
        page=keys(addresses),
        host=host_keys(addresses),
        worker=np.array(workers, dtype=np.float64),
        took=np.array(lengths, dtype=np.float64),
        run_starts=np.array(starts, dtype=np.int64),
    )
    reason = no_reasons(len(rows))
    reason[~np.array(good, dtype=bool)] = FAILED
    columns = keep(columns, reject_unwanted(reason, options, addresses=lambda: addresses))
    columns.other_lines = len(entries) - len(rows)
    return columns
