"""Keys of the tables of a scenario file: which must be there, which may be, and what was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from crawltwin.model import checks
from crawltwin.model.errors import Fault, Faults, InputError


def needed(data: Mapping[str, Any], key: str, faults: Faults, hint: str, prefix: str = "") -> Any:
    """The value of a key that must be given, or a recorded fault and None."""
    if data.get(key) is None:
        faults.add(f"{prefix}.{key}" if prefix else key, f"{key} must be given; got nothing", hint)
        return None
    return data[key]


def check_keys(data: Mapping[str, Any], known: Iterable[str], prefix: str, faults: Faults) -> None:
    """Record every key that is not known."""
    names = tuple(known)
    for key in data:
        if key not in names:
            place = f"{prefix}.{key}" if prefix else key
            faults.add(place, f"the key must be one of {', '.join(names)}; got {key!r}", nearest(key, names))


def nearest(word: Any, known: Iterable[str]) -> str:
    """A question that names the known word nearest to `word`, or nothing."""
    close = difflib.get_close_matches(str(word), list(known), n=1, cutoff=0.5)
    return f"Did you mean {close[0]!r}?" if close else ""


def rows_of(data: Any, place: str, keys: tuple[str, ...], faults: Faults) -> list[tuple[str, Mapping[str, Any]]]:
    """A list of tables with their places, keys checked; empty after a recorded fault."""
    if not isinstance(data, list) or not data or not all(isinstance(row, Mapping) for row in data):
        faults.add(
            place,
            f"{place} must be a non-empty list of tables; got {checks.show(data)}",
            f"Write [[arrivals.{place}]].",
        )
        return []
    for index, row in enumerate(data):
        check_keys(row, keys, f"{place}[{index}]", faults)
        for key in keys:
            needed(row, key, faults, f"Each of {place} has the keys {', '.join(keys)}.", f"{place}[{index}]")
    return [(f"{place}[{index}]", row) for index, row in enumerate(data)]


def table(value: Any) -> Mapping[str, Any]:
    """A section, refused where it is no table."""
    if not isinstance(value, Mapping):
        raise InputError([Fault("", f"the section must be a table of keys; got {checks.show(value)}")])
    return value
