"""Blocks from all files put together: one sorted log with its account."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from crawltwin.model.errors import InputError
from fitting.readers.base import Reader
from fitting.readers.columns import FAILED, FAR, OPTIONAL, REPEATED, SHOWN, Columns, gather, joined
from fitting.readers.input.streams import Source
from fitting.readers.raw_log import RawLog, resolution
from fitting.readers.settings import ReadOptions
from fitting.readers.times import stamps, zones
from fitting.readers.times.stamps import INVALID, Int
from fitting.readers.whole.rows import Rows

MAX_ROWS = 100_000_000
"""Deliveries that one log may have: about 6 GB of columns."""
GATHERED = 2**22
"""Deliveries whose columns are put together while a file is read: the memory of small arrays is not given back."""
RECENT = 100
"""Deliveries before a last line without an end that tell how far it may be away from them."""
FEW_REACH = 30 * 86400 * stamps.SECOND
"""How far it may be where they are fewer."""
_NEGATIVE = "negative gap"


@dataclass
class ReadFile:
    """One file that was read: its blocks, how it is called in the answer, remarks, and the digest of its content.

    `error` is told where no file of the log has a row.
    """

    name: str
    parts: list[Columns] = field(default_factory=list)
    label: str = ""
    notes: list[str] = field(default_factory=list)
    digest: bytes | None = None
    left_out: bool = False
    error: InputError | None = None

    @property
    def broken(self) -> int:
        """Lines that could not be read."""
        return sum(part.broken for part in self.parts)

    @property
    def deliveries(self) -> int:
        """Number of them."""
        return sum(part.time.size for part in self.parts)

    def judge_last_line(self) -> None:
        """Leave out a last line without an end that does not fit the others: it was cut, perhaps within its time."""
        last = self.parts[-1]
        others = [part for part in self.parts[:-1] if part.time.size]
        if not others or last.time.size != 1:
            return
        near, moment = others[-1], int(last.time[0])
        early, late = min(int(part.time.min()) for part in others), max(int(part.time.max()) for part in others)
        # A column of numbers that fall is one of gaps.
        rising = last.kind == "times" or bool(np.all(near.time[1:] >= near.time[:-1]))
        recent = near.time[-RECENT:] if rising else np.array([early, late])
        reach = max(int(np.ptp(recent)), stamps.SECOND if near.time.size >= RECENT else FEW_REACH)
        alike = (last.kind, last.zoned) == (near.kind, near.zoned)
        if alike and int(recent.min()) - reach <= moment <= late + max(late - early, reach):
            return
        last.select(np.zeros(1, dtype=bool))
        last.kind, last.zoned, last.rows = near.kind, near.zoned, last.rows - 1
        last.broken += 1
        self.notes.append(f"the last line of {self.name} has no end and does not fit the others: it was left out")


class Pieces:
    """Collects the blocks of every file, then makes the log of them."""

    def __init__(self, max_broken: float) -> None:
        self._max_broken = max_broken
        self.files: list[ReadFile] = []
        self._kept = 0
        self._loose: list[Columns] = []
        self._seen: dict[bytes, str] = {}

    def start(self, source: Source) -> None:
        """Begin a file."""
        self.files.append(ReadFile(source.name))
        self._loose = []

    def add(self, columns: Columns) -> None:
        """Take a block of the file that was begun last."""
        self.files[-1].parts.append(columns)
        self._count(columns.time.size)
        self._loose.append(columns)
        if sum(part.time.size for part in self._loose) >= GATHERED:
            gather(self._loose)
            self._loose = []

    def _count(self, deliveries: int) -> None:
        self._kept += deliveries
        if self._kept > MAX_ROWS:
            raise InputError.at(
                self.files[-1].name,
                f"a log must have at most {MAX_ROWS} deliveries; got more",
                "Split it by time and fit its parts.",
            )

    def without_rows(self, source: Source, error: InputError) -> None:
        """Note that the file that was begun last has none; raised at once where more than a cut line is broken."""
        if self.files[-1].broken > source.cut:
            raise error
        self.files[-1].error = error

    def leave_out(self, name: str, reason: str) -> None:
        """Note a stream that is no part of the log."""
        self.files.append(ReadFile(name, notes=[f"{name} was left out: {reason}"], left_out=True))

    def take(self, file: ReadFile) -> None:
        """Take a file that was read elsewhere."""
        self.files.append(file)
        self._count(file.deliveries)
        self._leave_out_again()

    def finish(self, source: Source) -> None:
        """End a file: refuse it when too much of it was broken, leave it out when it was read before."""
        file = self.files[-1]
        file.digest = None if source.digest is None else source.digest.digest()
        file.label = f"{source.name} ({source.compression})" if source.compression != "none" else source.name
        if source.remark:
            file.notes.append(source.remark)
        if source.broken_off:
            file.notes.append(f"{source.name} breaks off: {source.broken_off}; what came before it is used")
        if source.cut:
            file.judge_last_line()
        broken = file.broken
        rows = sum(part.rows for part in file.parts)
        if not broken and not file.deliveries:
            file.notes.append(f"{source.name} holds no deliveries")
        if broken > self._max_broken * (rows + broken):
            shown = [line for part in file.parts for line in part.broken_shown][:3]
            error = InputError.at(
                source.name,
                f"at most {self._max_broken:.0%} of the lines may be unreadable; got {broken} "
                f"of {rows + broken}, the "
                f"first: {' | '.join(shown)}",
                "Check the format (--format, --pattern), or allow more with --max-broken.",
            )
            if rows or broken > source.cut:
                raise error
            file.error = file.error or error
            file.notes.append(f"{source.name} holds no deliveries: its only line has no end")
        self._leave_out_again()

    def _leave_out_again(self) -> None:
        """Leave the last file out if one of the same content is there already."""
        file = self.files[-1]
        if file.digest is None:
            return
        same = self._seen.get(file.digest)
        if same is None:
            self._seen[file.digest] = file.name
            return
        self._kept -= file.deliveries
        self.files[-1] = ReadFile(file.name, notes=[f"{file.name} has the same content as {same} and is left out"])

    def assemble(self, reader: Reader, options: ReadOptions) -> RawLog:
        """The log of all files."""
        parts = [part for file in self.files for part in file.parts]
        errors = [file.error for file in self.files if file.error is not None]
        if errors and not any(part.rows for part in parts):
            raise InputError([fault for error in errors[:SHOWN] for fault in error.faults])
        notes = [note for file in self.files if not file.left_out for note in file.notes]
        notes += few([note for file in self.files if file.left_out for note in file.notes])
        dropped: Counter[str] = Counter()
        for part in parts:
            dropped.update(part.dropped)
        from_gaps = self._decide_gaps(parts, options.values)
        zoned = all(part.zoned for part in parts)
        starts = _run_starts(parts)
        notes += self._without_status()
        rows = self._in_order(from_gaps)
        taken_back = rows.retract(parts)
        if taken_back:
            dropped[FAILED] += taken_back
        dropped.update(rows.leave_out_untold(parts))
        out_of_order = 0
        doubts: list[str] = []
        if from_gaps:
            notes.append("the column holds gaps, not times: there is no calendar")
            negative = rows.from_gaps()
            if negative:
                dropped[_NEGATIVE] += negative
        else:
            far = rows.leave_out_far()
            if far:
                dropped[FAR] += far
                notes.append(f"{far} deliveries were left out: their times lie far outside of all others")
            repeated, words, doubts = rows.leave_out_repeats(
                options.repeats == "keep", getattr(reader, "partial", False)
            )
            notes += words
            if repeated:
                dropped[REPEATED] += repeated
            if not zoned and options.timezone is not None:
                rows.change_times(lambda time: zones.to_utc(time, str(options.timezone)))
                starts = None if starts is None else zones.to_utc(starts, options.timezone)
            elif not zoned:
                mended: list[int] = []
                rows.change_times(lambda time: _mended(time, mended))
                notes.append("times name no zone and are taken as they are; give one with --timezone")
                if mended:
                    notes.append(f"the clock went back once or twice by an hour and was mended at rows {mended}")
            starts, words, more = rows.undo_set_back(starts)
            notes, doubts = notes + words, doubts + more
            out_of_order = rows.sort()
        whole = rows.columns
        shown = [line for part in parts for line in part.broken_shown][:SHOWN]
        notes += _block_notes(parts) + _type_notes(whole)
        for name in ("time", *OPTIONAL):
            if getattr(whole, name) is not None:
                getattr(whole, name).setflags(write=False)
        return RawLog(
            format=reader.name,
            detected=options.log_format is None and options.pattern is None,
            files=tuple(file.label for file in self.files if file.label),
            time=whole.time,
            **{name: getattr(whole, name) for name in OPTIONAL if name not in ("html", "untold")},
            run_starts=starts,
            rows=sum(part.rows for part in parts),
            dropped=dict(dropped.most_common()),
            other_lines=sum(part.other_lines for part in parts),
            broken=sum(part.broken for part in parts),
            broken_shown=tuple(shown),
            out_of_order=out_of_order,
            resolution=resolution(whole.time),
            zoned=zoned,
            from_gaps=from_gaps,
            notes=tuple(notes),
            doubts=tuple(doubts),
        )

    def _without_status(self) -> list[str]:
        """Words about files of which nothing counts, since they tell no status and others do."""
        if not any(part.told for file in self.files for part in file.parts):
            return []
        names = [
            file.name
            for file in self.files
            if file.deliveries
            and all(part.untold is not None and part.untold.all() for part in file.parts if part.time.size)
        ]
        return few([f"no row of {name} tells a status, where other files do: none of them counts" for name in names])

    def _in_order(self, from_gaps: bool) -> Rows:
        """The rows of all files, one after another: by their first times, or as they were given."""
        files = [file for file in self.files if file.deliveries]
        if not from_gaps:
            files.sort(key=lambda file: int(next(part.time[0] for part in file.parts if part.time.size)))
        first = np.cumsum([0, *(file.deliveries for file in files)])[:-1]
        names = tuple(file.name for file in files)
        return Rows(joined([part for file in files for part in file.parts], release=True), first, names)

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


def few(notes: list[str]) -> list[str]:
    """Notes about what was left out, the first ones alone where they are many: a site may lie beside its log."""
    more = len(notes) - SHOWN
    return notes[:SHOWN] + ([f"{more:,} more were left out that are no logs of this format"] if more > 0 else [])


def _mended(time: Int, rows: list[int]) -> Int:
    time, found = zones.mend_steps_back(time)
    rows += found
    return time


def _run_starts(parts: list[Columns]) -> Int | None:
    found = [part.run_starts[part.run_starts != INVALID] for part in parts if part.run_starts is not None]
    return np.sort(np.concatenate(found)) if any(times.size for times in found) else None


def _block_notes(parts: list[Columns]) -> list[str]:
    late = [part.notes["written after fetch, s"] for part in parts if "written after fetch, s" in part.notes]
    if late and abs(float(np.median(late))) > 600:
        return [f"the log's own time runs {float(np.median(late)):.0f} s off the fetch times; the fetch times are used"]
    return []


def _type_notes(columns: Columns) -> list[str]:
    if columns.html is None:
        return []
    known, other = int(np.count_nonzero(columns.html >= 0)), int(np.count_nonzero(columns.html == 0))
    if not other:
        return []
    words = f"{other} of {known} deliveries are no HTML (robots.txt, images, style sheets and the like); "
    return [words + "they count as pages, --only text/html leaves them out"]
