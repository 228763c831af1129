"""What a robot is in a log: threads, workers, fetches under way."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from crawltwin.plan.settings import PlanSettings
from fitting import FitResult


@dataclass(frozen=True)
class RobotsInLog:
    """What the log tells of those who fetched.

    Parameters
    ----------
    workers : int or None
        Different thread or worker numbers on delivered pages; None where the format has none.
    in_flight : float or None
        Fetches of delivered pages under way on average while the crawler ran: the sum of their times over the time.
    robots, fetches_per_robot : int
        What the plan takes a robot to be.
    """

    workers: int | None
    in_flight: float | None
    robots: int
    fetches_per_robot: int

    def in_words(self) -> str:
        """What the plan takes a robot to be in this log."""
        share = "one fetch" if self.fetches_per_robot == 1 else f"{self.fetches_per_robot} fetches"
        words = [f"a robot is {share} under way at a time, and {self.robots} of them wrote the log"]
        if self.workers is not None:
            words.append(f"the log names {self.workers} threads")
        if self.in_flight is not None:
            words.append(f"{self.in_flight:.3g} fetches of delivered pages were under way on average")
        elif self.workers is None:
            words.append("the log tells neither threads nor how long fetches took")
        return "; ".join(words)

    def warning(self) -> str:
        """A sentence where the number of robots does not fit the log; else nothing."""
        fetches = self.robots * self.fetches_per_robot
        if self.in_flight is not None and self.in_flight > fetches:
            return (
                f"The number of robots does not fit the log: {self.in_flight:.3g} fetches were under way on average, "
                f"and {self.robots} robots of {self.fetches_per_robot} can have {fetches} at most. Give --robots, or "
                f"--fetches-per-robot {math.ceil(self.in_flight / self.robots)} or more."
            )
        if self.workers is not None and fetches > self.workers:
            return (
                f"The number of robots does not fit the log: it names {self.workers} threads, fewer than the {fetches} "
                "fetches that the plan takes to have written it. Give --robots-in-log."
            )
        return ""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "threads": self.workers,
            "fetches_under_way": self.in_flight,
            "robots": self.robots,
            "fetches_per_robot": self.fetches_per_robot,
            "words": self.in_words(),
        }


def robots_in_log(fit: FitResult, settings: PlanSettings) -> RobotsInLog:
    """Look at threads and times of fetches, where the format tells them."""
    log = fit.log
    workers = None
    if log.worker is not None and np.isfinite(log.worker).any():
        workers = int(np.unique(log.worker[np.isfinite(log.worker)]).size)
    in_flight = None
    running = (float(log.seconds[-1]) if len(log) else 0.0) - fit.cleaning.paused_seconds
    if log.took is not None and np.isfinite(log.took).any() and running > 0:
        in_flight = float(np.nansum(log.took)) / running
    return RobotsInLog(workers, in_flight, settings.recorded, settings.fetches_per_robot)
