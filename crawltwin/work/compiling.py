"""Compiled functions whose cache may be damaged or outdated: what cannot be read is compiled again.

numba keeps compiled functions in files and reads them back without doubt: a file cut short, or one that names a class
which a newer version has renamed, ends the program with an error of `pickle`. Here such a file counts as missing.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import caching

Loop = TypeVar("Loop", bound=Callable[..., Any])
FunctionCache: Any = caching.FunctionCache  # without types


class RebuiltCache(FunctionCache):  # type: ignore[misc]
    """numba's cache of one function; entries that cannot be read are forgotten, those that cannot be kept are not."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function for a signature, or None: then numba compiles it."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # noqa: BLE001 - whatever a damaged pickle raises
            self._forget()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function where that is possible: a full disk does not stop the work."""
        try:
            super().save_overload(sig, data)
        except Exception:  # noqa: BLE001 - the index of before is read first, and may be damaged
            self._forget()

    def _forget(self) -> None:
        try:
            self.flush()
        except OSError:
            self.disable()


def njit(**options: Any) -> Callable[[Loop], Loop]:
    """`numba.njit(**options)`; with `cache=True` the cache is a `RebuiltCache`, and only functions of a file have one.

    Examples
    --------
    >>> @njit(cache=True)
    ... def twice(value):
    ...     return 2 * value
    >>> twice(1.5)
    3.0
    """

    def compile_later(function: Loop) -> Loop:
        cached = bool(options.get("cache")) and Path(function.__code__.co_filename).is_file()
        made: Any = numba.njit(**(options | {"cache": cached}))(function)
        if cached and hasattr(made, "_cache"):  # a plain function where NUMBA_DISABLE_JIT is set
            made._cache = RebuiltCache(function)
        compiled: Loop = made
        return compiled

    return compile_later
