"""Refusals of models that are sound but do not fit, before anything is built."""

from __future__ import annotations

from crawltwin.model.checks import count
from crawltwin.model.errors import Fault, TooLargeError

MAX_STATES = 400_000
"""Most states for which the explicit generator is built."""


def refuse_above(
    most: int, size: int, what: str, way_out: str, *, place: str = "capacity", unit: str = "states"
) -> None:
    """Raise when `size` is larger than `most`.

    Examples
    --------
    >>> refuse_above(10, 11, "the chain", "Use a smaller capacity.")
    Traceback (most recent call last):
    ...
    crawltwin.model.errors.TooLargeError: the chain must have at most 10 states; got 11 at capacity. Use a smaller ...
    """
    if size > most:
        raise TooLargeError([Fault(place, f"{what} must have at most {most:,} {unit}; got {count(size)}", way_out)])
