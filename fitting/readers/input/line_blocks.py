"""A stream cut into blocks of whole lines, in bounded memory.

A line longer than `MAX_LINE` is skipped and counted: no log has one, but a binary file or a bomb does.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from dataclasses import dataclass

from crawltwin.model.errors import InputError
from fitting.readers.input.streams import Source

BLOCK = 2**20
"""Bytes read at a time."""
MAX_LINE = 4 * 2**20
"""Longest line that is looked at; records of JSON lines may hold a whole page."""
LOOKED_AT = 2**16
"""Bytes that are looked at for the ends of lines."""
_EMPTY = re.compile(rb"\n[ \t\n]*\n")
_STEP = 509
"""Every so many bytes of a block one is looked at: where an eighth are ends of lines, most lines are empty."""


@dataclass(frozen=True)
class Block:
    """Whole lines, each ended by one newline, and how many lines were too long to be looked at."""

    text: bytes
    too_long: int


def check_line_ends(source: Source) -> None:
    """Refuse a text whose lines end with carriage returns alone.

    Raises
    ------
    InputError
        With the way out.
    """
    head = source.peek(LOOKED_AT)
    if b"\n" not in head and head.rstrip(b"\r").count(b"\r") > 0:
        raise InputError.at(
            source.name,
            "lines must end with a newline; got carriage returns alone",
            "Convert them: tr '\\r' '\\n' < LOG > NEW.",
        )


def blocks(source: Source, size: int = BLOCK, max_line: int = MAX_LINE) -> Iterator[Block]:
    """The lines of `source` in blocks of about `size` bytes; Windows line ends become plain ones, empty lines few.

    A last line without an end is a block of its own, and the source is marked as cut: it may be still being written.
    The mark of byte order with which Windows begins a text is left out.
    """
    check_line_ends(source)
    if source.peek(len(BOM_UTF8)) == BOM_UTF8:
        source.read(len(BOM_UTF8))
    carry: list[bytes] = []
    carried = 0
    skipping = False
    too_long = 0
    while data := source.read(size):
        cut = data.rfind(b"\n") + 1
        if skipping:
            start = data.find(b"\n") + 1
            if not start:
                continue
            data, cut, skipping = data[start:], cut - start, False
        if not cut:
            carry.append(data)
            carried += len(data)
            if carried > max_line:
                carry, carried, skipping = [], 0, True
                too_long += 1
            continue
        text = b"".join((*carry, data[:cut]))
        carry, carried = [data[cut:]], len(data) - cut
        yield Block(_plain(text), too_long)
        too_long = 0
    rest = b"".join(carry)
    source.cut = bool(rest)
    if rest or too_long:
        yield Block(_plain(rest + b"\n") if rest else b"", too_long)


def _plain(text: bytes) -> bytes:
    text = text.replace(b"\r\n", b"\n") if b"\r" in text else text
    looked_at = text[::_STEP]
    # A log that was filled up with empty lines has millions of them.
    return _EMPTY.sub(b"\n", b"\n" + text)[1:] if 8 * looked_at.count(b"\n") > len(looked_at) else text
