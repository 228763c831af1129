"""Doors of packages that open a module only when a name behind it is asked for (PEP 562).

A package lists its public names in a stub beside it, ``__init__.pyi``, as ``from room.module import name as name``;
type checkers read that list, and so does the package itself, which then holds two lines::

    from crawltwin.model.lazy import attach

    __getattr__, __dir__ = attach(__name__, __file__)

Importing the package stays cheap, ``__all__`` and ``dir()`` show the public names alone, and each name stands once.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # what `typing` would say: the door is opened without loading it
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

ROOMS = ("analytic", "simulate", "fitting", "validate")
"""Packages of this product with names of their own at the top, which another distribution may own as well."""


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The functions ``__getattr__`` and ``__dir__`` of a package whose stub lists its public names."""
    listed: dict[str, str] = {}

    def names() -> dict[str, str]:
        if not listed:
            listed.update(names_in_stub(file + "i"))
        return listed

    def get(name: str) -> Any:
        if name == "__all__":
            return sorted(names())
        if name.startswith("__") or name not in names():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = _value(names()[name], name)
        # A package inside that has the name of what it does (`crawltwin.plan`) can be called itself and stays there.
        own = sys.modules.get(f"{package}.{name}")
        value = own if callable(own) else value
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: sorted(names())


def names_in_stub(stub: str) -> dict[str, str]:
    """The public names of a stub, each with the module that it comes from."""
    import ast

    with open(stub, encoding="utf-8") as text:  # noqa: PTH123 - pathlib would double the time of the import
        tree = ast.parse(text.read())
    return {
        alias.name: line.module
        for line in tree.body
        if isinstance(line, ast.ImportFrom) and line.module
        for alias in line.names
        if alias.asname == alias.name
    }


def _value(module: str, name: str) -> Any:
    from importlib import import_module

    room = module.partition(".")[0]
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        words = foreign_room(room)
        if words is None:
            raise
        raise ImportError(words, name=room) from error


def foreign_room(room: str) -> str | None:
    """What to say when the package of that name is not ours; None when it is, or is none of the rooms."""
    from importlib import import_module

    if room not in ROOMS:
        return None
    try:
        found: ModuleType | None = import_module(room)
    except ImportError:
        found = None
    if getattr(getattr(found, "__getattr__", None), "__module__", None) == __name__:
        return None
    where = "nothing of that name" if found is None else f"the one at {getattr(found, '__file__', None)}"
    return (
        f"the package {room!r} must be crawltwin's own; got {where}. Another distribution may own the name (configobj "
        "installs one called 'validate'): install crawltwin in an environment of its own, or install it again as the "
        "last one with `pip install --force-reinstall --no-deps crawltwin`"
    )
