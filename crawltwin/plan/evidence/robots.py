"""What a robot is in a log: threads, workers, fetches under way."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from crawltwin.model.checks import FloatArray
from crawltwin.plan.settings import PlanSettings
from fitting import FitResult, RawLog
from fitting.trace.cleaning import Cleaning

THREADED = ("heritrix", "nutch", "stormcrawler")
"""Formats of crawlers that call those that fetch threads; others have workers."""
EDGE = 0.01
"""Share by which fetches that had begun before the log's first page may lift the number under way."""


BUSY = 1.25
"""Those at work at the same time, beside the fetches that a plan knows of, from which the two do not fit."""


@dataclass(frozen=True)
class RobotsInLog:
    """What the log tells of those who fetched.

    Parameters
    ----------
    workers : int or None
        Different thread or worker numbers on delivered pages; None where the log has none.
    at_work : float or None
        Of these, on average over the time that the crawler ran, those between their first and their last page of a
        stretch: crawlers that are started anew, or whose threads are replaced, count their threads on.
    in_flight : float or None
        Fetches of delivered pages under way on average while the crawler ran: the sum of their times over the time.
    robots, fetches_per_robot : int
        What the plan takes a robot to be.
    noun : str
        What the crawler calls those that fetch.
    """

    workers: int | None
    in_flight: float | None
    robots: int
    fetches_per_robot: int
    at_work: float | None = None
    noun: str = "threads"

    def in_words(self) -> str:
        """What the plan takes a robot to be in this log."""
        share = "one fetch" if self.fetches_per_robot == 1 else f"{self.fetches_per_robot} fetches"
        words = [f"a robot is {share} under way at a time, and {_count(self.robots)} of them wrote the log"]
        if self.workers is not None:
            at_work = (
                "" if self.at_work is None else f", {self.at_work:.3g} of them at work at the same time on average"
            )
            words.append(f"the log names {self.workers} {self._noun}{at_work}")
        if self.in_flight is not None:
            words.append(f"{self.in_flight:.3g} fetches of delivered pages were under way on average")
        elif self.workers is None:
            words.append("the log tells neither threads or workers nor how long fetches took")
        return "; ".join(words)

    @property
    def _noun(self) -> str:
        return self.noun.removesuffix("s") if self.workers == 1 else self.noun

    def misfit(self) -> str:
        """A clause where the number of robots does not fit the log; else nothing."""
        fetches = self.robots * self.fetches_per_robot
        if self.in_flight is not None and self.in_flight > fetches * (1 + EDGE):
            return (
                f"the number of robots does not fit the log: {self.in_flight:.3g} fetches were under way on average, "
                f"and the plan knows of at most {fetches} at a time (give --robots, or --fetches-per-robot "
                f"{math.ceil(self.in_flight / self.robots)} or more)"
            )
        if self.in_flight is None and self.at_work is not None and self.at_work > fetches * BUSY:
            most = math.ceil(self.at_work)
            return (
                f"the number of robots does not fit the log: {self.at_work:.3g} of its {self.workers} {self._noun} "
                f"were at work at the same time on average, and the plan knows of at most {fetches} at a time (give "
                f"--robots {most}, or --fetches-per-robot {math.ceil(most / self.robots)})"
            )
        if self.workers is not None and fetches > self.workers:
            return (
                f"the number of robots does not fit the log: it names {self.workers} {self._noun}, fewer than the "
                f"{fetches} fetches that the plan takes to have written it (give --robots-in-log)"
            )
        return ""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "threads": self.workers,
            "at_work": self.at_work,
            "fetches_under_way": self.in_flight,
            "robots": self.robots,
            "fetches_per_robot": self.fetches_per_robot,
            "words": self.in_words(),
        }


def _count(robots: int) -> str:
    return "one" if robots == 1 else str(robots)


def robots_in_log(fit: FitResult, settings: PlanSettings) -> RobotsInLog:
    """Look at threads or workers and at times of fetches, where the log tells them, whatever its format."""
    log = fit.log
    if not isinstance(log, RawLog):
        return RobotsInLog(None, None, settings.recorded, settings.fetches_per_robot)
    workers = at_work = in_flight = None
    running = (float(log.seconds[-1]) if len(log) else 0.0) - fit.cleaning.paused_seconds
    if log.worker is not None and np.isfinite(log.worker).any():
        workers = int(np.unique(log.worker[np.isfinite(log.worker)]).size)
        at_work = _at_work(log.worker, log.seconds, fit.cleaning)
    if log.took is not None and np.isfinite(log.took).any() and running > 0:
        in_flight = float(np.nansum(log.took)) / running
    noun = "threads" if log.format in THREADED else "workers"
    return RobotsInLog(workers, in_flight, settings.recorded, settings.fetches_per_robot, at_work, noun)


def _at_work(worker: FloatArray, seconds: FloatArray, cleaning: Cleaning) -> float | None:
    """Mean number of workers between their first and last page, over the used stretches."""
    present, running = 0.0, 0.0
    for stretch in cleaning.stretches:
        own, times = worker[stretch.first : stretch.last], seconds[stretch.first : stretch.last]
        known = np.isfinite(own)
        if not (stretch.used and known.any()):
            continue
        _, who = np.unique(own[known], return_inverse=True)
        first, last = np.full(who.max() + 1, np.inf), np.full(who.max() + 1, -np.inf)
        np.minimum.at(first, who, times[known])
        np.maximum.at(last, who, times[known])
        present += float((last - first).sum())
        running += stretch.end - stretch.begin
    return present / running if running > 0 else None
