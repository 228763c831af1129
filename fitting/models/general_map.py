r"""A MAP of small order by its matrices, general or with zeros that stay zero (MMPPs, acyclic processes), and its EM.

E step: expected time in each phase, hidden jumps and arrivals between phases, by `fitting.models.uniformisation`. M
step: each rate is expected jumps over expected time. A rate that starts at zero stays there, so a diagonal :math:`D_1`
makes the fit an MMPP and an upper bidiagonal :math:`D_0` keeps an acyclic process acyclic. The batch that ends a gap
has k pages with probability :math:`q_i(k)`, i the phase at the gap's end: :math:`D_k = \mathrm{diag}(q(k)) D_1`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic, Self, TypeVar

import numpy as np

from crawltwin.model import BMAP
from crawltwin.model.bmap import stationary
from fitting.models import uniformisation as kernels
from fitting.models.em import EmRun, EmSettings, run_em
from fitting.models.gap_model import GapModel, Structure
from fitting.trace.segments import Float, Segments

FASTEST = 300.0
"""Largest rate, in jumps per mean gap, that EM follows: a phase as fast as that is an instant, and uniformisation pays
for every jump."""
_NOTHING = np.empty((0, 0))
_Expected = tuple[Float, Float, Float, Float, Float]
_Map = TypeVar("_Map", bound="GeneralMap")


@dataclass(frozen=True, eq=False)
class GeneralMap(GapModel):
    """A MAP by its matrices."""

    cheap_gaps = 20_000
    few_steps = 5
    steps_over_all = 2

    D0: Float
    D1: Float

    @property
    def states(self) -> int:
        """Every phase can begin a gap."""
        return self.order

    @property
    def order(self) -> int:
        """Number of phases."""
        return int(self.D0.shape[0])

    @property
    def structure(self) -> Structure:
        """Family and order."""
        return Structure(self.family or "map", self.order)

    @cached_property
    def start(self) -> Float:
        """Stationary law of the phase just after an arrival."""
        if self.order == 1:
            return np.ones(1)
        jump = np.linalg.solve(-self.D0, self.D1)
        return np.asarray(stationary(np.maximum(jump, 0.0) + 1e-300), dtype=np.float64)

    @property
    def mean_gap(self) -> float:
        """Mean of the gaps."""
        return float(self.start @ np.linalg.solve(-self.D0, np.ones(self.order)))

    def phases(self, start: Float) -> kernels.Phases:
        """The process as the compiled passes take it, with this law of the first phase."""
        return kernels.Phases(start, self.D0, self.D1, self.all_sizes)

    def scores(self, data: Segments, before: Float | None = None) -> Float:
        """Log-likelihood of each gap (and its batch) given all before it, from the stationary start."""
        room = _NOTHING if before is None else before
        return np.asarray(kernels.forward(self.marked(data), self.phases(self.start), room))

    def residuals(self, data: Segments) -> Float:
        """Rosenblatt's residual of each gap. Cost: a pass and 2000 matrix exponentials."""
        before = np.empty((len(data), self.order))
        self.without_batches().scores(data, before)
        # The survival function needs one matrix exponential per gap: a table on a fine logarithmic grid is as good.
        grid = np.geomspace(data.gaps.min() * 0.999, data.gaps.max() * 1.001, 2000)
        survival = self._survival_by_phase(grid)
        table = np.stack([np.interp(data.gaps, grid, survival[:, i]) for i in range(self.order)], axis=1)
        return np.asarray(1 - (before * table).sum(axis=1))

    def survival(self, points: Float) -> Float:
        """P(gap > x) of an arbitrary gap at each point."""
        return np.asarray(self._survival_by_phase(points) @ self.start)

    def _survival_by_phase(self, points: Float) -> Float:
        """P(gap > x) from each phase, points x phases, by squaring the exponential of a small step.

        A matrix of small norm has no squaring inside the library's own exponential, whose closed forms for triangular
        matrices lose digits when diagonal entries nearly agree.
        """
        from scipy.linalg import expm

        rate = float(-np.diag(self.D0).min())
        result = np.empty((points.size, self.order))
        for row, x in enumerate(points):
            halvings = max(0, math.ceil(math.log2(max(rate * x, 1e-300)))) + 1
            power = expm(self.D0 * (x / 2**halvings))
            for _ in range(halvings):
                power = power @ power
            result[row] = power.sum(axis=1)
        return result

    def slowed(self, factor: float) -> Self:
        """The process with every gap `factor` times as long."""
        return replace(self, D0=self.D0 / factor, D1=self.D1 / factor)

    def bmap(self) -> BMAP:
        """As matrices D_0, D_1, ..."""
        return BMAP([self.D0, *[column[:, None] * self.D1 for column in self.all_sizes[:, :-1].T]])

    def refit(self, data: Segments, settings: EmSettings) -> EmRun[Self]:
        """EM on `data` that begins at this model.

        A run in which a rate goes beyond all bounds (`FASTEST`) stops there and counts as not converged. Cost of a
        step: about q x n^2 operations per gap, q the largest rate.
        """
        # No phase may begin faster than a tenth of that bound: rows above it are scaled down.
        fastest = FASTEST / 10 / float(data.gaps.mean())
        factor = np.minimum(1.0, fastest / np.maximum(-np.diag(self.D0), 1e-300))[:, None]
        model = self if (factor == 1).all() else replace(self, D0=self.D0 * factor, D1=self.D1 * factor)
        return run_em(MapSteps(model, data, settings), model, settings)


class MapSteps(Generic[_Map]):
    """E and M step of a MAP on one trace; the law of the first phase of a stretch is fitted along."""

    fastest = FASTEST

    def __init__(self, model: _Map, data: Segments, settings: EmSettings) -> None:
        self.observations = float(len(data))
        self._data = data
        self._trace = model.marked(data)
        self._mean = data.mean_gap
        self._first = model.start
        self._settings = settings

    def expect(self, model: _Map) -> tuple[float, _Expected]:
        """Log-likelihood; time in each phase, hidden jumps, arrivals, batch sizes, first phases."""
        return kernels.expectations(self._trace, model.phases(self._first))

    def improve(self, model: _Map, expected: _Expected) -> _Map | None:
        """Rates from jumps over time; None where one of them runs away."""
        time, jumps, arrivals, sizes, begin = expected
        self._first = begin / begin.sum()
        spent = np.maximum(time, 1e-300)[:, None]
        D0 = np.where(np.eye(model.order, dtype=bool), 0.0, np.maximum(jumps, 0.0) / spent)
        D1 = np.maximum(arrivals, 0.0) / spent
        # A rate below anything that could be seen in the trace is zero, or it would only slow the chain's solution.
        floor = 1e-12 * (D0.sum(axis=1) + D1.sum(axis=1))[:, None]
        D0, D1 = np.where(floor < D0, D0, 0.0), np.where(floor < D1, D1, 0.0)
        D0 -= np.diag(D0.sum(axis=1) + D1.sum(axis=1))
        if -float(np.diag(D0).min()) * self._mean > self.fastest:
            return None
        return replace(model, D0=D0, D1=D1, q=model.batch_law(sizes, self._settings))
