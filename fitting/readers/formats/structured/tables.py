"""CSV and Parquet: named columns, read a piece at a time."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import pandas as pd

from crawltwin.model.errors import InputError
from fitting.readers.columns import Columns, note_broken, nothing
from fitting.readers.formats.structured.messages import TableMessages
from fitting.readers.input.json_objects import DEEPEST
from fitting.readers.input.line_blocks import blocks
from fitting.readers.input.streams import Source
from fitting.readers.named import Chosen, choose, to_columns
from fitting.readers.settings import ReadOptions
from fitting.readers.times import stamps

MIXED = 2**17
"""Bytes of a table, and `BATCH` rows of a Parquet file, that are looked at for rows that are no deliveries."""
BATCH = 2000
_QUOTED = re.compile(rb'"[^"]*"')
LONGEST = 4 * 2**20
"""Bytes in which a quoted field that goes over several lines may end; a lone quote opens none."""
_SEPARATORS = (b",", b"\t", b";", b"|")


MOST_COLUMNS = 5_000
"""A second of work: what has more is no table of deliveries."""


def _separator(lines: Sequence[bytes]) -> bytes | None:
    """The separator that cuts most lines into as many fields (more than one) as the header, quotes aside."""
    unquoted = [line for line in _QUOTED.sub(b"", b"\n".join(lines[:200])).split(b"\n") if line]
    for candidate in _SEPARATORS:
        counts = [line.count(candidate) for line in unquoted[:50]]
        if counts and counts[0] > 0 and counts.count(counts[0]) >= 0.6 * len(counts):
            return candidate
    return None


def _borders(line: bytes, separator: bytes) -> int:
    """Number of separators in a line, quotes aside."""
    return _QUOTED.sub(b"", line).count(separator)


class Csv:
    """Text with separators and a header of names."""

    name = "csv"
    about = "CSV with a header (comma, tab, semicolon or bar)"
    filters = ("only_type", "only_url", "where")
    partial = True

    def score(self, head: bytes, lines: Sequence[bytes]) -> float:
        """A header whose names are words, one of them a known name or any, and rows with as many fields."""
        del head
        separator = _separator(lines)
        if separator is None or len(lines) < 1 or lines[0].lstrip()[:1] in (b"{", b"["):
            return 0.0
        header = [field.strip(b' "') for field in lines[0].split(separator)]
        words = sum(re.fullmatch(rb"[@A-Za-z_][\w .\-/()@]{0,60}", field) is not None for field in header)
        # The first column of a table that pandas wrote is its index, without a name.
        words += not header[0] and len(header) > 1
        return 0.93 if words == len(header) else 0.0

    def read(self, source: Source, options: ReadOptions) -> Iterator[Columns]:
        """The stream's deliveries, a block at a time."""
        first = source.peek(1 << 18).split(b"\n")
        sample = [line for line in first[:-1] or first if line.strip()]
        separator = _separator(sample) or b","
        header = ""
        place = source.name
        chosen: Chosen | None = None
        for text, too_long in _whole_rows(source):
            if chosen is None:
                header, _, rest = text.decode("utf-8", errors="replace").partition("\n")
                if header.count(separator.decode()) >= MOST_COLUMNS:
                    raise InputError.at(source.name, f"a table must have at most {MOST_COLUMNS:,} columns; got more")
                names = pd.read_csv(io.StringIO(header + "\n"), sep=separator.decode(), dtype=str, nrows=0).columns
                chosen = choose(names, options, source.name)
                text = rest.encode()
                rows = _table(text[: text.find(b"\n", MIXED) + 1] or text, header, separator)
                _check_messages(rows, chosen, options, source.name)
            if source.cut and _borders(text, separator) < _borders(header.encode(), separator):
                # The last row is not whole: what it lacks may have told that it is no delivery.
                yield note_broken(nothing(), [text.strip()] if text.strip() else [])
                continue
            columns = _parse_csv(_table(text, header, separator, chosen.used), text, chosen, options, place)
            place = "" if columns.rows else place
            columns.broken += too_long
            yield columns


def _whole_rows(source: Source) -> Iterator[tuple[bytes, int]]:
    """Blocks of lines that do not end within a quoted field, and how many lines were too long to be looked at."""
    carry, too_long = b"", 0
    for block in blocks(source):
        carry, too_long = carry + block.text, too_long + block.too_long
        if carry.count(b'"') % 2 and len(carry) < LONGEST and not source.cut:
            continue
        yield carry, too_long
        carry, too_long = b"", 0
    if carry or too_long:
        yield carry, too_long


def _check_messages(rows: pd.DataFrame, chosen: Chosen, options: ReadOptions, place: str) -> None:
    """Refuse a table whose rows tell several things of each page, as its first rows show."""
    entries: list[dict[str, Any]] = [
        {str(name): value for name, value in row.items()} for row in rows.to_dict("records")
    ]
    TableMessages(list(map(str, rows.columns)), chosen, options, place).check(entries)


def _table(text: bytes, header: str, separator: bytes, used: list[str] | None = None) -> pd.DataFrame:
    """Rows as texts; those columns alone that are used, or all."""
    stream = io.StringIO(
        header + "\n" + text.decode("utf-8", errors="replace").replace("\x00", "\N{REPLACEMENT CHARACTER}")
    )
    plain: dict[str, Any] = {"sep": separator.decode(), "dtype": str, "na_filter": False, "index_col": False}
    try:
        table: pd.DataFrame = pd.read_csv(stream, usecols=used, on_bad_lines="skip", quoting=0, **plain)
    except (pd.errors.ParserError, ValueError):
        stream.seek(0)
        table = pd.read_csv(stream, usecols=used, on_bad_lines="skip", quoting=3, **plain)
    return table


def _parse_csv(table: pd.DataFrame, text: bytes, chosen: Chosen, options: ReadOptions, place: str) -> Columns:
    """Columns of the rows of a table, and how many lines of its text are none."""
    values: dict[str, Any] = {name: table[name].tolist() for name in chosen.used}
    columns = to_columns(chosen, len(table), values, options, place=place)
    plain = _QUOTED.sub(b"", text) if b'"' in text else text
    lines = plain.count(b"\n") - plain.count(b"\n\n")
    if lines > len(table):
        columns.broken += lines - len(table)
    return columns


class Parquet:
    """A Parquet file."""

    name = "parquet"
    about = "Parquet"
    filters = ("only_type", "only_url", "where")
    partial = True

    def score(self, head: bytes, lines: Sequence[bytes]) -> float:
        """The format's first four bytes."""
        del lines
        return 1.0 if head[:4] == b"PAR1" else 0.0

    def read(self, source: Source, options: ReadOptions) -> Iterator[Columns]:
        """The file's deliveries, a record batch at a time."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        with ExitStack() as stack:
            try:
                table = pq.ParquetFile(source.seekable_file(stack))
                chosen = choose(_flat(table.schema_arrow.empty_table()).column_names, options, source.name)
                if table.metadata.num_rows:
                    first = _flat(pa.Table.from_batches([next(table.iter_batches(batch_size=BATCH))]))
                    _check_messages(first.to_pandas(), chosen, options, source.name)
                for batch in table.iter_batches(batch_size=100_000, columns=chosen.used):
                    piece = _flat(pa.Table.from_batches([batch])).combine_chunks()
                    times = _arrow_times(piece.column(chosen.time).chunk(0)) if piece.num_rows else None
                    rest = {
                        name: piece.column(name).to_pylist()
                        for name in chosen.used
                        if times is None or name != chosen.time
                    }
                    yield to_columns(chosen, piece.num_rows, rest, options, times, place=source.name)
            except (pa.ArrowException, OSError) as error:
                raise InputError.at(
                    source.name, f"a Parquet file must be whole and readable; got {str(error)[:200]}"
                ) from error


def _flat(table: Any) -> Any:
    """A table whose structures are columns of their own, named with dots: ``response.status``."""
    import pyarrow as pa

    for _ in range(DEEPEST):
        if any(pa.types.is_struct(field.type) for field in table.schema):
            table = table.flatten()
    return table


def _arrow_times(column: object) -> stamps.Int | None:
    """Nanoseconds of a column of Arrow's own time type; None for texts and numbers."""
    import pyarrow as pa

    assert isinstance(column, pa.Array)
    if not pa.types.is_timestamp(column.type):
        return None
    frame = column.cast(pa.timestamp("ns"), safe=False)
    valid = np.asarray(frame.is_valid())
    return np.where(valid, np.asarray(frame.cast(pa.int64()).fill_null(0)), stamps.INVALID)
