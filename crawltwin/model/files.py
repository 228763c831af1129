"""Files: outputs that are written whole or not at all, and inputs whose kind and size are looked at before reading."""

from __future__ import annotations

import json
import os
import re
import stat
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from crawltwin.model.errors import Fault, InputError

LARGEST = 100_000_000
"""Bytes of a file that is read as a whole."""
KEY_PARTS = 50
"""Parts of a dotted TOML key."""
_LONG_KEY = re.compile(
    rf"""(?:^|[\[{{,])[ \t]*(?:(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){{{KEY_PARTS}}}""", re.MULTILINE
)


def check_writable(path: str | Path) -> None:
    """Refuse an output file that cannot be written, before the work that fills it begins."""
    target = Path(_sound_name(path, "the output file"))
    if str(path).endswith(("/", os.sep)) or target.is_dir():
        raise InputError(f"the output must be a file; got the directory {str(path)!r}")
    parent = target.resolve().parent
    if not parent.is_dir():
        raise InputError(f"the output file must be writable; got no directory {str(parent)!r}. Make it first")
    if target.exists() and not os.access(target, os.W_OK):
        raise InputError(f"the output file must be writable; got no permission for {str(target)!r}")
    if not target.exists() or target.is_file():
        _try_to_write_in(parent, "the output file")


def check_folder(path: str | Path) -> None:
    """Refuse an output folder that cannot be made or written, before the work that fills it begins."""
    target = Path(_sound_name(path, "the output folder")).absolute()
    nearest = next(folder for folder in (target, *target.parents) if folder.exists())
    if not nearest.is_dir():
        raise InputError(f"the output folder must be a folder; got the file {str(nearest)!r}")
    _try_to_write_in(nearest, "the output folder")


def _try_to_write_in(folder: Path, what: str) -> None:
    """Refuse a folder in which no file can be made; what is tried leaves no trace."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"{what} must be writable; got {error.strerror} for {str(folder)!r}") from None


def _sound_name(path: str | Path, what: str) -> str:
    """The name, if a file system can hold it."""
    name = str(path)
    try:
        os.lstat(name)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except ValueError:
        raise InputError(f"{what} must have a name without NUL characters; got {name!r}") from None
    except OSError as error:
        raise InputError(f"{what} must have a name that can be used; got {error.strerror} for {name!r}") from None
    return name


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write `content` to `path` through a temporary file beside it, so that no reader ever sees half of it.

    A link is followed; a device or a pipe is written to as it is.
    """
    check_writable(path)
    target = Path(path).resolve()
    data = content.encode() if isinstance(content, str) else content
    temporary: Path | None = None
    try:
        if target.exists() and not target.is_file():
            target.write_bytes(data)
            return
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=".crawltwin-")
        temporary = Path(name)
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(target)
    except BaseException as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            raise InputError(f"the output file must be writable; got {error.strerror} for {str(target)!r}") from None
        raise


def read_text(path: str | Path, what: str, *, at_most: int = LARGEST, way_out: str = "") -> str:
    """The text of a file (UTF-8, with or without a byte order mark); the rest as for `read_bytes`."""
    try:
        return read_bytes(path, what, at_most=at_most, way_out=way_out).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{what} must be UTF-8 text; got other bytes in {str(path)!r} ({error.reason})") from None


def read_bytes(path: str | Path, what: str, *, at_most: int = LARGEST, way_out: str = "") -> bytes:
    """The bytes of a file, after a look at its kind and size.

    Parameters
    ----------
    path : path
    what : str
        What the file is to the reader, for the words of an error: ``the scenario file``.
    at_most : int
        Bytes. A device or a pipe has no size: it is refused.
    way_out : str
        What to do where there is no such file.
    """
    name = str(path)
    try:
        size = regular_size(name, what)
        if size > at_most:
            raise InputError(f"{what} must have at most {at_most:,} bytes; got {size:,} in {name!r}")
        content = bytearray()
        with Path(name).open("rb") as stream:
            # Files of /proc have no size, and one that grows has another one by now.
            while len(content) <= at_most and (data := stream.read(1 << 20)):
                content += data
    except FileNotFoundError:
        raise InputError([Fault("", f"{what} must exist; got {name!r}", way_out)]) from None
    except InputError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{what} must be readable; got {reason} for {name!r}") from None
    if len(content) > at_most:
        raise InputError(f"{what} must have at most {at_most:,} bytes; got more in {name!r}")
    return bytes(content)


def regular_size(path: str | Path, what: str) -> int:
    """Bytes of a regular file; a directory, and a device or a pipe, which may never end, is refused."""
    found = Path(path).stat()
    if stat.S_ISDIR(found.st_mode):
        raise InputError(f"{what} must be a file; got the directory {str(path)!r}")
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"{what} must be a regular file; got {str(path)!r}, which is a device or a pipe")
    return found.st_size


def parse(text: str, name: str, *, json_text: bool = False) -> Any:
    """What a TOML or JSON text holds; whatever it is made of, it is read at once or refused.

    Refused are, beside what is not TOML or JSON, a key that stands twice, brackets nested too deep, numbers of
    thousands of digits, and dotted keys of very many parts, for which the parser of the standard library needs time and
    memory with the square of their number.
    """
    kind = "JSON" if json_text else "TOML"
    long_key = None if json_text else _LONG_KEY.search(text)
    if long_key:
        line = text.count("\n", 0, long_key.start()) + 1
        shown = f"{long_key.group()[:20]!r} ... on line {line}"
        raise InputError(f"{name} must have keys of at most {KEY_PARTS} parts; got more in {shown}")
    try:
        return json.loads(text, object_pairs_hook=_no_repeats) if json_text else tomllib.loads(text)
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"{name} must be valid {kind}; got: {error}") from None
    except RecursionError:
        raise InputError(f"{name} must be valid {kind}; got brackets nested too deep to read") from None


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Pairs of a JSON object, refused where a key stands twice."""
    seen: dict[str, Any] = {}
    for key, value in pairs:
        if key in seen:
            raise InputError([Fault(key, f"the key must stand once; got {key!r} again")])
        seen[key] = value
    return seen


def toml_lines(data: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Lines of TOML, every matrix on one line so that people can read and edit it."""
    for key, value in data.items():
        if not _is_table(value):
            # JSON's strings, numbers and lists are TOML's too, but for the delete character.
            yield f"{key} = {json.dumps(value, ensure_ascii=False)}".replace("\x7f", "\\u007f")
    for key, value in data.items():
        if isinstance(value, Mapping):
            yield from ("", f"[{prefix}{key}]", *toml_lines(value, f"{prefix}{key}."))
        elif _is_table(value):
            for row in value:
                yield from ("", f"[[{prefix}{key}]]", *toml_lines(row, f"{prefix}{key}."))


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, list) and bool(value) and isinstance(value[0], Mapping))
