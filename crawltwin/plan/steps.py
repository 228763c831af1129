"""The steps of a plan in their order: each announced, timed, and left out with its reason where it cannot be done."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from crawltwin.model import ConvergenceError, InputError

Found = TypeVar("Found")
FITTED = {
    "renewal": 0.03,
    "MAP(2) from": 0.05,
    "MMPP(2)": 0.1,
    "MAP(2) by EM": 0.17,
    "2 Erlang": 0.25,
    "3 Erlang": 0.27,
    "4 Erlang": 0.3,
    "5 Erlang": 0.33,
    "batch sizes": 0.37,
    "robots": 0.45,
    "content sizes": 0.82,
}
"""Share of the time of a fit that is behind when these words are said: of one run, that of the demonstration's log."""


@dataclass(frozen=True)
class StepProgress:
    """Where the work is.

    Parameters
    ----------
    step, steps : int
        The present step, from 1, and how many there are.
    words : str
        What is being done.
    done, total : float
        Inside the step; 0 and 0 where that is not known.
    """

    step: int
    steps: int
    words: str
    done: float = 0.0
    total: float = 0.0


class Steps:
    """Runs steps one after the other; `seconds` holds their times, `missing` what was left out and why."""

    def __init__(self, count: int, tell: Callable[[StepProgress], None] | None) -> None:
        self.count, self._tell = count, tell or (lambda _: None)
        self.seconds: dict[str, float] = {}
        self.missing: list[str] = []
        self._words = ""

    def say(self, words: str) -> None:
        """Tell in words what is done inside the present step, and how far it is where that is known of these words."""
        behind = next((share for start, share in FITTED.items() if words.startswith(start)), 0.0)
        total = 1.0 if behind else 0.0
        self._tell(StepProgress(len(self.seconds) + 1, self.count, f"{self._words}: {words}", behind, total))

    def update(self, done: float, total: float) -> None:
        """Tell how far the present step is."""
        self._tell(StepProgress(len(self.seconds) + 1, self.count, self._words, done, total))

    def run(self, words: str, step: Callable[[], Found]) -> Found:
        """Run a step that must be done."""
        self._words = words
        self.update(0, 0)
        began = time.perf_counter()
        try:
            return step()
        finally:
            self.seconds[words] = time.perf_counter() - began

    def attempt(self, words: str, step: Callable[[], Found]) -> Found | None:
        """Run a step that may be left out, with the reason kept."""
        try:
            return self.run(words, step)
        except (InputError, ConvergenceError) as error:
            self.leave_out(words, str(error))
            return None

    def leave_out(self, words: str, reason: str) -> None:
        """Note a step that was not done."""
        self.missing.append(f"{words}: {reason}")
