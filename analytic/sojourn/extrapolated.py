"""Laws of the sojourn time from windows of growing length, every answer extrapolated with an estimate of its error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analytic.linear.extrapolation import Common, Limit, limit
from analytic.sojourn.law import Fate, SojournLaw
from analytic.sojourn.levels import LevelSojournTimes
from crawltwin.model.checks import FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class WindowSojournTimes(SojournLaw):
    """Laws of the time in the system, extrapolated from the widest windows.

    Parameters
    ----------
    laws : tuple of LevelSojournTimes
        Of successive windows, the widest last.
    noise : float
        Relative error of each law itself.
    remaining : int
        Windows left until nothing is forgotten; with 0 the last law is exact and nothing is extrapolated.
    common : Common
        What the sequences of the stationary measures have in common.
    """

    laws: tuple[LevelSojournTimes, ...]
    noise: float
    remaining: int
    common: Common

    def probability(self, fate: Fate) -> float:
        """P(a page has this fate); for `all`, the probability of being accepted."""
        return float(self._limit([law.probability(fate) for law in self.laws]).value)

    def moment(self, k: int, fate: Fate = "all") -> float | None:
        """The k-th raw moment, given the fate; None when no page has it."""
        found = self.moment_limit(k, fate)
        return None if found is None else float(found.value)

    def moment_limit(self, k: int, fate: Fate = "all") -> Limit | None:
        """The k-th raw moment with the estimate of its error."""
        return self._all([law.moment(k, fate) for law in self.laws])

    def transform(self, u: complex, fate: Fate = "all") -> complex | None:
        """Laplace-Stieltjes transform at u (Re u >= 0), given the fate; real and imaginary part extrapolated."""
        values = [law.transform(u, fate) for law in self.laws]
        parts = self._all([None if value is None else np.array([value.real, value.imag]) for value in values])
        return None if parts is None else complex(*np.asarray(parts.value).tolist())

    def survival(self, x: npt.ArrayLike, fate: Fate = "all") -> FloatArray | None:
        """P(V > x) at each x, given the fate."""
        found = self._all([law.survival(x, fate) for law in self.laws])
        return None if found is None else np.clip(found.value, 0.0, 1.0)

    def quantile(self, p: float, fate: Fate = "all") -> float | None:
        """The smallest x with P(V <= x) >= p, given the fate."""
        found = self.quantile_limit(p, fate)
        return None if found is None else float(found.value)

    def quantile_limit(self, p: float, fate: Fate = "all") -> Limit | None:
        """The quantile with the estimate of its error."""
        return self._all([law.quantile(p, fate) for law in self.laws])

    def _all(self, values: list[float | None] | list[FloatArray | None]) -> Limit | None:
        known = [value for value in values if value is not None]
        return self._limit(known) if len(known) == len(values) else None

    def _limit(self, values: list[float] | list[FloatArray] | list[float | FloatArray]) -> Limit:
        if self.remaining == 0:
            last = np.asarray(values[-1], dtype=np.float64)
            return Limit(last, self.noise * np.abs(last))
        return limit(values, self.noise, self.remaining, self.common)
