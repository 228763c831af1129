"""What a reader is: it says how well a sample of lines fits its format, and turns a stream into columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from fitting.readers.blocks import blocks
from fitting.readers.columns import Columns
from fitting.readers.streams import Source


@dataclass(frozen=True)
class ReadOptions:
    """Choices of the user that change what a reader takes.

    Parameters
    ----------
    pattern : str, optional
        Regular expression with a named group ``time`` and, where there is one, ``size``; for the format ``pattern``.
    time_column, size_column : str, optional
        Names (or numbers, from 1) of columns in CSV, Parquet and JSON lines.
    agent : str
        Access logs: ``robots`` keeps known robots' user agents, ``all`` everything, else a regular expression.
    values : str
        Plain columns of numbers: ``auto``, ``times`` or ``gaps``.
    """

    pattern: str | None = None
    time_column: str | None = None
    size_column: str | None = None
    agent: str = "robots"
    values: str = "auto"


class Reader(Protocol):
    """A log format."""

    name: str
    about: str

    def score(self, head: bytes, lines: Sequence[bytes]) -> float:
        """How well the first bytes of a stream fit, from 0 (not at all) to 1."""

    def read(self, source: Source, options: ReadOptions) -> Iterator[Columns]:
        """The stream's deliveries, a block at a time."""


class LineReader:
    """Base of the formats with one row a line; a subclass turns a block of lines into columns."""

    name = ""
    about = ""
    probe: re.Pattern[bytes]

    def score(self, head: bytes, lines: Sequence[bytes]) -> float:
        """Share of the sample's lines that the format's probe matches."""
        del head
        return sum(self.probe.match(line) is not None for line in lines) / max(len(lines), 1)

    def parse(self, text: bytes, options: ReadOptions) -> Columns:
        """Columns of one block of whole lines."""
        raise NotImplementedError

    def read(self, source: Source, options: ReadOptions) -> Iterator[Columns]:
        """The stream's deliveries, a block at a time."""
        for block in blocks(source):
            columns = self.parse(block.text, options)
            if block.too_long:
                columns.broken += block.too_long
                columns.broken_shown.append(f"({block.too_long} lines longer than 4 MiB, skipped)")
            yield columns
