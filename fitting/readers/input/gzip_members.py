"""Gzip streams of many members, as WARC files are: one for each record.

The standard library's reader spends more on the border of a member than on the bytes of a small record. This one hands
the input to zlib, which reads header, data and checksum of a member by itself, and begins anew where a member ends.
"""

from __future__ import annotations

import io
import zlib
from contextlib import suppress
from typing import IO, Any

_PIECE = 16 * 2**10
_GZIP = 31
"""zlib's number for: a gzip header and the largest window."""


class GzipMembers(io.RawIOBase):
    """The unpacked bytes of all members, one after another; zeros behind a member are padding.

    Raises
    ------
    EOFError, zlib.error
        When the stream ends inside a member or is damaged, after everything before that was handed out.
    """

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw = raw
        self._member: Any = None
        self._packed = b""
        self._begun = False
        self._error: Exception | None = None

    def readable(self) -> bool:
        """Whether it can be read: it can."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes, fewer at the end alone; a negative size reads everything."""
        if size < 0:
            return b"".join(iter(lambda: self.read(1 << 20), b""))
        if self._error is not None:
            raise self._error
        parts: list[bytes] = []
        have = 0
        while have < size and self._error is None:
            try:
                part = self._piece(size - have)
            except (EOFError, zlib.error) as error:
                if not have:
                    raise
                self._error = error
                break
            if part is None:
                break
            parts.append(part)
            have += len(part)
        return b"".join(parts)

    def _piece(self, size: int) -> bytes | None:
        """Some bytes, perhaps none yet; None at the end."""
        fresh = False
        if not self._packed:
            self._packed = self._raw.read(_PIECE)
        if self._member is None:
            if self._begun:
                self._packed = self._packed.lstrip(b"\0")
            if not self._packed:
                return b"" if self._raw.peek(1) else None  # type: ignore[attr-defined]
            self._member, self._begun = zlib.decompressobj(_GZIP), True
            fresh = True
        at_end = not self._packed
        before = None if fresh else self._member.copy()
        try:
            data = self._member.decompress(self._packed, size)
        except zlib.error as error:
            data = _before_damage(before or zlib.decompressobj(_GZIP), self._packed)
            if not data:
                raise
            self._error = error
            return data
        if self._member.eof:
            self._packed, self._member = self._member.unused_data, None
        else:
            self._packed = self._member.unconsumed_tail
            if at_end and not data:
                raise EOFError("the last member has no end")
        return bytes(data)


def _before_damage(member: Any, packed: bytes) -> bytes:
    """What a member still gives of damaged bytes; a wrong checksum alone loses nothing."""
    unpacked = bytearray()
    with suppress(zlib.error):
        for start in range(len(packed)):
            unpacked += member.decompress(packed[start : start + 1])
    return bytes(unpacked)
