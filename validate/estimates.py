r"""Every simulated number with its standard error, from independent replications.

A measure is a smooth function of sums over the pages and the time of a replication (most are ratios). Replications are
independent and identically distributed whatever happens inside them, so the delete-one jackknife over replications
gives an estimate without its bias of first order, and a standard error on one degree of freedom less than replications:

.. math:: \hat\theta = n\theta - (n-1)\bar\theta_{(\cdot)}, \quad
          s^2 = \frac{n-1}{n} \sum_i (\theta_{(i)} - \bar\theta_{(\cdot)})^2 .

Sojourn times come as counts in the cells of a fine scale, so distribution functions are exact at the cells' limits. A
quantile is read between limits by monotone interpolation; its standard error is that of the distribution function
there over the density (Bahadur), the density taken over a few cells on either side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.interpolate import PchipInterpolator

from crawltwin.model.checks import FloatArray
from simulate.run_statistics import cell_edges
from simulate.units import DELIVERED, LEVELS, LOST, OBSOLETE, SERVED, TIME, Reading, Units

SojournFate = Literal["served", "obsolete"]
FATES: tuple[SojournFate, ...] = ("served", "obsolete")
"""Fates with a sojourn time, in the order of the units' histograms."""
DENSITY_CELLS = 4
"""Cells on either side over which a density is taken."""
TOO_FEW = 100
"""Below this number of cases a standard error from replications cannot be trusted."""


@dataclass(frozen=True)
class Estimate:
    """A simulated number: its value and its standard error."""

    value: float
    error: float


def jackknife(sums: FloatArray, function: Callable[[FloatArray], FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Values and standard errors of a function of sums.

    Parameters
    ----------
    sums : ndarray (replications, columns)
    function : callable
        Takes sums along the last axis of an array (n, columns), gives an array (n, numbers).

    Examples
    --------
    >>> value, error = jackknife(np.array([[1.0, 2.0], [3.0, 4.0]]), lambda s: s[:, :1] / s[:, 1:])
    >>> round(float(value[0]), 4)
    0.7083
    """
    total = sums.sum(axis=0)
    n = sums.shape[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        whole = function(total[None, :])[0]
        left = function(total[None, :] - sums)
        mean = left.mean(axis=0)
        error = np.sqrt((n - 1) / n * ((left - mean) ** 2).sum(axis=0))
        value = n * whole - (n - 1) * mean
    return np.asarray(value), np.asarray(error)


@dataclass(frozen=True)
class Estimates:
    """All numbers of one sample of replications.

    Parameters
    ----------
    units : Units
        One a replication, warm-up left out.
    reading : Reading
        How their sums are read.
    """

    units: Units
    reading: Reading

    @property
    def freedom(self) -> int:
        """Degrees of freedom of every standard error."""
        return self.units.count - 1

    @cached_property
    def _total(self) -> FloatArray:
        return np.asarray(self.units.sums.sum(axis=0))

    @property
    def time(self) -> float:
        """Simulated time."""
        return float(self._total[TIME])

    @property
    def pages(self) -> int:
        """Pages delivered."""
        return int(self._total[DELIVERED])

    @property
    def decided(self) -> int:
        """Pages whose fate was seen."""
        return int(self._total[LOST] + self._total[OBSOLETE] + self._total[SERVED])

    def cases(self, fate: str) -> int:
        """Pages of a fate."""
        return int(self._total[{"lost": LOST, "obsolete": OBSOLETE, "served": SERVED}[fate]])

    @cached_property
    def scalars(self) -> dict[str, Estimate]:
        """Every scalar measure that was seen at all."""
        names = tuple(self.reading.measures(self._total))

        def stacked(sums: FloatArray) -> FloatArray:
            found = self.reading.measures(sums)
            return np.stack([found[name] for name in names], axis=-1)

        values, errors = jackknife(self.units.sums, stacked)
        return {
            name: Estimate(float(value), float(error))
            for name, value, error in zip(names, values, errors, strict=True)
            if np.isfinite(value)
        }

    def level_shares(self, classes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Shares of time in classes of levels; `classes` (levels, classes) holds 0 and 1."""
        return jackknife(self.units.sums, lambda sums: (sums[:, LEVELS:] @ classes) / sums[:, TIME, None])

    @cached_property
    def edges(self) -> FloatArray:
        """Limits of the cells of sojourn times."""
        return cell_edges(self.units.first_cell, self.units.histograms.shape[2])

    def edge_near(self, x: float) -> int:
        """Position of the limit nearest to a time."""
        return int(np.abs(self.edges - x).argmin())

    def below(self, fate: str, position: int) -> Estimate:
        """P(sojourn <= limit at `position`) among the pages of a fate."""
        cells = self.units.histograms[:, FATES.index(fate)]
        counts = np.stack([cells[:, :position].sum(axis=1), cells.sum(axis=1)], axis=1).astype(np.float64)
        value, error = jackknife(counts, lambda sums: sums[:, :1] / sums[:, 1:])
        return Estimate(float(value[0]), float(error[0]))

    def quantile(self, fate: str, order: float) -> Estimate | None:
        """A quantile of the sojourn time; None where the pages seen do not reach both sides of it."""
        pooled = self.units.histograms[:, FATES.index(fate)].sum(axis=0)
        total = int(pooled.sum())
        if total < TOO_FEW:
            return None
        law = np.concatenate([[0.0], np.cumsum(pooled) / total])
        rising = np.concatenate([[True], np.diff(law) > 0])
        if not law[rising][0] < order < law[rising][-1]:
            return None
        value = float(PchipInterpolator(law[rising], self.edges[rising])(order))
        near = self.edge_near(value)
        low, high = max(near - DENSITY_CELLS, 0), min(near + DENSITY_CELLS, law.size - 1)
        density = (law[high] - law[low]) / (self.edges[high] - self.edges[low])
        return Estimate(value, self.below(fate, near).error / density) if density > 0 else None
