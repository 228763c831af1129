"""Finished pieces of long work, kept on disk by key, so that an interrupted run goes on.

A piece is one file, written whole or not at all, named by its key (`key_of`: a hash of the inputs and of the code that
makes the piece, so that changed code never finds what the old code left). It holds plain values: None, truth values,
numbers, text, lists, dictionaries with text keys, and numpy arrays, bit for bit. The file carries a checksum of its
content and its key; one that is damaged or renamed counts as missing, and the piece is computed again.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from crawltwin.model.errors import InputError
from crawltwin.model.files import write_whole
from crawltwin.model.value import Value
from crawltwin.work.digest import code_digest

_FORMAT = 2


def key_of(*parts: Any) -> str:
    """A key made of the content of values, numbers, text, lists and arrays, and of the code in use (`code_digest`).

    It is the same on every machine with the same code and the same versions of the libraries underneath.

    Examples
    --------
    >>> key_of("sweep", 3) == key_of("sweep", 3), key_of("sweep", 3) == key_of("sweep", 3.0)
    (True, False)
    """
    text = json.dumps([_FORMAT, code_digest(), [_plain_key(part) for part in parts]], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain_key(part: Any) -> Any:
    if isinstance(part, Value):
        return {"value": part.content_hash}
    if isinstance(part, list | tuple):
        return [_plain_key(item) for item in part]
    if isinstance(part, dict):
        return {str(name): _plain_key(item) for name, item in part.items()}
    return _encode(part)


class Store:
    """A folder of finished pieces.

    Examples
    --------
    >>> import tempfile
    >>> store = Store(tempfile.mkdtemp())
    >>> store.put(key_of("a"), {"cost": 1.5})
    >>> key_of("a") in store, store.get(key_of("a"))
    (True, {'cost': 1.5})
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"store must be a folder that can be written; got {str(folder)!r}: {error.strerror}"
            ) from None

    def _path(self, key: str) -> Path:
        if not key or not key.isalnum():
            raise InputError(f"key must be letters and digits alone; got {key!r}. Use key_of")
        return self.folder / key[:2] / f"{key}.json"

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._read(key) is not None

    def get(self, key: str) -> Any:
        """The piece of that key; KeyError where there is none, or only a damaged one."""
        text = self._read(key)
        if text is None:
            raise KeyError(key)
        return _decode(json.loads(text))

    def put(self, key: str, piece: Any) -> None:
        """Keep a piece, whole or not at all."""
        text = json.dumps(_encode(piece))
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, _whole(key, text.encode()))

    def _read(self, key: str) -> bytes | None:
        try:
            found = self._path(key).read_bytes()
        except OSError:
            return None
        _, _, text = found.partition(b"\n")
        return text if found == _whole(key, text) else None


def _whole(key: str, text: bytes) -> bytes:
    """The file of a piece: a checksum of the content and of the key that it was made for, then the content.

    It is compared byte for byte: a file under another name or with other line ends counts as damaged too.
    """
    return hashlib.sha256(f"{key}\n".encode() + text).hexdigest().encode() + b"\n" + text


def _encode(item: Any) -> Any:
    if item is None or isinstance(item, bool | str | int):
        return item
    if isinstance(item, float):
        return item if math.isfinite(item) else {"float": repr(item)}
    if isinstance(item, np.generic):
        return _encode(item.item())
    if isinstance(item, np.ndarray):
        buffer = io.BytesIO()
        np.save(buffer, item, allow_pickle=False)
        return {"array": base64.b64encode(buffer.getvalue()).decode()}
    if isinstance(item, list | tuple):
        return [_encode(inner) for inner in item]
    if isinstance(item, dict) and all(isinstance(name, str) for name in item):
        return {"dict": {name: _encode(inner) for name, inner in item.items()}}
    raise InputError(f"a piece must be made of plain values and arrays; got {type(item).__name__}")


def _decode(item: Any) -> Any:
    if isinstance(item, list):
        return [_decode(inner) for inner in item]
    if not isinstance(item, dict):
        return item
    if "array" in item:
        return np.load(io.BytesIO(base64.b64decode(item["array"])), allow_pickle=False)
    if "float" in item:
        return float(item["float"])
    return {name: _decode(inner) for name, inner in item["dict"].items()}
