"""The verdict on one printed number, statement or formula."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

FindingWord = Literal["reproduced", "misprint", "not reproducible"]


@dataclass(frozen=True)
class TableCell:
    """A cell of one of the numbered tables; `row` is how the row is called, for example "K = 3"."""

    table: int
    row: str
    column: str

    @property
    def where(self) -> str:
        """The table's name."""
        return f"Table {self.table}"

    @property
    def what(self) -> str:
        """Row and column."""
        return f"{self.row}, {self.column}"


@dataclass(frozen=True)
class TextPlace:
    """A place in the text, or another author's result: where it stands and what it is."""

    where: str
    what: str


Place = TableCell | TextPlace


@dataclass(frozen=True)
class Finding:
    """One printed thing beside ours.

    Parameters
    ----------
    place : TableCell or TextPlace
    printed : str
        As printed.
    ours : str
        As computed here, with more digits than were printed.
    verdict : {"reproduced", "misprint", "not reproducible"}
    how : str
        How it agrees: "rounded", "truncated", "within one unit", "within the rounding of the inputs"; or the kind
        of the misprint.
    words : str
        The explanation of a misprint, or why it cannot be reproduced; empty for what simply agrees.
    value : float, optional
        Ours as a number.
    """

    place: Place
    printed: str
    ours: str
    verdict: FindingWord
    how: str = ""
    words: str = ""
    value: float | None = None

    @property
    def where(self) -> str:
        """Table or section."""
        return self.place.where

    @property
    def what(self) -> str:
        """Row and column, or the name of the number."""
        return self.place.what

    def to_json(self) -> dict[str, Any]:
        """What is reported: the place in words, and everything else."""
        own = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "place"}
        return {"where": self.where, "what": self.what, **own}

    def to_plain(self) -> dict[str, Any]:
        """What is kept in a store; `from_plain` reads it back."""
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Finding:
        """The finding that `to_plain` was asked of."""
        place = plain["place"]
        return cls(**{**plain, "place": TableCell(**place) if "table" in place else TextPlace(**place)})
