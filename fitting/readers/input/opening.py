"""From a path to streams: plain and packed files, members of zip and tar archives, standard input.

Packers and archives are known by their first bytes, never by the file's name. A member of an archive may be packed
itself, as the records of a WACZ are, and a zip may hold zips, as a collection of WACZ archives does.
"""

from __future__ import annotations

import bz2
import io
import lzma
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

from crawltwin.model.errors import InputError
from fitting.readers.input.fast_gzip import gzip_stream
from fitting.readers.input.streams import BROKEN, Counted, Packed, Source
from fitting.readers.input.wacz import is_rubbish, is_wanted, log_members, none_wanted

DEEPEST = 2
"""Archives within one another."""
_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ\x00": "xz",
    b"PK\x03\x04": "zip",
}
_TAR_AT, _TAR = 257, b"ustar"
_LOOK = 1 << 20
"""Bytes of a list of pages that are looked at for a first page, and of a file beside a log."""
_ENCRYPTED = 1
"""The bit of a zip member's flags."""
_DECRYPT = "Unpack it yourself, or choose others with --member."


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


class _Known:
    """A packed size that is known before anything is read."""

    def __init__(self, size: int) -> None:
        self.taken = max(size, 1)


class _Since:
    """What was taken of a stream since now."""

    def __init__(self, whole: Source) -> None:
        self._whole, self._start = whole, whole.taken

    @property
    def taken(self) -> int:
        return max(self._whole.taken - self._start, 1)


@dataclass(frozen=True)
class _Around:
    """What is around a stream: what closes it, the members that are asked for, and the archives that hold it."""

    stack: ExitStack
    wanted: str | None = None
    archive: str = ""
    packers: tuple[str, ...] = ()
    packed: Packed | None = None
    depth: int = 0


def _streams(name: str, stream: IO[bytes], around: _Around) -> Iterator[Source]:
    """The streams behind one stream: itself, unpacked, or the members of the archive that it is."""
    start = stream.tell() if stream.seekable() else None
    try:
        head = stream.read(8) or b""
    except BROKEN as error:
        # Damaged from the first byte on: a stream of nothing, so that the damage is told.
        yield _damaged(name, f"packed data end early or are damaged ({error})", around.archive)
        return
    packer = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), "none")
    if packer == "zip":
        yield from _zip_members(name, stream, head, start, around)
        return
    counted = Counted(stream, head)
    raw = io.BufferedReader(counted, 1 << 16)
    packers = around.packers
    unpacked: IO[bytes] = raw
    if packer == "gzip" or packer in _OPENERS:
        again = None if start is None else partial(counted.from_start, start)
        unpacked = gzip_stream(raw, again) if packer == "gzip" else _OPENERS[packer](raw)
        around.stack.callback(unpacked.close)
        packers += (packer,)
    # The size of a member is known; that of a packed file is what was taken of it so far.
    packed = around.packed or (counted if packers else None)
    source = Source(name, unpacked, packed, ", ".join(packers) or "none")
    source.archive = around.archive
    if source.peek(512)[_TAR_AT:].startswith(_TAR):
        yield from _tar_members(source, replace(around, packers=packers))
        return
    if around.wanted is not None and not around.depth:
        raise InputError.at(
            name, f"member must be left out for a file that is no archive (zip, WACZ, tar); got {around.wanted!r}"
        )
    _pass_over_nul(source)
    yield source


def _pass_over_nul(source: Source) -> None:
    """Pass over the NUL bytes before a log that was cut off (logrotate's copytruncate) while it was written."""
    count = 0
    while (head := source.peek(1 << 16))[:1] == b"\0":
        nul = len(head) - len(head.lstrip(b"\0"))
        source.read(nul)
        count += nul
    if count and head:
        source.remark = f"{source.name} begins with {count} NUL bytes, as a log that was cut off: they are passed over"


def _inside(name: str, packer: str, packed: Packed, around: _Around) -> _Around:
    """What is around a member of the archive of this name."""
    if around.depth == DEEPEST:
        raise InputError.at(name, "archives must lie at most in one other; got one deeper", "Unpack the outer ones.")
    packers = (*around.packers, packer)
    return replace(around, archive=name, packers=packers, packed=packed, depth=around.depth + 1)


def _zip_members(name: str, stream: IO[bytes], head: bytes, start: int | None, around: _Around) -> Iterator[Source]:
    if start is None:
        rest = io.BufferedReader(Counted(stream, head), 1 << 16)
        stream = Source(name, rest).seekable_file(around.stack)
    else:
        stream.seek(start)
    try:
        archive = around.stack.enter_context(zipfile.ZipFile(stream))
        infos = [info for info in archive.infolist() if not info.is_dir() and info.file_size]
    except BROKEN as error:
        raise InputError.at(name, f"a zip archive must be whole; got one that is damaged ({error})") from error
    files: dict[str, list[zipfile.ZipInfo]] = {}
    for info in infos:
        # A zip may hold several files of one name.
        files.setdefault(info.filename, []).append(info)

    def opened(info: zipfile.ZipInfo) -> IO[bytes]:
        try:
            return around.stack.enter_context(archive.open(info))
        except (RuntimeError, NotImplementedError, *BROKEN) as error:
            got, way_out = (str(error), "") if not info.flag_bits & _ENCRYPTED else ("one that is encrypted", _DECRYPT)
            place = f"{name}:{info.filename}"
            raise InputError.at(place, f"a member of a zip archive must be readable; got {got}", way_out) from error

    def beside(path: str) -> bytes | None:
        found: Any = None
        if path in files:
            with suppress(InputError, *BROKEN):
                found = opened(files[path][0]).read(_LOOK)
        return cast("bytes | None", found)

    def has_pages(member: str) -> bool:
        found: Any = b""
        with suppress(*BROKEN):
            found = opened(files[member][0]).read(_LOOK)
        return b'"url"' in found

    chosen, words = log_members(name, list(files), around.wanted, has_pages)
    found = False
    for info in [info for member in chosen for info in files[member]]:
        inside = _inside(name, "zip", _Known(info.compress_size), around)
        for source in _streams(f"{name}:{info.filename}", opened(info), inside):
            source.remark, words = "; ".join(filter(None, (words, source.remark))), ""
            if source.archive == name:
                source.beside = beside
            found = True
            yield source
    if not found and not around.depth:
        raise none_wanted(name, list(files), str(around.wanted))


def _damaged(name: str, why: str, archive: str) -> Source:
    """A stream of nothing, so that the damage is told."""
    source = Source(name, io.BytesIO(), compression="archive")
    source.archive, source.broken_off = archive, why
    return source


class _TarMember(io.RawIOBase):
    """A member that is read on in one direction; one that ends early gives what it has, unlike `tarfile`'s own."""

    def __init__(self, stream: Any, info: tarfile.TarInfo) -> None:
        self._stream, self._left = stream, info.size
        stream.seek(info.offset_data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)[: self._left]
        data = self._stream.read(len(view)) if len(view) else b""
        view[: len(data)] = data
        self._left -= len(data)
        return len(data)


def _tar_members(whole: Source, around: _Around) -> Iterator[Source]:
    name = whole.name
    names: list[str] = []
    found = False
    damage = ""
    ends: list[bool] = []

    class Header(tarfile.TarInfo):
        """Notes the empty block that ends an archive."""

        @classmethod
        def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Header:
            ends.extend([True] if buf and not buf.strip(b"\0") else [])
            return super().frombuf(buf, encoding, errors)

    try:
        with tarfile.open(fileobj=cast("Any", whole), mode="r|", tarinfo=Header) as archive:
            for info in archive:
                if not info.isfile() or info.issparse() or not info.size or is_rubbish(info.name):
                    continue
                names.append(info.name)
                if around.wanted is not None and not is_wanted(info.name, around.wanted):
                    continue
                member: Any = io.BufferedReader(_TarMember(archive.fileobj, info), 1 << 16)
                for source in _streams(f"{name}:{info.name}", member, _inside(name, "tar", _Since(whole), around)):
                    found = True
                    yield source
            more = ends and any(
                part.strip(b"\0") for part in iter(partial(cast("Any", archive.fileobj).read, 1 << 20), b"")
            )
    except tarfile.TarError as error:
        damage = f"tar data end early or are damaged ({error})"
    if not damage and whole.unpacked % tarfile.BLOCKSIZE:
        damage = "tar data end early or are damaged (the last block is not whole)"
    if not damage and not ends:
        damage = "tar data may end early (there is no mark of their end)"
    if not damage and more:
        damage = (
            "data follow the mark of the end of the tar archive, as in two archives put together; they are not read"
        )
    if damage and not found:
        raise InputError.at(name, f"a tar archive must be whole; got {damage}")
    if damage or whole.broken_off:
        yield _damaged(f"{name}, what follows {names[-1]}", damage or whole.broken_off, name)
    if not names:
        raise InputError.at(name, "a tar archive must hold at least one file that is not empty; got none")
    if not found and not around.depth:
        raise none_wanted(name, names, str(around.wanted))


@contextmanager
def open_sources(path: str | Path, member: str | None = None) -> Iterator[Iterator[Source]]:
    """The streams behind one path: one for a plain or packed file, those of its members for an archive.

    Parameters
    ----------
    path : str or Path
        A file, or ``-`` for standard input.
    member : str, optional
        Of an archive the members of this name or pattern alone; all by default, of a WACZ its list of pages.

    Raises
    ------
    InputError
        When there is no such file, it is a directory, or it may not be read; when no member is asked for.
    """
    with ExitStack() as stack:
        around = _Around(stack, member)
        if str(path) == "-":
            if sys.stdin is None or sys.stdin.closed:
                raise InputError(
                    "standard input must be open to read a log from it; got none. Name a file instead of -"
                )
            yield _streams("-", sys.stdin.buffer, around)
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
        yield _streams(str(path), stream, around)
