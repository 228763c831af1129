"""Long columns in little memory: worked on in parts, and given back to the system when they are no longer used."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

AT_ONCE = 2**20
"""Rows of a long column that are worked on at a time."""


def row_blocks(rows: int) -> Iterator[slice]:
    """So many rows in parts of `AT_ONCE`: what is computed from one part needs no memory for the others.

    Examples
    --------
    >>> list(row_blocks(3))
    [slice(0, 3, None)]
    """
    for first in range(0, rows, AT_ONCE):
        yield slice(first, min(first + AT_ONCE, rows))


@contextmanager
def no_search_for_cycles() -> Iterator[None]:
    """Python's search for objects that hold one another is put off: a million objects made in passing call it often."""
    searched = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if searched:
            gc.enable()


def distinct(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The different values of a long column that has few of them, in order."""
    found = column[:0]
    for part in row_blocks(column.size):
        found = np.union1d(found, column[part])
    return found


def integers_up_to(largest: int) -> np.dtype[Any]:
    """The smallest type that has -1 and the whole numbers up to `largest`.

    Examples
    --------
    >>> integers_up_to(127), integers_up_to(128)
    (dtype('int8'), dtype('int16'))
    """
    return np.min_scalar_type(-max(largest, 0) - 1)


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
