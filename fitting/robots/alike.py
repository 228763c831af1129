"""Who delivered: whether the robots are alike, and whether they work independently of one another.

The log is cut into blocks of equal time. Within a block the robots are ranked, so that what is common to all of them
(spells, time of day) cancels: Friedman's test on the deliveries of each robot tells whether their rates differ, the
same test on the mean logarithm of their durations whether their fetch times do. Independence: the variance of all
deliveries of a block over the sum of the variances of the single robots is one for independent robots; its law is found
by shifting the blocks of each robot around by chance, which keeps the correlation of each robot with itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from crawltwin.work.memory import distinct, row_blocks
from fitting.robots.fetches import Fetches
from fitting.trace.segments import Float, Int

LEVEL = 0.05
BLOCKS = 20
PER_BLOCK = 5
"""Deliveries of a robot in a mean block at least; robots with fewer are not judged."""
SHIFTS = 499


@dataclass(frozen=True)
class Alike:
    """What the tests say.

    Attributes
    ----------
    robots : int
        Robots that were judged: those with enough deliveries.
    rates_p, durations_p, independence_p : float
        Probability of as large a difference among robots that are alike, or independent; each test by itself.
    dispersion : float
        Variance of all deliveries over the sum of the robots' variances: above one they go together, below one a
        delivery of one robot is to the cost of another.
    """

    robots: int
    rates_p: float
    durations_p: float
    independence_p: float
    dispersion: float

    @property
    def unlike(self) -> bool:
        """Whether rates or fetch times differ; three tests, so each at a third of the level."""
        return min(self.rates_p, self.durations_p) < LEVEL / 3

    @property
    def words(self) -> tuple[str, ...]:
        """One sentence for each question; three tests, so each at a third of the level."""
        limit = LEVEL / 3
        rates = "deliver at different rates" if self.rates_p < limit else "deliver at rates that may be equal"
        times = "fetch times differ" if self.durations_p < limit else "fetch times may have one law"
        together = "together" if self.dispersion > 1 else "at the cost of one another"
        joint = f"deliver {together}" if self.independence_p < limit else "may be independent of one another"
        return (
            f"{self.robots} robots {rates} (p = {self.rates_p:.2g})",
            f"their {times} (p = {self.durations_p:.2g})",
            f"they {joint} (p = {self.independence_p:.2g}, dispersion {self.dispersion:.2f})",
        )

    def to_json(self) -> dict[str, Any]:
        """As a plain dictionary."""
        return {**vars(self), "words": list(self.words)}


def judge_robots(fetches: Fetches, seed: int = 0) -> Alike | None:
    """The three tests; None where fewer than two robots are named or have enough deliveries."""
    if fetches.worker is None:
        return None
    longest = int(np.argmax(fetches.borders[:, 1] - fetches.borders[:, 0]))
    own = (fetches.stretch == longest) & (fetches.worker >= 0)
    delivered, logs = _by_block(fetches if own.all() else fetches.only(own), *fetches.borders[longest])
    enough = delivered.sum(axis=0) >= PER_BLOCK * BLOCKS
    if np.count_nonzero(enough) < 2:
        return None
    delivered, logs = delivered[:, enough], logs[:, enough]
    with np.errstate(invalid="ignore"):
        means = logs / delivered
    full = np.isfinite(means).all(axis=1)
    dispersion, p = _independence(delivered, np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(7,))))
    return Alike(int(np.count_nonzero(enough)), _friedman(delivered), _friedman(means[full]), p, dispersion)


def _by_block(fetches: Fetches, begin: float, end: float) -> tuple[Float, Float]:
    """Deliveries, and sums of the logarithms of their durations, of each robot (columns) in each block of the time."""
    assert fetches.worker is not None
    names = distinct(fetches.worker)
    delivered, logs = np.zeros((2, BLOCKS * names.size))
    for part in row_blocks(len(fetches)):
        share = (fetches.end[part] - begin) / max(end - begin, 1e-12)
        block = np.minimum((share * BLOCKS).astype(np.int64), BLOCKS - 1)
        cell = block * names.size + np.searchsorted(names, fetches.worker[part])
        delivered += np.bincount(cell, minlength=delivered.size)
        took = fetches.end[part] - fetches.begin[part]
        logs += np.bincount(cell, np.log(took), minlength=logs.size)
    return delivered.reshape(BLOCKS, -1), logs.reshape(BLOCKS, -1)


def _friedman(values: Float) -> float:
    """Probability that robots which are alike differ so much; for two robots the signed rank test."""
    if values.shape[0] < 5 or np.ptp(values) == 0:
        return 1.0
    if values.shape[1] == 2:
        apart = values[:, 0] - values[:, 1]
        return float(stats.wilcoxon(apart).pvalue) if np.any(apart != 0) else 1.0
    found = float(stats.friedmanchisquare(*values.T).pvalue)
    return found if np.isfinite(found) else 1.0


def _independence(delivered: Float, rng: np.random.Generator) -> tuple[float, float]:
    """Variance of the sum over the sum of the variances, and its probability under chance shifts, two-sided."""
    single = float(delivered.var(axis=0).sum())
    if single <= 0:
        return 1.0, 1.0
    blocks, robots = delivered.shape
    seen = float(delivered.sum(axis=1).var()) / single
    place: Int = np.arange(blocks)
    drawn = np.empty(SHIFTS)
    for k in range(SHIFTS):
        shifted = (place[:, None] + rng.integers(0, blocks, size=robots)) % blocks
        drawn[k] = float(np.take_along_axis(delivered, shifted, axis=0).sum(axis=1).var()) / single
    above, below = np.count_nonzero(drawn >= seen), np.count_nonzero(drawn <= seen)
    return seen, min(1.0, 2 * (1 + min(int(above), int(below))) / (SHIFTS + 1))
