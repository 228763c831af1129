"""How many robots run at which backlog, and every written form of it.

A `ThresholdPolicy` is the paper's: `robots[0]` while at most `thresholds[0]` pages are in the system, `robots[1]` above
that up to `thresholds[1]`, and so on; the last number holds above the last threshold. Thresholds may coincide, so a
policy may skip numbers. A `LevelPolicy` gives the number of robots level by level, threshold or not.

With `resume` below `thresholds` (hysteresis) or with `check_every` above 0 (polling) the controller has a memory, its
*mode*: the index of the number of robots in force. It moves by one rule (`ThresholdPolicy.mode_after`), after every
event or at the polls: step down while the level is above ``thresholds[mode]``, step up while it is at most
``resume[mode - 1]``. Polls are the points of a Poisson process whose mean distance is `check_every`.

Written forms: a mapping as in the scenario file, the short text of the command line (``3,1@4/2:5``: 3 robots, 1 above 4
pages, 3 again at 2 pages or fewer, looking every 5 units of time), the numbers of robots level by level, a phrase and a
sentence.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from crawltwin.model import checks
from crawltwin.model.errors import Faults
from crawltwin.model.value import Value

if TYPE_CHECKING:
    from crawltwin.model.policies.thresholds import ThresholdPolicy


class Policy(Value, ABC):
    """What both kinds offer."""

    check_every: float

    @abstractmethod
    def robots_at(self, level: int) -> int:
        """Number of robots wanted with `level` pages in the system; an error where that depends on the past."""

    @property
    @abstractmethod
    def robots_used(self) -> tuple[int, ...]:
        """The numbers of robots that the policy names."""

    @property
    @abstractmethod
    def features(self) -> frozenset[str]:
        """What the policy has beyond the paper's: "resume", "check_every"."""

    @abstractmethod
    def check_capacity(self, capacity: int, faults: Faults) -> None:
        """Record what does not go together with a capacity."""

    @abstractmethod
    def as_thresholds(self) -> ThresholdPolicy:
        """The same policy by thresholds, one for each change of the number of robots."""

    @abstractmethod
    def to_mapping(self) -> dict[str, Any]:
        """As in the scenario file and in JSON answers."""

    def robots_by_level(self, top: int) -> tuple[int, ...]:
        """Number of robots at each level 0, 1, ..., `top`."""
        return tuple(self.robots_at(level) for level in range(top + 1))

    @property
    def short(self) -> str:
        """The short text of the command line, which `from_text` reads.

        Examples
        --------
        >>> from crawltwin.model import LevelPolicy, ThresholdPolicy
        >>> ThresholdPolicy([3, 1], [2]).short, LevelPolicy([4, 4, 2]).short, ThresholdPolicy([3]).short
        ('3,1@2', '4,2@1', '3')
        """
        own = self.as_thresholds()
        text = _listed(own.robots)
        if own.thresholds:
            text += f"@{_listed(own.thresholds)}"
        if own.resume != own.thresholds:
            text += f"/{_listed(own.resume)}"
        return text + (f":{own.check_every!r}" if own.check_every else "")

    @property
    def phrase(self) -> str:
        """Robots and thresholds as a phrase inside a sentence.

        Examples
        --------
        >>> from crawltwin.model import ThresholdPolicy
        >>> ThresholdPolicy([4, 3, 1], [1, 3]).phrase, ThresholdPolicy([3]).phrase
        ('robots 4,3,1 at thresholds (1,3)', '3 robots always')
        """
        own = self.as_thresholds()
        if not own.thresholds:
            return f"{_robots(own.robots[0])} always"
        text = f"robots {_listed(own.robots)} at {_points(own.thresholds, 'threshold')}"
        if own.resume != own.thresholds:
            text += f" and {_points(own.resume, 'resume point')}"
        return text + (f", looking every {own.check_every:g}" if own.check_every else "")

    def in_words(self, capacity: int) -> str:
        """The policy as a sentence."""
        looks = (
            f" The controller looks every {self.check_every:g} units of time on average." if self.check_every else ""
        )
        if "resume" in self.features:
            return _words_with_resume(self.as_thresholds()) + looks
        levels = self.robots_by_level(capacity)
        stretches = [
            (robots, [level for level, _ in own]) for robots, own in groupby(enumerate(levels), lambda x: x[1])
        ]
        if len(stretches) == 1:
            return f"{_robots(stretches[0][0])} always.{looks}"
        parts = []
        for robots, own in stretches:
            if own[-1] == capacity:
                parts.append(f"{_robots(robots)} from {own[0]} on")
            elif len(own) == 1:
                parts.append(f"{_robots(robots)} with {_pages(own[0])} in the system")
            else:
                parts.append(f"{_robots(robots)} with {own[0]} to {own[-1]} pages in the system")
        return ", ".join(parts[:-1]) + " and " + parts[-1] + f".{looks}"


def whole_numbers(value: Any, place: str, faults: Faults, at_least: int) -> tuple[int, ...] | None:
    """A tuple of whole numbers, or recorded faults."""
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        faults.add(place, f"{place} must be a list of whole numbers; got {checks.show(value)}")
        return None
    items = [checks.integer(item, f"{place}[{index}]", faults, at_least=at_least) for index, item in enumerate(value)]
    return None if any(item is None for item in items) else tuple(item for item in items if item is not None)


def _listed(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))


def _points(levels: Sequence[int], word: str) -> str:
    return f"{word} {levels[0]}" if len(levels) == 1 else f"{word}s ({_listed(levels)})"


def _words_with_resume(policy: ThresholdPolicy) -> str:
    parts = [f"{_robots(policy.robots[0])} at first"]
    for robots, limit, again in zip(policy.robots[1:], policy.thresholds, policy.resume, strict=True):
        parts.append(f"{_robots(robots)} above {_pages(limit)} until the system is back at {_pages(again)}")
    return ", then ".join(parts) + "."


def _robots(count: int) -> str:
    return "1 robot" if count == 1 else f"{count} robots"


def _pages(count: int) -> str:
    return {0: "no page", 1: "1 page"}.get(count, f"{count} pages")
