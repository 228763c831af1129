"""One digest of the code that computes: kept pieces of work are used again by the same code only.

A version number stays the same while somebody edits a formula, so it cannot tell whether a kept result is still what
the code would give. The digest can: it is made of the source files of every package that computes and of the versions
of the libraries underneath. What only shows results (pages, reports, the command line) is left out.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable
from functools import cache
from importlib import metadata, util
from pathlib import Path

PACKAGES = ("crawltwin", "analytic", "simulate", "fitting", "validate")
"""Packages that compute; they are found, not imported."""
SHOWING = frozenset({"cli", "pages", "report", "live"})
"""Folders of `crawltwin` that compute nothing which is kept."""
LIBRARIES = ("numba", "numpy", "scipy", "simpy", "statsmodels")
"""Libraries that numbers come from; those that read files, hand out work or show tables are not among them."""
SUFFIXES = frozenset({".csv", ".json", ".py", ".toml"})


@cache
def code_digest() -> str:
    """The digest of the code in use, computed once in each process. Cost: some ten milliseconds."""
    versions = [f"python {platform.python_version()}", *(f"{name} {metadata.version(name)}" for name in LIBRARIES)]
    return digest_of(_folders(), versions)


def digest_of(folders: Iterable[Path], versions: Iterable[str] = ()) -> str:
    """The digest of all source and data files in some folders: their names inside the folder and their contents."""
    total = hashlib.sha256("\n".join(versions).encode())
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            inside = path.relative_to(folder)
            if path.suffix in SUFFIXES and not (folder.name == "crawltwin" and inside.parts[0] in SHOWING):
                content = hashlib.sha256(path.read_bytes()).hexdigest()
                total.update(f"\n{folder.name}/{inside.as_posix()} {content}".encode())
    return total.hexdigest()


def _folders() -> list[Path]:
    found = [util.find_spec(name) for name in PACKAGES]
    return [Path(place) for spec in found if spec is not None for place in spec.submodule_search_locations or ()]
