"""What every reader hands over: columns of deliveries, and counts of all the rest with the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd

from fitting.readers.stamps import INVALID, Int

SHOWN = 5
"""Broken lines that are kept to be shown."""
SHOWN_WIDTH = 160

# Reasons for a row that is no delivery, the same words in every format.
DNS = "name look-up"
ROBOTS = "denied by robots.txt"
QUOTA = "stopped by a quota or the crawl's scope"
FAILED = "fetch failed"
REDIRECT = "redirect"
HTTP_ERROR = "HTTP error status"
NOT_MODIFIED = "not modified"
CACHED = "from a cache"
NOT_ROBOT = "not a robot's user agent"
OTHER = "other line of the log"
BAD_TIME = "time missing or out of range"


@dataclass
class Columns:
    """Deliveries of one block: times in nanoseconds, sizes in bytes (NaN where unknown), page and content keys.

    A key is a 64-bit hash, 0 where unknown: equal keys mean the same address (`page`) or the same bytes (`content`).
    `rows` counts every line that belongs to the format, `dropped` those of them that are no delivery.
    """

    time: Int
    size: npt.NDArray[np.float64] | None = None
    page: npt.NDArray[np.uint64] | None = None
    content: npt.NDArray[np.uint64] | None = None
    rows: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    other_lines: int = 0
    broken: int = 0
    broken_shown: list[str] = field(default_factory=list)
    retracted: npt.NDArray[np.uint64] | None = None
    zoned: bool = True
    kind: str = "times"
    notes: dict[str, float] = field(default_factory=dict)


def keys(texts: Sequence[bytes] | Sequence[str]) -> npt.NDArray[np.uint64]:
    """64-bit keys of addresses or digests, the same in every run; an empty text or ``-`` has key 0."""
    if not texts:
        return np.zeros(0, dtype=np.uint64)
    column = np.array(texts, dtype=object)
    hashed = pd.util.hash_array(column, categorize=False)
    blank = (column == b"") | (column == b"-") | (column == "")
    return np.where(blank, np.uint64(0), hashed)


def show(line: bytes) -> str:
    """A broken line made safe to print: one line, no control characters, not too long."""
    text = line[: SHOWN_WIDTH * 4].decode("utf-8", errors="replace")
    text = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    return text if len(text) <= SHOWN_WIDTH else text[: SHOWN_WIDTH - 1] + "\N{HORIZONTAL ELLIPSIS}"


def status_reasons(status: Int) -> npt.NDArray[np.object_]:
    """Why a row with this HTTP status is no delivery; None for 200 to 299."""
    reason = np.full(status.shape, FAILED, dtype=object)
    reason[(status >= 200) & (status < 300)] = None
    reason[(status >= 300) & (status < 400)] = REDIRECT
    reason[status == 304] = NOT_MODIFIED
    reason[(status >= 400) & (status < 600)] = HTTP_ERROR
    return reason


def keep(columns: Columns, reason: npt.NDArray[np.object_]) -> Columns:
    """Only rows without a reason and with a readable time; the others are counted under their reason."""
    reason = reason.copy()
    reason[_none(reason) & (columns.time == INVALID)] = BAD_TIME
    good = _none(reason)
    columns.rows += int(reason.size)
    columns.dropped.update(Counter(reason[~good].tolist()))
    columns.time = columns.time[good]
    for name in ("size", "page", "content"):
        column = getattr(columns, name)
        if column is not None:
            setattr(columns, name, column[good])
    return columns


def _none(reason: npt.NDArray[np.object_]) -> npt.NDArray[np.bool_]:
    return np.asarray(reason == np.array(None, dtype=object), dtype=bool)


def note_broken(columns: Columns, lines: Sequence[bytes]) -> Columns:
    """Count lines that do not belong to the format and keep the first few to be shown."""
    columns.broken += len(lines)
    columns.broken_shown += [show(line) for line in lines[: SHOWN - len(columns.broken_shown)]]
    return columns
