"""Blocks from all files put together: one sorted log with its account."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from crawltwin.model.errors import Fault, InputError
from fitting.readers import zones
from fitting.readers.base import Reader
from fitting.readers.columns import FAILED, SHOWN, Columns
from fitting.readers.raw_log import RawLog, resolution
from fitting.readers.stamps import Int
from fitting.readers.streams import Source

MAX_ROWS = 100_000_000
"""Deliveries that one log may have: about 3 GB of columns."""
_NEGATIVE = "negative gap"
Kind = TypeVar("Kind", bound=np.generic)


class _File(NamedTuple):
    name: str
    parts: list[Columns]


class Pieces:
    """Collects the blocks of every file, then makes the log of them."""

    def __init__(self, max_broken: float) -> None:
        self._max_broken = max_broken
        self._files: list[_File] = []
        self._labels: list[str] = []
        self._notes: list[str] = []
        self._kept = 0

    def start(self, source: Source) -> None:
        """Begin a file."""
        self._files.append(_File(source.name, []))

    def add(self, columns: Columns) -> None:
        """Take a block of the file that was begun last."""
        self._files[-1].parts.append(columns)
        self._kept += columns.time.size
        if self._kept > MAX_ROWS:
            raise InputError(
                [
                    Fault(
                        self._files[-1].name,
                        f"a log must have at most {MAX_ROWS} deliveries; got more",
                        "Split it by time and fit its parts.",
                    )
                ]
            )

    def finish(self, source: Source) -> None:
        """End a file: refuse it when too much of it was broken."""
        packed = f" ({source.compression})" if source.compression != "none" else ""
        self._labels.append(source.name + packed)
        if source.broken_off:
            self._notes.append(f"{source.name} breaks off: {source.broken_off}; what came before it is used")
        parts = self._files[-1].parts
        broken = sum(part.broken for part in parts)
        rows = sum(part.rows for part in parts)
        if broken > self._max_broken * (rows + broken):
            shown = [line for part in parts for line in part.broken_shown][:3]
            raise InputError(
                [
                    Fault(
                        source.name,
                        f"at most {self._max_broken:.0%} of the lines may be unreadable; got {broken} "
                        f"of {rows + broken}, the "
                        f"first: {' | '.join(shown)}",
                        "Check the format (--format, --pattern), or allow more with --max-broken.",
                    )
                ]
            )

    def assemble(self, reader: Reader, *, detected: bool, timezone: str | None, values: str) -> RawLog:
        """The log of all files."""
        parts = [part for file in self._files for part in file.parts]
        dropped: Counter[str] = Counter()
        for part in parts:
            dropped.update(part.dropped)
        from_gaps = self._decide_gaps(parts, values)
        zoned = all(part.zoned for part in parts)
        files = [_file_columns(file.parts) for file in self._files]
        files = [columns for columns in files if columns.time.size]
        out_of_order = 0
        mended: list[int] = []
        if from_gaps:
            self._notes.append("the column holds gaps, not times: there is no calendar")
        elif not zoned and timezone is None:
            for columns in files:
                columns.time, rows = zones.mend_steps_back(columns.time)
                mended += rows
            self._notes.append("times name no zone and are taken as they are; give one with --timezone")
        elif not zoned and timezone is not None:
            for columns in files:
                columns.time = zones.to_utc(columns.time, timezone)
        if mended:
            self._notes.append(f"the clock went back once or twice by an hour and was mended at rows {mended}")
        if not from_gaps:
            out_of_order = sum(int(np.count_nonzero(np.diff(columns.time) < 0)) for columns in files)
        joined = _join(files)
        if from_gaps:
            joined, negative = _gaps_to_times(joined)
            if negative:
                dropped[_NEGATIVE] += negative
        joined, taken_back = _retract(joined, parts)
        if taken_back:
            dropped[FAILED] += taken_back
        order = np.argsort(joined.time, kind="stable")
        shown = [line for part in parts for line in part.broken_shown][:SHOWN]
        self._notes += _block_notes(parts)
        time = _frozen(joined.time[order])
        return RawLog(
            format=reader.name,
            detected=detected,
            files=tuple(self._labels),
            time=time,
            size=_sorted(joined.size, order),
            page=_sorted(joined.page, order),
            content=_sorted(joined.content, order),
            rows=sum(part.rows for part in parts),
            dropped=dict(dropped.most_common()),
            other_lines=sum(part.other_lines for part in parts),
            broken=sum(part.broken for part in parts),
            broken_shown=tuple(shown),
            out_of_order=out_of_order,
            resolution=resolution(time),
            zoned=zoned,
            from_gaps=from_gaps,
            notes=tuple(self._notes),
        )

    @staticmethod
    def _decide_gaps(parts: list[Columns], values: str) -> bool:
        kinds = {part.kind for part in parts if part.time.size}
        if kinds <= {"times"}:
            return False
        if "gaps" in kinds or values == "gaps":
            return True
        column = np.concatenate([part.time for part in parts if part.time.size])
        steps = np.diff(column)
        # Gaps fall at about every second step, times at none but a few that are out of order.
        falling = np.count_nonzero(steps < 0) > 0.1 * max(steps.size, 1)
        return bool(falling or not steps.any())


def _file_columns(parts: list[Columns]) -> Columns:
    filled = [part for part in parts if part.time.size]
    if not filled:
        return Columns(np.zeros(0, dtype=np.int64))
    result = Columns(np.concatenate([part.time for part in filled]))
    for name, empty in (("size", np.nan), ("page", np.uint64(0)), ("content", np.uint64(0))):
        columns = [getattr(part, name) for part in filled]
        if all(column is None for column in columns):
            continue
        kind = np.float64 if name == "size" else np.uint64
        setattr(
            result,
            name,
            np.concatenate(
                [
                    np.full(part.time.size, empty, dtype=kind) if column is None else column
                    for part, column in zip(filled, columns)
                ]
            ),
        )
    return result


def _join(files: list[Columns]) -> Columns:
    if not files:
        return Columns(np.zeros(0, dtype=np.int64))
    return _file_columns(sorted(files, key=lambda columns: int(columns.time[0])) if len(files) > 1 else files)


def _gaps_to_times(columns: Columns) -> tuple[Columns, int]:
    """Times from gaps: the first gap leads from 0 to the first of the later deliveries."""
    good = columns.time >= 0
    columns.time = np.concatenate([[0], np.cumsum(columns.time[good])])
    for name in ("size", "page", "content"):
        column = getattr(columns, name)
        if column is not None:
            filler = np.full(1, np.nan if name == "size" else 0, dtype=column.dtype)
            setattr(columns, name, np.concatenate([filler, column[good]]))
    return columns, int(np.count_nonzero(~good))


def _retract(columns: Columns, parts: list[Columns]) -> tuple[Columns, int]:
    """Take back the latest start of each fetch that was told to have failed."""
    lists = [part.retracted for part in parts if part.retracted is not None]
    if not lists or columns.page is None:
        return columns, 0
    owed = Counter(np.concatenate(lists).tolist())
    keep = np.ones(columns.time.size, dtype=bool)
    for row in np.flatnonzero(np.isin(columns.page, np.array(list(owed), dtype=np.uint64)))[::-1]:
        key = int(columns.page[row])
        if owed[key] > 0:
            owed[key] -= 1
            keep[row] = False
    columns.time, columns.page = columns.time[keep], columns.page[keep]
    columns.size = None if columns.size is None else columns.size[keep]
    columns.content = None if columns.content is None else columns.content[keep]
    return columns, int(np.count_nonzero(~keep))


def _block_notes(parts: list[Columns]) -> list[str]:
    late = [part.notes["written after fetch, s"] for part in parts if "written after fetch, s" in part.notes]
    if late and abs(float(np.median(late))) > 600:
        return [f"the log's own time runs {float(np.median(late)):.0f} s off the fetch times; the fetch times are used"]
    return []


def _frozen(column: Int) -> Int:
    column.setflags(write=False)
    return column


def _sorted(column: npt.NDArray[Kind] | None, order: npt.NDArray[np.intp]) -> npt.NDArray[Kind] | None:
    if column is None:
        return None
    result = column[order]
    result.setflags(write=False)
    return result
