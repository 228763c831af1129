"""What a report consists of: frozen blocks, checked when made, that know nothing of how they will look.

Sentences may contain three marks, the same in every block: `` `code` ``, ``**strong**`` and ``[label](https://...)``.
Everything else is plain text, escaped in each output.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from crawltwin.model.errors import Faults
from validate.report.provenance import Provenance

Tone = Literal["plain", "good", "warn", "bad"]
Scalar: TypeAlias = str | int | float | None


@dataclass(frozen=True)
class Cell:
    """One cell of a table: the value that sorts and is stored, and how it is shown.

    Parameters
    ----------
    value : str, number or None
        Stored in the JSON and used for sorting.
    shown : str, optional
        What people read; by default the value, numbers to six digits, None as a dash.
    tone : {"plain", "good", "warn", "bad"}
        A colour beside the words, never instead of them.
    """

    value: Scalar
    shown: str = ""
    tone: Tone = "plain"

    def __post_init__(self) -> None:
        if isinstance(self.value, float) and not math.isfinite(self.value):
            faults = Faults()
            faults.add(
                "cell",
                f"a cell must be finite, text or None; got {self.value}",
                "Say in words what happened.",
            )
            faults.raise_if_any()
        if not self.shown:
            object.__setattr__(self, "shown", _show(self.value))


@dataclass(frozen=True)
class Column:
    """The head of a column; numbers are set flush right."""

    name: str
    kind: Literal["text", "number"] = "text"


@dataclass(frozen=True)
class Text:
    """Paragraphs, separated by empty lines."""

    text: str


@dataclass(frozen=True)
class Points:
    """A list of sentences."""

    items: tuple[str, ...]
    ordered: bool = False

    def __init__(self, items: Iterable[str], ordered: bool = False) -> None:
        object.__setattr__(self, "items", tuple(items))
        object.__setattr__(self, "ordered", ordered)


@dataclass(frozen=True)
class Note:
    """A paragraph set apart: a warning, or a result to remember."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True)
class Code:
    """Text in fixed width: a command, a formula, a matrix."""

    text: str
    label: str = "listing"


@dataclass(frozen=True)
class Source:
    """Where a published number was read: citation, address, and how far it was read."""

    citation: str
    url: str = ""
    read: str = ""


@dataclass(frozen=True)
class Table:
    """A table that sorts by any column.

    Parameters
    ----------
    caption : str
    columns : sequence of Column or str
        A plain name is a text column.
    rows : iterable of sequences
        Cells or plain values, one a column.
    name : str
        Unique in the report; the key in the JSON. By default made from the caption.
    """

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    name: str = ""

    def __init__(
        self,
        caption: str,
        columns: Sequence[Column | str],
        rows: Iterable[Sequence[Cell | Scalar]],
        name: str = "",
    ) -> None:
        heads = tuple(Column(item) if isinstance(item, str) else item for item in columns)
        body = tuple(tuple(item if isinstance(item, Cell) else Cell(item) for item in row) for row in rows)
        faults = Faults()
        for index, row in enumerate(body):
            if len(row) != len(heads):
                faults.add(f"rows[{index}]", f"a row must have {len(heads)} cells, one a column; got {len(row)}")
        if not caption.strip():
            faults.add("caption", "caption must say what the table shows; got nothing")
        faults.raise_if_any()
        object.__setattr__(self, "caption", caption)
        object.__setattr__(self, "columns", heads)
        object.__setattr__(self, "rows", body)
        object.__setattr__(self, "name", slug(name or caption))


@dataclass(frozen=True)
class Figure:
    """A vector picture; make one with `draw`.

    Parameters
    ----------
    name : str
        Unique in the report, a file name without its ending.
    svg : str
        The picture, self-contained.
    caption : str
        Says what to see.
    alternative : str
        The picture in words, for those who do not see it.
    data : mapping
        The numbers behind the picture, for the JSON.
    """

    name: str
    svg: str
    caption: str
    alternative: str
    data: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        faults = Faults()
        if not self.name or slug(self.name) != self.name:
            faults.add("name", f"name must be lower-case letters, digits and hyphens; got {self.name!r}")
        for part in ("caption", "alternative"):
            if not getattr(self, part).strip():
                faults.add(part, f"{part} must say in words what the picture shows; got nothing")
        if "<svg" not in self.svg:
            faults.add("svg", f"svg must be a picture; got {self.svg[:40]!r}", "Make it with validate.report.draw.")
        faults.raise_if_any()
        object.__setattr__(self, "data", MappingProxyType(dict(self.data)))


Block: TypeAlias = Text | Points | Note | Code | Source | Table | Figure


@dataclass(frozen=True)
class Section:
    """A heading with blocks under it; sections below it are one level deeper."""

    title: str
    blocks: tuple[Block, ...] = ()
    sections: tuple[Section, ...] = ()

    def __init__(self, title: str, blocks: Iterable[Block] = (), sections: Iterable[Section] = ()) -> None:
        object.__setattr__(self, "title", title)
        object.__setattr__(self, "blocks", tuple(blocks))
        object.__setattr__(self, "sections", tuple(sections))

    @property
    def name(self) -> str:
        """The anchor of the heading."""
        return slug(self.title)

    def every_block(self) -> Iterable[Block]:
        """The blocks of this section and of those below it."""
        yield from self.blocks
        for section in self.sections:
            yield from section.every_block()


@dataclass(frozen=True)
class Report:
    """A whole report.

    Parameters
    ----------
    title : str
    summary : iterable of str
        A few sentences, the result first.
    sections : iterable of Section
    provenance : Provenance
        Versions, platform, scenario hashes, seeds, times; see `gather`.
    command : str
        The one command that makes the report again.
    unconfirmed : iterable of str
        What could not be confirmed, and why; may be empty, which is then said.
    data : mapping
        Further machine-readable results, stored under "data" in the JSON.
    """

    title: str
    summary: tuple[str, ...]
    sections: tuple[Section, ...]
    provenance: Provenance
    command: str
    unconfirmed: tuple[str, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)

    def __init__(
        self,
        title: str,
        summary: Iterable[str],
        sections: Iterable[Section],
        provenance: Provenance,
        command: str,
        unconfirmed: Iterable[str] = (),
        data: Mapping[str, Any] | None = None,
    ) -> None:
        object.__setattr__(self, "title", title)
        object.__setattr__(self, "summary", tuple(summary))
        object.__setattr__(self, "sections", tuple(sections))
        object.__setattr__(self, "provenance", provenance)
        object.__setattr__(self, "command", command)
        object.__setattr__(self, "unconfirmed", tuple(unconfirmed))
        object.__setattr__(self, "data", MappingProxyType(dict(data or {})))
        self._check()

    def _check(self) -> None:
        faults = Faults()
        for part in ("title", "command", "summary", "sections"):
            if not getattr(self, part):
                faults.add(part, f"{part} must be given; got nothing")
        names = [section.name for section in self.every_section()]
        names += [block.name for block in self.every_block() if isinstance(block, Table | Figure)]
        for name in sorted({name for name in names if names.count(name) > 1}):
            faults.add(
                "sections",
                f"names of sections, tables and figures must be unique; got {name!r} {names.count(name)} times",
                "Give one of them another title or name.",
            )
        faults.raise_if_any()

    def every_section(self) -> Iterable[Section]:
        """All sections, in reading order."""
        pending = list(self.sections)
        while pending:
            section = pending.pop(0)
            yield section
            pending[:0] = section.sections

    def every_block(self) -> Iterable[Block]:
        """All blocks, in reading order."""
        for section in self.sections:
            yield from section.every_block()

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All figures, in reading order."""
        return tuple(block for block in self.every_block() if isinstance(block, Figure))


def slug(text: str) -> str:
    """Lower-case letters, digits and hyphens: an anchor or a file name.

    Examples
    --------
    >>> slug("Table 1: the optimal cost")
    'table-1-the-optimal-cost'
    """
    letters = "".join(letter if letter.isascii() and letter.isalnum() else " " for letter in text.lower())
    return "-".join(letters.split())


def _show(value: Scalar) -> str:
    if value is None:
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
