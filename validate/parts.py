"""Parts of a measure that has several numbers: which levels, which number of robots, which point of a distribution.

A part is a value; its text is what people and JSON answers see.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SojournFate = Literal["served", "obsolete"]
FATES: tuple[SojournFate, ...] = ("served", "obsolete")
"""Fates with a sojourn time."""


@dataclass(frozen=True)
class Levels:
    """Neighbouring levels, the last one included.

    Examples
    --------
    >>> str(Levels(3, 3)), str(Levels(3, 7))
    ('3', '3-7')
    """

    first: int
    last: int

    def __str__(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


@dataclass(frozen=True)
class ActiveRobots:
    """A number of active robots."""

    number: int

    def __str__(self) -> str:
        return str(self.number)


@dataclass(frozen=True)
class SojournPoint:
    """The distribution function of the sojourn time of a fate at one time."""

    fate: SojournFate
    time: float

    def __str__(self) -> str:
        return f"{self.fate}, {self.time:.6g}"


@dataclass(frozen=True)
class SojournQuantile:
    """A quantile of the sojourn time of a fate."""

    fate: SojournFate
    order: float

    def __str__(self) -> str:
        return f"{self.fate}, {self.order:g}"


@dataclass(frozen=True)
class FromEmpty:
    """The average over the time since the system was empty."""

    time: float

    def __str__(self) -> str:
        return f"t = {self.time:.6g}"


def words_of(name: str) -> str:
    """The name of a number, measure and part, for people: as the tables of a cross-check write it.

    Examples
    --------
    >>> words_of("mean_pages"), words_of("sojourn_quantiles[served, 0.99]")
    ('mean pages', 'sojourn quantiles, served, 0.99')
    """
    measure, _, part = name.removesuffix("]").partition("[")
    return ", ".join(word for word in (measure.replace("_", " "), part) if word)


Part = Levels | ActiveRobots | SojournPoint | SojournQuantile | FromEmpty
