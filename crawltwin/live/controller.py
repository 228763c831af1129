"""The controller of a running crawl: how many robots should run, event by event."""

from __future__ import annotations

import time
from collections.abc import Callable

from crawltwin.model.policies.policy_file import PolicyFile


class Controller:
    """A policy with the memory that hysteresis and polling need; the rule is `ThresholdPolicy.mode_after`.

    Parameters
    ----------
    file : PolicyFile
    now : callable
        Seconds since 1970 by the clock of the wall: a schedule follows it, also when it is set or the machine slept.

    Attributes
    ----------
    policy : ThresholdPolicy
        The policy in force: that of the file, or of the part of its schedule at the last `look_at_clock`.

    Examples
    --------
    >>> from crawltwin.model import ThresholdPolicy
    >>> controller = Controller(PolicyFile(ThresholdPolicy([3, 1], [4], resume=[2])))
    >>> [controller.robots(level) for level in (4, 5, 4, 3, 2)]
    [3, 1, 1, 1, 3]
    """

    def __init__(self, file: PolicyFile, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._mode = 0
        self.follow(file)

    @property
    def until_change(self) -> float | None:
        """Seconds until another part of the schedule begins; None where there is no schedule."""
        schedule = self.file.schedule
        return None if schedule is None else schedule.until_change(self._now())

    @property
    def check_every(self) -> float:
        """Mean seconds between two looks; 0: every change is seen."""
        return self.policy.check_every

    def robots(self, level: int) -> int:
        """The number wanted at `level` pages, given what was wanted before.

        With another policy the memory goes on where the number of its steps allows.
        """
        self._mode = self.policy.mode_after(min(self._mode, len(self.policy.robots) - 1), level)
        return self.policy.robots[self._mode]

    def fetches(self, robots: int) -> int:
        """Fetches under way that so many robots stand for."""
        return robots * self.file.threads_per_robot

    def follow(self, file: PolicyFile) -> None:
        """Obey another file from now on."""
        self.file = file
        self.policy = file.policy_at(self._now())

    def look_at_clock(self) -> bool:
        """Take the policy of the present part of the schedule; whether it is another one than before.

        Nothing else looks at the clock for it: what is told about the policy and the number that it wants would
        otherwise belong to two parts where one ends in between.
        """
        before, self.policy = self.policy, self.file.policy_at(self._now())
        return self.policy != before
