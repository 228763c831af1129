"""Immutable values that are equal by content and carry a content hash as their identity."""

from __future__ import annotations

import hashlib
from dataclasses import fields, is_dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from crawltwin.model.checks import FloatArray


class Value:
    """Base of the model's values: dataclasses that consist of their fields, or of what they say in `_content`.

    Equality, hashing and `content_hash` follow from that content alone, so two scenarios read from different files are
    the same object when their numbers are the same bits.
    """

    def _content(self) -> tuple[Any, ...]:
        """Everything that makes two values equal."""
        return self._held()

    def _held(self) -> tuple[Any, ...]:
        assert is_dataclass(self)
        return tuple(getattr(self, field.name) for field in fields(self))

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 of the content, in hexadecimal: stable over processes, machines and versions of Python."""
        digest = hashlib.sha256()
        _feed(digest, (type(self).__name__, *self._content()))
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Value) and type(self) is type(other):
            return self.content_hash == other.content_hash
        return NotImplemented

    def __hash__(self) -> int:
        return int(self.content_hash[:16], 16)

    def __reduce__(self) -> tuple[Any, ...]:
        # Rebuilt through the constructor: arrays come back write-protected and caches do not travel.
        return type(self), tuple(dict(item) if isinstance(item, MappingProxyType) else item for item in self._held())


class Amount:
    """A field that is given as anything array-like and read as a write-protected array."""

    def __init__(self, default: float | None = None) -> None:
        self._default: Any = default

    def __set_name__(self, owner: type, name: str) -> None:
        self._held = f"_{name}"

    def __get__(self, instance: object | None, owner: type | None = None) -> FloatArray:
        if instance is None and self._default is None:
            raise AttributeError("this amount must be given")  # read by `dataclass`: no default
        found: FloatArray = self._default if instance is None else instance.__dict__[self._held]
        return found

    def __set__(self, instance: object, value: npt.ArrayLike) -> None:
        instance.__dict__[self._held] = _protected(value)


class PerhapsAmount:
    """The same for an amount that may be unknown: None, the default."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._held = f"_{name}"

    def __get__(self, instance: object | None, owner: type | None = None) -> FloatArray | None:
        return None if instance is None else instance.__dict__[self._held]

    def __set__(self, instance: object, value: npt.ArrayLike | None) -> None:
        instance.__dict__[self._held] = None if value is None else _protected(value)


def _protected(value: npt.ArrayLike) -> FloatArray:
    """A write-protected view, not a copy: the rates of a million policies are not held twice."""
    view = np.asarray(value, dtype=np.float64).view()
    view.setflags(write=False)
    return view


def _feed(digest: Any, item: Any) -> None:
    if isinstance(item, tuple):
        digest.update(b"(%d:" % len(item))
        for inner in item:
            _feed(digest, inner)
    elif isinstance(item, np.ndarray):
        digest.update(f"array{item.shape}{item.dtype.str}".encode())
        digest.update(np.ascontiguousarray(item).tobytes())
    elif isinstance(item, Value):
        digest.update(item.content_hash.encode())
    else:
        digest.update(f"{type(item).__name__}={item!r};".encode())
