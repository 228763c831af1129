"""A number with its confidence interval."""

from __future__ import annotations

import math
from dataclasses import dataclass


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
