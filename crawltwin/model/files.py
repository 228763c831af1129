"""Output files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from crawltwin.model.errors import InputError


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write `content` to `path` through a temporary file beside it, so that no reader ever sees half of it."""
    target = Path(path)
    data = content.encode() if isinstance(content, str) else content
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise InputError(
            f"the output file must be writable; got {error.strerror} for {str(target)!r}. Does its directory exist"
        ) from None
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
