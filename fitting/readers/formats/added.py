"""A reader of another package, guarded: what it does wrong is told in words, with its name, and never fitted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from crawltwin.model.errors import InputError
from fitting.readers.base import Reader
from fitting.readers.columns import OPTIONAL, Columns
from fitting.readers.input.streams import Source
from fitting.readers.settings import ReadOptions
from fitting.readers.times.stamps import INVALID

GROUP = "crawltwin.readers"
WAY_OUT = "See docs/new-reader.md, or uninstall the package that adds it."


class Added:
    """A reader of another package."""

    def __init__(self, reader: Reader, value: str) -> None:
        self._reader, self._value = reader, value
        self.name, self.about = reader.name, reader.about
        self.filters: tuple[str, ...] = getattr(reader, "filters", ())
        self.missing: str = getattr(reader, "missing", "")
        self.partial: bool = getattr(reader, "partial", False)

    def score(self, head: bytes, lines: Sequence[bytes]) -> float:
        """How well the first bytes of a stream fit, as the reader says."""
        try:
            return float(self._reader.score(head, lines))
        except Exception as error:
            raise self._fault("must tell a number from 0 to 1 for any first lines", error) from error

    def read(self, source: Source, options: ReadOptions) -> Iterator[Columns]:
        """The stream's deliveries as the reader finds them, each block checked."""
        try:
            for columns in self._reader.read(source, options):
                self._check(columns)
                yield columns
        except (InputError, GeneratorExit):
            raise
        except Exception as error:
            raise self._fault(f"must read {source.name}", error) from error

    def _fault(self, rule: str, got: Any) -> InputError:
        told = f"{type(got).__name__}: {got}" if isinstance(got, Exception) else got
        return InputError.at(GROUP, f"the reader {self.name} ({self._value}) {rule}; got {told}", WAY_OUT)

    def _check(self, columns: Any) -> None:
        if not isinstance(columns, Columns):
            raise self._fault("must give Columns", f"an object of {type(columns).__name__}")
        time = columns.time
        if not isinstance(time, np.ndarray) or time.dtype != np.int64 or time.ndim != 1:
            kind = f"an array of {time.dtype}" if isinstance(time, np.ndarray) else f"a {type(time).__name__}"
            raise self._fault("must give times as an array of int64, nanoseconds since 1970", kind)
        if np.any(time == INVALID):
            raise self._fault("must give times that were read", "some that were not; keep() leaves them out")
        for name in OPTIONAL:
            column = getattr(columns, name)
            if column is not None and np.shape(column) != time.shape:
                raise self._fault(f"must give as many of {name} as times, {time.size}", f"{np.size(column)}")
