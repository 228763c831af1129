"""Gzip streams unpacked by Intel's ISA-L, twice as fast as zlib, where the extra `warc` is installed.

A stream that is whole gives the same bytes whoever unpacks it. In front of damage the two differ in how much they hand
out, so a damaged stream is unpacked again by `GzipMembers`, and goes on from there: the answer is that of zlib. ISA-L
does not look at the flags of a member that gzip reserves; a first member with one of them is left to zlib.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable
from importlib.util import find_spec
from typing import IO, Any, cast

from fitting.readers.input.gzip_members import GzipMembers

_SKIP = 1 << 20
_ODD_FLAGS = 0xE2
"""Flags of a gzip header that are reserved, and the one for a checksum of the header, which nobody writes."""


def gzip_stream(raw: io.BufferedReader[Any], again: Callable[[], IO[bytes]] | None) -> IO[bytes]:
    """The unpacked bytes of all members of `raw`.

    Parameters
    ----------
    raw : buffered stream
        The packed bytes.
    again : callable, optional
        Gives the packed bytes once more from their beginning. Without it zlib unpacks.
    """
    header = raw.peek(4)[:4]
    if again is None or len(header) < 4 or header[3] & _ODD_FLAGS or find_spec("isal") is None:
        return cast("IO[bytes]", GzipMembers(raw))
    return cast("IO[bytes]", _FastGzip(raw, again))


class _FastGzip(io.RawIOBase):
    """ISA-L as long as all goes well, then zlib from the beginning without what was handed out already."""

    def __init__(self, raw: IO[bytes], again: Callable[[], IO[bytes]]) -> None:
        from isal import igzip, isal_zlib

        unpacker: Any = igzip.IGzipFile
        damage: Any = isal_zlib.error
        self._unpacked: Any = unpacker(fileobj=raw, mode="rb")
        self._again: Callable[[], IO[bytes]] | None = again
        self._damage: tuple[type[Exception], ...] = (EOFError, zlib.error, OSError, damage)
        self._given = 0

    def readable(self) -> bool:
        """Whether it can be read: it can."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes, fewer at the end alone; a negative size reads everything."""
        if self._again is not None:
            try:
                data = bytes(self._unpacked.read(size))
            except self._damage:
                self._unpacked, self._again = GzipMembers(self._again()), None
                while self._given:
                    skipped = len(self._unpacked.read(min(self._given, _SKIP)))
                    self._given -= skipped
                    if not skipped:
                        return b""
            else:
                self._given += len(data)
                return data
        return bytes(self._unpacked.read(size))
