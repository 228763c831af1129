"""Independent (or nearly independent) pieces of output, and every measure as a function of their sums.

A unit is a replication without its warm-up, or a batch of one long run. It holds sums only: time, counts, sums of
sojourn times, time at each level. A measure is a function of sums, so the same functions serve the estimate, its
jackknife and the units one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crawltwin.model import SCALAR_MEASURES, CostWeights, Scenario
from crawltwin.model.checks import FloatArray
from crawltwin.model.measures import FATE_SHARES
from crawltwin.model.rates import Rates
from simulate.engine.columns import LEVELS, SUM
from simulate.engine.length import BINS_PER_GROUP
from simulate.engine.run_plan import goes_beyond_the_paper
from simulate.engine.statistics import RunStatistics
from simulate.engine.tables import IntArray, check_levels


@dataclass(frozen=True)
class Reading:
    """How sums are read.

    Probabilities of fates are shares of the pages whose fate was decided, so they add up to one; with `of_delivered`
    they are shares of the delivered pages, as in the transient measures.

    Parameters
    ----------
    robots : ndarray
        Robots wanted at each level; in each mode where `modes` says so.
    cost : CostWeights, optional
    ages : bool
        Whether pages can become obsolete.
    indexers : int
    modes : int
        Modes of a controller of which the time in each is told by the last columns of the sums; 0 where the level
        tells the robots.
    fetches : bool
        Whether fetches in flight are counted.
    """

    robots: IntArray
    cost: CostWeights | None
    ages: bool
    of_delivered: bool = False
    indexers: int = 1
    modes: int = 0
    fetches: bool = False

    @classmethod
    def of(
        cls, scenario: Scenario, levels: int | None = None, of_delivered: bool = False, traced: bool = False
    ) -> Reading:
        """The reading of a scenario with so many levels; a trace may bring more levels, and it has no fetches."""
        top = scenario.top_level if levels is None else levels - 1
        check_levels(top)
        # Where every page has an indexer none ever waits, so none becomes obsolete.
        ages = scenario.obsolescence is not None and top > scenario.indexers
        general, policy = goes_beyond_the_paper(scenario), scenario.policy_in_force
        robots = np.array(policy.as_thresholds().robots if general else policy.robots_by_level(top), np.int64)
        fetches = scenario.arrivals.kind == "fetching" and not traced
        modes = robots.size if general else 0
        return cls(robots, scenario.cost, ages, of_delivered, scenario.indexers, modes, fetches)

    def at_levels(self, sums: FloatArray) -> FloatArray:
        """Time at each level."""
        return sums[..., LEVELS : sums.shape[-1] - self.modes]

    def idle_time(self, sums: FloatArray) -> FloatArray:
        """Time for which an indexer was idle; of several their mean."""
        at_level = self.at_levels(sums)
        return np.asarray(at_level @ np.maximum(1 - np.arange(at_level.shape[-1]) / self.indexers, 0.0))

    def by_robots(self, sums: FloatArray) -> FloatArray:
        """Time with each entry of `robots` in force."""
        return sums[..., sums.shape[-1] - self.modes :] if self.modes else sums[..., LEVELS:]

    def measures(self, sums: FloatArray) -> dict[str, FloatArray]:
        """Every scalar measure of sums along the last axis; NaN where a unit saw no such page."""
        at_level = self.at_levels(sums)
        levels = np.arange(at_level.shape[-1])
        decided = sums[..., SUM.lost] + sums[..., SUM.obsolete] + sums[..., SUM.served]
        rates = Rates(
            pages=sums[..., SUM.delivered],
            lost=sums[..., SUM.lost],
            obsolete=sums[..., SUM.obsolete],
            served=sums[..., SUM.served],
            robots=self.by_robots(sums) @ self.robots,
            starvation=self.idle_time(sums),
            level=at_level @ levels,
            sojourn_served=sums[..., SUM.sojourn_served],
            sojourn_obsolete=sums[..., SUM.sojourn_obsolete],
            decided=sums[..., SUM.delivered] if self.of_delivered else decided,
            switches=sums[..., SUM.switches],
            fetches=sums[..., SUM.fetches] if self.fetches else None,
            time=sums[..., SUM.time],
        )
        found = rates.measures(self.cost)
        return {name: found[name] for name in SCALAR_MEASURES if name in found}

    def levels(self, sums: FloatArray) -> FloatArray:
        """The level distribution of sums along the last axis."""
        return np.asarray(self.at_levels(sums) / sums[..., SUM.time, None])

    def spreads(self, sums: FloatArray) -> dict[str, float]:
        """Variance of a single observation (a page, an instant) of each measure that has one."""
        found = {name: float(value) for name, value in self.measures(sums).items()}
        p, controlled = self.levels(sums), self.by_robots(sums) / sums[SUM.time]
        levels = np.arange(p.size)
        idle = np.maximum(1 - levels / self.indexers, 0.0)
        spread = {
            "starvation_probability": found["starvation_probability"] * (1 - found["starvation_probability"])
            - float(p @ (idle * (1 - idle))),
            "mean_active_robots": float(controlled @ self.robots**2) - found["mean_active_robots"] ** 2,
            "mean_pages": float(p @ levels**2) - found["mean_pages"] ** 2,
        }
        for name in FATE_SHARES:
            spread[name] = found[name] * (1 - found[name])
        decided = float(sums[SUM.lost] + sums[SUM.obsolete] + sums[SUM.served])
        squares = sums[SUM.sojourn_served_squares] + sums[SUM.sojourn_obsolete_squares]
        with np.errstate(divide="ignore", invalid="ignore"):
            for name, total, count in (
                ("mean_sojourn", squares, decided),
                ("mean_sojourn_served", sums[SUM.sojourn_served_squares], sums[SUM.served]),
                ("mean_sojourn_obsolete", sums[SUM.sojourn_obsolete_squares], sums[SUM.obsolete]),
            ):
                spread[name] = total / np.float64(count) - found[name] ** 2
        return {name: float(value) for name, value in spread.items()}


def bin_sums(run: RunStatistics) -> FloatArray:
    """The columns of sums for each bin of a run."""
    time = run.time_at_level.sum(axis=1, keepdims=True)
    return np.hstack([time, run.counts, run.sojourns, run.control, run.time_at_level, run.time_in_mode])


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
    def of_sums(cls, sums: FloatArray) -> Units:
        """Units whose sojourn times were not sorted into cells."""
        return cls(sums, np.zeros((sums.shape[0], 2, 1), np.int64), 0)

    @classmethod
    def replications(cls, runs: Sequence[RunStatistics], deleted: int) -> Units:
        """One unit per run, its first `deleted` bins left out."""
        sums = np.array([bin_sums(run)[deleted:].sum(axis=0) for run in runs])
        kept = -(-deleted // BINS_PER_GROUP)
        pieces = [(run.histograms[:, kept:].sum(axis=1), run.first_cell) for run in runs]
        return cls(sums, *_aligned(pieces))

    @classmethod
    def batches(cls, runs: Sequence[RunStatistics], deleted: int, count: int) -> Units:
        """`count` batches of time, each summed over the runs; what does not divide goes with the warm-up."""
        total: FloatArray = np.sum([bin_sums(run) for run in runs], axis=0)
        kept = -(-deleted // BINS_PER_GROUP)
        pieces = []
        for group in range(kept, runs[0].histograms.shape[1]):
            cells, first = _aligned([(run.histograms[:, group], run.first_cell) for run in runs])
            pieces.append((cells.sum(axis=0), first))
        return cls(in_batches(total, deleted, count), *_aligned(pieces))


def in_batches(sums: FloatArray, deleted: int, count: int) -> FloatArray:
    """The sums of bins as sums of `count` batches of equal length, without the first `deleted` bins at least."""
    size = (sums.shape[0] - deleted) // count
    return np.asarray(sums[sums.shape[0] - size * count :].reshape(count, size, -1).sum(axis=1))


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
