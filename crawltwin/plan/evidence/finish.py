"""When will it be done: the time to finish a list of URLs, with the doubt of the fitted rate and the log's pauses.

In the model the time to fetch a list has a mean and a variance (`analytic.completion`). Three things are added to it.
The rate was fitted: on each resampled trace it is another one, and the mean is scaled by it. The crawler pauses: while
it runs, pauses come as a Poisson stream whose rate is that of the log, with the doubt that so many pauses leave (a
gamma law, Jeffreys' prior), and each is as long as one of those in the log. And chance inside the model: a gamma draw
of its variance. The list is finished when its last URL is fetched; links that are found on the way are not counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from analytic import Completion
from crawltwin.model.checks import FloatArray
from crawltwin.plan.wording import in_time
from fitting import FitResult

DRAWS = 4000
ENDS = (0.05, 0.95)
"""The interval that is told: nine of ten crawls are done inside it."""


@dataclass(frozen=True)
class Finish:
    """When a list is done.

    Parameters
    ----------
    median, low, high : float
        Seconds, pauses included; nine of ten crawls are done between `low` and `high`.
    running : float
        Mean time in the model while the crawler runs, without pauses.
    """

    median: float
    low: float
    high: float
    running: float

    def in_words(self) -> str:
        """The answer in a clause."""
        return f"{in_time(self.median)} (in nine of ten cases {in_time(self.low)} to {in_time(self.high)})"

    def to_json(self) -> dict[str, float]:
        """Plain numbers, in seconds."""
        return {"median": self.median, "low": self.low, "high": self.high, "running": self.running}


@dataclass(frozen=True)
class FinishTimes:
    """Both answers: today's crawl, and the recommended policy."""

    urls: int
    today: Finish
    plan: Finish
    pauses: int
    rate_doubted: bool

    def in_words(self) -> str:
        """Both answers as a sentence."""
        counted = _pauses(self.pauses)
        doubt = "" if self.rate_doubted else "; the doubt of the fitted rate is not known and not counted in"
        return (
            f"{self.urls:,} URLs are fetched in {self.plan.in_words()} under the policy, in {self.today.in_words()} "
            f"today; {counted}{doubt}. Links that are found on the way are not counted."
        )

    def to_json(self) -> dict[str, Any]:
        """Plain numbers."""
        return {"urls": self.urls, "today": self.today.to_json(), "plan": self.plan.to_json(), "pauses": self.pauses}


def _pauses(count: int) -> str:
    if count == 0:
        return "the log shows no pauses"
    return f"pauses like the {'one' if count == 1 else count} of the log are counted in"


def finish_of(done: Completion, rates: FloatArray, fitted: float, fit: FitResult, seed: int) -> Finish:
    """The law of the time to finish by simulation of its parts. Cost: milliseconds.

    Parameters
    ----------
    done : Completion
        In the fitted model.
    rates, fitted : ndarray and float
        Pages delivered per second over the resampled traces, and in the fit; without redraws the array is empty.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(13,)))
    factors = fitted / rng.choice(rates, DRAWS) if rates.size else np.ones(DRAWS)
    spread = max(done.variance, 0.0) / done.mean
    chance = rng.gamma(done.mean / spread, spread, DRAWS) if spread > 0 else np.full(DRAWS, done.mean)
    running = chance * factors
    total = running + _paused(running, fit, rng)
    low, median, high = np.quantile(total, (ENDS[0], 0.5, ENDS[1]))
    return Finish(float(median), float(low), float(high), done.mean)


def _paused(running: FloatArray, fit: FitResult, rng: np.random.Generator) -> FloatArray:
    """Time spent in pauses during each running time."""
    stretches = fit.cleaning.stretches
    lengths = np.array([later.begin - earlier.end for earlier, later in pairwise(stretches)])
    lengths = lengths[lengths > 0]
    observed = sum(stretch.end - stretch.begin for stretch in stretches)
    if not lengths.size or observed <= 0:
        return np.zeros_like(running)
    rate = rng.gamma(lengths.size + 0.5, 1.0, running.size) / observed
    counts = rng.poisson(rate * running)
    drawn = rng.choice(lengths, int(counts.sum()))
    owner = np.repeat(np.arange(running.size), counts)
    return np.bincount(owner, weights=drawn, minlength=running.size).astype(np.float64)
