"""Many small JSON objects at once: one call of the parser per block, one per text only where something is wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

ONE_PER_LINE = "JSON must stand in one object per line: jq -c '.[]' makes that of an array, jq -c . of long objects."
DEEPEST = 3
"""Levels of nested objects whose names are looked at."""


def objects(texts: list[bytes]) -> list[dict[str, Any] | None]:
    """Each text as a JSON object, None where it is none; one call for all where nothing is wrong."""
    try:
        together = json.loads(b"[" + b",".join(texts) + b"]")
    except (ValueError, RecursionError):
        together = None
    if together is not None and len(together) == len(texts):
        return [entry if isinstance(entry, dict) else None for entry in together]
    return [_object(text) for text in texts]


def _object(text: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def names_of(entry: dict[str, Any], prefix: str = "", depth: int = DEEPEST) -> Iterator[str]:
    """Names of the values of an object, those of nested objects with their path: ``response.status_code``."""
    for name, value in entry.items():
        if isinstance(value, dict) and value and depth > 1:
            yield from names_of(value, f"{prefix}{name}.", depth - 1)
        else:
            yield prefix + name


def values_at(entries: list[dict[str, Any]], path: str) -> list[Any]:
    """The value of that name or path in each object; None where there is none."""
    name, dot, rest = path.partition(".")
    if not dot:
        return [entry.get(path) for entry in entries]
    inner = [entry.get(name) for entry in entries]
    if any(type(one) is not dict for one in inner) or any(path in entry for entry in entries):
        return [value_at(entry, path) for entry in entries]
    return values_at(inner, rest)  # type: ignore[arg-type]  # all are objects


def value_at(entry: dict[str, Any], path: str) -> Any:
    """The value of that name or path; None where there is none."""
    if path in entry or "." not in path:
        return entry.get(path)
    name, _, rest = path.partition(".")
    inner = entry.get(name)
    return value_at(inner, rest) if isinstance(inner, dict) else None
