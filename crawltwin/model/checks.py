"""Checks at the door: numbers, vectors and matrices as they come from users and files.

Nothing is renormalised in silence. A row that should sum to zero (or a vector that should sum to one) may miss by
`ROW_SUM_TOLERANCE` times its largest entry, which is what decimal notation and rounding need; more is an error that
prints the row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from crawltwin.model.errors import Faults

FloatArray = npt.NDArray[np.floating[Any]]

ROW_SUM_TOLERANCE = 1e-8
"""How far a row may miss its sum, relative to its largest entry in absolute value."""


def frozen(array: npt.ArrayLike) -> FloatArray:
    """A write-protected copy with the sign of every zero cleared, so that equal numbers have equal bytes."""
    copy = np.array(array, dtype=np.float64) + 0.0
    copy.setflags(write=False)
    return copy


def show(value: Any) -> str:
    """A short printable form of a refused value."""
    text = np.array2string(value, precision=6, threshold=12) if isinstance(value, np.ndarray) else repr(value)
    text = " ".join(text.split())
    return text if len(text) <= 120 else text[:117] + "..."


def count(number: int) -> str:
    """A whole number for people; one too long to read as a power of ten."""
    return f"{number:,}" if number < 10**15 else f"about 10^{math.floor(math.log10(number))}"


def _entries_are_numbers(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return bool(np.issubdtype(value.dtype, np.number)) and not np.iscomplexobj(value)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return all(_entries_are_numbers(item) for item in value)
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _array(value: Any, place: str, dimensions: int, what: str, faults: Faults) -> FloatArray | None:
    if isinstance(value, np.ndarray | Sequence) and not isinstance(value, str | bytes):
        if not _entries_are_numbers(value):
            faults.add(place, f"{place} must be {what}; got {show(value)}", "Every entry must be a plain number.")
            return None
        try:
            array = np.array(value, dtype=np.float64)
        except (ValueError, OverflowError):
            array = None
        if array is not None and array.ndim == dimensions and array.size:
            if np.isfinite(array).all():
                return array
            where = "".join(f"[{index}]" for index in np.argwhere(~np.isfinite(array))[0])
            bad = array[tuple(np.argwhere(~np.isfinite(array))[0])]
            faults.add(f"{place}{where}", f"{place} must be finite; got {bad}", "NaN and infinity are refused.")
            return None
    faults.add(place, f"{place} must be {what}; got {show(value)}")
    return None


def vector(value: Any, place: str, faults: Faults) -> FloatArray | None:
    """A non-empty list of finite numbers, or a recorded fault."""
    return _array(value, place, 1, "a non-empty list of numbers", faults)


def square_matrix(value: Any, place: str, faults: Faults, size: int | None = None) -> FloatArray | None:
    """A square matrix of finite numbers (of `size` rows where given), or a recorded fault."""
    array = _array(value, place, 2, "a square matrix: a list of rows of equal length", faults)
    if array is None:
        return None
    if array.shape[0] != array.shape[1]:
        faults.add(place, f"{place} must be square; got {array.shape[0]} rows and {array.shape[1]} columns")
        return None
    if size is not None and array.shape[0] != size:
        faults.add(
            place, f"{place} must be {size} x {size} like its neighbours; got {array.shape[0]} x {array.shape[0]}"
        )
        return None
    return array


SMALLEST, LARGEST = 1e-100, 1e100
"""Bounds of rates, mean times and weights: third moments are still numbers, and so are sums of products."""


def number(
    value: Any,
    place: str,
    faults: Faults,
    *,
    above: float | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    way_out: str = "",
) -> float | None:
    """A finite number within bounds, or a recorded fault."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        faults.add(place, f"{place} must be a number; got {show(value)}", way_out)
        return None
    try:
        result = float(value)
    except OverflowError:
        result = float("inf")
    if not np.isfinite(result):
        faults.add(place, f"{place} must be a finite number; got {show(value)}", way_out)
    elif above is not None and not result > above:
        faults.add(place, f"{place} must be greater than {above:g}; got {show(value)}", way_out)
    elif at_least is not None and not result >= at_least:
        faults.add(place, f"{place} must be at least {at_least:g}; got {show(value)}", way_out)
    elif at_most is not None and not result <= at_most:
        faults.add(place, f"{place} must be at most {at_most:g}; got {show(value)}", way_out)
    else:
        return result
    return None


def integer(
    value: Any,
    place: str,
    faults: Faults,
    *,
    at_least: int | None = None,
    at_most: int | None = None,
    way_out: str = "",
) -> int | None:
    """A whole number within bounds, or a recorded fault."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        faults.add(place, f"{place} must be a whole number; got {show(value)}", way_out)
        return None
    result = int(value)
    if at_least is not None and result < at_least:
        faults.add(place, f"{place} must be at least {at_least}; got {result}", way_out)
    elif at_most is not None and result > at_most:
        faults.add(place, f"{place} must be at most {at_most}; got {result}", way_out)
    else:
        return result
    return None


def probability_vector(value: Any, place: str, faults: Faults) -> FloatArray | None:
    """A vector, its entries not negative, their sum one within `ROW_SUM_TOLERANCE`; or a recorded fault."""
    found = vector(value, place, faults)
    if found is None:
        return None
    for index in np.flatnonzero(found < 0)[:3]:
        faults.add(f"{place}[{index}]", f"{place} must be not negative; got {found[index]:g}")
    total = float(found.sum())
    if abs(total - 1) > ROW_SUM_TOLERANCE:
        faults.add(
            place,
            f"{place} must sum to 1; got the sum {total:.12g} of {show(found)}",
            "Write more digits, or change one entry so that the sum is 1: nothing is rescaled in silence.",
        )
    return found


def is_irreducible(adjacency: npt.NDArray[Any]) -> bool:
    """Whether every state can reach every other one along the non-zero entries."""
    edges = adjacency != 0
    return _reached_from_first(edges) and _reached_from_first(edges.T)


def _reached_from_first(edges: npt.NDArray[np.bool_]) -> bool:
    reached = np.zeros(len(edges), dtype=bool)
    reached[0], front = True, np.array([0])
    while front.size:
        front = np.flatnonzero(edges[front].any(axis=0) & ~reached)
        reached[front] = True
    return bool(reached.all())
