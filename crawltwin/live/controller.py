"""The controller of a running crawl: how many robots should run, event by event."""

from __future__ import annotations

from crawltwin.model.policies.policy_file import PolicyFile


class Controller:
    """A policy with the memory that hysteresis and polling need; the rule is `ThresholdPolicy.mode_after`.

    Examples
    --------
    >>> from crawltwin.model import ThresholdPolicy
    >>> controller = Controller(PolicyFile(ThresholdPolicy([3, 1], [4], resume=[2])))
    >>> [controller.robots(level) for level in (4, 5, 4, 3, 2)]
    [3, 1, 1, 1, 3]
    """

    def __init__(self, file: PolicyFile) -> None:
        self.file = file
        self._mode = 0

    @property
    def check_every(self) -> float:
        """Mean seconds between two looks; 0: every change is seen."""
        return self.file.policy.check_every

    def robots(self, level: int) -> int:
        """The number wanted at `level` pages, given what was wanted before."""
        policy = self.file.policy
        self._mode = policy.mode_after(self._mode, level)
        return policy.robots[self._mode]

    def fetches(self, robots: int) -> int:
        """Fetches under way that so many robots stand for."""
        return robots * self.file.threads_per_robot

    def follow(self, file: PolicyFile) -> None:
        """Obey another policy from now on; the memory goes on where the number of its steps allows."""
        self.file = file
        self._mode = min(self._mode, len(file.policy.robots) - 1)
