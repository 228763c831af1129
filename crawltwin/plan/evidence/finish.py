"""When will it be done: the time to finish a list of URLs, with all the doubt that the log leaves.

In the model the time to fetch a list has a mean and a variance (`analytic.completion`). Four things are added to it.
The rate was fitted: on each resampled trace it is another one, and the mean is scaled by it. The pace drifts, crawls
slow down and end with a few slow hosts: a factor that the log's own history tells (`slowdown`). The crawler pauses:
while it runs, pauses come as a Poisson stream whose rate is that of the log, with the doubt that so many pauses leave
(a gamma law, Jeffreys' prior), and each is as long as one of those in the log. And chance inside the model: a gamma
draw of its variance. The list is finished when its last URL is fetched; links that are found on the way are not
counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from analytic import Completion
from crawltwin.model.checks import FloatArray
from crawltwin.plan.evidence.slowdown import run_dry, slowdown_factor
from crawltwin.plan.wording import in_time
from fitting import CountLog, FitResult

DRAWS = 4000
EACH = 200
"""Pauses of one draw that are drawn one by one; the sum of more is normal."""
MOST = 1e9
"""Pauses that are expected in one draw at most: more would not end within any lifetime."""
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
            f"today; {counted}; the drift of its pace is counted in{doubt}. Links that are found on the way are not."
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
    running = chance * factors * slowdown_factor(*_history(fit), done.urls, _dry(fit), rng, DRAWS)
    total = running + _paused(running, fit, rng)
    low, median, high = np.quantile(total, (ENDS[0], 0.5, ENDS[1]))
    return Finish(float(median), float(low), float(high), done.mean)


def _history(fit: FitResult) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """Pages that had come, and the time until then without the pauses: at each page, or at the end of each interval."""
    log = fit.log
    if isinstance(log, CountLog):
        return np.cumsum(log.count), np.cumsum(log.length)
    gaps = np.diff(log.seconds, prepend=0.0)
    gaps[[stretch.first for stretch in fit.cleaning.stretches[1:]]] = 0.0
    return np.arange(1, gaps.size + 1), np.cumsum(gaps)


def _dry(fit: FitResult) -> float:
    return 0.0 if isinstance(fit.log, CountLog) else run_dry(fit.log.host)


def _paused(running: FloatArray, fit: FitResult, rng: np.random.Generator) -> FloatArray:
    """Time spent in pauses during each running time."""
    stretches = fit.cleaning.stretches
    lengths = np.array([later.begin - earlier.end for earlier, later in pairwise(stretches)])
    lengths = lengths[lengths > 0]
    observed = sum(stretch.end - stretch.begin for stretch in stretches)
    if not lengths.size or observed <= 0:
        return np.zeros_like(running)
    rate = rng.gamma(lengths.size + 0.5, 1.0, running.size) / observed
    counts = rng.poisson(np.minimum(rate * running, MOST))
    single = np.where(counts <= EACH, counts, 0)
    drawn = rng.choice(lengths, int(single.sum()))
    owner = np.repeat(np.arange(running.size), single)
    many = counts - single
    sums = many * lengths.mean() + np.sqrt(many) * lengths.std() * rng.standard_normal(running.size)
    return np.asarray(np.bincount(owner, weights=drawn, minlength=running.size) + np.maximum(sums, 0.0))
