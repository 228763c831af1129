"""One guarded stream of bytes, whatever it comes from (`fitting.readers.input.opening`).

Two things can eat a machine and are refused here:
a stream that unpacks to absurdly more than it was (`MAX_RATIO`, judged after `RATIO_FREE` bytes), and one that never
ends (`MAX_BYTES`). A stream that breaks off early is no error: what was read counts, and the break is noted.
"""

from __future__ import annotations

import hashlib
import io
import lzma
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from contextlib import ExitStack
from typing import IO, Any, Protocol

from crawltwin.model.errors import InputError

MAX_RATIO = 250
"""Largest ratio of unpacked to packed bytes; logs reach 10 to 60."""
RATIO_FREE = 64 * 2**20
"""Unpacked bytes that are read before the ratio is judged."""
MAX_BYTES = 256 * 2**30
"""Unpacked bytes that one input may have."""
SPOOL = 64 * 2**20
"""Bytes of a stream that cannot seek which are kept in memory before a temporary file is used."""

BROKEN = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, tarfile.TarError)
"""What unpackers raise for data that end early or are damaged."""


class Packed(Protocol):
    """What knows how many packed bytes were taken so far."""

    @property
    def taken(self) -> int:
        """Their number."""


class Counted(io.RawIOBase):
    """A raw stream that knows how many bytes were taken from it, with bytes that were already read put back."""

    def __init__(self, inner: IO[bytes], head: bytes) -> None:
        self._inner, self._head, self.taken = inner, head, 0

    def readable(self) -> bool:
        """Whether it can be read: it can."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as there are bytes."""
        view = memoryview(buffer)
        data = self._head[: len(view)] or self._inner.read(len(view)) or b""
        self._head = self._head[len(data) :]
        view[: len(data)] = data
        self.taken += len(data)
        return len(data)

    def from_start(self, start: int) -> IO[bytes]:
        """The whole stream once more, from this place of the file on."""
        self._inner.seek(start)
        self._head, self.taken = b"", 0
        return io.BufferedReader(self, 1 << 16)


class Source:
    """One stream of unpacked bytes that can be looked into before it is read.

    Attributes
    ----------
    name : str
        File name, or ``-`` for standard input, with the member's name behind a colon for an archive.
    compression : str
        ``"none"`` or the packer that was found.
    broken_off : str
        Why the stream ended early, or an empty string.
    cut : bool
        Whether the last line has no end, as far as the stream was read in lines.
    archive, remark : str
        Name of the archive that holds it, empty for a file of its own; words about what was chosen there.
    beside : callable or None
        For a member of a zip archive, what begins another member of the same archive, by its path; None for none.
    digest : hash object or None
        Of the unpacked bytes that were read, where `take_digest` was called before reading.
    """

    def __init__(self, name: str, stream: IO[bytes], packed: Packed | None = None, compression: str = "none") -> None:
        self.name, self.compression, self.broken_off = name, compression, ""
        self.archive = self.remark = ""
        self.beside: Callable[[str], bytes | None] | None = None
        self._stream, self._packed = stream, packed
        self._ahead, self.cut = b"", False
        self.unpacked = 0
        self.digest: hashlib._Hash | None = None

    @property
    def taken(self) -> int:
        """Bytes of the file that were read so far, packed as they are there."""
        return self.unpacked if self._packed is None else self._packed.taken

    def take_digest(self) -> None:
        """Have a digest made of everything that is read from now on."""
        self.digest = hashlib.sha256(self._ahead)

    def _pull(self, size: int) -> bytes:
        try:
            data = self._stream.read(size) or b""
        except BROKEN as error:
            self.broken_off = f"{self.compression} data end early or are damaged ({error})"
            return b""
        except OSError as error:
            if self.compression == "none":
                raise InputError.at(self.name, f"the input must be readable; got {error}") from error
            self.broken_off = f"{self.compression} data end early or are damaged ({error})"
            return b""
        except Exception as error:
            if type(error).__name__ != "ZstdError":
                raise
            self.broken_off = f"zstd data end early or are damaged ({error})"
            return b""
        self.unpacked += len(data)
        if self.digest is not None:
            self.digest.update(data)
        self._guard()
        return data

    def _guard(self) -> None:
        if self.unpacked > MAX_BYTES:
            raise InputError.at(
                self.name, f"an input must have at most {MAX_BYTES} bytes; got more", "Split the log and fit its parts."
            )
        if self._packed is None or self.unpacked < RATIO_FREE:
            return
        ratio = self.unpacked / max(self._packed.taken, 1)
        if ratio > MAX_RATIO:
            raise InputError.at(
                self.name,
                f"packed input must unpack to at most {MAX_RATIO} times its size; got "
                f"{ratio:.0f} times after "
                f"{self.unpacked} bytes",
                "This is how a decompression bomb looks. Unpack it yourself if you trust it.",
            )

    def peek(self, size: int) -> bytes:
        """The first `size` bytes that are still to be read (fewer at the end)."""
        while len(self._ahead) < size:
            data = self._pull(size - len(self._ahead))
            if not data:
                break
            self._ahead += data
        return self._ahead[:size]

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes; empty at the end. A negative size reads everything, within `MAX_BYTES`."""
        if size < 0:
            parts = []
            while part := self.read(1 << 20):
                parts.append(part)
            return b"".join(parts)
        if self._ahead:
            data, self._ahead = self._ahead[:size], self._ahead[size:]
            return data
        return self._pull(size)

    def seekable_file(self, stack: ExitStack) -> IO[bytes]:
        """The rest of the stream as a file that can seek (Parquet needs one): memory first, then a temporary file."""
        spool = stack.enter_context(tempfile.SpooledTemporaryFile(max_size=SPOOL))  # noqa: SIM115  the stack closes it
        while part := self.read(1 << 20):
            spool.write(part)
        spool.seek(0)
        return spool
