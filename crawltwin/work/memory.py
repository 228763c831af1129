"""Memory that is no longer used, given back to the system."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache


@cache
def _trim() -> Callable[[int], int] | None:
    """The C library's function for it; None where it has none."""
    try:
        found: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return None
    return found


def give_back() -> None:
    """Give back what arrays of some megabytes left behind: the C library would keep it. Cost: some milliseconds."""
    trim = _trim()
    if trim is not None:
        trim(0)
