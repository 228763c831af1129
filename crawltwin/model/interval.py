"""A number with its confidence interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Interval:
    """An estimate and its confidence interval.

    Examples
    --------
    >>> Interval(2.0, 1.9, 2.1).half_width
    0.1
    """

    value: float
    low: float
    high: float
    confidence: float = 0.95

    @property
    def half_width(self) -> float:
        """Half of the interval's width, to 12 digits."""
        return float(f"{(self.high - self.low) / 2:.12g}")

    @property
    def relative_half_width(self) -> float:
        """Half width over the value; infinite where the value is 0 and the interval is not."""
        if self.high == self.low:
            return 0.0
        return self.half_width / abs(self.value) if self.value else math.inf

    def covers(self, truth: float) -> bool:
        """Whether the interval holds a value."""
        return self.low <= truth <= self.high

    def to_json(self) -> dict[str, float | None]:
        """The contract's four numbers; what is not finite is null."""
        named = {"value": self.value, "low": self.low, "high": self.high}
        plain = {name: float(number) if math.isfinite(number) else None for name, number in named.items()}
        return {**plain, "confidence": self.confidence}


def ends_of_draws(values: npt.ArrayLike, confidence: float = 0.95) -> tuple[float, float]:
    """Ends between which one more draw lies with this probability, from n draws of the same law.

    One more draw falls below the k-th smallest of n with probability k/(n + 1), whatever the law. So the ends are the
    draws of rank p(n + 1) and (1 - p)(n + 1), p on each side. Quantiles of the draws themselves are too near: those of
    60 draws hold 92 of 100 where 95 are meant, those of 12 draws 80. Where n is too small for such ranks (below 39 at
    95%), the ends are Student's for one more draw, of the logarithms where all draws are above 0, and no nearer than
    the outermost draws. NaN without any draw.

    Examples
    --------
    >>> ends_of_draws(range(1, 40))
    (1.0, 39.0)
    """
    draws = np.asarray(values, dtype=np.float64)
    # To twelve digits: half of 1 - 0.95 is 0.025 and 0.025 of 40 is 1, whatever the rounding.
    n, tail = draws.size, round((1 - confidence) / 2, 12)
    if not n:
        return math.nan, math.nan
    least, most = float(draws.min()), float(draws.max())
    if least == most or tail * (n + 1) >= 1:
        low, high = np.quantile(draws, (tail, 1 - tail), method="weibull")
        return float(low), float(high)
    from scipy.special import stdtrit

    logs = least > 0
    scale = np.log(draws) if logs else draws
    reach = float(stdtrit(n - 1, 1 - tail)) * float(scale.std(ddof=1)) * math.sqrt(1 + 1 / n)
    ends = float(scale.mean()) - reach, float(scale.mean()) + reach
    low, high = (math.exp(end) for end in ends) if logs else ends
    return min(low, least), max(high, most)
