"""Many small JSON objects at once: one call of the parser for a block, one a text only where something is wrong."""

from __future__ import annotations

import json
from typing import Any


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
