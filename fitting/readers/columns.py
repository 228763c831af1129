"""What every reader hands over: columns of deliveries, and counts of all the rest with the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from crawltwin.work.memory import give_back
from fitting.readers.input import scan
from fitting.readers.times.stamps import INVALID, Int

SHOWN = 5
"""Broken lines that are kept to be shown."""
SHOWN_WIDTH = 160

# Reasons for a row that is no delivery, the same words in every format.
DNS = "name look-up"
ROBOTS = "denied by robots.txt"
QUOTA = "stopped by a quota or the crawl's scope"
FAILED = "fetch failed"
NOT_TOLD = "no status, where others have one"
REDIRECT = "redirect"
HTTP_ERROR = "HTTP error status"
NOT_MODIFIED = "not modified"
CACHED = "from a cache"
NOT_ROBOT = "not a robot's user agent"
BAD_TIME = "time missing or out of range"
REPEATED = "read before"
FAR = "time far outside of the rest"

OPTIONAL: dict[str, tuple[npt.DTypeLike, Any]] = {
    "size": (np.float64, np.nan),
    "page": (np.uint64, 0),
    "content": (np.uint64, 0),
    "took": (np.float64, np.nan),
    "worker": (np.float64, np.nan),
    "host": (np.uint64, 0),
    "parent": (np.uint64, 0),
    "depth": (np.int16, -1),
    "robots": (np.int32, -1),
    "html": (np.int8, -1),
    "untold": (np.int8, 0),
}
"""Columns that a format may have beside the time: type, and what stands for "not known"."""
NO_NUMBER, WORD = 1, 2
"""In the column `untold`: a row without a status, and one with a word in its place."""


@dataclass
class Columns:
    """Deliveries of one block: times in nanoseconds, and the columns of `OPTIONAL` that the format tells.

    `size` is in bytes; `page`, `content`, `host` and `parent` (the page on which the address was found) are 64-bit
    hashes: equal keys mean the same address, bytes or host; `took` is the time of the fetch in seconds, ended at
    `time`; `worker` numbers the thread or process that fetched; `depth` counts links from a seed; `robots` is how
    many were running; `html` is 1 for a page of HTML, 0 for another type. `untold` marks rows that are deliveries only
    where the whole log tells no status (`NO_NUMBER`, `WORD`), `told` is whether a row of this block tells one. `rows`
    counts every line that belongs to the format, `dropped` those of them that are no delivery.
    """

    time: Int
    size: npt.NDArray[np.float64] | None = None
    page: npt.NDArray[np.uint64] | None = None
    content: npt.NDArray[np.uint64] | None = None
    took: npt.NDArray[np.float64] | None = None
    worker: npt.NDArray[np.float64] | None = None
    host: npt.NDArray[np.uint64] | None = None
    parent: npt.NDArray[np.uint64] | None = None
    depth: npt.NDArray[np.int16] | None = None
    robots: npt.NDArray[np.int32] | None = None
    html: npt.NDArray[np.int8] | None = None
    untold: npt.NDArray[np.int8] | None = None
    told: bool = False
    rows: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    other_lines: int = 0
    broken: int = 0
    broken_shown: list[str] = field(default_factory=list)
    retracted: npt.NDArray[np.uint64] | None = None
    run_starts: Int | None = None
    zoned: bool = True
    kind: str = "times"
    notes: dict[str, float] = field(default_factory=dict)

    def select(self, rows: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> None:
        """Keep these rows, in this order, of every column."""
        self.time = self.time[rows]
        for name in OPTIONAL:
            column = getattr(self, name)
            if column is not None:
                setattr(self, name, column[rows])


def nothing() -> Columns:
    """Columns without a row."""
    return Columns(np.zeros(0, dtype=np.int64))


def joined(parts: Sequence[Columns], release: bool = False) -> Columns:
    """The rows of all parts, one after another; a column that only some have is filled up with "not known".

    With `release` the parts lose each column when it is joined, so that only one at a time exists twice.
    """
    filled = [part for part in parts if part.time.size]
    if not filled:
        return nothing()
    sizes = [part.time.size for part in filled]
    result = Columns(np.concatenate([part.time for part in filled]))
    if release:
        # Not a view of the whole: that would keep it after it was sorted.
        for part in filled:
            part.time = nothing().time
    for name, (kind, unknown) in OPTIONAL.items():
        if all(getattr(part, name) is None for part in filled):
            continue
        whole = [
            np.full(size, unknown, dtype=kind)
            if (column := getattr(part, name)) is None
            else np.asarray(column, dtype=kind)
            for part, size in zip(filled, sizes, strict=True)
        ]
        if release:
            for part in filled:
                setattr(part, name, None)
        setattr(result, name, np.concatenate(whole))
        del whole, column
    return result


def gather(parts: Sequence[Columns]) -> None:
    """Move the rows of all parts into the first one; every part keeps its own account."""
    if len({part.kind for part in parts if part.time.size}) > 1:
        return
    first = next((part for part in parts if part.time.size), parts[0])
    whole = joined(parts, release=True)
    first.time = whole.time
    for name in OPTIONAL:
        setattr(first, name, getattr(whole, name))
    give_back()


def keys(texts: Sequence[bytes] | Sequence[str]) -> npt.NDArray[np.uint64]:
    """64-bit keys of addresses or digests, the same in every run; an empty text or ``-`` has key 0."""
    if not texts:
        return np.zeros(0, dtype=np.uint64)
    column = np.array(texts, dtype=object)
    hashed = pd.util.hash_array(column, categorize=False)
    blank = (column == b"") | (column == b"-") | (column == "")
    return np.where(blank, np.uint64(0), hashed)


def host_keys(addresses: Sequence[bytes]) -> npt.NDArray[np.uint64]:
    """Keys of the hosts of addresses, the same in every format; 0 where there is none."""
    ends = np.cumsum(np.fromiter(map(len, addresses), dtype=np.int64, count=len(addresses)))
    starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)[: ends.size]
    return np.asarray(scan.host_hashes(scan.as_bytes(b"".join(addresses)), starts, ends), dtype=np.uint64)


def show(line: bytes) -> str:
    """A broken line made safe to print: one line, no control characters, not too long."""
    text = line[: SHOWN_WIDTH * 4].decode("utf-8", errors="replace")
    text = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    return text if len(text) <= SHOWN_WIDTH else text[: SHOWN_WIDTH - 1] + "\N{HORIZONTAL ELLIPSIS}"


def keep(columns: Columns, reason: npt.NDArray[np.object_]) -> Columns:
    """Only rows without a reason and with a readable time; the others are counted under their reason."""
    wanted = none_of(reason)
    good = wanted & (columns.time != INVALID)
    columns.rows += int(reason.size)
    if not good.all():
        columns.dropped.update(Counter(reason[~wanted].tolist()))
        columns.dropped.update({BAD_TIME: late} if (late := int(np.count_nonzero(wanted & ~good))) else {})
        columns.select(good)
    return columns


def none_of(reason: npt.NDArray[np.object_]) -> npt.NDArray[np.bool_]:
    """Which rows have no reason against them."""
    return np.asarray(pd.isna(reason), dtype=bool)


def no_reasons(rows: int) -> npt.NDArray[np.object_]:
    """No reason against any row."""
    return np.full(rows, None, dtype=object)


def note_broken(columns: Columns, lines: Sequence[bytes]) -> Columns:
    """Count lines that do not belong to the format and keep the first few to be shown."""
    columns.broken += len(lines)
    columns.broken_shown += [show(line) for line in lines[: SHOWN - len(columns.broken_shown)]]
    return columns
