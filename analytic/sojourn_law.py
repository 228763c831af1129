"""What the law of the time in the system can be asked, whatever the method that found it."""

from __future__ import annotations

from typing import Protocol

import numpy.typing as npt

from analytic.sojourn import Fate
from crawltwin.model.checks import FloatArray


class SojournLaw(Protocol):
    """Theorem 4 and Corollary 1 as questions; see `analytic.sojourn.SojournTimes` for their meaning."""

    def probability(self, fate: Fate) -> float:
        """P(a page has this fate); for `all`, the probability of being accepted."""

    def moment(self, k: int, fate: Fate = "all") -> float | None:
        """The k-th raw moment, given the fate."""

    def transform(self, u: complex, fate: Fate = "all") -> complex | None:
        """Laplace-Stieltjes transform at u (Re u >= 0), given the fate."""

    def survival(self, x: npt.ArrayLike, fate: Fate = "all") -> FloatArray | None:
        """P(V > x) at each x, given the fate."""

    def cdf(self, x: npt.ArrayLike, fate: Fate = "all") -> FloatArray | None:
        """P(V <= x) at each x, given the fate."""

    def quantile(self, p: float, fate: Fate = "all") -> float | None:
        """The smallest x with P(V <= x) >= p, given the fate."""
