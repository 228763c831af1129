"""A log that grows, rotates, is cut off or replaced, read line by line without missing or repeating one.

A file is known by its first line, not by its name or number: rotation by renaming, by copying and truncating, and
packing afterwards (``LOG.1``, ``LOG.2.gz``, ``LOG-20260101.gz``) all leave the first line as it was. The names of a
table's columns are the same in every file, so the line behind them counts as well. So a position is the mark of a first
line and a number of unpacked bytes behind which everything was read. Only whole lines are read; the last line of a file
that has a successor is whole, also without its newline.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from crawltwin.model.errors import InputError

CHUNK = 1 << 20
"""Bytes that are read at a time."""
LONGEST = 4 << 20
"""Longer lines are passed over, as `crawltwin fit` does."""
_HEADER = re.compile(rb"[^\d\n]*[,;\t|][^\d\n]*\n| ?CDX [^\n]*\n")
"""Names of columns: without a digit, so that no time is told."""
_NUMBER = re.compile(r"^\.(\d+)(?:\.gz)?$")
_DATE = re.compile(r"^[-.](\d{8}(?:[-.]?\d+)?)(?:\.gz)?$")


@dataclass(frozen=True)
class Position:
    """Everything before `offset` of the file that begins with the line of this mark was read."""

    mark: str
    offset: int


@dataclass(frozen=True)
class Piece:
    """Whole lines, and the position behind them; `note` says what happened to the log, if anything."""

    text: bytes
    position: Position
    note: str = ""


def predecessors(path: Path) -> list[Path]:
    """The rotated files of a log, the oldest first."""
    found: list[tuple[tuple[int, int | str], Path]] = []
    for other in path.parent.glob(f"{_escaped(path.name)}*"):
        rest = other.name[len(path.name) :]
        if number := _NUMBER.match(rest):
            found.append(((1, -int(number[1])), other))
        elif date := _DATE.match(rest):
            found.append(((0, date[1]), other))
    dated = sorted((one for one in found if one[0][0] == 0), key=lambda one: str(one[0][1]))
    numbered = sorted((one for one in found if one[0][0] == 1), key=lambda one: int(one[0][1]))
    return [other for _, other in (*dated, *numbered)]


def new_lines(path: str | Path, position: Position | None) -> Iterator[Piece]:
    """What was written since `position`, the oldest first; everything that is still there where it is None.

    A log that was replaced (its first line is nowhere any more) is read from its beginning, with a note.
    """
    log = Path(path)
    files = _marked_files(log)
    for _ in range(2):
        if position is None or position.mark in [mark for _, mark in files]:
            break
        # A file that is renamed between the listing and the look at it seems to be gone: look again.
        files = _marked_files(log)
    note = ""
    if position is not None:
        marks = [mark for _, mark in files]
        if position.mark in marks:
            place = marks.index(position.mark)
            files = files[place:]
        elif files:
            files, note = files[-1:], f"{log.name} was replaced: what was read before is not there any more"
            position = None
    for index, (one, mark) in enumerate(files):
        begin = position.offset if position is not None and position.mark == mark else 0
        try:
            for piece in _pieces(one, mark, begin, rotated=one != log, ended=index < len(files) - 1):
                yield Piece(piece.text, piece.position, note or piece.note)
                note = ""
        except (OSError, EOFError):
            # The file went away, was renamed or is being packed: the next look finds it under its new name, and what
            # follows it waits until then.
            return


def check_followable(path: str | Path) -> None:
    """Refuse what cannot be followed: a directory, a device, a pipe.

    Raises
    ------
    InputError
        When there is something at `path` that is not a regular file.
    """
    kind = "a directory" if Path(path).is_dir() else "a device or a pipe"
    if Path(path).exists() and not Path(path).is_file():
        raise InputError(f"a log must be a regular file to be watched; got {str(path)!r}, which is {kind}")


def first_mark(path: Path) -> str | None:
    """What a file is known by; None while its first line is not whole."""
    try:
        with _opened(path) as stream:
            return _mark(stream)
    except (OSError, EOFError):
        return None


def _mark(stream: IO[bytes]) -> str | None:
    head = b""
    while not head or _HEADER.fullmatch(head):
        line = stream.readline(LONGEST)
        if not line.endswith(b"\n") and len(line) < LONGEST:
            return None
        head += line
    return hashlib.sha256(head).hexdigest()[:24]


def _marked_files(log: Path) -> list[tuple[Path, str]]:
    """The files of a log with their marks, the oldest first.

    One that is just being copied or packed is there twice: of two with one mark the plain one is taken, and of two
    plain ones the longer one.
    """
    found: dict[str, tuple[Path, tuple[bool, int]]] = {}
    for one in (*predecessors(log), log):
        mark = first_mark(one)
        if mark is None:
            continue
        try:
            rank = (not _is_packed(one), one.stat().st_size)
        except OSError:
            continue
        if mark not in found or rank > found[mark][1]:
            found[mark] = (one, rank)
    return [(one, mark) for mark, (one, _) in found.items()]


def _pieces(path: Path, mark: str, begin: int, rotated: bool, ended: bool) -> Iterator[Piece]:
    with _opened(path) as stream:
        if _mark(stream) != mark:
            raise OSError("another file has taken its name")
        size = stream.seek(0, 2) if not isinstance(stream, gzip.GzipFile) else None
        note = ""
        if size is not None and size < begin:
            if rotated:
                # A copy that is not whole yet, or that missed the last lines: they were read before.
                return
            begin, note = 0, f"{path.name} was cut off: it is read again from its beginning"
        stream.seek(begin)
        offset, rest = begin, b""
        while data := stream.read(CHUNK):
            rest += data
            cut = rest.rfind(b"\n") + 1
            if not cut and len(rest) > LONGEST:
                offset, rest = offset + len(rest), b""
            elif cut:
                offset += cut
                yield Piece(rest[:cut], Position(mark, offset), note)
                rest, note = rest[cut:], ""
        if rest and ended:
            yield Piece(rest + b"\n", Position(mark, offset + len(rest)), note)


def _is_packed(path: Path) -> bool:
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError("not a regular file")
    with path.open("rb") as raw:
        return raw.read(2) == b"\x1f\x8b"


def _opened(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path, "rb")) if _is_packed(path) else path.open("rb")


def _escaped(name: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", name)
