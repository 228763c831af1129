"""How many robots run at which backlog.

A `ThresholdPolicy` is the paper's: `robots[0]` while at most `thresholds[0]` pages are in the system, `robots[1]` above
that up to `thresholds[1]`, and so on; the last number holds above the last threshold. Thresholds may coincide, so a
policy may skip numbers. A `LevelPolicy` gives the number of robots level by level, threshold or not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from crawltwin.model import checks
from crawltwin.model.errors import Faults, InputError
from crawltwin.model.value import Value


class Policy(Value, ABC):
    """What both kinds offer."""

    @abstractmethod
    def robots_at(self, level: int) -> int:
        """Number of active robots with `level` pages in the system."""

    @property
    @abstractmethod
    def robots_used(self) -> tuple[int, ...]:
        """The numbers of robots that the policy names."""

    @abstractmethod
    def check_capacity(self, capacity: int, faults: Faults) -> None:
        """Record what does not go together with a capacity."""

    def in_words(self, capacity: int) -> str:
        """The policy as one sentence."""
        stretches: list[tuple[int, int, int]] = []
        for level in range(capacity + 1):
            robots = self.robots_at(level)
            if stretches and stretches[-1][2] == robots:
                stretches[-1] = (stretches[-1][0], level, robots)
            else:
                stretches.append((level, level, robots))
        if len(stretches) == 1:
            return f"{_robots(stretches[0][2])} always."
        parts = []
        for first, last, robots in stretches:
            if last == capacity:
                parts.append(f"{_robots(robots)} from {first} on")
            elif first == last:
                parts.append(f"{_robots(robots)} with {_pages(first)} in the system")
            else:
                parts.append(f"{_robots(robots)} with {first} to {last} pages in the system")
        return ", ".join(parts[:-1]) + " and " + parts[-1] + "."


@dataclass(frozen=True, eq=False)
class ThresholdPolicy(Policy):
    """Fewer (or other) robots as the backlog passes each threshold.

    Examples
    --------
    >>> policy = ThresholdPolicy([3, 1], [2])
    >>> [policy.robots_at(level) for level in range(5)]
    [3, 3, 3, 1, 1]
    """

    robots: tuple[int, ...]
    thresholds: tuple[int, ...] = ()

    def __init__(self, robots: Sequence[int], thresholds: Sequence[int] = ()) -> None:
        faults = Faults()
        used = whole_numbers(robots, "robots", faults, at_least=1)
        limits = whole_numbers(thresholds, "thresholds", faults, at_least=-1)
        if used is not None and not used:
            faults.add("robots", "robots must be at least one number; got an empty list")
        elif used is not None and limits is not None:
            if len(limits) != len(used) - 1:
                faults.add(
                    "thresholds",
                    f"thresholds must be one fewer than robots ({len(used) - 1}); got {len(limits)}",
                    "robots = [3, 1] with thresholds = [2] runs 3 robots up to 2 pages and 1 above.",
                )
            if list(limits) != sorted(limits):
                faults.add("thresholds", f"thresholds must be in rising order; got {list(limits)}")
        faults.raise_if_any()
        object.__setattr__(self, "robots", used)
        object.__setattr__(self, "thresholds", limits)

    def _content(self) -> tuple[Any, ...]:
        return self.robots, self.thresholds

    def robots_at(self, level: int) -> int:
        """Number of active robots with `level` pages in the system."""
        return self.robots[bisect_left(self.thresholds, level)]

    @property
    def robots_used(self) -> tuple[int, ...]:
        """The numbers of robots that the policy names."""
        return self.robots

    def check_capacity(self, capacity: int, faults: Faults) -> None:
        """Thresholds lie between -1 (the mode before it is never used) and the capacity."""
        for index, limit in enumerate(self.thresholds):
            if limit > capacity:
                faults.add(
                    f"thresholds[{index}]",
                    f"thresholds must be at most the capacity {capacity}; got {limit}",
                    "A threshold at the capacity already means: never (under overflow: only above the capacity).",
                )


@dataclass(frozen=True, eq=False)
class LevelPolicy(Policy):
    """A free table: `table[level]` robots with `level` pages in the system; its last entry holds above.

    Examples
    --------
    >>> LevelPolicy([3, 3, 1]).robots_at(7)
    1
    """

    table: tuple[int, ...]

    def __init__(self, table: Sequence[int]) -> None:
        faults = Faults()
        rows = whole_numbers(table, "table", faults, at_least=1)
        if rows is not None and not rows:
            faults.add("table", "table must have one number of robots for each level; got an empty list")
        faults.raise_if_any()
        object.__setattr__(self, "table", rows)

    def _content(self) -> tuple[Any, ...]:
        return (self.table,)

    def robots_at(self, level: int) -> int:
        """Number of active robots with `level` pages in the system."""
        return self.table[min(level, len(self.table) - 1)]

    @property
    def robots_used(self) -> tuple[int, ...]:
        """The numbers of robots in the table, each once."""
        return tuple(sorted(set(self.table)))

    def check_capacity(self, capacity: int, faults: Faults) -> None:
        """The table has exactly one entry for each level 0..capacity."""
        if len(self.table) != capacity + 1:
            faults.add(
                "table",
                f"table must have {capacity + 1} entries, one for each level 0..{capacity}; got {len(self.table)}",
            )


def whole_numbers(value: Any, place: str, faults: Faults, at_least: int) -> tuple[int, ...] | None:
    """A tuple of whole numbers, or recorded faults."""
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        faults.add(place, f"{place} must be a list of whole numbers; got {checks.show(value)}")
        return None
    items = [checks.integer(item, f"{place}[{index}]", faults, at_least=at_least) for index, item in enumerate(value)]
    return None if any(item is None for item in items) else tuple(item for item in items if item is not None)


def single_mode(robot_numbers: Sequence[int]) -> ThresholdPolicy:
    """The only policy there is when one number of robots is known; an error otherwise."""
    if len(robot_numbers) != 1:
        known = ", ".join(map(str, robot_numbers))
        raise InputError(
            f"policy must be given when several numbers of robots are known ({known}); got none. "
            f"Add [policy] with robots = [{max(robot_numbers)}], or run `crawltwin optimize` to find the best one"
        )
    return ThresholdPolicy(robot_numbers)


def _robots(count: int) -> str:
    return "1 robot" if count == 1 else f"{count} robots"


def _pages(count: int) -> str:
    return {0: "no page", 1: "1 page"}.get(count, f"{count} pages")
