"""Columns found by their names, as JSON lines, CSV and Parquet have them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from crawltwin.model.errors import Fault, InputError
from fitting.readers import stamps
from fitting.readers.base import ReadOptions
from fitting.readers.columns import CACHED, Columns, keep, keys, status_reasons

TIME_NAMES = (
    "crawl_time",
    "fetch_time",
    "fetched_at",
    "crawled_at",
    "downloaded_at",
    "download_time",
    "scraped_at",
    "warc_date",
    "timestamp",
    "time",
    "datetime",
    "date_time",
    "ts",
    "date",
    "@timestamp",
    "t",
    "arrival_time",
    "arrival",
    "epoch",
)
GAP_NAMES = ("gap", "gaps", "interarrival", "inter_arrival", "interarrival_time", "iat", "interval", "delta")
SIZE_NAMES = (
    "size",
    "content_size",
    "content_length",
    "contentlength",
    "body_size",
    "bytes",
    "length",
    "response_size",
    "content_length_bytes",
    "size_bytes",
)
PAGE_NAMES = ("url", "uri", "address", "request_url", "page")
STATUS_NAMES = ("status", "status_code", "http_status", "response_status", "statuscode", "code")
CONTENT_NAMES = ("digest", "sha1", "checksum", "content_hash", "md5", "hash")
CACHED_NAMES = ("cached", "from_cache")


@dataclass(frozen=True)
class Chosen:
    """Names of the columns that are used, None where there is none."""

    time: str
    gaps: bool
    size: str | None
    page: str | None
    status: str | None
    content: str | None
    cached: str | None


def _plain(name: str) -> str:
    return re.sub(r"[\s.\-]+", "_", name.strip().lower())


def choose(names: Iterable[str], options: ReadOptions, place: str) -> Chosen:
    """Which columns hold what: the user's word first, then well-known names, upper or lower case.

    Raises
    ------
    InputError
        When no column of times (or gaps) is known, or a column that the user named does not exist.
    """
    listed = [str(name) for name in names]
    plain = {_plain(name): name for name in reversed(listed)}

    def known(candidates: Sequence[str]) -> str | None:
        return next((plain[name] for name in candidates if name in plain), None)

    def given(wanted: str, what: str) -> str:
        if wanted in listed:
            return wanted
        if wanted.isdigit() and 1 <= int(wanted) <= len(listed):
            return listed[int(wanted) - 1]
        raise InputError(
            [
                Fault(
                    place,
                    f"{what} must be one of the columns {', '.join(listed[:20])}; got {wanted!r}",
                )
            ]
        )

    time = given(options.time_column, "time column") if options.time_column else known(TIME_NAMES)
    gaps = options.values == "gaps"
    if time is None:
        time, gaps = known(GAP_NAMES), True
    if time is None:
        raise InputError(
            [
                Fault(
                    place,
                    f"one column must hold the times; got {', '.join(listed[:20])}",
                    "Name it with --time-column.",
                )
            ]
        )
    size = given(options.size_column, "size column") if options.size_column else known(SIZE_NAMES)
    return Chosen(
        time,
        gaps,
        size,
        known(PAGE_NAMES),
        known(STATUS_NAMES),
        known(CONTENT_NAMES),
        known(CACHED_NAMES),
    )


def as_bytes(values: Sequence[Any]) -> list[bytes]:
    """Values of any kind as texts; None and NaN are empty, whole floats lose their point."""
    kinds = set(map(type, values))
    if kinds == {str}:
        return [value.encode("utf-8", errors="replace") for value in values]
    if kinds == {int}:
        return [b"%d" % value for value in values]
    return [_one_as_bytes(value) for value in values]


def _one_as_bytes(value: Any) -> bytes:
    if value is None or value != value:
        return b""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return b"%d" % int(value)
    return value if isinstance(value, bytes) else str(value).encode("utf-8", errors="replace")


def _statuses(values: Sequence[bytes]) -> stamps.Int:
    # A row without a status is a delivery: the file's writer kept none.
    return np.array([int(v) if v.isdigit() and len(v) < 9 else 200 for v in values], dtype=np.int64)


def to_columns(
    chosen: Chosen,
    count: int,
    column: dict[str, Sequence[Any]],
    *,
    values: str = "auto",
    times: stamps.Int | None = None,
) -> Columns:
    """Deliveries from the chosen columns of `count` rows, each column a sequence of plain values."""
    if times is None:
        texts = as_bytes(column[chosen.time])
        times, writing = stamps.parse_any(texts)
    else:
        writing = "zoned"
    kind = "times"
    if chosen.gaps:
        kind = "gaps"
    elif writing == "number":
        kind = "times" if values == "times" else "numbers"
    result = Columns(times, zoned=writing != "local", kind=kind)
    if chosen.size is not None:
        result.size = stamps.floats(as_bytes(column[chosen.size]))
    if chosen.page is not None:
        result.page = keys(as_bytes(column[chosen.page]))
    if chosen.content is not None:
        result.content = keys(as_bytes(column[chosen.content]))
    reason: npt.NDArray[np.object_] = np.full(count, None, dtype=object)
    if chosen.status is not None:
        reason = status_reasons(_statuses(as_bytes(column[chosen.status])))
    if chosen.cached is not None:
        cached = [str(value).lower() in ("true", "1", "yes") for value in column[chosen.cached]]
        reason[np.array(cached, dtype=bool)] = CACHED
    return keep(result, reason)
