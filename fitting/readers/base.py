"""What a reader is: it says how well a sample of lines fits its format, and turns a stream into columns."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

from crawltwin.model.errors import InputError
from fitting.readers.columns import Columns
from fitting.readers.count_log import Counts
from fitting.readers.input.line_blocks import blocks
from fitting.readers.input.streams import Source
from fitting.readers.settings import ReadOptions

FILTERS = {"only_type": "--only", "only_url": "--only-url", "where": "--where"}
"""Choices that need something that not every format has, with their options."""


class NoRows(InputError):
    """A stream of the format without a single row: told where no other file of the log has one."""


@runtime_checkable
class Reader(Protocol):
    """A log format.

    A reader may also have `filters`, the names in `FILTERS` that it obeys; `missing`, what a log of this format without
    a single row is told; and `partial`, whether lines may differ in what it does not read: then equal rows one after
    another are no proof of lines that were written twice.
    """

    name: str
    about: str

    def score(self, head: bytes, lines: Sequence[bytes]) -> float:
        """How well the first bytes of a stream fit, from 0 (not at all) to 1."""

    def read(self, source: Source, options: ReadOptions) -> Iterator[Columns]:
        """The stream's deliveries, a block at a time."""


class CountReader(Protocol):
    """A format of counts per interval."""

    name: str
    about: str

    def score(self, head: bytes, lines: Sequence[bytes]) -> float:
        """How well the first bytes of a stream fit, from 0 (not at all) to 1."""

    def read_counts(self, source: Source, options: ReadOptions) -> Iterator[Counts]:
        """The stream's intervals, a block at a time."""


class BlockReader(ABC):
    """Reads a stream in blocks of whole lines; a subclass turns a block into columns."""

    @abstractmethod
    def parse(self, text: bytes, options: ReadOptions) -> Columns:
        """Columns of one block of whole lines."""

    def read(self, source: Source, options: ReadOptions) -> Iterator[Columns]:
        """The stream's deliveries, a block at a time."""
        for block in blocks(source):
            columns = self.parse(block.text, options)
            if block.too_long:
                columns.broken += block.too_long
                columns.broken_shown.append(f"({block.too_long} lines longer than 4 MiB, skipped)")
            yield columns


class LineReader(BlockReader):
    """Base of the formats with one row per line, known by an expression that their lines match."""

    name = ""
    about = ""
    filters: tuple[str, ...] = ("only_url",)
    missing = ""
    probe: re.Pattern[bytes]

    def score(self, head: bytes, lines: Sequence[bytes]) -> float:
        """Share of the sample's lines that the format's probe matches."""
        del head
        return sum(self.probe.match(line) is not None for line in lines) / max(len(lines), 1)
