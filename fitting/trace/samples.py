"""Samples of a duration: exact values, values known only to lie in an interval, and weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from crawltwin.model.errors import Faults
from crawltwin.work.memory import row_blocks
from fitting.trace.segments import Float, ones, protected

_ENDS = ((np.min, np.inf), (np.max, 0.0))


@dataclass(frozen=True, eq=False)
class Samples:
    """Durations, each known to lie in (low, high]; `low == high` is an exact value, an infinite `high` a censored one.

    Parameters
    ----------
    low, high : array
        Borders of what is known about each duration.
    weight : array
        How often each counts; positive.
    """

    low: Float
    high: Float
    weight: Float

    def __post_init__(self) -> None:
        faults = Faults()
        exact = self.high is self.low
        for name in ("low", "high", "weight"):
            object.__setattr__(self, name, protected(getattr(self, name), np.float64))
        if exact:
            object.__setattr__(self, "high", self.low)
        if not self.low.size:
            faults.add("samples", "samples must hold at least one duration; got none")
        elif not self.low.size == self.high.size == self.weight.size:
            faults.add("samples", "low, high and weight must be of one length; got others")
        else:
            self._check(faults)
        faults.raise_if_any()

    def _check(self, faults: Faults) -> None:
        found: dict[str, tuple[str, int]] = {}
        for part in row_blocks(self.low.size):
            low, high, weight = self.low[part], self.high[part], self.weight[part]
            rules = (
                ("low", ~(np.isfinite(low) & (low >= 0)), "finite and not negative"),
                ("high", ~(high >= low) | np.isnan(high), "at least low"),
                ("weight", ~(np.isfinite(weight) & (weight > 0)), "positive and finite"),
                ("low", (low == high) & (low <= 0), "positive for an exact duration"),
            )
            for name, wrong, rule in rules:
                if rule not in found and wrong.any():
                    found[rule] = name, part.start + int(np.flatnonzero(wrong)[0])
        for rule, (name, row) in found.items():
            faults.add(f"{name}[{row}]", f"{name} must be {rule}; got {getattr(self, name)[row]}")

    @classmethod
    def of(
        cls, values: npt.ArrayLike, weights: npt.ArrayLike | None = None, censored: npt.ArrayLike | None = None
    ) -> Samples:
        """Exact durations, some of them only known to be longer than their value where `censored` is true."""
        low = np.asarray(values, dtype=np.float64)
        high = low
        if censored is not None:
            high = np.where(np.asarray(censored, dtype=bool), np.inf, low)
            high.setflags(write=False)
        return cls(low, high, ones(low.size, np.float64) if weights is None else np.asarray(weights))

    @property
    def exact(self) -> npt.NDArray[np.bool_]:
        """Which durations are known exactly."""
        return np.asarray(self.low == self.high)

    @property
    def right_censored(self) -> npt.NDArray[np.bool_]:
        """Which durations are only known to be longer than `low`."""
        return np.isinf(self.high)

    @property
    def total(self) -> float:
        """Sum of the weights."""
        return float(self.weight.sum())

    def moment(self, k: int) -> float:
        """The k-th raw moment of the exact durations."""
        own = self.exact
        part: Any = slice(None) if own.all() else own
        weight, powers = self.weight[part], self.low[part] ** k
        powers *= weight
        return float(powers.sum() / weight.sum())

    def typical(self) -> float:
        """A duration of the right size for scaling: censored ones at their lower border, others at half the upper."""
        value = np.where(self.exact, self.low, np.where(self.right_censored, self.low, self.high / 2))
        mean = float(np.average(value, weights=self.weight))
        return mean if mean > 0 else 1.0

    def in_units_of(self, unit: float) -> Samples:
        """Every duration divided by `unit`."""
        return Samples(self.low / unit, self.high / unit, self.weight)

    def compressed(self, points: int = 4000) -> Samples:
        """Exact durations gathered into `points` weighted groups of nearly equal logarithm; the others as they are.

        The sum of each group's durations is kept exactly, so the mean does not move.
        """
        own = self.exact
        if np.count_nonzero(own) <= points:
            return self
        lowest, highest = (float(np.log(reduce(self.low, where=own, initial=start))) for reduce, start in _ENDS)
        weight, total = np.zeros((2, points))
        for part in row_blocks(own.size):
            value, share = self.low[part][own[part]], self.weight[part][own[part]]
            place = (np.log(value) - lowest) / max(highest - lowest, 1e-12)
            group = np.clip(np.floor(place * (points - 1)), 0, points - 1).astype(np.int64)
            weight += np.bincount(group, share, minlength=points)
            total += np.bincount(group, share * value, minlength=points)
        used = weight > 0
        value = total[used] / weight[used]
        return Samples(
            np.concatenate([value, self.low[~own]]),
            np.concatenate([value, self.high[~own]]),
            np.concatenate([weight[used], self.weight[~own]]),
        )
