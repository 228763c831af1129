"""Two answers to one question compared: words must be the same, numbers the same but for their last bits."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

TOLERANCE = 1e-9
"""Relative difference of two computed numbers that counts as the same, across machines and libraries."""
ROUNDING = 1e-12
"""Absolute difference that does: of zeros that were rounded."""
_NUMBER = re.compile(r"(-?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?)")


def differences(place: str, old: Any, new: Any, ignored: Collection[str] = ()) -> Iterator[str]:
    """What differs, one line for each difference, with its place; keys that are `ignored` may differ.

    Examples
    --------
    >>> list(differences("", {"cost": 2.0, "words": "a"}, {"cost": 2.0 + 1e-15, "words": "b"}))
    ["words: was 'a', is 'b'"]
    """
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in [*old, *(key for key in new if key not in old)]:
            if key in ignored:
                continue
            inside = f"{place}.{key}" if place else str(key)
            if key not in old or key not in new:
                yield f"{inside}: only in the {'earlier report' if key in old else 'new one'}"
            else:
                yield from differences(inside, old[key], new[key], ignored)
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield f"{place}: had {len(old)} entries, has {len(new)}"
        for index, pair in enumerate(zip(old, new)):
            yield from differences(f"{place}[{index}]", *pair, ignored)
    elif isinstance(old, str) and isinstance(new, str):
        if not same_text(old, new):
            yield f"{place}: was {old!r}, is {new!r}"
    elif isinstance(old, float) or isinstance(new, float):
        if not same_number(old, new):
            yield f"{place}: was {old}, is {new}"
    elif old != new or isinstance(old, bool) != isinstance(new, bool):
        yield f"{place}: was {old!r}, is {new!r}"


def same_number(old: Any, new: Any, within: float = ROUNDING) -> bool:
    """Whether two numbers, or two things of which one is none, are the same; `within` is an absolute difference."""
    plain = [isinstance(one, int | float) and not isinstance(one, bool) for one in (old, new)]
    if not all(plain):
        return bool(old == new) and not any(plain)
    return math.isclose(old, new, rel_tol=TOLERANCE, abs_tol=within)


def same_text(old: str, new: str, within: float = ROUNDING) -> bool:
    """Whether two texts have the same words and, where they show numbers, the same numbers.

    Examples
    --------
    >>> same_text("the residual is 2e-16", "the residual is 3e-16"), same_text("1.25%", "1.26%"), same_text("a", "b")
    (True, False, False)
    """
    if old == new:
        return True
    left, right = _NUMBER.split(old), _NUMBER.split(new)
    # Words stand at even places, numbers at odd ones.
    return left[::2] == right[::2] and all(
        one == other or same_number(_value(one), _value(other), within) for one, other in zip(left[1::2], right[1::2])
    )


def _value(shown: str) -> float:
    return float(shown.replace(",", ""))
