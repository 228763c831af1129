"""Columns found by their names, as JSON lines, CSV and Parquet have them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from crawltwin.model.errors import InputError
from fitting.readers.columns import (
    CACHED,
    FAILED,
    NO_NUMBER,
    OPTIONAL,
    WORD,
    Columns,
    host_keys,
    keep,
    keys,
    no_reasons,
    none_of,
    show,
)
from fitting.readers.selection import NOT_WHERE, Condition, html_marks, reject_unwanted, status_reasons
from fitting.readers.settings import ReadOptions
from fitting.readers.times import stamps

TIME_NAMES = (
    *("crawl_time", "crawl_timestamp", "fetch_time", "fetched_at", "crawled_at", "downloaded_at", "download_time"),
    *("scraped_at", "warc_date", "timestamp", "time", "datetime", "date_time", "ts", "date"),
    *("crawledat", "fetchedat", "scrapedat", "downloadedat", "loadedat", "loaded_at"),
    *("@timestamp", "time_iso8601", "asctime", "loadedtime", "loaded_time", "t", "arrival_time", "arrival", "epoch"),
)
GAP_NAMES = ("gap", "gaps", "interarrival", "inter_arrival", "interarrival_time", "iat", "interval", "delta")
SIZE_NAMES = (
    *("size", "content_size", "content_length", "contentlength", "body_size", "bytes", "length"),
    *("response_size", "content_length_bytes", "size_bytes"),
)
PAGE_NAMES = ("url", "uri", "address", "request_url", "request_endpoint", "endpoint", "page")
STATUS_NAMES = (
    *("status_code", "statuscode", "http_status", "http_status_code", "response_status_code", "response_code"),
    *("response_status", "fetch_status", "status", "sc_status", "downstreamstatus", "http_code"),
    *("httpstatuscode", "code"),
)
"""Names that tell a number go first: beside one of them `status` is often its reason in words."""
SUCCESS_NAMES = ("success", "succeeded", "is_success", "ok")
ERROR_NAMES = ("error", "errors", "err", "error_message", "exception", "failure", "failed")
CONTENT_NAMES = ("digest", "content_digest", "sha1", "checksum", "content_hash", "md5", "hash")
CACHED_NAMES = ("cached", "from_cache")
TYPE_NAMES = (
    *("mime", "mime_type", "content_mime_type", "content_type", "contenttype", "media_type"),
    "resp_headers_content_type",
)
WORKER_NAMES = ("worker", "workerid", "worker_id", "thread", "thread_id", "spider")
DURATION_NAMES = {"download_latency": 1.0, "fetch_seconds": 1.0, "duration_ms": 1e-3, "fetch_ms": 1e-3}
"""Durations of fetches, with their unit in seconds."""
DEPTH_NAMES = ("depth",)
PARENT_NAMES = ("referer", "referrer", "request_headers_referer", "via", "parent", "parent_url")
ROBOTS_NAMES = ("robots",)


@dataclass(frozen=True)
class Chosen:
    """Names of the columns that are used, None where there is none.

    `status_needed`: a row without a status is no delivery where others of the log have one.
    """

    time: str
    gaps: bool
    size: str | None = None
    page: str | None = None
    status: str | None = None
    content: str | None = None
    cached: str | None = None
    type: str | None = None
    worker: str | None = None
    took: str | None = None
    depth: str | None = None
    parent: str | None = None
    robots: str | None = None
    success: str | None = None
    error: str | None = None
    status_needed: bool = False
    where: tuple[tuple[str, Condition], ...] = ()

    @property
    def used(self) -> list[str]:
        """Every column that is used, once."""
        names = [getattr(self, one.name) for one in fields(self) if one.name not in ("gaps", "status_needed", "where")]
        names += [name for name, _ in self.where]
        return list(dict.fromkeys(name for name in names if name is not None))


def plain_name(name: str) -> str:
    """A column's name as it is compared: small letters, one underscore for dots, blanks and hyphens."""
    return re.sub(r"[\s.\-]+", "_", name.strip().lower())


def choose(names: Iterable[str], options: ReadOptions, place: str) -> Chosen:
    """Which columns hold what: the user's word first, then well-known names, upper or lower case.

    A nested name such as ``response.status_code`` is known as a whole, else by its last part where only one has it.

    Raises
    ------
    InputError
        When no column of times (or gaps) is known, or a column that the user named does not exist.
    """
    listed = [str(name) for name in names]
    plain = _by_plain_name(listed)

    def known(candidates: Iterable[str]) -> str | None:
        return next((plain[name] for name in candidates if name in plain), None)

    def given(wanted: str, what: str) -> str:
        if wanted in listed:
            return wanted
        if wanted.isdigit() and 1 <= int(wanted) <= len(listed):
            return listed[int(wanted) - 1]
        raise InputError.at(place, f"{what} must be one of the columns {', '.join(listed[:20])}; got {wanted!r}")

    time = given(options.time_column, "time column") if options.time_column else known(TIME_NAMES)
    gaps = options.values == "gaps"
    if time is None:
        time, gaps = known(GAP_NAMES), True
    if time is None:
        raise InputError.at(
            place, f"one column must hold the times; got {', '.join(listed[:20])}", "Name it with --time-column."
        )
    conditions = [Condition.read(text) for text in options.where]
    return Chosen(
        time,
        gaps,
        size=given(options.size_column, "size column") if options.size_column else known(SIZE_NAMES),
        page=known(PAGE_NAMES),
        status=status_name(listed),
        content=known(CONTENT_NAMES),
        cached=known(CACHED_NAMES),
        type=known(TYPE_NAMES),
        worker=known(WORKER_NAMES),
        took=known(DURATION_NAMES),
        depth=known(DEPTH_NAMES),
        parent=known(PARENT_NAMES),
        robots=known(ROBOTS_NAMES),
        success=known(SUCCESS_NAMES),
        error=known(ERROR_NAMES),
        status_needed=True,
        where=tuple((given(one.name, "a column of --where"), one) for one in conditions),
    )


def _by_plain_name(listed: Sequence[str]) -> dict[str, str]:
    """Columns by their plain names, nested ones by the last part too where only one has it."""
    last: dict[str, list[str]] = {}
    for name in listed:
        if "." in name:
            last.setdefault(plain_name(name.rpartition(".")[2]), []).append(name)
    parts = {part: found[0] for part, found in last.items() if len(found) == 1}
    return parts | {plain_name(name): name for name in reversed(listed)}


def status_name(listed: Sequence[str]) -> str | None:
    """The column that tells the status of the answer; None where none does."""
    plain = _by_plain_name(listed)
    return next((plain[name] for name in STATUS_NAMES if name in plain and not _of_error(plain[name])), None)


def _of_error(name: str) -> bool:
    """Whether a nested name is part of an error: ``error.code`` is no status of the answer."""
    return any(plain_name(part) in ERROR_NAMES for part in name.split(".")[:-1])


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


_STATUS = re.compile(rb"(-?\d{1,8})(?:\.0*)?(?:\s.*)?", re.DOTALL)
_EMPTY = (b"", b"-", b"null", b"none", b"nan")
NO_STATUS, STATUS_WORD = -(10**9), -(10**9) - 1
"""In place of a status: none is told, or a word."""


def status_number(text: bytes) -> int:
    """A status as it is written: ``404``, ``404.0``, ``404 Not Found``; one of the two above for anything else."""
    if text.isdigit() and len(text) < 9:
        return int(text)
    found = _STATUS.fullmatch(text.strip())
    if found is not None:
        return int(found[1])
    return NO_STATUS if text.strip().lower() in _EMPTY else STATUS_WORD


def is_good(status: int) -> bool:
    """Whether a status is that of a page that was delivered."""
    return 200 <= status <= 299


def _judge_status(
    result: Columns, values: Sequence[bytes], needed: bool, options: ReadOptions
) -> npt.NDArray[np.object_]:
    """Why rows are no deliveries by their status; where it is `needed`, rows without one wait for the whole log."""
    status = np.array([status_number(value) for value in values], dtype=np.int64)
    told = status > NO_STATUS
    reason = status_reasons(np.where(told, status, 200), options)
    reason[~told] = None
    result.told = bool(told.any())
    if needed:
        result.untold = np.select([told, status == STATUS_WORD], [0, WORD], NO_NUMBER).astype(np.int8)
    else:
        reason[status == STATUS_WORD] = FAILED
    return reason


_NO_ERROR = ("", "none", "null", "nan", "false", "0", "no", "-", "[]", "{}", "ok")


def _failed(chosen: Chosen, column: dict[str, Sequence[Any]], count: int) -> npt.NDArray[np.bool_]:
    """Which rows say that they failed: an error is told, or success is denied.

    `errors` of a row that has a good status are those of the page, or of earlier tries.
    """
    failed = np.zeros(count, dtype=bool)
    if chosen.error is not None:
        failed |= [str(value).strip().lower() not in _NO_ERROR for value in column[chosen.error]]
        if chosen.status is not None and plain_name(chosen.error) == "errors":
            failed &= [not is_good(status_number(value)) for value in as_bytes(column[chosen.status])]
    if chosen.success is not None:
        failed |= [str(value).strip().lower() in ("false", "0", "no") for value in column[chosen.success]]
    return failed


def refuse_times(texts: Sequence[bytes], place: str) -> None:
    """Refuse a column in which not one of several times can be read."""
    told = [text for text in texts if text.strip()]
    if len(told) > 1:
        raise InputError.at(
            place,
            f"times must be epochs, ISO 8601, 14 digits or as in access logs; got {show(told[0])!r}",
            "Convert them first (05/01 may be May or January), or name another column with --time-column.",
        )


def to_columns(
    chosen: Chosen,
    count: int,
    column: dict[str, Sequence[Any]],
    options: ReadOptions,
    times: stamps.Int | None = None,
    place: str = "",
) -> Columns:
    """Deliveries from the chosen columns of `count` rows, each column a sequence of plain values.

    Raises
    ------
    InputError
        Where a `place` is given and no time there can be read.
    """
    if times is None:
        texts = as_bytes(column[chosen.time])
        times, writing = stamps.parse_any(texts)
        if place and writing == "unreadable":
            refuse_times(texts, f"{place}, {chosen.time}")
    else:
        writing = "zoned"
    kind = "times"
    if chosen.gaps:
        kind = "gaps"
    elif writing == "number":
        kind = "times" if options.values == "times" else "numbers"
    result = Columns(times, zoned=writing != "local", kind=kind)
    reason = no_reasons(count)
    if chosen.status is not None and chosen.status not in (name for name, _ in chosen.where):
        # Who says which statuses are deliveries knows what the numbers mean.
        reason = _judge_status(result, as_bytes(column[chosen.status]), chosen.status_needed, options)
    elif chosen.status is None and chosen.status_needed:
        result.untold = np.full(count, NO_NUMBER, dtype=np.int8)
    reason[none_of(reason) & _failed(chosen, column, count)] = FAILED
    if chosen.cached is not None:
        cached = [str(value).lower() in ("true", "1", "yes") for value in column[chosen.cached]]
        reason[np.array(cached, dtype=bool)] = CACHED
    if chosen.size is not None:
        result.size = stamps.floats(as_bytes(column[chosen.size]))
    if chosen.content is not None:
        result.content = keys(as_bytes(column[chosen.content]))
    types = None if chosen.type is None else as_bytes(column[chosen.type])
    if types is not None:
        result.html = html_marks(types)
    pages = None if chosen.page is None else as_bytes(column[chosen.page])
    if pages is not None:
        result.page, result.host = keys(pages), host_keys(pages)
        if chosen.parent is not None:
            result.parent = keys(as_bytes(column[chosen.parent]))
    reason = reject_unwanted(
        reason,
        options,
        types=None if types is None else lambda: types,
        addresses=None if pages is None else lambda: pages,
    )
    for name, condition in chosen.where:
        reason[~condition.holds(column[name])] = NOT_WHERE
    _add_robots(result, chosen, column)
    return keep(result, reason)


def _add_robots(result: Columns, chosen: Chosen, column: dict[str, Sequence[Any]]) -> None:
    """What the columns tell of the robots: who fetched, for how long, how deep, how many ran."""
    if chosen.worker is not None:
        result.worker = _numbered(as_bytes(column[chosen.worker]))
    if chosen.took is not None:
        unit = next(unit for name, unit in DURATION_NAMES.items() if plain_name(str(chosen.took)).endswith(name))
        seconds = stamps.floats(as_bytes(column[chosen.took])) * unit
        result.took = np.where(seconds >= 0, seconds, np.nan)
    for name in ("depth", "robots"):
        if getattr(chosen, name) is not None:
            values = stamps.floats(as_bytes(column[getattr(chosen, name)]))
            good = np.isfinite(values) & (values >= 0) & (values < 2**15)
            setattr(result, name, np.where(good, values, -1).astype(OPTIONAL[name][0]))


def _numbered(names: Sequence[bytes]) -> npt.NDArray[np.float64]:
    """Workers as numbers: their own where the names are numbers, else 31 bits of a key."""
    hashed = (keys(names) >> np.uint64(33)).astype(np.int64)
    own = [int(name) if name.isdigit() and len(name) < 9 else -1 for name in names]
    texts = np.array([name != b"" for name in names], dtype=bool)
    numbers = np.array(own, dtype=np.int64)
    return np.where(numbers >= 0, numbers, np.where(texts, hashed, np.nan))
