r"""Intervals of the response time V, and the multiplier that makes the bound over an interval tight.

The cost (2) is :math:`c\cdot x + a\,(g\cdot x)/(h\cdot x)`: linear but for the response time. Over an interval of V it
is bounded from below by two linear problems, one for each end (`decision` has the proof), whichever multiplier
:math:`\mu` is used. The best one is about that at which both ends give the same bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from crawltwin.model import CostWeights
from crawltwin.model.checks import FloatArray
from crawltwin.model.rates import RATES, Rates

SERVED, SOJOURN = RATES.index("served"), RATES.index("sojourn_served")


class EndBound(NamedTuple):
    """The linear problem at one end of an interval: its bound with a V added, and the linear rates of its solution."""

    total: float
    rates: FloatArray


class ResponseInterval(NamedTuple):
    """Response times from `low` to `high`, and the multiplier mu for their bounds."""

    low: float
    high: float
    multiplier: float

    @property
    def is_point(self) -> bool:
        """Whether the interval is too short to be cut."""
        return self.high - self.low <= 1e-12 * self.high

    def balanced(self, ends: Sequence[EndBound]) -> float:
        """The multiplier at which both ends would give one bound, if their solutions stayed the same."""
        slopes = [
            float(end.rates[SOJOURN] - v * end.rates[SERVED])
            for end, v in zip(ends, (self.low, self.high), strict=True)
        ]
        if slopes[0] - slopes[1] <= 1e-14 * (abs(slopes[0]) + abs(slopes[1])):
            return self.multiplier
        return max(0.0, self.multiplier + (ends[1].total - ends[0].total) / (slopes[0] - slopes[1]))

    def cut(self, ends: Sequence[EndBound]) -> tuple[ResponseInterval, ResponseInterval]:
        """Two parts, cut at the response time of the end with the lower bound where that lies well inside."""
        rates = ends[int(ends[1].total < ends[0].total)].rates
        own = float(rates[SOJOURN] / rates[SERVED]) if rates[SERVED] > 0 else np.inf
        margin = 0.1 * (self.high - self.low)
        middle = own if self.low + margin < own < self.high - margin else (self.low + self.high) / 2
        multiplier = self.balanced(ends)
        return ResponseInterval(self.low, middle, multiplier), ResponseInterval(middle, self.high, multiplier)


def cheapest_share(one: FloatArray, other: FloatArray, weights: CostWeights) -> float:
    r"""Share of `other` in the cheapest mixture of two vectors of linear rates: 0, 1, or where the derivative vanishes.

    Along the mixture the cost is :math:`c_0 + t\,dc + a (g_0 + t\,dg)/(h_0 + t\,dh)`.
    """
    step = other - one
    (c0, c1), (g, h) = Rates.from_table(np.stack([one, other])).linear_cost(weights), (one[SOJOURN], one[SERVED])
    dc, dg, dh = c1 - c0, step[SOJOURN], step[SERVED]
    shares = [0.0, 1.0]
    square = -weights.response * (dg * h - g * dh) / dc if dc else -1.0
    if square > 0 and dh:
        inner = (float(np.sqrt(square)) - h) / dh
        if 0 < inner < 1:
            shares.append(float(inner))
    mixed = np.stack([one + share * step for share in shares])
    return shares[int(np.argmin(Rates.from_table(mixed).cost(weights)))]
