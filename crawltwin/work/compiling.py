"""Compiled functions whose cache may be damaged or outdated: what cannot be read is compiled again, by one process.

numba keeps compiled functions in files and reads them back without doubt: a file cut short, or one that names a class
which a newer version has renamed, ends the program with an error of `pickle`. Here such a file counts as missing, and
so does one that was made of other functions or constants than those of now, whatever file they stand in.

Workers that begin together need the same functions at the same time. The first one compiles, the others wait until it
is done and read what it has kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import IO, Any, TypeVar

import numba
from numba.core import caching

from crawltwin.work.compiled_from import digest_of_sources, fields_of
from crawltwin.work.interrupts import waiting_signals

Loop = TypeVar("Loop", bound=Callable[..., Any])
FunctionCache: Any = caching.FunctionCache  # without types
PATIENCE = 120.0
"""Seconds to wait for another process that compiles the same function; after that, it is compiled here too."""
_LOOK = 0.05


class RebuiltCache(FunctionCache):  # type: ignore[misc]
    """numba's cache of one function; entries that cannot be read are forgotten, those that cannot be kept are not."""

    _turn: IO[bytes] | None = None
    _stamped = False

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function for a signature, or None: then numba compiles it, and it is this process's turn."""
        found = self._load(sig, target_context)
        if found is None and self._turn is None:
            self._turn = _turn_to_compile(Path(self._cache_path) / f"{self._impl.filename_base}.lock")
            # Whoever had the turn before has kept what it compiled.
            found = self._load(sig, target_context)
        return found

    def end_turn(self) -> None:
        """Let another process compile the function."""
        if self._turn is not None:
            self._turn.close()
            self._turn = None

    def _load(self, sig: Any, target_context: Any) -> Any:
        try:
            self._stamp()
            return super().load_overload(sig, target_context)
        except Exception:  # noqa: BLE001 - whatever a damaged pickle raises
            self._forget()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function where that is possible: a full disk does not stop the work."""
        try:
            self._stamp()
            super().save_overload(sig, data)
        except Exception:  # noqa: BLE001 - the index of before is read first, and may be damaged
            self._forget()

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return (*super()._index_key(sig, codegen), fields_of(sig))

    def _stamp(self) -> None:
        """Add to the version of the source what it calls and names: at the first call, when all of that is defined."""
        if not self._stamped:
            self._cache_file._source_stamp = (self._cache_file._source_stamp, digest_of_sources(self._py_func))
            self._stamped = True

    def _forget(self) -> None:
        try:
            self.flush()
        except OSError:
            self.disable()


def _turn_to_compile(path: Path) -> IO[bytes] | None:
    """A file that no other process holds as long as it is open; None where that cannot be had, or not in time."""
    try:
        from fcntl import LOCK_EX, LOCK_NB, flock
    except ImportError:
        return None
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("ab")
        given_up = time.monotonic() + PATIENCE
        while time.monotonic() < given_up:
            try:
                flock(file, LOCK_EX | LOCK_NB)
            except BlockingIOError:
                time.sleep(_LOOK)
            except OSError:
                break
            else:
                return file
        file.close()
    return None


def _in_turn(compile_one: Callable[[Any], Any], cache: RebuiltCache) -> Callable[[Any], Any]:
    """Numba's compilation of one signature, whose turn ends with it however it ends."""

    @wraps(compile_one)
    def compiled(sig: Any) -> Any:
        try:
            return compile_one(sig)
        finally:
            cache.end_turn()

    return compiled


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
            made.compile = _in_turn(made.compile, made._cache)
        compiled: Loop = made
        return compiled

    return compile_later


def call_whole(loop: Callable[..., Any], *arguments: Any) -> Any:
    """Call a compiled function to which random streams are handed; Ctrl-C waits until it returns.

    numba takes a stream apart with functions of Python, in which an interrupt would be raised, and goes on with what
    they did not give: that ends in an AttributeError, or the process ends with it. Between two calls, and while the
    function is compiled for the first time, an interrupt is heeded.
    """
    if not getattr(loop, "overloads", True):  # a plain function, where NUMBA_DISABLE_JIT is set, has none
        dispatcher: Any = loop
        dispatcher.compile(tuple(map(numba.typeof, arguments)))
    with waiting_signals():
        return loop(*arguments)
