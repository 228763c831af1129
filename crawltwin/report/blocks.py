"""What a report consists of: frozen blocks, checked when made, that know nothing of how they will look.

Sentences may contain three marks, the same in every block: `` `code` ``, ``**strong**`` and ``[label](https://...)``,
or ``[label](page.html)`` for a page beside the report. Everything else is plain text, escaped in each output.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from crawltwin.report.provenance import Provenance

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
            raise ValueError(f"a cell must be finite, text or None; got {self.value}. Say in words what happened.")
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

    items: Collection[str]
    ordered: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "items", tuple(self.items))


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
        Cells or plain values, one per column.
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
        faults = [
            f"a row must have {len(heads)} cells, one per column; got {len(row)} at rows[{index}]"
            for index, row in enumerate(body)
            if len(row) != len(heads)
        ]
        if not caption.strip():
            faults.append("caption must say what the table shows; got nothing")
        _refuse(faults)
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
    painter : callable, optional
        What painted it, to paint it again on axes of one's own.
    """

    name: str
    svg: str = field(repr=False)
    caption: str
    alternative: str
    data: Mapping[str, Any] = field(default_factory=dict, repr=False)
    painter: Callable[[Any], None] | None = field(default=None, repr=False, compare=False)

    def paint(self, axes: Any) -> Any:
        """Paint the picture on matplotlib axes and return them."""
        assert self.painter is not None
        self.painter(axes)
        return axes

    def _repr_html_(self) -> str:
        """What a notebook shows: the picture on light paper, readable in either theme, with its caption."""
        return (
            '<figure style="background:#fff;color:#1b1f24;padding:.6rem;margin:0;max-width:44rem" role="group">'
            f'<div role="img" aria-label="{escape(self.alternative)}">{self.svg}</div>'
            f"<figcaption>{escape(self.caption)}</figcaption></figure>"
        )

    def __post_init__(self) -> None:
        faults = [
            f"{part} must say in words what the picture shows; got nothing"
            for part in ("caption", "alternative")
            if not getattr(self, part).strip()
        ]
        if not self.name or slug(self.name) != self.name:
            faults.append(f"name must be lower-case letters, digits and hyphens; got {self.name!r}")
        if "<svg" not in self.svg:
            faults.append(f"svg must be a picture; got {self.svg[:40]!r}. Make it with crawltwin.report.draw")
        _refuse(faults)
        object.__setattr__(self, "data", MappingProxyType(dict(self.data)))


Block: TypeAlias = Text | Points | Note | Code | Source | Table | Figure


@dataclass(frozen=True)
class Section:
    """A heading with blocks under it; sections below it are one level deeper."""

    title: str
    blocks: Collection[Block] = ()
    sections: Collection[Section] = ()

    def __post_init__(self) -> None:
        for part in ("blocks", "sections"):
            object.__setattr__(self, part, tuple(getattr(self, part)))

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
    summary : collection of str
        A few sentences, the result first.
    sections : collection of Section
    provenance : Provenance
        Versions, platform, scenario hashes, seeds, times; see `gather`.
    command : str
        The one command that makes the report again.
    unconfirmed : collection of str
        What could not be confirmed, and why; may be empty, which is then said.
    data : mapping
        Further machine-readable results, stored under "data" in the JSON.
    """

    title: str
    summary: Collection[str]
    sections: Collection[Section]
    provenance: Provenance
    command: str
    unconfirmed: Collection[str] = ()
    data: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for part in ("summary", "sections", "unconfirmed"):
            object.__setattr__(self, part, tuple(getattr(self, part)))
        object.__setattr__(self, "data", MappingProxyType(dict(self.data)))
        faults = [
            f"{part} must be given; got nothing"
            for part in ("title", "command", "summary", "sections")
            if not getattr(self, part)
        ]
        names = [section.name for section in self.every_section()]
        names += [block.name for block in self.every_block() if isinstance(block, Table | Figure)]
        faults += [
            f"names of sections, tables and figures must be unique; got {name!r} {names.count(name)} times. "
            "Give one of them another title or name"
            for name in sorted({name for name in names if names.count(name) > 1})
        ]
        _refuse(faults)

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


def _refuse(faults: Sequence[str]) -> None:
    """Raise everything that is wrong with a block at once."""
    if faults:
        raise ValueError("\n".join(f"{fault}." for fault in faults))


def _show(value: Scalar) -> str:
    if value is None:
        return "–"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if not isinstance(value, float):
        return str(value)
    text = f"{value:.6g}"
    return f"{float(text):,.0f}" if 1e4 <= abs(value) < 1e12 else text
