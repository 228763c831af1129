"""Threshold policies, with hysteresis and polling, and the controller's rule."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from crawltwin.model import checks
from crawltwin.model.errors import Faults, InputError
from crawltwin.model.policies.policy import Policy, whole_numbers


@dataclass(frozen=True, eq=False)
class ThresholdPolicy(Policy):
    """Fewer (or other) robots as the backlog passes each threshold.

    Parameters
    ----------
    robots : sequence of int
        Numbers of robots, the one for the smallest backlog first.
    thresholds : sequence of int
        One fewer, in rising order: above `thresholds[j]` pages `robots[j + 1]` run.
    resume : sequence of int, optional
        As many as thresholds, none above its threshold: with at most `resume[j]` pages `robots[j]` run again. Missing:
        the thresholds.
    check_every : float
        Mean distance of the controller's looks at the backlog; 0: it sees every change at once.

    Examples
    --------
    >>> policy = ThresholdPolicy([3, 1], [2])
    >>> [policy.robots_at(level) for level in range(5)]
    [3, 3, 3, 1, 1]
    """

    robots: tuple[int, ...]
    thresholds: tuple[int, ...]
    resume: tuple[int, ...]
    check_every: float

    def __init__(
        self,
        robots: Sequence[int],
        thresholds: Sequence[int] = (),
        resume: Sequence[int] | None = None,
        check_every: float = 0.0,
    ) -> None:
        faults = Faults()
        used = whole_numbers(robots, "robots", faults, at_least=1)
        limits = whole_numbers(thresholds, "thresholds", faults, at_least=-1)
        again = limits if resume is None else whole_numbers(resume, "resume", faults, at_least=-1)
        every = checks.number(check_every, "check_every", faults, at_least=0)
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
        if resume is not None and limits is not None and again is not None:
            _check_resume(limits, again, faults)
        faults.raise_if_any()
        for name, value in (("robots", used), ("thresholds", limits), ("resume", again), ("check_every", every)):
            object.__setattr__(self, name, value)

    @classmethod
    def from_text(cls, text: str, name: str = "policy") -> ThresholdPolicy:
        """Read the short text ``ROBOTS[@THRESHOLDS[/RESUME]][:CHECK_EVERY]``; `name` is for the error.

        Examples
        --------
        >>> ThresholdPolicy.from_text("3,1@4/2").resume
        (2,)
        """
        rest, polled, every = text.partition(":")
        robots, _, limits = rest.partition("@")
        thresholds, resuming, resume = limits.partition("/")

        def numbers(part: str) -> list[int]:
            try:
                return [int(word) for word in part.split(",")] if part else []
            except ValueError:
                raise InputError(f"{name} must be numbers separated by commas; got {part!r}") from None

        try:
            looks = float(every) if polled else 0.0
        except ValueError:
            raise InputError(f"{name} must have a number after the colon; got {every!r}") from None
        return cls(numbers(robots), numbers(thresholds), numbers(resume) if resuming else None, check_every=looks)

    def _content(self) -> tuple[Any, ...]:
        # Policies from before there was a memory keep their identity.
        return self.robots, self.thresholds, *((self.resume, self.check_every) if self.features else ())

    def robots_at(self, level: int) -> int:
        """Number of robots wanted with `level` pages in the system; an error with hysteresis."""
        if "resume" in self.features:
            raise InputError(
                f"the number of robots must follow from the pages in the system alone; got the policy {self.short}, "
                "which resumes below its thresholds. Follow its mode with `mode_after`"
            )
        return self.robots[bisect_left(self.thresholds, level)]

    @property
    def robots_used(self) -> tuple[int, ...]:
        """The numbers of robots that the policy names."""
        return self.robots

    @property
    def features(self) -> frozenset[str]:
        """What the policy has beyond the paper's."""
        found = {"resume"} if self.resume != self.thresholds else set()
        return frozenset(found | ({"check_every"} if self.check_every else set()))

    def as_thresholds(self) -> ThresholdPolicy:
        """Itself."""
        return self

    def to_mapping(self) -> dict[str, Any]:
        """Robots and thresholds; `resume` and `check_every` only where they say something."""
        found: dict[str, Any] = {"robots": list(self.robots), "thresholds": list(self.thresholds)}
        if "resume" in self.features:
            found["resume"] = list(self.resume)
        return found | ({"check_every": self.check_every} if self.check_every else {})

    def check_capacity(self, capacity: int, faults: Faults) -> None:
        """Thresholds lie between -1 (the mode before it is never used) and the capacity."""
        for index, limit in enumerate(self.thresholds):
            if limit > capacity:
                faults.add(
                    f"thresholds[{index}]",
                    f"thresholds must be at most the capacity {capacity}; got {limit}",
                    "A threshold at the capacity already means: never (under overflow: only above the capacity).",
                )

    def mode_after(self, mode: int, level: int) -> int:
        """The controller's rule: the mode it chooses in `mode` when it sees `level` pages.

        Examples
        --------
        >>> policy = ThresholdPolicy([3, 1], [4], resume=[2])
        >>> [policy.mode_after(0, level) for level in range(6)], [policy.mode_after(1, level) for level in range(6)]
        ([0, 0, 0, 0, 0, 1], [0, 0, 0, 1, 1, 1])
        """
        while mode < len(self.thresholds) and level > self.thresholds[mode]:
            mode += 1
        while mode > 0 and level <= self.resume[mode - 1]:
            mode -= 1
        return mode

    def modes_by_level(self, top: int, largest_batch: int) -> tuple[tuple[int, ...], ...]:
        """For each level 0, 1, ..., `top` the modes in which the controller can be found there, in rising order.

        Parameters
        ----------
        top : int
            The largest number of pages.
        largest_batch : int
            Pages that can enter at once; pages leave one at a time.

        Notes
        -----
        Without a memory there is one mode at each level. With polling every mode that is ever chosen can be found at
        every level. Cost: levels times modes times batch sizes.

        Examples
        --------
        >>> ThresholdPolicy([3, 1], [4], resume=[2]).modes_by_level(6, 1)
        ((0,), (0,), (0,), (0, 1), (0, 1), (1,), (1,))
        """
        if self.check_every:
            chosen, new = set[int](), {self.mode_after(0, 0)}
            while new:
                chosen |= new
                new = {self.mode_after(mode, level) for mode in new for level in range(top + 1)} - chosen
            return (tuple(sorted(chosen)),) * (top + 1)
        found: list[set[int]] = [set() for _ in range(top + 1)]
        waiting = [(0, self.mode_after(0, 0))]
        while waiting:
            level, mode = waiting.pop()
            if mode in found[level]:
                continue
            found[level].add(mode)
            reached = {max(level - 1, 0), *(min(level + size, top) for size in range(1, largest_batch + 1))}
            waiting += [(to, self.mode_after(mode, to)) for to in reached]
        return tuple(tuple(sorted(modes)) for modes in found)


def single_mode(robot_numbers: Sequence[int]) -> ThresholdPolicy:
    """The only policy there is when one number of robots is known; an error otherwise."""
    if len(robot_numbers) != 1:
        known = ", ".join(map(str, robot_numbers))
        raise InputError(
            f"policy must be given when several numbers of robots are known ({known}); got none. "
            f"Add [policy] with robots = [{max(robot_numbers)}], or run `crawltwin optimize` to find the best one"
        )
    return ThresholdPolicy(robot_numbers)


def _check_resume(thresholds: tuple[int, ...], resume: tuple[int, ...], faults: Faults) -> None:
    if len(resume) != len(thresholds):
        faults.add("resume", f"resume must have one number for each threshold ({len(thresholds)}); got {len(resume)}")
        return
    if list(resume) != sorted(resume):
        faults.add("resume", f"resume must be in rising order; got {list(resume)}")
    for index, (limit, again) in enumerate(zip(thresholds, resume, strict=True)):
        if again > limit:
            faults.add(f"resume[{index}]", f"resume must be at most its threshold {limit}; got {again}")
        elif again < 0 and again != limit:
            faults.add(
                f"resume[{index}]",
                f"resume must be at least 0; got {again}",
                "The system never has fewer pages than none, so the robots would never come back.",
            )
