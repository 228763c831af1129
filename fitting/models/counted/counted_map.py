"""A MAP that is fitted to counts per interval: the same matrices, another likelihood.

Two ways to the likelihood. *Exact*, for any MAP: `convolution`, whose cost grows with the counts. *Sliced*, for MMPPs:
`occupation`, an approximation whose cost does not; `slices` says how many per ordinary interval, 0 for exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self, TypeVar

import numpy as np
from scipy.linalg import expm
from scipy.special import gammaincc

from crawltwin.model.bmap import stationary
from fitting.models.counted import convolution, occupation
from fitting.models.counted.geometric_batches import fewer
from fitting.models.em import EmRun, EmSettings, run_em
from fitting.models.gap_model import Structure
from fitting.models.general_map import GeneralMap, MapSteps
from fitting.trace.segments import Float, Segments

FASTEST = 20.0
"""Largest rate, in jumps per page, that the exact EM follows."""
UNLIKELY, LARGEST_BATCH = 1e-9, 200
"""Sizes of batches are cut where the rest of their law is that unlikely, or at this size."""
MOST_MORE = 0.95
"""Largest probability that a batch goes on: batches of twenty pages."""
_NOTHING = np.empty((0, 0))
_Counted = TypeVar("_Counted", bound="CountedMap")


@dataclass(frozen=True, eq=False)
class CountedMap(GeneralMap):
    """A MAP by its matrices, with the likelihood of counts per interval.

    Parameters
    ----------
    slices : int
        Slices per ordinary interval in which the phase is constant; 0 for the exact likelihood.
    more : float
        Probability that a batch goes on after a page, where pages come in batches of geometric sizes; in slices only.
    """

    unit_free = True
    cheap_gaps = 3_000
    few_steps = 5

    slices: int = field(default=0, kw_only=True)
    more: float = field(default=0.0, kw_only=True)

    @classmethod
    def poisson(cls, data: Segments) -> CountedMap:
        """The Poisson process, whose most likely rate is pages over time."""
        rate = 1 / data.mean_gap
        return cls(np.array([[-rate]]), np.array([[rate]]), family="poisson")

    @classmethod
    def mmpp(cls, moves: Float, rates: Float, slices: int) -> CountedMap:
        """An MMPP by the rates of its phases and of the moves between them (the diagonal does not count)."""
        off = np.where(np.eye(rates.size, dtype=bool), 0.0, moves)
        return cls(off - np.diag(off.sum(axis=1) + rates), np.diag(rates), family="mmpp2", slices=slices)

    def in_batches(self, more: float) -> Self:
        """The same pages per second in batches, each of which goes on after a page with this probability."""
        rates = np.diag(self.D1) * (1 - more) / (1 - self.more)
        return self._with(np.where(np.eye(self.order, dtype=bool), 0.0, self.D0), rates, more)

    def _with(self, off: Float, rates: Float, more: float) -> Self:
        """An MMPP of batches by its moves, the rates of its phases and the law of the batches."""
        size = 1 if more <= 0 else min(LARGEST_BATCH, math.ceil(math.log(UNLIKELY) / math.log(more)))
        shares = more ** np.arange(size)
        return replace(
            self, D0=off - np.diag(off.sum(axis=1) + rates), D1=np.diag(rates), more=more,
            q=(shares / shares.sum())[None, :], family="batched" if more > 0 else self.family,
        )  # fmt: skip

    @property
    def structure(self) -> Structure:
        """Family and order; a renewal process is a ring of Erlang stages."""
        return Structure(self.family or "map", self.order, (self.order,) if self.family == "renewal" else ())

    @cached_property
    def start(self) -> Float:
        """Stationary law of the phase at an arbitrary time, at which an interval begins."""
        if self.order == 1:
            return np.ones(1)
        return np.asarray(stationary(np.maximum(self.D0, 0.0) + self.D1 + 1e-300), dtype=np.float64)

    @property
    def mean_gap(self) -> float:
        """Mean time between pages."""
        return (1 - self.more) / float(self.start @ self.D1.sum(axis=1))

    def survival(self, points: Float) -> Float:
        """P(gap > x) of an arbitrary gap at each point."""
        return np.asarray(self._survival_by_phase(points) @ self.bmap().batch_phase_distribution)

    def with_batch_sizes(self, shares: Float) -> Self:
        """The process itself: its batches, if any, are a part of the model."""
        del shares
        return self

    def scores(self, data: Segments, before: Float | None = None) -> Float:
        """Log-probability of each count given all before it."""
        room = _NOTHING if before is None else before
        if not self.slices:
            return convolution.forward(_trace(data), self._law(self.start), room, _NOTHING)[0]
        return occupation.forward(_trace(data), self._sliced(data), room, _NOTHING)[0]

    def residuals(self, data: Segments) -> Float:
        """The probability of a smaller count, given all before it, plus a drawn part of that of the count itself.

        For a true model they are independent and uniform, as those of continuous data.
        """
        own, draws = np.exp(self.scores(data)), np.random.default_rng(0).random(len(data))
        if not self.slices:
            below = np.empty((len(data), 1))
            convolution.forward(_trace(data), self._law(self.start), _NOTHING, below)
            return np.asarray(below[:, 0] + draws * own)
        law = self._sliced(data)
        base = occupation.slices_of(float(data.gaps.max()), law.slice) + 1
        occupied = np.empty((len(data), base ** (self.order - 1)))
        occupation.forward(_trace(data), law, _NOTHING, occupied)
        result = np.empty(len(data))
        digits = np.arange(occupied.shape[1])[:, None] // base ** np.arange(self.order - 1) % base
        for t, (length, pages) in enumerate(zip(data.gaps, data.sizes)):
            slices = occupation.slices_of(float(length), law.slice)
            left = slices - digits.sum(axis=1)
            mean = (digits @ law.rates[:-1] + left * law.rates[-1]) * length / slices
            # P(Poisson(mean) < n) is the regularised incomplete gamma function of n.
            smaller = gammaincc(pages, np.maximum(mean, 0.0)) if pages else np.zeros(mean.size)
            if self.more:
                smaller = np.array([fewer(int(pages), float(one), self.more) for one in mean])
            result[t] = occupied[t] @ np.where(left >= 0, smaller, 0.0)
        return result + draws * own

    def refit(self, data: Segments, settings: EmSettings) -> EmRun[Self]:
        """EM on `data` that begins at this model."""
        if not self.slices:
            return run_em(_ExactSteps(self, data, settings), self, settings)
        run = run_em(_SlicedSteps(data), self._sliced(data), settings)
        return EmRun(self._unsliced(run.model), run.history, run.converged)

    def _law(self, start: Float) -> convolution.CountLaw:
        return convolution.CountLaw(start, self.D0, self.D1)

    def _sliced(self, data: Segments) -> occupation.SlicedLaw:
        length = float(np.median(data.gaps)) / self.slices
        moves = np.maximum(expm((self.D0 + self.D1) * length), 0.0)
        return occupation.SlicedLaw(
            self.start, moves / moves.sum(axis=1, keepdims=True), np.diag(self.D1).copy(), length, self.more
        )

    def _unsliced(self, law: occupation.SlicedLaw) -> Self:
        """The continuous process of a sliced one: the logarithm of the moves, or their excess over none."""
        moves = law.moves
        values, vectors = np.linalg.eig(moves)
        found = moves - np.eye(self.order)
        if (values.real > 0).all() and np.linalg.cond(vectors) < 1e8:
            found = np.real((vectors * np.log(values.astype(complex))) @ np.linalg.inv(vectors))
        off = np.where(np.eye(self.order, dtype=bool), 0.0, np.maximum(found, 0.0)) / law.slice
        return self._with(off, law.rates, law.more)


def _trace(data: Segments) -> convolution.CountTrace:
    return convolution.CountTrace(data.gaps, data.sizes, data.first)


class _ExactSteps(MapSteps[_Counted]):
    """E and M step of a MAP on counts: the M step is that on gaps."""

    fastest = FASTEST

    def expect(self, model: _Counted) -> tuple[float, tuple[Float, Float, Float, Float, Float]]:
        """Log-likelihood; time in each phase, hidden jumps, arrivals, no batch sizes, first phases."""
        law = convolution.CountLaw(self._first, model.D0, model.D1)
        likelihood, (time, jumps, arrivals, begin) = convolution.expectations(_trace(self._data), law)
        return likelihood, (time, jumps, arrivals, model.q, begin)


class _SlicedSteps:
    """E and M step of an MMPP in slices; the law of the first phase of a stretch is fitted along."""

    def __init__(self, data: Segments) -> None:
        self.observations = float(len(data))
        self._trace = _trace(data)

    def expect(self, model: occupation.SlicedLaw) -> tuple[float, tuple[Float, Float, Float, Float]]:
        """Log-likelihood; time and batches by phase, moves between slices, first phases."""
        return occupation.expectations(self._trace, model)

    def improve(self, model: occupation.SlicedLaw, expected: tuple[Float, Float, Float, Float]) -> occupation.SlicedLaw:
        """Rates from batches over time, their mean size from pages over batches, moves from their expected numbers."""
        time, batches, moved, begin = expected
        leaving = moved.sum(axis=1, keepdims=True)
        moves = np.where(leaving > 0, moved / np.maximum(leaving, 1e-300), model.moves)
        rates = batches / np.maximum(time, 1e-300)
        if not model.more:
            return model._replace(start=begin / begin.sum(), moves=moves, rates=rates)
        more = min(max(1 - batches.sum() / self._trace.counts.sum(), 1e-9), MOST_MORE)
        return model._replace(start=begin / begin.sum(), moves=moves, rates=rates, more=more)
