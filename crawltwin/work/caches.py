"""Folders in which libraries keep what they made: compiled code (numba) and fonts (matplotlib).

Both look for a folder beside the source or in the user's home. Where neither can be written, numba refuses to work and
matplotlib complains; then a private folder among the temporary files serves both. What is compiled there is run, so
the folder belongs to this user alone.
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from crawltwin.model.errors import InputError


def find_cache_folders() -> None:
    """Point the libraries, here and in worker processes, to a folder that can be written, if theirs cannot."""
    source, home = Path(__file__).parent, _home()
    numba = (source / "__pycache__", _base("XDG_CACHE_HOME", home / ".cache") / "numba")
    fonts = (_base("XDG_CONFIG_HOME", home / ".config") / "matplotlib",)
    for variable, places in (("NUMBA_CACHE_DIR", numba), ("MPLCONFIGDIR", fonts)):
        if not os.environ.get(variable) and not any(_writable(place) for place in places):
            os.environ[variable] = str(_private_folder() / variable.partition("_")[0].lower())


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        return Path("/nonexistent")


def _base(variable: str, otherwise: Path) -> Path:
    return Path(os.environ[variable]) if os.environ.get(variable) else otherwise


def _writable(place: Path) -> bool:
    """Whether the folder, or the nearest one above it that exists, can be written."""
    nearest = next((folder for folder in (place, *place.parents) if folder.exists()), Path("/"))
    return nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)


def _private_folder() -> Path:
    user = os.getuid() if hasattr(os, "getuid") else 0
    try:
        folder = Path(tempfile.gettempdir()) / f"crawltwin-{user}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == user and not found.st_mode & 0o077:
            return folder
        return Path(tempfile.mkdtemp(prefix="crawltwin-"))
    except OSError as error:
        raise InputError(
            f"a folder for compiled code must be writable; got {error.strerror} for the temporary files. "
            "Name one in the environment variable NUMBA_CACHE_DIR"
        ) from None
