r"""What r robots bring, from crawls with several numbers of robots: rates, laws for the numbers in between, a test.

With :math:`y_r` the logarithm of the page rate that was seen with r robots and :math:`s_r` its standard error, three
laws are fitted by weighted least squares. The gaps are correlated; their block bootstrap is somewhat too sure of itself
where regimes are long, so the error is the larger one of the bootstrap's and that of the means of `PARTS` long parts.

- *proportional*: :math:`y_r = c + \log r`,
- *power*: :math:`y_r = c + \theta \log r`,
- *saturating*: :math:`y_r = c + \log r - \log(1 + (r-1)s)`, s in [0, 1].

*Free* takes the rates as they were seen, with straight lines between them on logarithmic scales. Proportional rates are
tested by the t-statistic of :math:`\theta - 1`, with Satterthwaite's degrees of freedom where each log has one less
than its number of parts; with three or more numbers of robots also by the likelihood ratio against free rates (an
F-statistic, as the errors are estimated), each of the two tests at half of the level. Logs are taken as independent; a
web that was slower on one day than on the other cannot be told from robots that hinder one another, unless the numbers
of robots change during one crawl.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import stats
from scipy.optimize import minimize_scalar

from crawltwin.model.errors import InputError
from crawltwin.model.interval import Interval, ends_of_draws
from fitting.choose.plain_values import plain
from fitting.trace import bootstrap
from fitting.trace.segments import Float, Segments

LEVEL = 0.05
REFUTES = 0.025
"""Probability below which proportional rates are refuted: false alarms, with estimated errors, stay within 5%."""
PARTS = 12
SAME = 0.1
"""Proportional rates are supported where the whole interval of theta is within this distance of 1."""
UNKNOWN = (0.5, 1.0)
"""Theta where nothing is known: from robots that hinder one another much to robots that do not at all."""
LAWS = ("proportional", "power", "saturating", "free")


@dataclass(frozen=True)
class RateSeen:
    """The page rate of a crawl with so many robots.

    Attributes
    ----------
    robots, batches : int
        Robots that ran, and batches that they delivered.
    rate : Interval
        Pages per second.
    log_error, blocks : float
        Standard error of the logarithm of the rate, and the number of blocks that it stands on.
    """

    robots: int
    batches: int
    rate: Interval
    log_error: float
    blocks: float


def rate_seen(data: Segments, robots: int, *, seed: int = 0, repetitions: int = 200) -> RateSeen:
    """The page rate of a trace, its error by block bootstrap. Cost: `repetitions` sums over the trace."""
    length = bootstrap.block_length(data)
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(11, robots)))
    drawn = np.empty(repetitions)
    for k in range(repetitions):
        index = bootstrap.resample(data, length, rng)
        drawn[k] = math.log(float(data.sizes[index].sum()) / float(data.gaps[index].sum()))
    value = page_rate(data)
    low, high = map(math.exp, ends_of_draws(drawn))
    error = max(float(drawn.std(ddof=1)), _error_by_parts(data), 1e-12)
    blocks = max(min(len(data) / length, float(PARTS)), 2.0)
    return RateSeen(robots, len(data), Interval(value, low, high), error, blocks)


def page_rate(data: Segments) -> float:
    """Pages per second of a trace."""
    return float(data.sizes.sum()) / float(data.gaps.sum())


def _error_by_parts(data: Segments) -> float:
    """Standard error of the log rate from the rates of `PARTS` parts of the trace with equally many gaps."""
    if len(data) < 10 * PARTS:
        return 0.0
    edges = np.linspace(0, len(data), PARTS + 1).astype(np.int64)[:-1]
    pages, seconds = (np.add.reduceat(column, edges).astype(np.float64) for column in (data.sizes, data.gaps))
    apart = pages / pages.mean() - seconds / seconds.mean()
    return float(np.sqrt(apart @ apart / (PARTS * (PARTS - 1))))


@dataclass(frozen=True)
class RobotEvidence:
    """What is known of fewer (or more) robots.

    Attributes
    ----------
    rates : tuple of RateSeen
        One for each number of robots that was seen, the fewest first; at most one number: nothing is known.

    Examples
    --------
    >>> RobotEvidence(()).verdict, RobotEvidence(()).theta.low
    ('cannot tell', 0.5)
    """

    rates: tuple[RateSeen, ...]

    def __post_init__(self) -> None:
        numbers = [one.robots for one in self.rates]
        if numbers != sorted(set(numbers)) or (numbers and numbers[0] < 1):
            raise InputError.at("rates", f"rates must be for rising numbers of robots, at least 1; got {numbers}")

    @property
    def known(self) -> bool:
        """Whether two or more numbers of robots were seen."""
        return len(self.rates) > 1

    @property
    def reference(self) -> int:
        """The most robots that were seen; 0 for none."""
        return self.rates[-1].robots if self.rates else 0

    @cached_property
    def _points(self) -> tuple[Float, Float, Float]:
        """Logarithms of the robots and of their rates, and weights."""
        x = np.log([one.robots for one in self.rates])
        y = np.log([one.rate.value for one in self.rates])
        return x, y, np.array([one.log_error for one in self.rates]) ** -2.0

    @cached_property
    def _slope(self) -> tuple[float, float, float]:
        """Theta, its standard error and degrees of freedom."""
        x, y, w = self._points
        centred = x - float(w @ x) / float(w.sum())
        c = w * centred / float(w @ centred**2)
        parts = c**2 / w
        blocks = np.array([one.blocks for one in self.rates]) - 1
        return float(c @ y), math.sqrt(float(parts.sum())), float(parts.sum() ** 2 / (parts**2 / blocks).sum())

    @property
    def theta(self) -> Interval:
        """Exponent of the power law; the range `UNKNOWN` with one number of robots."""
        if not self.known:
            return Interval(1.0, *UNKNOWN)
        value, error, freedom = self._slope
        reach = error * float(stats.t.ppf(1 - LEVEL / 2, freedom))
        return Interval(value, value - reach, value + reach)

    def _misfit(self, shape: Float) -> float:
        """Weighted squares that rates proportional to exp(shape) leave."""
        _, y, w = self._points
        left = y - shape
        return float(w @ (left - float(w @ left) / float(w.sum())) ** 2)

    @cached_property
    def saturation(self) -> float:
        """The s of the saturating law."""
        if not self.known:
            return 0.0
        r = np.array([one.robots for one in self.rates], dtype=np.float64)
        found = minimize_scalar(lambda s: self._misfit(np.log(r / (1 + (r - 1) * s))), bounds=(0, 1), method="bounded")
        return float(found.x)

    @cached_property
    def misfits(self) -> dict[str, float]:
        """Weighted squares that each law leaves; those of the free law are zero."""
        x, _, _ = self._points
        r = np.exp(x)
        saturated = np.log(r / (1 + (r - 1) * self.saturation))
        shapes = {"proportional": x, "power": self.theta.value * x, "saturating": saturated}
        return {**{name: self._misfit(shape) for name, shape in shapes.items()}, "free": 0.0}

    @property
    def p_slope(self) -> float:
        """Probability of a theta so far from 1 where rates are proportional; NaN with one number of robots."""
        if not self.known:
            return math.nan
        value, error, freedom = self._slope
        return 2 * float(stats.t.sf(abs(value - 1) / error, freedom))

    @property
    def p_free(self) -> float:
        """The likelihood-ratio test of proportional rates against free ones; NaN with one number of robots."""
        more = len(self.rates) - 1
        return float(stats.f.sf(self.misfits["proportional"] / more, more, self._slope[2])) if self.known else math.nan

    @property
    def p_proportional(self) -> float:
        """Of both tests together, by Bonferroni's rule; with two numbers of robots there is only the first."""
        if len(self.rates) <= 2:
            return self.p_slope
        return min(1.0, 2 * min(self.p_slope, self.p_free))

    @property
    def verdict(self) -> str:
        """What the data say of proportional rates: `supported`, `refuted` or `cannot tell`."""
        if not self.known:
            return "cannot tell"
        if self.p_proportional < REFUTES:
            return "refuted"
        close = max(abs(self.theta.low - 1), abs(self.theta.high - 1)) <= SAME
        return "supported" if close else "cannot tell"

    @property
    def law(self) -> str:
        """The law in force: proportional, power or saturating, free; the simplest that serves to predict.

        Proportional rates are left where they are refuted, and where they cannot be told but theta is so far from 1
        that its estimate predicts better (Akaike's rule: by more than the root of 2 standard errors).
        """
        if not self.known or self.verdict == "supported":
            return "proportional"
        value, error, freedom = self._slope
        if self.verdict != "refuted" and abs(value - 1) <= math.sqrt(2) * error:
            return "proportional"
        best = min(("power", "saturating"), key=lambda name: self.misfits[name])
        left = len(self.rates) - 2
        if left == 0 or stats.f.sf(self.misfits[best] / left, left, freedom) >= LEVEL:
            return best
        return "free"

    def relative(self, robots: int, law: str | None = None, theta: float | None = None) -> float:
        """Rate of so many robots over that of one, by the law in force, another one, or a power of one's own."""
        if theta is not None:
            return float(robots**theta)
        name = law or self.law
        if name == "proportional":
            return float(robots)
        if name == "power":
            return float(robots**self.theta.value)
        if name == "saturating":
            return robots / (1 + (robots - 1) * self.saturation)
        x, y, _ = self._points
        # Outside of what was seen the power law goes on from the nearest number.
        inside = np.clip(math.log(robots), x[0], x[-1])
        at = float(np.interp(inside, x, y)) + self.theta.value * (math.log(robots) - float(inside))
        one = float(y[0]) - self.theta.value * float(x[0])
        return math.exp(at - one)

    def share(self, robots: int) -> float:
        """Rate of so many robots over that of the most that were seen, by the law in force."""
        return self.relative(robots) / self.relative(self.reference)

    def with_rates(self, rates: Sequence[float]) -> RobotEvidence:
        """The same numbers of robots and errors with other rates, such as those of resampled traces."""
        changed = (Interval(rate, one.rate.low, one.rate.high) for one, rate in zip(self.rates, rates, strict=True))
        return RobotEvidence(tuple(replace(one, rate=rate) for one, rate in zip(self.rates, changed, strict=True)))

    @property
    def words(self) -> str:
        """The assumption about fewer robots and what the data say of it, in one sentence."""
        if not self.known:
            return "the log has one number of robots: whether r robots bring r times what one brings cannot be told"
        theta, seen = self.theta, ", ".join(str(one.robots) for one in self.rates)
        told = {
            "supported": "rates proportional to the number of robots are supported",
            "refuted": "rates proportional to the number of robots are refuted",
            "cannot tell": "whether rates are proportional to the number of robots cannot be told",
        }[self.verdict]
        if self.law != "proportional":
            told += f", and the {self.law} law is used"
        return (
            f"{told}: crawls with {seen} robots bring pages in proportion to r^{theta.value:.3f} "
            f"[{theta.low:.3f}, {theta.high:.3f}] (p = {self.p_proportional:.2g})"
        )

    def to_json(self) -> dict[str, Any]:
        """As a plain dictionary."""
        return {
            "rates": [{**vars(one), "rate": one.rate.to_json()} for one in self.rates],
            "verdict": self.verdict,
            "law": self.law,
            "theta": self.theta.to_json(),
            "saturation": self.saturation,
            "misfits": self.misfits if self.known else {},
            "p_slope": plain(self.p_slope),
            "p_free": plain(self.p_free),
            "p_proportional": plain(self.p_proportional),
            "words": self.words,
        }


def evidence_of(traces: Sequence[tuple[int, Segments]], *, seed: int = 0) -> RobotEvidence:
    """From one trace for each number of robots."""
    return RobotEvidence(tuple(rate_seen(data, robots, seed=seed) for robots, data in sorted(traces, key=_robots)))


def _robots(item: tuple[int, Segments]) -> int:
    return item[0]
