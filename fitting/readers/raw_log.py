"""A log as it was read: deliveries in order of time, and an account of every row that is not among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from crawltwin.model.results.display import shown_as_html
from crawltwin.work.memory import row_blocks
from fitting.readers.columns import OPTIONAL
from fitting.readers.times.stamps import SECOND, Int

_COARSE = tuple(seconds * SECOND for seconds in (86400, 3600, 1800, 900, 600, 300, 120, 60, 30, 20, 15, 10, 5, 2))
"""Steps of more than a second, for logs in which pages share their times."""
_FEWEST_TICKS = 20
_TIES = 0.01
_STEPS = (60 * SECOND, SECOND, 10**8, 10**7, 10**6, 10**5, 10**4, 10**3, 10**2)


@dataclass(frozen=True, eq=False)
class RawLog:
    """Deliveries of one log, over all its files.

    Attributes
    ----------
    format : str
        Name of the format; `detected` tells whether it was found or given.
    files : tuple of str
        What was read, with the packer in brackets.
    time : int64 array
        Nanoseconds since 1970 (for a column of gaps: since the first delivery), never falling.
    size : float64 array or None
        Bytes, NaN where unknown.
    page, content : uint64 array or None
        Keys of addresses and of contents, 0 where unknown.
    rows, dropped, other_lines, broken, broken_shown
        The account: rows of the format, how many are no delivery and why, lines of other kinds, lines that could
        not be read and the first of them.
    out_of_order : int
        Rows that were earlier than the row before them in their file.
    resolution : float
        The clock's smallest step in seconds, found from the data.
    zoned : bool
        Whether the times named their zone.
    from_gaps : bool
        Whether the input was a column of gaps, so that there is no calendar.
    notes : tuple of str
        What else was found, in words.
    doubts : tuple of str
        What may make the log another one than it seems, in words: rows that may be there twice, a clock set back.
    run_starts : int64 array or None
        Times at which the log says that the crawler was started or its clock was set back, in the unit of `time`.
    took, worker : float64 array or None
        Seconds that the fetch took, and the number of the thread or worker that fetched; NaN where unknown.
    host : uint64 array or None
        Key of the host, 0 where unknown.
    parent : uint64 array or None
        Key of the address of the page on which this one was found, as in `page`; 0 for a seed and where unknown.
    depth : int16 array or None
        Links between a seed and the page, -1 where unknown.
    robots : int32 array or None
        Robots that were running, -1 where unknown.
    """

    format: str
    detected: bool
    files: tuple[str, ...]
    time: Int
    size: npt.NDArray[np.float64] | None
    page: npt.NDArray[np.uint64] | None
    content: npt.NDArray[np.uint64] | None
    rows: int
    dropped: Mapping[str, int]
    other_lines: int
    broken: int
    broken_shown: tuple[str, ...]
    out_of_order: int
    resolution: float
    zoned: bool
    from_gaps: bool
    notes: tuple[str, ...]
    run_starts: Int | None = None
    took: npt.NDArray[np.float64] | None = None
    worker: npt.NDArray[np.float64] | None = None
    host: npt.NDArray[np.uint64] | None = None
    parent: npt.NDArray[np.uint64] | None = None
    depth: npt.NDArray[np.int16] | None = None
    robots: npt.NDArray[np.int32] | None = None
    doubts: tuple[str, ...] = ()

    @classmethod
    def of_times(cls, times: Int) -> RawLog:
        """A log of bare deliveries at these times, in nanoseconds since 1970."""
        time = np.sort(times)
        return cls(
            format="times",
            detected=False,
            files=(),
            time=time,
            size=None,
            page=None,
            content=None,
            rows=time.size,
            dropped={},
            other_lines=0,
            broken=0,
            broken_shown=(),
            out_of_order=0,
            resolution=resolution(time),
            zoned=True,
            from_gaps=False,
            notes=(),
        )

    def __len__(self) -> int:
        return int(self.time.size)

    @property
    def place(self) -> str:
        """Where a fault of the whole log is: its first file."""
        return self.files[0] if self.files else "log"

    def __repr__(self) -> str:
        return (
            f"RawLog({self.format}, {self.rows} rows, {len(self)} deliveries, "
            f"clock of {self.resolution:g} s, {self.broken} broken lines)"
        )

    def _repr_html_(self) -> str:
        """What a notebook shows: the account."""
        account = self.account()
        return shown_as_html(repr(self), {"what": list(account), "value": [str(value) for value in account.values()]})

    def account(self) -> dict[str, Any]:
        """What was read, row by row, as plain values."""
        return {
            "rows": self.rows,
            "deliveries": len(self),
            "dropped": dict(self.dropped),
            "broken": self.broken,
            "broken_lines": list(self.broken_shown),
            "out_of_order": self.out_of_order,
            "resolution": self.resolution,
        }

    def without_keys(self) -> RawLog:
        """The log without the keys of pages and contents, which nothing but revisits needs: 16 bytes per delivery."""
        return replace(self, page=None, content=None)

    def last(self, pages: int) -> RawLog:
        """The log of the last pages alone; itself where it has no more."""
        if len(self) <= pages:
            return self
        kept = {name: getattr(self, name) for name in ("time", *OPTIONAL) if getattr(self, name, None) is not None}
        return replace(self, **{name: column[-pages:] for name, column in kept.items()})

    @property
    def begin(self) -> Int | None:
        """Start of each fetch in nanoseconds, in the order of `time`, 0 where unknown; None without durations."""
        if self.took is None:
            return None
        known = np.isfinite(self.took)
        length = np.rint(np.where(known, self.took, 0) * SECOND).astype(np.int64)
        return np.where(known, self.time - length, 0)

    @property
    def seconds(self) -> npt.NDArray[np.float64]:
        """Times in seconds since the first delivery."""
        result = np.empty(self.time.size)
        for part in row_blocks(self.time.size):
            np.divide(self.time[part] - self.time[0], SECOND, out=result[part])
        return result


def resolution(time: Int) -> float:
    """The clock's step in seconds: the largest of minute, second, 0.1 s, ... that nearly all times are multiples of.

    One time in a thousand may miss it, and 300 ns are allowed, which is what an epoch in seconds loses as a float.
    Where pages share their times (one in a hundred) and these are 20 or more, the step may be another part of an hour,
    an hour or a day too. Single pages at a fixed delay lie on such a grid by themselves.
    """
    if time.size == 0:
        return 1e-9
    probe = time if time.size <= 200_000 else time[:: time.size // 200_000]
    probe = probe - time.min() if np.ptp(time) < SECOND else probe
    found = next((step for step in _STEPS if _on_grid(probe, step)), 1)
    ties = np.count_nonzero(time[1:] == time[:-1]) if found >= SECOND else 0
    if ties > _TIES * time.size and np.unique(probe[:10_000]).size >= _FEWEST_TICKS:
        # From one of the times on: with a zone, days do not begin at a multiple of a day.
        from_one = probe - probe[probe.size // 2]
        found = next((step for step in _COARSE if step > found and _on_grid(from_one, step)), found)
    return found / SECOND


def _on_grid(time: Int, step: int) -> bool:
    """Whether nearly all times are multiples of the step."""
    off = np.abs((time + step // 2) % step - step // 2)
    return bool(np.count_nonzero(off > min(300, step // 4)) <= time.size // 1000)
