"""What of a growing log is a delivery: read in pieces with the options of `crawltwin fit`, as it would be read whole.

Some formats tell in their first lines how the rest is read: the names of a table's columns, the fields that objects
have. These lines are kept in the state file and put before each piece, and what they tell is not counted again. Until
enough lines are there to know the format, nothing is read.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, replace
from typing import Any

import numpy as np

from crawltwin.live.watch.follow import Piece, Position
from crawltwin.live.watch.settings import check_heeded
from crawltwin.model.errors import InputError
from fitting.readers.base import NoRows, Reader
from fitting.readers.columns import NOT_ROBOT, NOT_TOLD, Columns
from fitting.readers.detection import SAMPLE, detect
from fitting.readers.input.streams import Source
from fitting.readers.reading import check_filters, named_reader
from fitting.readers.registry import COUNTERS, known
from fitting.readers.settings import ReadOptions
from fitting.readers.times import zones
from fitting.readers.times.stamps import SECOND

NOT_FOLLOWED = {
    "parquet": "which is written whole",
    "warc": "which is no text",
    "har": "which is one document",
    "httrack": "whose lines tell the time of the day alone",
}
"""Formats that cannot be followed line by line, and why."""
HEADS = {"csv": 50, "cdx": 1, "json-lines": 50, "pages-jsonl": 50}
"""Formats whose first lines, so many, tell how the rest is read."""
HEADED = ("csv", "cdx")
"""Formats in which each file of a log may begin with the same header."""
HEAD_BYTES = 1 << 16
FIRST, ENOUGH = 50, 400
"""Lines that are waited for before the format is looked for, and from which on a log of no known format is refused."""
FIELD = 1 << 16
"""Bytes in which a quoted field of a table that goes over several lines may end."""
FEW = 20
"""Lines that are needed to say that numbers are gaps, or that too many lines are unreadable."""
EARLY = 1e8
"""Seconds from 1970 below which numbers may be gaps."""


class GrowingLog:
    """Reads pieces of one log in one or several files.

    Parameters
    ----------
    options : ReadOptions
        As for `crawltwin fit`; what cannot be heeded is refused.
    facts : dict
        What is kept in the state file: the format, the first lines of each file, counts of what was no delivery.
    tell : callable
        Gets a sentence when something is to be known.
    """

    def __init__(self, options: ReadOptions, facts: dict[str, Any], tell: Callable[[str], None]) -> None:
        chosen = {one.name: getattr(options, one.name) for one in fields(options)}
        check_heeded({name: value for name, value in chosen.items() if value != getattr(ReadOptions(), name)})
        if options.timezone is not None:
            zones.zone(options.timezone)
        self._options, self._facts, self._tell = options, facts, tell
        self._said: set[str] = set()
        self._reader: Reader | None = None
        if options.log_format is not None or options.pattern is not None:
            self._take(named_reader(options))
        elif "format" in facts:
            self._take(named_reader(replace(options, log_format=facts["format"])))

    @property
    def left_out(self) -> dict[str, int]:
        """How many rows were no deliveries, by the reason."""
        return dict(self._facts.get("left_out", {}))

    def _take(self, reader: Reader | None) -> None:
        assert reader is not None
        if reader.name in NOT_FOLLOWED:
            raise InputError(
                f"a log must be one line per delivery to be watched; got the format {reader.name}, "
                f"{NOT_FOLLOWED[reader.name]}. Fit it when it is whole: crawltwin fit LOG"
            )
        check_filters(reader, self._options)
        if self._facts.get("format") != reader.name:
            self._facts.pop("heads", None)
        self._reader, self._facts["format"] = reader, reader.name

    def pieces(self, path: str, pieces: Iterable[Piece], final: bool) -> Iterator[Piece]:
        """The pieces cut so that each can be read by itself; what is not whole waits, unless this look is the last."""
        rest, place, note = b"", None, ""
        for piece in pieces:
            if rest and place is not None and place.mark != piece.position.mark:
                yield Piece(rest, place, note)
                rest, note = b"", ""
            text, place, note = rest + piece.text, piece.position, note or piece.note
            end = self._readable(path, text)
            rest = text[end:]
            if end:
                yield Piece(text[:end], Position(place.mark, place.offset - len(rest)), note)
                note = ""
        if rest and final and place is not None:
            yield Piece(rest, place, note)

    def _readable(self, path: str, text: bytes) -> int:
        """How many bytes of the text can be read now."""
        lines = text.count(b"\n")
        if not self._is_known(path, text, lines):
            self._say(f"waiting for more lines of {path} to know its format; --format names it")
            return 0
        assert self._reader is not None
        needed = 0 if path in self._facts.get("heads", {}) else HEADS.get(self._reader.name, 0)
        if lines < needed and len(text) < HEAD_BYTES:
            return 0
        return _whole_rows(text) if self._reader.name == "csv" else len(text)

    def _is_known(self, path: str, text: bytes, lines: int) -> bool:
        if self._reader is not None:
            return True
        if lines < FIRST and len(text) < SAMPLE:
            return False
        try:
            found = detect(Source(path, io.BytesIO(text)), known(), COUNTERS)
        except InputError:
            if lines >= ENOUGH or len(text) >= SAMPLE:
                raise
            return False
        self._take(found)
        return True

    def times(self, path: str, text: bytes) -> list[float]:
        """Times of the deliveries in whole lines, in seconds since 1970."""
        if self._reader is None:
            self._take(detect(Source(path, io.BytesIO(text)), known(), COUNTERS))
        assert self._reader is not None
        name = self._reader.name
        heads = self._facts.setdefault("heads", {}) if name in HEADS else {}
        head = heads.get(path, "").encode("latin-1")
        before = self._read(path, head) if head else []
        if head and name in HEADED:
            text = text.removeprefix(head[: head.find(b"\n") + 1])
        if not head and name in HEADS:
            heads[path] = _first_lines(text, HEADS[name]).decode("latin-1")
        blocks = self._read(path, head + text)
        self._count(blocks, before)
        return self._seconds(path, blocks, sum(block.time.size for block in before))

    def _read(self, path: str, text: bytes) -> list[Columns]:
        assert self._reader is not None
        found: list[Columns] = []
        try:
            found.extend(self._reader.read(Source(path, io.BytesIO(text)), self._options))
        except NoRows:
            # Deliveries may come later.
            return found
        return found

    def _count(self, blocks: list[Columns], before: list[Columns]) -> None:
        """Count what is no delivery, without that of the first lines."""
        dropped = Counter(self._facts.get("left_out", {}))
        for block in blocks:
            dropped.update(block.dropped)
        for block in before:
            dropped.subtract(block.dropped)
        self._facts["left_out"] = {reason: count for reason, count in dropped.items() if count > 0}
        for name in ("rows", "broken", "other_lines"):
            new = sum(getattr(block, name) for block in blocks) - sum(getattr(block, name) for block in before)
            self._facts[name] = self._facts.get(name, 0) + new
        shown = self._facts.get("broken_shown", []) + [line for block in blocks for line in block.broken_shown]
        self._facts["broken_shown"] = shown[:3]

    def _seconds(self, path: str, blocks: list[Columns], skipped: int) -> list[float]:
        """Times of the deliveries behind the first `skipped` rows, which were counted before."""
        found: list[float] = []
        for block in blocks:
            self._check_times(path, block)
            time, untold = block.time[skipped:], None if block.untold is None else block.untold[skipped:]
            skipped = max(skipped - block.time.size, 0)
            self._facts["told"] = self._facts.get("told", False) or block.told
            # Rows without a status are no deliveries where others have one, as far as the log was seen.
            if untold is not None and self._facts["told"] and untold.any():
                left_out = self._facts["left_out"]
                left_out[NOT_TOLD] = left_out.get(NOT_TOLD, 0) + int(np.count_nonzero(untold))
                time = time[untold == 0]
            if not block.zoned and self._options.timezone is not None:
                time = zones.to_utc(time, self._options.timezone)
            found += (time / SECOND).tolist()
        return found

    @staticmethod
    def _check_times(path: str, block: Columns) -> None:
        """Refuse gaps, also where only falling numbers tell that they are some."""
        time = block.time
        falling = np.count_nonzero(np.diff(time) < 0) > 0.1 * time.size
        small = block.kind == "numbers" and time.size >= FEW and float(np.median(time)) < EARLY * SECOND
        if block.kind == "gaps" or (small and falling):
            raise InputError(
                f"{path} must hold times to be watched; got gaps. Fit them: crawltwin fit LOG"
                + ("" if block.kind == "gaps" else "; or say with --values times that the numbers are times")
            )

    def judge(self, deliveries: int, final: bool) -> None:
        """Say why nothing was counted, and refuse a log (a watch that goes on: say it) of which too much is unreadable.

        Raises
        ------
        InputError
            In the last look.
        """
        facts, most = self._facts, self._options.max_broken
        rows, broken = facts.get("rows", 0), facts.get("broken", 0)
        if broken > most * (rows + broken) and (final or rows + broken >= FEW):
            words = (
                f"at most {most:.0%} of the lines may be unreadable; got {broken} of {rows + broken}, the first: "
                f"{' | '.join(facts['broken_shown'])}. Check the format (--format, --pattern), or allow more with "
                "--max-broken"
            )
            if final:
                raise InputError(words)
            self._say(words)
        elif not deliveries and (rows or facts.get("other_lines", 0)):
            self._say(self._why_nothing(rows))

    def _why_nothing(self, rows: int) -> str:
        if not rows:
            missing, _, way_out = getattr(self._reader, "missing", "").partition(" | ")
            words = f"no delivery yet in {self._facts['other_lines']} lines of the format {self._facts['format']}"
            return f"{words}: {missing}. {way_out}" if missing else f"{words}. Check --format and --pattern"
        reasons = ", ".join(f"{count} {reason}" for reason, count in self.left_out.items()) or "none"
        way_out = "Check --format, --only-status and what else was asked for"
        if NOT_ROBOT in self.left_out:
            way_out = "--agent all counts every user agent, --agent REGEX those that match"
        return f"no delivery yet in {rows} rows (left out: {reasons}). {way_out}"

    def _say(self, words: str) -> None:
        """Tell a thing once."""
        kind = words[:20]
        if kind not in self._said:
            self._said.add(kind)
            self._tell(words)


def _first_lines(text: bytes, lines: int) -> bytes:
    """The first lines, one at least, within so many bytes as are kept."""
    end = text.find(b"\n") + 1
    for _ in range(lines - 1):
        further = text.find(b"\n", end) + 1
        if not further or further > HEAD_BYTES:
            break
        end = further
    return text[:end]


def _whole_rows(text: bytes) -> int:
    """Where the last whole row of a table ends: a quoted field may go over several lines, within `FIELD` bytes."""
    quotes, end = text.count(b'"'), len(text)
    while quotes % 2:
        start = text.rfind(b"\n", 0, max(end - 1, 0)) + 1
        quotes -= text.count(b'"', start, end)
        end = start
        if len(text) - end > FIELD:
            return len(text)
    return end
