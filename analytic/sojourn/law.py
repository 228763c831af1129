"""What a law of the sojourn time can be asked, whatever the method that found it (Theorem 4 and Corollary 1)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

import numpy as np
import numpy.typing as npt

from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import InputError
from crawltwin.model.laws.quantile_search import quantile_from_tail
from crawltwin.model.results.carried import Carried
from crawltwin.model.results.display import shown_as_html

Fate = Literal["served", "obsolete", "all"]
FATES: tuple[Fate, ...] = ("served", "obsolete", "all")


class SojournLaw(Carried, ABC):
    """Questions about the time in the system of served, obsolete and all pages; lost pages count as 0 among all."""

    @abstractmethod
    def probability(self, fate: Fate) -> float:
        """P(a page has this fate); for `all`, the probability of being accepted."""

    @abstractmethod
    def moment(self, k: int, fate: Fate = "all") -> float | None:
        """The k-th raw moment, given the fate; None when no page has it."""

    @abstractmethod
    def transform(self, u: complex, fate: Fate = "all") -> complex | None:
        """Laplace-Stieltjes transform at u (Re u >= 0), given the fate."""

    @abstractmethod
    def survival(self, x: npt.ArrayLike, fate: Fate = "all") -> FloatArray | None:
        """P(V > x) at each x, given the fate."""

    @abstractmethod
    def quantile(self, p: float, fate: Fate = "all") -> float | None:
        """The smallest x with P(V <= x) >= p, given the fate."""

    def __repr__(self) -> str:
        means = {fate: self.moment(1, fate) for fate in FATES}
        told = ", ".join(f"{fate} {mean:.6g}" for fate, mean in means.items() if mean is not None)
        return f"{type(self).__name__}: mean times in the system, {told}; ask for quantile, survival, cdf, moment"

    def _repr_html_(self) -> str:
        """What a notebook shows: means and quantiles by fate."""
        quantiles = (0.5, 0.9, 0.95, 0.99)
        columns: dict[str, list[object]] = {
            "pages": list(FATES),
            "probability": [self.probability(fate) for fate in FATES],
            "mean": [self.moment(1, fate) for fate in FATES],
        }
        columns |= {f"{p:.0%} within": [self.quantile(p, fate) for fate in FATES] for p in quantiles}
        return shown_as_html("Time in the system", columns)

    def cdf(self, x: npt.ArrayLike, fate: Fate = "all") -> FloatArray | None:
        """P(V <= x) at each x, given the fate."""
        tail = self.survival(x, fate)
        return None if tail is None else 1.0 - tail


class UniformisedLaw(SojournLaw):
    """What follows from the probability, the mean and the tail of each fate, whatever chain they come from."""

    @abstractmethod
    def _tail(self, x: float, fate: Fate) -> float:
        """P(V > x, fate)."""

    def survival(self, x: npt.ArrayLike, fate: Fate = "all") -> FloatArray | None:
        """P(V > x) at each x, given the fate.

        Cost: (fastest rate) (largest x) steps of the tagged page's chain, shared by all calls on this object.
        """
        weight = self._weight(fate)
        if weight is None:
            return None
        points = np.asarray(x, dtype=np.float64)
        return np.array([self._tail(float(point), fate) for point in points.ravel()]).reshape(points.shape) / weight

    def quantile(self, p: float, fate: Fate = "all") -> float | None:
        """The smallest x with P(V <= x) >= p, given the fate."""
        weight, mean = self._weight(fate), self.moment(1, fate)
        if weight is None or mean is None:
            return None
        return quantile_from_tail(lambda x: self._tail(x, fate), p, mean, weight)

    def _weight(self, fate: Fate) -> float | None:
        """What moments are divided by: the probability of the fate; 1 for all pages, the lost ones included."""
        if fate not in FATES:
            raise InputError(f"fate must be one of {', '.join(FATES)}; got {fate!r}")
        if fate == "all":
            return 1.0
        probability = self.probability(fate)
        return probability if probability > 0 else None
