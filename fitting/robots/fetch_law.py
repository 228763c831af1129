"""The law of the fetch time: a phase type by EM, small enough for so many robots, and scored on fetches left out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from crawltwin.model import PhaseType
from crawltwin.model.arrivals.kinds import MAX_PHASES
from crawltwin.model.interval import Interval
from fitting.models.phase_type_em import STRUCTURES, PhFit, best_hyper_erlang, hyper_erlang_em
from fitting.robots.fetches import Fetches
from fitting.trace import bootstrap
from fitting.trace.samples import Samples
from fitting.trace.segments import Float, Int, Segments, every_block

BLOCKS, EVERY = 20, 5
"""The fetches are cut into so many blocks by their ends; of each so many, the middle one is left out."""


@dataclass(frozen=True, eq=False)
class FetchLaw:
    """Time of one fetch, in seconds.

    Attributes
    ----------
    fit : PhFit
        The law, fitted to all fetches.
    mean : Interval
        Of the fetch time, by block bootstrap.
    censored : int
        Fetches that were under way at the end of a stretch.
    trained : PhaseType
        The law fitted without the blocks that are left out.
    held_out, exponential_held_out : float
        Log-likelihood per fetch on these blocks, of `trained` and of the exponential law fitted to the same fetches.
    """

    fit: PhFit
    trained: PhaseType
    mean: Interval
    censored: int
    held_out: float
    exponential_held_out: float

    @property
    def law(self) -> PhaseType:
        """The phase type."""
        return self.fit.distribution

    def to_json(self) -> dict[str, Any]:
        """As a plain dictionary."""
        return {
            "method": self.fit.method,
            "mean": self.mean.to_json(),
            "scv": self.law.scv,
            "initial": np.asarray(self.law.initial).tolist(),
            "subgenerator": np.asarray(self.law.subgenerator).tolist(),
            "log_likelihood": self.fit.log_likelihood,
            "bic": self.fit.bic,
            "censored": self.censored,
            "held_out": self.held_out,
            "exponential_held_out": self.exponential_held_out,
        }


def structures_for(robots: int, spells: int = 2) -> list[tuple[int, ...]]:
    """Stages of the branches with which so many robots have few enough phases to be solved."""

    def phases(stages: Sequence[int]) -> int:
        return spells * math.comb(robots + sum(stages), sum(stages))

    return [stages for stages in STRUCTURES if phases(stages) <= MAX_PHASES] or [(1,)]


def held_out_blocks(count: int) -> npt.NDArray[np.bool_]:
    """Which of so many fetches, in the order of their ends, are left out of the training."""
    return every_block(count, BLOCKS, EVERY)


def block_beginnings(count: int, most: int) -> Int:
    """Which of so many fetches are looked at where `most` are enough: the beginnings of the blocks, or all of them."""
    if count <= most:
        return np.arange(count)
    begins = -(-np.arange(BLOCKS) * count // BLOCKS)
    return np.asarray((begins[:, None] + np.arange(most // BLOCKS)).ravel())


def log_densities(law: PhaseType, durations: Float) -> Float:
    """Logarithm of the density at each duration, from a table of 2,000 points on a logarithmic scale."""
    grid = np.geomspace(durations.min() * 0.999, durations.max() * 1.001, 2000)
    with np.errstate(divide="ignore"):
        table = np.log(np.maximum(law.pdf(grid), 1e-300))
    return np.asarray(np.interp(np.log(durations), np.log(grid), table))


def fit_fetch_law(fetches: Fetches, robots: int, *, seed: int = 0, repetitions: int = 200) -> FetchLaw:
    """The hyper-Erlang law of the smallest BIC among those that so many robots allow.

    Parameters
    ----------
    fetches : Fetches
        Of the used stretches.
    robots : int
        Robots that the scenario will have.
    seed, repetitions : int
        Of the bootstrap for the interval of the mean.

    Notes
    -----
    Cost: two EM runs for each structure, on at most 1,000 points each.
    """
    wanted = structures_for(robots)
    out = held_out_blocks(len(fetches))
    # The law of one stage is told by the mean, which the groups keep.
    durations = fetches.durations
    held, durations = durations[out], durations[~out]
    durations.setflags(write=False)
    train = Samples.of(durations).compressed(1000)
    del durations
    trained, plain = best_hyper_erlang(train, wanted).distribution, hyper_erlang_em(train, (1,)).distribution
    scored = [float(log_densities(law, held).mean()) for law in (trained, plain)]
    data = Segments.of(fetches.durations_by_begin())
    bounds = bootstrap.intervals(data, _mean, repetitions=repetitions, seed=seed)["mean"]
    del data
    best = best_hyper_erlang(fetches.samples(), wanted)
    # What is censored moves the mean of the law, not its scatter.
    shift = best.distribution.mean - bounds.value
    mean = Interval(best.distribution.mean, bounds.low + shift, bounds.high + shift)
    return FetchLaw(best, trained, mean, int(fetches.under_way.size), scored[0], scored[1])


def _mean(durations: Float, _: Int) -> dict[str, float]:
    return {"mean": float(durations.mean())}
