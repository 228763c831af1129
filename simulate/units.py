"""Independent (or nearly independent) pieces of output, and every measure as a function of their sums.

A unit is a replication without its warm-up, or a batch of one long run. It holds sums only: time, counts, sums of
sojourn times, time at each level. A measure is a function of sums, so the same functions serve the estimate, its
jackknife and the units one by one.

Probabilities of fates are shares of the pages whose fate was decided in the unit, so they add up to one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crawltwin.model import CostWeights, Scenario
from crawltwin.model.checks import FloatArray
from simulate.plan import BINS_A_GROUP
from simulate.run_statistics import RunStatistics
from simulate.tables import IntArray, robots_by_level

TIME, DELIVERED, BATCHES, LOST, OBSOLETE, SERVED, SERVED_SUM, SERVED_SQUARES, OBSOLETE_SUM, OBSOLETE_SQUARES = range(10)
LEVELS = 10
"""Columns of the sums; from `LEVELS` on the time at each level."""


@dataclass(frozen=True)
class Reading:
    """How sums are read: the robots at each level, the weights of the cost, whether pages can become obsolete."""

    robots: IntArray
    cost: CostWeights | None
    ages: bool

    @classmethod
    def of(cls, scenario: Scenario, levels: int) -> Reading:
        """The reading of a scenario with so many levels."""
        # With room for one page none ever waits, so none becomes obsolete.
        ages = scenario.obsolescence is not None and levels > 2
        return cls(robots_by_level(scenario, levels - 1), scenario.cost, ages)

    def measures(self, sums: FloatArray) -> dict[str, FloatArray]:
        """Every scalar measure of sums along the last axis; NaN where a unit saw no such page."""
        time = sums[..., TIME]
        decided = sums[..., LOST] + sums[..., OBSOLETE] + sums[..., SERVED]
        at_level = sums[..., LEVELS:]
        levels = np.arange(at_level.shape[-1])
        with np.errstate(divide="ignore", invalid="ignore"):
            found: dict[str, FloatArray] = {
                "arrival_rate": sums[..., DELIVERED] / time,
                "loss_probability": sums[..., LOST] / decided,
                "obsolescence_probability": sums[..., OBSOLETE] / decided,
                "success_probability": sums[..., SERVED] / decided,
                "starvation_probability": at_level[..., 0] / time,
                "mean_active_robots": at_level @ self.robots / time,
                "mean_pages": at_level @ levels / time,
                "mean_sojourn": (sums[..., SERVED_SUM] + sums[..., OBSOLETE_SUM]) / decided,
                "mean_sojourn_served": sums[..., SERVED_SUM] / sums[..., SERVED],
                "mean_sojourn_obsolete": sums[..., OBSOLETE_SUM] / sums[..., OBSOLETE],
            }
        if self.cost is not None:
            weights = self.cost
            found["cost"] = (
                found["arrival_rate"]
                * (weights.loss * found["loss_probability"] + weights.obsolescence * found["obsolescence_probability"])
                + weights.response * found["mean_sojourn_served"]
                + weights.robots * found["mean_active_robots"]
                + weights.starvation * found["starvation_probability"]
            )
        return found

    def levels(self, sums: FloatArray) -> FloatArray:
        """The level distribution of sums along the last axis."""
        return np.asarray(sums[..., LEVELS:] / sums[..., TIME, None])

    def spreads(self, sums: FloatArray) -> dict[str, float]:
        """Variance of a single observation (a page, an instant) of each measure that has one."""
        found = {name: float(value) for name, value in self.measures(sums).items()}
        levels, p = np.arange(sums.size - LEVELS), self.levels(sums)
        pages = float(sums[LOST] + sums[OBSOLETE] + sums[SERVED])
        spread = {
            "starvation_probability": p[0] * (1 - p[0]),
            "mean_active_robots": float(p @ self.robots**2) - found["mean_active_robots"] ** 2,
            "mean_pages": float(p @ levels**2) - found["mean_pages"] ** 2,
        }
        for name in ("loss_probability", "obsolescence_probability", "success_probability"):
            spread[name] = found[name] * (1 - found[name])
        squares = sums[SERVED_SQUARES] + sums[OBSOLETE_SQUARES]
        with np.errstate(divide="ignore", invalid="ignore"):
            spread["mean_sojourn"] = squares / pages - found["mean_sojourn"] ** 2
            for name, total, count in (
                ("mean_sojourn_served", SERVED_SQUARES, SERVED),
                ("mean_sojourn_obsolete", OBSOLETE_SQUARES, OBSOLETE),
            ):
                spread[name] = sums[total] / sums[count] - found[name] ** 2
        return {name: float(value) for name, value in spread.items()}


def bin_sums(run: RunStatistics) -> FloatArray:
    """The columns of sums for each bin of a run."""
    time = run.time_at_level.sum(axis=1, keepdims=True)
    return np.hstack([time, run.counts, run.sojourns, run.time_at_level])


@dataclass(frozen=True)
class Units:
    """Sums of each unit, and its histograms of sojourn times (served, obsolete) on a common scale of cells."""

    sums: FloatArray
    histograms: IntArray
    first_cell: int

    @property
    def count(self) -> int:
        """Number of units."""
        return int(self.sums.shape[0])

    @classmethod
    def replications(cls, runs: Sequence[RunStatistics], deleted: int) -> Units:
        """One unit a run, its first `deleted` bins left out."""
        sums = np.array([bin_sums(run)[deleted:].sum(axis=0) for run in runs])
        kept = -(-deleted // BINS_A_GROUP)
        pieces = [(run.histograms[:, kept:].sum(axis=1), run.first_cell) for run in runs]
        return cls(sums, *_aligned(pieces))

    @classmethod
    def batches(cls, runs: Sequence[RunStatistics], deleted: int, count: int) -> Units:
        """`count` batches of time, each summed over the runs; what does not divide goes with the warm-up."""
        total = np.sum([bin_sums(run) for run in runs], axis=0)
        size = (total.shape[0] - deleted) // count
        sums = total[total.shape[0] - size * count :].reshape(count, size, -1).sum(axis=1)
        kept = -(-deleted // BINS_A_GROUP)
        pieces = []
        for group in range(kept, runs[0].histograms.shape[1]):
            cells, first = _aligned([(run.histograms[:, group], run.first_cell) for run in runs])
            pieces.append((cells.sum(axis=0), first))
        return cls(sums, *_aligned(pieces))


def _aligned(pieces: Sequence[tuple[IntArray, int]]) -> tuple[IntArray, int]:
    """Histograms (2, cells) with their first cells, on one scale: (pieces, 2, cells)."""
    first = min(cell for _, cell in pieces)
    last = max(cell + cells.shape[1] for cells, cell in pieces)
    room = np.zeros((len(pieces), 2, last - first), np.int64)
    for index, (cells, cell) in enumerate(pieces):
        room[index, :, cell - first : cell - first + cells.shape[1]] = cells
    return room, first


def joined(parts: Sequence[Units]) -> Units:
    """The units of several parts, one after the other."""
    sums = np.concatenate([part.sums for part in parts])
    pieces = [(cells, part.first_cell) for part in parts for cells in part.histograms]
    return Units(sums, *_aligned(pieces))
