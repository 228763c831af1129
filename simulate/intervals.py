"""Intervals that cover what they claim, from units of output.

Units (replications without their warm-up, or long batches) are treated as independent. Every measure is a function
of sums, so its standard error comes from the jackknife over units (or the delta method, which is the same to first
order) and its interval from Student's t with one degree of freedom less than units. A probability of which a run
sees few cases has a skewed estimate: its interval is Wilson's for the number of independent pages that would have
the same variance. Quantiles are read from pooled histograms, their standard error from the units' own quantiles
(sectioning).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from crawltwin.model.checks import FloatArray
from simulate.run_statistics import cell_edges
from simulate.tables import IntArray
from simulate.units import BATCHES, LEVELS, LOST, OBSOLETE, SERVED, Reading, Units

Method = Literal["jackknife", "delta"]

PROBABILITIES = {"loss_probability": LOST, "obsolescence_probability": OBSOLETE, "success_probability": SERVED}
FEW = 5
"""A fate is rare when units see it (or its opposite) less often than this on average."""


_ROUNDING = 1e-12


@dataclass(frozen=True)
class Interval:
    """An estimate and its confidence interval.

    Examples
    --------
    >>> Interval(2.0, 1.9, 2.1, 0.95).half_width
    0.1
    """

    value: float
    low: float
    high: float
    confidence: float

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

    def to_json(self) -> dict[str, float]:
        """The contract's four numbers."""
        return {"value": self.value, "low": self.low, "high": self.high, "confidence": self.confidence}


@dataclass(frozen=True)
class Estimate:
    """Everything that units tell: an interval, a standard error and influence values for each measure."""

    measures: dict[str, Interval | None]
    levels: tuple[Interval, ...]
    errors: dict[str, float]
    pseudo: dict[str, FloatArray]
    effective: dict[str, float]


def pseudo_values(sums: FloatArray, reading: Reading, method: Method = "jackknife") -> dict[str, FloatArray]:
    """One value a unit for each measure, whose mean estimates it and whose spread gives the standard error.

    `jackknife`: n times the estimate less (n - 1) times the estimate without the unit; removes the bias of order
    1/n of a ratio. `delta`: the estimate plus the unit's first-order influence. Cost: n evaluations.
    """
    n = sums.shape[0]
    total = sums.sum(axis=0)
    whole = reading.measures(total)
    if method == "jackknife":
        rest = reading.measures(total - sums)
        return {name: n * whole[name] - (n - 1) * rest[name] for name in whole}
    step = 1e-6
    moved = reading.measures(total + step * (n * sums - total))
    back = reading.measures(total - step * (n * sums - total))
    return {name: whole[name] + (moved[name] - back[name]) / (2 * step) for name in whole}


def estimate(units: Units, reading: Reading, confidence: float, method: Method = "jackknife") -> Estimate:
    """Intervals of all measures and of the level distribution."""
    total = units.sums.sum(axis=0)
    pseudo = pseudo_values(units.sums, reading, method)
    point = {name: float(value) for name, value in reading.measures(total).items()}
    measures: dict[str, Interval | None] = {}
    errors: dict[str, float] = {}
    for name, values in pseudo.items():
        if not np.isfinite(values).all():
            # No such page was seen, or all of them by one unit: nothing can be said about the spread.
            measures[name], errors[name] = None, math.nan
            continue
        centre = float(values.mean())
        errors[name] = error = float(values.std(ddof=1) / math.sqrt(units.count))
        if error <= _ROUNDING * abs(centre):
            # All units say the same: what is left is rounding, which must not look like an interval.
            measures[name], errors[name] = Interval(point[name], point[name], point[name], confidence), 0.0
        else:
            measures[name] = student(centre, error, units.count, confidence)
    if (reading.robots == reading.robots[0]).all():
        robots = float(reading.robots[0])
        measures["mean_active_robots"] = Interval(robots, robots, robots, confidence)
    if not reading.ages:
        measures["obsolescence_probability"] = Interval(0.0, 0.0, 0.0, confidence)
        measures["mean_sojourn_obsolete"] = None
    effective = _effective_sizes(reading, total, errors)
    pages = float(total[[LOST, OBSOLETE, SERVED]].sum())
    for name, column in PROBABILITIES.items():
        cases = float(total[column])
        if pages and min(cases, pages - cases) < FEW * units.count and measures[name] is not None:
            if name == "obsolescence_probability" and not reading.ages:
                continue
            rare = max(1.0, effective.get(name, float(total[BATCHES])))
            measures[name] = wilson(point[name], min(rare, pages), confidence)
    for name in (*PROBABILITIES, "starvation_probability"):
        measures[name] = _clipped(measures[name], 1.0)
    for name in ("mean_pages", "mean_sojourn", "mean_sojourn_served", "mean_sojourn_obsolete", "arrival_rate"):
        measures[name] = _clipped(measures[name], math.inf)
    return Estimate(measures, _levels(units, reading, confidence), errors, pseudo, effective)


def student(centre: float, error: float, units: int, confidence: float) -> Interval:
    """Student's t about a mean of `units` values with standard error `error`."""
    reach = float(stats.t.ppf(0.5 + confidence / 2, units - 1)) * error
    return Interval(centre, centre - reach, centre + reach, confidence)


def wilson(share: float, size: float, confidence: float) -> Interval:
    """Wilson's interval for a share of `size` independent cases; never empty, also where none was seen."""
    low, high = proportion_confint(share * size, size, alpha=1 - confidence, method="wilson")
    return Interval(share, max(0.0, min(float(low), share)), min(1.0, max(float(high), share)), confidence)


def quantiles(units: Units, fate: int, probabilities: tuple[float, ...], confidence: float) -> dict[float, Interval]:
    """Quantiles of the sojourn time of served (0) or obsolete (1) pages, by sectioning.

    The estimate comes from all pages, its standard error from the quantiles of the units. Units that saw no such
    page, or fewer than the quantile needs, make the quantile unknown: it is left out.
    """
    found: dict[float, Interval] = {}
    cells = units.histograms[:, fate]
    edges = cell_edges(units.first_cell, cells.shape[1])
    pooled = cells.sum(axis=0)
    for p in probabilities:
        if cells.shape[0] < 2 or cells.sum(axis=1).min() * (1 - p) < 1:
            continue
        centre = histogram_quantile(pooled, edges, p)
        own = np.array([histogram_quantile(row, edges, p) for row in cells])
        error = math.sqrt(float(((own - centre) ** 2).sum()) / (own.size - 1) / own.size)
        found[p] = student(centre, error, own.size, confidence)
    return found


def histogram_quantile(cells: IntArray, edges: FloatArray, p: float) -> float:
    """The p-quantile of a histogram, linear inside a cell."""
    below = np.concatenate([[0], np.cumsum(cells)])
    goal = p * below[-1]
    cell = int(np.searchsorted(below, goal, side="left")) - 1
    cell = min(max(cell, 0), cells.size - 1)
    share = (goal - below[cell]) / max(1, cells[cell])
    return float(edges[cell] + share * (edges[cell + 1] - edges[cell]))


def lag_one(values: FloatArray) -> float:
    """Correlation of neighbours in a series; 0 for a constant one."""
    centred = values - values.mean()
    power = float(centred @ centred)
    return float(centred[1:] @ centred[:-1]) / power if power > 0 else 0.0


def _levels(units: Units, reading: Reading, confidence: float) -> tuple[Interval, ...]:
    """Student's t for levels that most units visited, Wilson's for the others; all levels at once."""
    total = units.sums.sum(axis=0)
    n, p = units.count, reading.levels(total)
    pseudo = n * p - (n - 1) * reading.levels(total - units.sums)
    errors = pseudo.std(axis=0, ddof=1) / math.sqrt(n)
    centre = np.clip(pseudo.mean(axis=0), 0.0, 1.0)
    reach = float(stats.t.ppf(0.5 + confidence / 2, n - 1)) * errors
    low, high = np.clip(centre - reach, 0.0, 1.0), np.clip(centre + reach, 0.0, 1.0)
    rare = (units.sums[:, LEVELS:] > 0).sum(axis=0) <= n / 2
    if rare.any():
        seen = rare & (errors > 0)
        size = np.full(p.size, max(1.0, float(total[BATCHES])))
        size[seen] = p[seen] * (1 - p[seen]) / errors[seen] ** 2
        limits = proportion_confint((p * size)[rare], size[rare], alpha=1 - confidence, method="wilson")
        centre[rare], low[rare], high[rare] = p[rare], np.clip(limits[0], 0, p[rare]), np.clip(limits[1], p[rare], 1)
    columns = (centre.tolist(), low.tolist(), high.tolist())
    return tuple(Interval(*numbers, confidence) for numbers in zip(*columns, strict=True))


def _effective_sizes(reading: Reading, total: FloatArray, errors: dict[str, float]) -> dict[str, float]:
    """The number of independent observations that would give the same standard error."""
    return {
        name: spread / errors[name] ** 2
        for name, spread in reading.spreads(total).items()
        if math.isfinite(errors[name]) and errors[name] > 0 and math.isfinite(spread)
    }


def _clipped(interval: Interval | None, most: float) -> Interval | None:
    if interval is None:
        return None
    value, low, high = (min(max(x, 0.0), most) for x in (interval.value, interval.low, interval.high))
    return Interval(value, low, high, interval.confidence)
