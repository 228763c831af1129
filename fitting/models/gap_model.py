"""What every model of the gaps between batches can do, and what it is, in typed parts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from crawltwin.model import BMAP
from fitting.models.em import EmRun, EmSettings
from fitting.models.kernels import MarkedGaps
from fitting.trace.segments import Float, Segments

_UNKNOWN_SIZE = 1e-12
"""Probability of a batch size that the model does not know: nearly impossible, not an error."""


@dataclass(frozen=True)
class Structure:
    """What a model is.

    Parameters
    ----------
    family : {"poisson", "renewal", "map2", "mmpp2", "map", "erlang", "batched"}
        How it was made.
    order : int
        Number of phases.
    stages : tuple of int
        Stages of each branch, for the families that have branches.
    """

    family: str
    order: int
    stages: tuple[int, ...] = ()

    @property
    def label(self) -> str:
        """The structure for people."""
        stages = "+".join(map(str, self.stages))
        return {
            "poisson": "Poisson",
            "renewal": f"renewal, hyper-Erlang {stages}",
            "map2": "MAP(2), Diamond-Alfa",
            "mmpp2": f"MMPP({self.order}) by EM",
            "batched": "Poisson in batches" if self.order == 1 else f"MMPP({self.order}) in batches",
            "map": f"MAP({self.order}) by EM",
            "erlang": f"Erlang branches {stages}",
        }[self.family]

    @property
    def parameters(self) -> int:
        """Free parameters of the law of the gaps; batch sizes are not counted.

        A general MAP of order n has n^2 of them in all (Telek and Horváth, 2007), and so has an MMPP.
        """
        branches = len(self.stages)
        if self.family == "poisson":
            return 1
        if self.family == "batched":
            return self.order**2 + 1  # the mean size of the batches is fitted with the rest
        if self.family == "renewal":
            return 2 * branches - 1
        return 2 * branches + branches * (branches - 1) if self.family == "erlang" else self.order**2


@dataclass(frozen=True, eq=False)
class GapModel(ABC):
    """A hidden state for each gap, a law of the gap in each state, and a law of the batch at the end of the gap.

    Parameters
    ----------
    q : array
        Probability of a batch of 1, 2, ... pages, one row for each hidden state, or one row for all of them.
    family : str
        See `Structure`.
    """

    cheap_gaps: ClassVar[int] = 200_000
    """Gaps up to which a refit is cheap enough to be repeated."""
    few_steps: ClassVar[int] = 8
    """EM steps that bring a fit to a resampled trace."""
    unit_free: ClassVar[bool] = False
    """Whether the likelihood is a probability, which no unit of time changes, and not a density."""
    steps_over_all: ClassVar[int] = 4
    """EM steps over all gaps that end the fit of a long trace."""

    q: Float = field(default_factory=lambda: np.ones((1, 1)), kw_only=True)
    family: str = field(default="", kw_only=True)

    @property
    @abstractmethod
    def states(self) -> int:
        """Number of hidden states in which a gap can begin."""

    @property
    @abstractmethod
    def order(self) -> int:
        """Number of phases of the BMAP."""

    @property
    @abstractmethod
    def structure(self) -> Structure:
        """What the model is, in typed parts."""

    @property
    @abstractmethod
    def start(self) -> Float:
        """Stationary law of the hidden state at the beginning of a gap."""

    @property
    @abstractmethod
    def mean_gap(self) -> float:
        """Mean of the gaps."""

    @abstractmethod
    def scores(self, data: Segments, before: Float | None = None) -> Float:
        """Log-likelihood of each gap (and its batch) given all before it, from the stationary start.

        `before`, gaps x states, takes the law of the hidden state before each gap.
        """

    @abstractmethod
    def residuals(self, data: Segments) -> Float:
        """Rosenblatt's residuals: the probability of a shorter gap, given all before it, for each gap."""

    @abstractmethod
    def survival(self, points: Float) -> Float:
        """P(gap > x) of an arbitrary gap at each point."""

    @abstractmethod
    def bmap(self) -> BMAP:
        """As matrices D_0, D_1, ..."""

    @abstractmethod
    def slowed(self, factor: float) -> Self:
        """The process with every gap `factor` times as long."""

    @abstractmethod
    def refit(self, data: Segments, settings: EmSettings) -> EmRun[Self]:
        """EM on `data` that begins at this model."""

    def log_likelihood(self, data: Segments) -> float:
        """Total log-likelihood of gaps and batches. Cost: one pass."""
        return float(self.scores(data).sum())

    def without_batches(self) -> Self:
        """The process of the epochs of the batches alone."""
        return replace(self, q=np.ones((1, 1)))

    def with_batch_sizes(self, shares: Float) -> Self:
        """The process with batches of 1, 2, ... pages in these shares, whatever the hidden state."""
        return replace(self, q=(shares / shares.sum())[None, :])

    def moment(self, k: int) -> float:
        """The k-th raw moment of the gaps."""
        return self.bmap().interval_moment(k)

    def correlations(self, lags: int) -> Float:
        """Correlations of the gaps at lags 1 to `lags`."""
        return gap_correlations(self.bmap(), lags)

    def simulate(self, rng: np.random.Generator, gaps: int) -> Segments:
        """A made trace of the process, from its stationary state."""
        drawn = self.bmap().sample(rng, gaps + 1)
        return Segments.of(np.diff(drawn.times), drawn.sizes[1:])

    def marked(self, data: Segments) -> MarkedGaps:
        """The trace as the compiled passes take it: the size of each batch as a column of `all_sizes`."""
        columns = self.q.shape[1]
        alone = columns == 1 and bool(np.all(self.q == 1))
        batch = np.zeros(len(data), dtype=np.int64) if alone else np.minimum(data.sizes - 1, columns)
        return MarkedGaps(data.gaps, data.log_gaps, batch, data.first)

    def batch_law(self, sizes: Float, settings: EmSettings) -> Float:
        """The M step of the batch sizes, from expected batches by state and size; the law stays unless it is fitted."""
        if not settings.by_phase:
            return self.q
        known = sizes[:, : self.q.shape[1]]
        return np.asarray(known / np.maximum(known.sum(axis=1, keepdims=True), 1e-12))

    @property
    def all_sizes(self) -> Float:
        """The batch law of each state, with a last column for sizes that the model does not know."""
        rows = np.broadcast_to(self.q, (self.states, self.q.shape[1]))
        return np.hstack([rows, np.full((self.states, 1), _UNKNOWN_SIZE)])


def gap_correlations(process: BMAP, lags: int) -> Float:
    """Correlations at lags 1 to `lags` of the gaps, all from powers applied to one vector."""
    inverse = np.linalg.inv(-process.D[0])
    jump = inverse @ sum(process.D[2:], start=process.D[1])
    mean = process.interval_moment(1)
    left = process.batch_phase_distribution @ inverse
    column = inverse.sum(axis=1)
    result = np.empty(lags)
    for k in range(lags):
        left = left @ jump
        result[k] = (left @ column - mean**2) / process.interval_variance
    return result
