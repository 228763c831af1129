"""The data files: what the paper prints, misprints included."""

from __future__ import annotations

import csv
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from validate.paper.printed.number import Printed

_FIXED_DECIMALS = frozenset({"C*", "C_1", "C_2", "C_3", "C_4", "R", "cost"})
"""Columns of costs and profits, which keep their decimals."""


@dataclass(frozen=True)
class PrintedTable:
    """A table as printed: texts by row and column."""

    name: str
    place: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def text(self, row: int, column: str) -> str:
        """One cell."""
        return self.rows[row][self.columns.index(column)]

    def number(self, row: int, column: str) -> Printed:
        """One cell as a number, with the decimals that its column keeps where zeros were dropped."""
        return Printed(self.text(row, column), self._usual_decimals(column))

    def _usual_decimals(self, column: str) -> int | None:
        place = self.columns.index(column)
        counts = Counter(len(row[place].partition(".")[2]) for row in self.rows)
        usual = counts.most_common(1)[0][0]
        # Means are printed with as many digits as the author liked; costs and profits keep their column's decimals.
        return usual if column in _FIXED_DECIMALS else None


@cache
def table(number: int) -> PrintedTable:
    """Table 1 to 5."""
    text = (files(__package__) / "data" / f"table{number}.csv").read_text(encoding="utf-8")
    head, *rows = csv.reader(text.splitlines())
    place = paper()["places"][f"table{number}"]
    return PrintedTable(f"Table {number}", place, tuple(head), tuple(tuple(row) for row in rows))


@cache
def paper() -> Mapping[str, Any]:
    """Matrices, numbers and claims outside the tables."""
    found: Mapping[str, Any] = tomllib.loads((files(__package__) / "data" / "paper.toml").read_text(encoding="utf-8"))
    return found


def robots_of(text: str) -> tuple[int, ...]:
    """The printed set of robots, largest first: "3 or 1" and "1,3" are the same set."""
    return tuple(sorted(map(int, text.replace(" or ", ",").split(",")), reverse=True))


def thresholds_of(text: str) -> tuple[int, ...]:
    """The printed thresholds; a dash means none."""
    return () if set(text) <= {"-"} else tuple(map(int, text.split(",")))
