"""What a compiled function was made of, as one digest: the text of every file and the constants that went into it.

numba looks at the file of the function itself, by its time and size. Functions of other files that it calls, or that
are put in its place, and constants that it imports are compiled into it too; without them an edited formula would not
be heard, and old compiled code would answer in the name of the new one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

_PLAIN = (bool, bytes, complex, float, int, np.generic, str, tuple, type(None))


def digest_of_sources(function: FunctionType) -> str:
    """The digest of a function, of all that it calls, and of the constants that they name."""
    found: dict[str, str] = {}
    _visit(function, found)
    return hashlib.sha256("\n".join(f"{name} {found[name]}" for name in sorted(found)).encode()).hexdigest()


def fields_of(kind: Any) -> tuple[Any, ...]:
    """Names of the fields of each named tuple among types of numba, in order: compiled code knows places alone."""
    if isinstance(kind, tuple):
        return tuple(found for one in kind if (found := fields_of(one)))
    inner = fields_of(tuple(getattr(kind, "types", None) or ()))
    return (*getattr(kind, "fields", ()), *inner) if hasattr(kind, "instance_class") else inner


def _visit(function: FunctionType, found: dict[str, str]) -> None:
    code = function.__code__
    place = f"{function.__module__}.{function.__qualname__}"
    if place in found:
        return
    found[place] = _text_of(code.co_filename)
    names = set(_names(code))
    closed = zip(code.co_freevars, function.__closure__ or (), strict=True)
    for name, held in [
        *((name, cell.cell_contents) for name, cell in closed),
        *((name, function.__globals__[name]) for name in names if name in function.__globals__),
    ]:
        _add(f"{place} {name}", held, names, found)


def _add(place: str, held: Any, names: set[str], found: dict[str, str]) -> None:
    held = getattr(held, "py_func", held)  # of a function that numba compiles
    if isinstance(held, FunctionType):
        _visit(held, found)
    elif isinstance(held, ModuleType):
        found[f"module {held.__name__}"] = _text_of(getattr(held, "__file__", None))
        for name in names & vars(held).keys():
            if hasattr(vars(held)[name], "py_func") or isinstance(vars(held)[name], _PLAIN):
                _add(f"{held.__name__}.{name}", vars(held)[name], names, found)
    elif isinstance(held, type):
        found[f"{held.__module__}.{held.__qualname__}"] = _fields_and_values(held)
    elif isinstance(held, np.ndarray):
        found[place] = f"{held.dtype} {held.shape} {hashlib.sha256(held.tobytes()).hexdigest()}"
    elif isinstance(held, _PLAIN):
        found[place] = repr(held)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def _fields_and_values(kind: type) -> str:
    """What compiled code can take from a class: the fields of a named tuple, the plain values of an enumeration."""
    values = {name: getattr(one, "value", one) for name, one in vars(kind).items() if not name.startswith("_")}
    plain = {name: repr(one) for name, one in values.items() if isinstance(one, _PLAIN)}
    return f"{getattr(kind, '_fields', ())} {sorted(plain.items())}"


@cache
def _text_of(path: str | None) -> str:
    try:
        return "" if path is None else hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return ""
