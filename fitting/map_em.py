r"""EM for a MAP of small order (general, or with zeros that stay zero) and for MMPPs.

E step: expected time in each phase, hidden jumps and arrivals between phases, by `fitting.map_kernels`. M step:
each rate is expected jumps over expected time. A rate that starts at zero stays there, so a diagonal :math:`D_1`
makes the fit an MMPP and an upper bidiagonal :math:`D_0` keeps an acyclic process acyclic.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from crawltwin.model import BMAP
from crawltwin.model.bmap import stationary
from crawltwin.model.errors import ConvergenceError
from fitting import map_kernels as kernels
from fitting.segments import Float, Segments

_FALL = 1e-9
FASTEST = 300.0
"""Largest rate, in jumps a mean gap, that EM follows: a phase as fast as that is an instant, and uniformisation pays
for every jump."""


@dataclass(frozen=True, eq=False)
class GeneralMap:
    """A MAP by its matrices."""

    D0: Float
    D1: Float

    @property
    def order(self) -> int:
        """Number of phases."""
        return int(self.D0.shape[0])

    @cached_property
    def start(self) -> Float:
        """Stationary law of the phase just after an arrival."""
        if self.order == 1:
            return np.ones(1)
        jump = np.linalg.solve(-self.D0, self.D1)
        return np.asarray(stationary(np.maximum(jump, 0.0) + 1e-300), dtype=np.float64)

    @property
    def parameters(self) -> int:
        """Free rates: every positive one; a MAP that is not in canonical form counts its own redundancy as well."""
        positive = int(np.count_nonzero(self.D1 > 0) + np.count_nonzero(self.D0 > 0))
        # A general MAP of order n has n^2 free numbers in all (Telek and Horváth, 2007).
        return min(positive, self.order**2)

    def scores(self, data: Segments, states: Float | None = None) -> Float:
        """Log-likelihood of each gap given all before it, from the stationary start."""
        room = np.empty((0, 0)) if states is None else states
        return np.asarray(kernels.forward(data.gaps, data.first, self.start, self.D0, self.D1, room))

    def log_likelihood(self, data: Segments) -> float:
        """Total log-likelihood of the gaps."""
        return float(self.scores(data).sum())

    def slowed(self, factor: float) -> GeneralMap:
        """The process with every gap `factor` times as long."""
        return GeneralMap(self.D0 / factor, self.D1 / factor)

    def bmap(self) -> BMAP:
        """As a BMAP of single pages."""
        return BMAP([self.D0, self.D1])


@dataclass(frozen=True)
class MapRun:
    """How an EM run went."""

    model: GeneralMap
    history: tuple[float, ...]
    converged: bool


def run_em(model: GeneralMap, data: Segments, *, steps: int = 200, tolerance: float = 1e-6) -> MapRun:
    """EM from `model` until a step gains less than `tolerance` nats a gap, or for `steps` steps.

    A run in which a rate goes beyond all bounds (`FASTEST`) stops there and counts as not converged. Cost a step:
    about q x n^2 operations a gap, q the largest rate.

    Raises
    ------
    ConvergenceError
        When the likelihood fell, which EM cannot do.
    """
    mean = float(data.gaps.mean())
    model = _slowed(model, FASTEST / 10 / mean)
    start = model.start
    history: list[float] = []
    converged = False
    for _ in range(steps):
        likelihood, time, jumps, arrivals, begin = kernels.expectations(
            data.gaps, data.first, start, model.D0, model.D1
        )
        if history:
            gain = likelihood - history[-1]
            if gain < -_FALL * max(abs(likelihood), len(data)):
                raise ConvergenceError(
                    f"the log-likelihood must not fall in an EM step; got {history[-1]!r} then {likelihood!r} "
                    f"at step {len(history)}"
                )
            if gain < tolerance * len(data):
                history.append(likelihood)
                converged = True
                break
        history.append(likelihood)
        better = _better(model, time, jumps, arrivals)
        if -float(np.diag(better.D0).min()) * mean > FASTEST:
            break
        model, start = better, begin / begin.sum()
    return MapRun(model, tuple(history), converged)


def _slowed(model: GeneralMap, fastest: float) -> GeneralMap:
    """The model with no phase left faster than `fastest`: rows above it are scaled down."""
    factor = np.minimum(1.0, fastest / np.maximum(-np.diag(model.D0), 1e-300))[:, None]
    return model if (factor == 1).all() else GeneralMap(model.D0 * factor, model.D1 * factor)


def _better(model: GeneralMap, time: Float, jumps: Float, arrivals: Float) -> GeneralMap:
    spent = np.maximum(time, 1e-300)[:, None]
    D0 = np.where(np.eye(model.order, dtype=bool), 0.0, np.maximum(jumps, 0.0) / spent)
    D1 = np.maximum(arrivals, 0.0) / spent
    # A rate below anything that could be seen in the trace is zero, or it would only slow the chain's solution.
    floor = 1e-12 * (D0.sum(axis=1) + D1.sum(axis=1))[:, None]
    D0, D1 = np.where(floor < D0, D0, 0.0), np.where(floor < D1, D1, 0.0)
    D0 -= np.diag(D0.sum(axis=1) + D1.sum(axis=1))
    return GeneralMap(D0, D1)


def map_start(data: Segments, order: int) -> GeneralMap:
    """A start for a general MAP: regimes of gap size spread over `order` levels, with every rate positive."""
    borders = np.quantile(data.gaps, np.linspace(0, 1, order + 1)[1:-1])
    label = np.searchsorted(borders, data.gaps, side="right")
    rates = np.array([1 / data.gaps[label == i].mean() if np.any(label == i) else 1.0 for i in range(order)])
    moves = np.full((order, order), 0.5 + 0.05 * len(data) / order)
    np.add.at(moves, (label[:-1], label[1:]), 1.0)
    P = moves / moves.sum(axis=1, keepdims=True)
    D1 = rates[:, None] * P * 0.9
    D0 = np.where(np.eye(order, dtype=bool), 0.0, rates[:, None] * 0.1 / max(order - 1, 1))
    D0 -= np.diag(D0.sum(axis=1) + D1.sum(axis=1))
    return GeneralMap(D0, D1)


def mmpp_start(data: Segments, order: int = 2, window: int = 25) -> GeneralMap:
    """A start for an MMPP: arrival rates of slow and fast regimes, and how long they last, from smoothed gaps."""
    kernel = min(window, max(1, len(data) // 4))
    smooth = np.convolve(data.gaps, np.ones(kernel) / kernel, mode="same")
    label = np.searchsorted(np.quantile(smooth, np.linspace(0, 1, order + 1)[1:-1]), smooth, side="right")
    rates = np.array([1 / data.gaps[label == i].mean() if np.any(label == i) else 1.0 for i in range(order)])
    spent = np.array([data.gaps[label == i].sum() for i in range(order)])
    D0 = np.zeros((order, order))
    np.add.at(D0, (label[:-1], label[1:]), 1.0)
    D0 = np.where(np.eye(order, dtype=bool), 0.0, (D0 + 1.0) / np.maximum(spent, data.gaps.mean())[:, None])
    D1 = np.diag(rates)
    D0 -= np.diag(D0.sum(axis=1) + D1.sum(axis=1))
    return GeneralMap(D0, D1)
