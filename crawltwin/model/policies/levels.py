"""Policies as free tables of robots by level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from crawltwin.model import checks
from crawltwin.model.errors import Faults
from crawltwin.model.policies.policy import Policy, whole_numbers
from crawltwin.model.policies.thresholds import ThresholdPolicy


@dataclass(frozen=True, eq=False)
class LevelPolicy(Policy):
    """A free table: `table[level]` robots with `level` pages in the system; its last entry holds above.

    Examples
    --------
    >>> LevelPolicy([3, 3, 1]).robots_at(7)
    1
    """

    table: tuple[int, ...]
    check_every: float

    def __init__(self, table: Sequence[int], check_every: float = 0.0) -> None:
        faults = Faults()
        rows = whole_numbers(table, "table", faults, at_least=1)
        every = checks.number(check_every, "check_every", faults, at_least=0)
        if rows is not None and not rows:
            faults.add("table", "table must have one number of robots for each level; got an empty list")
        faults.raise_if_any()
        object.__setattr__(self, "table", rows)
        object.__setattr__(self, "check_every", every)

    def _content(self) -> tuple[Any, ...]:
        return (self.table, *((self.check_every,) if self.check_every else ()))

    def robots_at(self, level: int) -> int:
        """Number of robots wanted with `level` pages in the system."""
        return self.table[min(level, len(self.table) - 1)]

    @property
    def robots_used(self) -> tuple[int, ...]:
        """The numbers of robots in the table, each once."""
        return tuple(sorted(set(self.table)))

    @property
    def features(self) -> frozenset[str]:
        """What the policy has beyond the paper's."""
        return frozenset({"check_every"} if self.check_every else ())

    def as_thresholds(self) -> ThresholdPolicy:
        """The same policy by thresholds.

        Examples
        --------
        >>> LevelPolicy([3, 3, 1, 2]).as_thresholds().short
        '3,1,2@1,2'
        """
        changes = [level for level in range(len(self.table) - 1) if self.table[level] != self.table[level + 1]]
        robots = [*(self.table[level] for level in changes), self.table[-1]]
        return ThresholdPolicy(robots, changes, check_every=self.check_every)

    def to_mapping(self) -> dict[str, Any]:
        """The table; `check_every` only where it says something."""
        return {"table": list(self.table)} | ({"check_every": self.check_every} if self.check_every else {})

    def check_capacity(self, capacity: int, faults: Faults) -> None:
        """The table has exactly one entry for each level 0..capacity."""
        if len(self.table) != capacity + 1:
            faults.add(
                "table",
                f"table must have {capacity + 1} entries, one for each level 0..{capacity}; got {len(self.table)}",
            )
