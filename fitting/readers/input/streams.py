"""Files, standard input and archives as one guarded stream of bytes.

Compression is known by its first bytes, never by the file's name. Two things can eat a machine and are refused here:
a stream that unpacks to absurdly more than it was (`MAX_RATIO`, judged after `RATIO_FREE` bytes), and one that never
ends (`MAX_BYTES`). A stream that breaks off early is no error: what was read counts, and the break is noted.
"""

from __future__ import annotations

import bz2
import hashlib
import io
import lzma
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

from crawltwin.model.errors import InputError
from fitting.readers.input.fast_gzip import gzip_stream

MAX_RATIO = 250
"""Largest ratio of unpacked to packed bytes; logs reach 10 to 60."""
RATIO_FREE = 64 * 2**20
"""Unpacked bytes that are read before the ratio is judged."""
MAX_BYTES = 256 * 2**30
"""Unpacked bytes that one input may have."""
SPOOL = 64 * 2**20
"""Bytes of a stream that cannot seek which are kept in memory before a temporary file is used."""

_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ\x00": "xz",
    b"PK\x03\x04": "zip",
}
_BROKEN = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)


def _open_zstd(raw: IO[bytes]) -> IO[bytes]:
    import zstandard

    # A window of 128 MiB is what the packer's largest level uses; more is asked for only to eat memory.
    reader = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(raw, read_across_frames=True)
    return cast("IO[bytes]", reader)


_OPENERS: dict[str, Callable[[IO[bytes]], IO[bytes]]] = {
    "bzip2": bz2.BZ2File,
    "xz": lzma.LZMAFile,
    "zstd": _open_zstd,
}


class _Counted(io.RawIOBase):
    """A raw stream that knows how many bytes were taken from it, with bytes that were already read put back."""

    def __init__(self, inner: IO[bytes], head: bytes) -> None:
        self._inner, self._head, self.taken = inner, head, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
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
    digest : hash object or None
        Of the unpacked bytes that were read, where one was set before reading.
    """

    def __init__(self, name: str, stream: IO[bytes], packed: _Counted | None = None, compression: str = "none") -> None:
        self.name, self.compression, self.broken_off = name, compression, ""
        self._stream, self._packed = stream, packed
        self._ahead, self.cut = b"", False
        self.unpacked = 0
        self.digest: hashlib._Hash | None = None

    @property
    def taken(self) -> int:
        """Bytes of the file that were read so far, packed as they are there."""
        return self.unpacked if self._packed is None else self._packed.taken

    def _pull(self, size: int) -> bytes:
        try:
            data = self._stream.read(size) or b""
        except _BROKEN as error:
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


def _unpack(name: str, stream: IO[bytes], stack: ExitStack) -> Iterator[Source]:
    start = stream.tell() if stream.seekable() else None
    head = stream.read(8) or b""
    packer = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), "none")
    counted = _Counted(stream, head)
    raw = io.BufferedReader(counted, 1 << 16)
    if packer == "gzip" or packer in _OPENERS:
        again = None if start is None else partial(counted.from_start, start)
        unpacked = gzip_stream(raw, again) if packer == "gzip" else _OPENERS[packer](raw)
        stack.callback(unpacked.close)
        yield Source(name, unpacked, counted, packer)
    elif packer == "zip":
        yield from _members(name, raw, stack)
    else:
        yield Source(name, raw)


def _members(name: str, raw: IO[bytes], stack: ExitStack) -> Iterator[Source]:
    spooled = Source(name, raw).seekable_file(stack)
    try:
        archive = stack.enter_context(zipfile.ZipFile(spooled))
        files = [info for info in archive.infolist() if not info.is_dir() and info.file_size]
    except _BROKEN as error:
        raise InputError.at(name, f"a zip archive must be whole; got one that is damaged ({error})") from error
    if not files:
        raise InputError.at(name, "a zip archive must hold at least one file that is not empty; got none")
    for info in files:
        counted = _Counted(io.BytesIO(), b"")
        counted.taken = max(info.compress_size, 1)
        try:
            member = stack.enter_context(archive.open(info))
        except (RuntimeError, NotImplementedError, *_BROKEN) as error:
            place = f"{name}:{info.filename}"
            raise InputError.at(place, f"a member of a zip archive must be readable; got {error}") from error
        yield Source(f"{name}:{info.filename}", member, counted, "zip")


@contextmanager
def open_sources(path: str | Path) -> Iterator[Iterator[Source]]:
    """The streams behind one path: one for a plain or packed file, one a member for a zip archive, ``-`` for stdin.

    Parameters
    ----------
    path : str or Path
        A file, or ``-`` for standard input.

    Raises
    ------
    InputError
        When there is no such file, it is a directory, or it may not be read.
    """
    with ExitStack() as stack:
        if str(path) == "-":
            if sys.stdin is None or sys.stdin.closed:
                raise InputError(
                    "standard input must be open to read a log from it; got none. Name a file instead of -"
                )
            yield _unpack("-", sys.stdin.buffer, stack)
            return
        place = Path(path)
        try:
            stream = stack.enter_context(place.open("rb"))
        except OSError as error:
            raise InputError.at(
                str(path),
                f"a log must be a readable file; got {error.strerror or error}",
                "Give the file's path, or - for standard input.",
            ) from error
        yield _unpack(str(path), stream, stack)
