"""Output files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from crawltwin.model.errors import InputError


def check_writable(path: str | Path) -> None:
    """Refuse an output file that cannot be written, before the work that fills it begins."""
    target = Path(path)
    if str(path).endswith(("/", os.sep)) or target.is_dir():
        raise InputError(f"the output must be a file; got the directory {str(path)!r}")
    parent = target.resolve().parent
    if not parent.is_dir():
        raise InputError(f"the output file must be writable; got no directory {str(parent)!r}. Make it first")
    if not os.access(target if target.exists() else parent, os.W_OK):
        raise InputError(f"the output file must be writable; got no permission for {str(target)!r}")


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write `content` to `path` through a temporary file beside it, so that no reader ever sees half of it.

    A link is followed; a device or a pipe is written to as it is.
    """
    check_writable(path)
    target = Path(path).resolve()
    data = content.encode() if isinstance(content, str) else content
    if target.exists() and not target.is_file():
        target.write_bytes(data)
        return
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        mask = os.umask(0)
        os.umask(mask)
        Path(temporary).chmod(0o666 & ~mask)
        Path(temporary).replace(target)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise InputError(f"the output file must be writable; got {error.strerror} for {str(target)!r}") from None
        raise
