r"""A sample: every simulated number with its standard error and its interval, from units of output.

A measure is a smooth function of sums over the pages and the time of a unit (most are ratios). Units are replications
without their warm-up, or long batches of one run, and are treated as independent. One jackknife serves all numbers:
with :math:`\theta` the function of all sums and :math:`\theta_{(i)}` that without unit i, the pseudo-values
:math:`n\theta - (n-1)\theta_{(i)}` have the estimate, free of its bias of first order, as their mean and give the
standard error by their spread, on one degree of freedom less than units.

Sojourn times come as counts in the cells of a fine scale, so distribution functions are exact at the cells' limits.
Quantiles are read from the pooled cells, linearly inside a cell; their standard error comes from the quantiles of the
units (sectioning).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from crawltwin.model.checks import FloatArray
from crawltwin.model.measures import unit_of
from crawltwin.model.results.display import Shown
from simulate.engine.columns import SUM
from simulate.engine.statistics import cell_edges
from simulate.sample.diagnostics import Diagnostics
from simulate.sample.settings import Method
from simulate.sample.units import Reading, Units

if TYPE_CHECKING:
    import pandas as pd

    from simulate.engine.tables import IntArray
    from simulate.sample.intervals import Intervals

SojournFate = Literal["served", "obsolete"]
FATES: tuple[SojournFate, ...] = ("served", "obsolete")
"""Fates with a sojourn time, in the order of the units' histograms."""


@dataclass(frozen=True)
class Estimate:
    """A simulated number: its value and its standard error."""

    value: float
    error: float


def pseudo_values(
    sums: FloatArray, function: Callable[[FloatArray], FloatArray], method: Method = "jackknife"
) -> FloatArray:
    """For each unit one value of each number, whose mean estimates it and whose spread gives the standard error.

    `jackknife`: n times the estimate less (n - 1) times the estimate without the unit. `delta`: the estimate plus the
    unit's first-order influence. Cost: n evaluations.

    Parameters
    ----------
    sums : ndarray (units, columns)
    function : callable
        Takes sums along the last axis, gives numbers along the last axis.

    Examples
    --------
    >>> found = pseudo_values(np.array([[1.0, 2.0], [3.0, 4.0]]), lambda sums: sums[..., :1] / sums[..., 1:])
    >>> round(float(found.mean()), 4)
    0.7083
    """
    n = sums.shape[0]
    total = sums.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        whole = function(total)
        if method == "jackknife":
            return np.asarray(n * whole - (n - 1) * function(total - sums))
        step = 1e-6
        moved, back = (function(total + sign * (n * sums - total)) for sign in (step, -step))
        return np.asarray(whole + (moved - back) / (2 * step))


def standard_errors(pseudo: FloatArray) -> FloatArray:
    """Standard errors of the means of pseudo-values, along the first axis."""
    return np.asarray(pseudo.std(axis=0, ddof=1) / math.sqrt(pseudo.shape[0]))


@dataclass(frozen=True, eq=False, repr=False)
class Sample(Shown):
    """What replications of one scenario tell.

    Parameters
    ----------
    units : Units
        Sums and histograms of each unit, warm-up left out.
    reading : Reading
        How sums are read.
    diagnostics : Diagnostics
        How the whole runs went, warm-up included.
    records : DataFrame, optional
        One row per page, where records were asked for.
    """

    units: Units
    reading: Reading
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    records: pd.DataFrame | None = field(default=None, repr=False)

    def headline(self) -> str:
        """How much was simulated."""
        return f"{self.units.count} units of {self.pages:,} pages in all, warm-up left out; ask for intervals(0.95)"

    def to_frame(self) -> pd.DataFrame:
        """One row for each measure: its value and its standard error."""
        import pandas as pd

        found = ((name, one.value, one.error, unit_of(name)) for name, one in self.scalars.items())
        return pd.DataFrame(found, columns=["measure", "value", "standard_error", "unit"])

    @property
    def freedom(self) -> int:
        """Degrees of freedom of every standard error."""
        return self.units.count - 1

    @cached_property
    def total(self) -> FloatArray:
        """Sums over all units."""
        return np.asarray(self.units.sums.sum(axis=0))

    @property
    def time(self) -> float:
        """Simulated time, warm-up left out."""
        return float(self.total[SUM.time])

    @property
    def pages(self) -> int:
        """Pages delivered, warm-up left out."""
        return int(self.total[SUM.delivered])

    @property
    def decided(self) -> int:
        """Pages whose fate was seen."""
        return int(self.total[[SUM.lost, SUM.obsolete, SUM.served]].sum())

    def cases(self, fate: str) -> int:
        """Pages of a fate: `lost`, `obsolete` or `served`."""
        return int(self.total[getattr(SUM, fate)])

    @cached_property
    def plain(self) -> dict[str, float]:
        """Every scalar measure as the function of all sums, without the jackknife; NaN where none was seen."""
        return {name: float(value) for name, value in self.reading.measures(self.total).items()}

    @cached_property
    def by_unit(self) -> dict[str, FloatArray]:
        """Every scalar measure of each unit by itself; NaN where it saw no such page."""
        return self.reading.measures(self.units.sums)

    def pseudo(self, method: Method = "jackknife") -> dict[str, FloatArray]:
        """The pseudo-values of every scalar measure."""
        found = pseudo_values(self.units.sums, self._stacked, method)
        return {name: found[:, index] for index, name in enumerate(self.plain)}

    def _stacked(self, sums: FloatArray) -> FloatArray:
        return np.stack(list(self.reading.measures(sums).values()), axis=-1)

    @cached_property
    def scalars(self) -> dict[str, Estimate]:
        """Every scalar measure that was seen, with its standard error."""
        return {
            name: Estimate(float(values.mean()), float(standard_errors(values)))
            for name, values in self.pseudo().items()
            if np.isfinite(values).all()
        }

    def level_shares(self, classes: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Shares of time at each level, or in classes of levels, and their standard errors.

        `classes` (levels, classes) holds 0 and 1.
        """

        def shares(sums: FloatArray) -> FloatArray:
            at = self.reading.at_levels(sums)
            return np.asarray((at if classes is None else at @ classes) / sums[..., SUM.time, None])

        pseudo = pseudo_values(self.units.sums, shares)
        return np.asarray(pseudo.mean(axis=0)), standard_errors(pseudo)

    @cached_property
    def edges(self) -> FloatArray:
        """Limits of the cells of sojourn times."""
        return cell_edges(self.units.first_cell, self.units.histograms.shape[2])

    def edge_near(self, x: float) -> int:
        """Position of the limit nearest to a time."""
        return int(np.abs(self.edges - x).argmin())

    def below(self, fate: str, position: int) -> Estimate:
        """P(sojourn <= limit at `position`) among the pages of a fate."""
        cells = self._cells(fate)
        counts = np.stack([cells[:, :position].sum(axis=1), cells.sum(axis=1)], axis=1).astype(np.float64)
        pseudo = pseudo_values(counts, lambda sums: sums[..., :1] / sums[..., 1:])
        return Estimate(float(pseudo.mean()), float(standard_errors(pseudo)[0]))

    def quantile(self, fate: str, order: float) -> Estimate | None:
        """A quantile of the sojourn time by sectioning; None where a unit saw fewer pages than it needs."""
        cells = self._cells(fate)
        if cells.shape[0] < 2 or cells.sum(axis=1).min() * (1 - order) < 1:
            return None
        centre = histogram_quantile(cells.sum(axis=0), self.edges, order)
        own = np.array([histogram_quantile(row, self.edges, order) for row in cells])
        return Estimate(centre, math.sqrt(float(((own - centre) ** 2).sum()) / (own.size - 1) / own.size))

    def intervals(self, confidence: float = 0.95, method: Method = "jackknife") -> Intervals:
        """Confidence intervals of every measure and level."""
        from simulate.sample.intervals import intervals_of

        return intervals_of(self, confidence, method)

    def _cells(self, fate: str) -> Any:
        return self.units.histograms[:, FATES.index("served" if fate == "served" else "obsolete")]

    @property
    def robot_shares(self) -> Mapping[int, float]:
        """Share of time with each number of active robots."""
        shares = dict.fromkeys(sorted({int(r) for r in self.reading.robots}), 0.0)
        for robots, time in zip(self.reading.robots, self.reading.by_robots(self.total), strict=True):
            shares[int(robots)] += float(time / self.total[SUM.time])
        return shares

    def robot_estimates(self) -> dict[int, Estimate]:
        """Share of time with each number of active robots, with its standard error."""
        numbers = list(self.robot_shares)
        member = np.stack([self.reading.robots == number for number in numbers], axis=1).astype(np.float64)
        pseudo = pseudo_values(
            self.units.sums, lambda sums: self.reading.by_robots(sums) @ member / sums[..., SUM.time, None]
        )
        pairs = zip(pseudo.mean(axis=0), standard_errors(pseudo), strict=True)
        return {number: Estimate(float(value), float(error)) for number, (value, error) in zip(numbers, pairs)}


def histogram_quantile(cells: IntArray, edges: FloatArray, order: float) -> float:
    """The quantile of a histogram, linear inside a cell."""
    below = np.concatenate([[0], np.cumsum(cells)])
    goal = order * below[-1]
    cell = int(np.searchsorted(below, goal, side="left")) - 1
    cell = min(max(cell, 0), cells.size - 1)
    share = (goal - below[cell]) / max(1, cells[cell])
    return float(edges[cell] + share * (edges[cell + 1] - edges[cell]))
