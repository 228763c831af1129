r"""Markovian arrivals with Erlang branches: a hidden Markov chain chooses, for every gap, one of M Erlang laws.

State i: an Erlang gap of :math:`r_i` stages of rate :math:`\lambda_i`, then state j with probability
:math:`P_{ij}`; the batch at the gap's end has k pages with probability :math:`q_i(k)`. As a BMAP its phases are the
stages of all branches: :math:`D_0` runs through a branch, :math:`D_k` leads from the last stage of branch i to the
first of branch j with rate :math:`\lambda_i q_i(k) P_{ij}`. (ER-CHMM: Horváth and Okamura, A fast EM algorithm for
fitting marked Markovian arrival processes with a new special structure, EPEW 2013.)

The EM here differs from theirs in one thing: the numbers of stages need no search over all partitions of an order. A
first run lets the stages be real numbers (Gamma branches, the same E step), a second one rounds them and goes on with
the best whole numbers at every M step. Both runs raise their likelihood at every step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import digamma, gammainc, gammaincc, gammaln, polygamma

from crawltwin.model import BMAP, PhaseType
from crawltwin.model.bmap import stationary
from fitting.models import erlang_kernels as kernels
from fitting.models.em import MAX_STAGES, EmRun, EmSettings, run_em
from fitting.models.gap_model import GapModel, Structure
from fitting.trace.segments import Float, Segments

_TINY = 1e-12
_NOTHING = np.empty((0, 0))
_Expected = tuple[Float, Float, Float, Float, Float, Float]


@dataclass(frozen=True, eq=False)
class ErlangMap(GapModel):
    """Parameters of the process.

    Parameters
    ----------
    shape, rate : array
        Stages and stage rate of each branch (`shape` is whole once a fit is finished).
    P : array
        Branch of the next gap given that of this one.
    """

    shape: Float
    rate: Float
    P: Float

    @classmethod
    def poisson(cls, mean_gap: float) -> ErlangMap:
        """One branch of one stage."""
        return cls(np.ones(1), np.array([1 / mean_gap]), np.ones((1, 1)), family="poisson")

    @classmethod
    def renewal(cls, law: PhaseType) -> ErlangMap:
        """Independent gaps of a hyper-Erlang law: its branches, chosen anew for every gap."""
        initial, S = np.asarray(law.initial, dtype=np.float64), np.asarray(law.subgenerator, dtype=np.float64)
        begins = np.flatnonzero(initial > 0)
        stages = np.diff([*begins, initial.size]).astype(np.float64)
        weights = initial[begins] / initial[begins].sum()
        return cls(stages, -np.diag(S)[begins], np.tile(weights, (begins.size, 1)), family="renewal")

    @property
    def states(self) -> int:
        """Number of branches, M."""
        return int(self.shape.size)

    @property
    def order(self) -> int:
        """Number of phases of the BMAP."""
        return int(self.shape.sum())

    @property
    def structure(self) -> Structure:
        """Family and stages of the branches; the branches of a renewal process have no order."""
        stages = [int(stage) for stage in self.shape]
        family = self.family or "erlang"
        return Structure(family, self.order, tuple(sorted(stages) if family == "renewal" else stages))

    @cached_property
    def start(self) -> Float:
        """Stationary law of the branch at a gap."""
        if self.states == 1:
            return np.ones(1)
        return np.asarray(stationary(self.P + 1e-300), dtype=np.float64)

    @property
    def mean_gap(self) -> float:
        """Mean of the gaps."""
        return float(self.start @ (self.shape / self.rate))

    def branches(self, start: Float) -> kernels.Branches:
        """The process as the compiled passes take it, with this law of the first state."""
        constant = np.asarray(self.shape * np.log(self.rate) - gammaln(self.shape))
        return kernels.Branches(start, self.P, constant, self.shape, self.rate, self.all_sizes)

    def scores(self, data: Segments, before: Float | None = None) -> Float:
        """Log-likelihood of each gap (and its batch) given all before it, from the stationary start."""
        room = _NOTHING if before is None else before
        law = self.branches(self.start)
        return np.asarray(kernels.forward(self.marked(data), law, room))

    def residuals(self, data: Segments) -> Float:
        """Rosenblatt's residual of each gap. Cost: a pass, and the distribution functions of all branches."""
        before = np.empty((len(data), self.states))
        self.without_batches().scores(data, before)
        return np.asarray((before * gammainc(self.shape, self.rate * data.gaps[:, None])).sum(axis=1))

    def survival(self, points: Float) -> Float:
        """P(gap > x) of an arbitrary gap at each point."""
        return np.asarray(gammaincc(self.shape, self.rate * points[:, None]) @ self.start)

    def slowed(self, factor: float) -> ErlangMap:
        """The process with every gap `factor` times as long."""
        return replace(self, rate=self.rate / factor)

    def rounded(self, max_stages: int = MAX_STAGES) -> ErlangMap:
        """The process with each branch's stages rounded and its mean kept."""
        shape = np.clip(np.rint(self.shape), 1, max_stages)
        return replace(self, shape=shape, rate=self.rate * shape / self.shape)

    def bmap(self) -> BMAP:
        """As matrices D_0, D_1, ..."""
        stages = self.shape.astype(int)
        at = np.concatenate([[0], np.cumsum(stages)])
        q = self.all_sizes[:, :-1]
        D = np.zeros((q.shape[1] + 1, at[-1], at[-1]))
        for i, (count, rate) in enumerate(zip(stages, self.rate)):
            for step in range(count):
                D[0, at[i] + step, at[i] + step] = -rate
                if step + 1 < count:
                    D[0, at[i] + step, at[i] + step + 1] = rate
            for k in range(q.shape[1]):
                D[k + 1, at[i + 1] - 1, at[:-1]] = rate * q[i, k] * self.P[i]
        # The diagonal is the rate itself in every stage, not minus a sum: entries that differ in the last bit make
        # the matrix exponentials of other programs lose half of their digits.
        return BMAP(list(D))

    def refit(self, data: Segments, settings: EmSettings) -> EmRun[ErlangMap]:
        """EM on `data` that begins at this model."""
        return run_em(_ErlangSteps(self, data, settings), self, settings)


class _ErlangSteps:
    """E and M step of Erlang branches on one trace; the law of the first branch of a stretch is fitted along."""

    def __init__(self, model: ErlangMap, data: Segments, settings: EmSettings) -> None:
        self.observations = float(len(data))
        self._trace = model.marked(data)
        self._first = model.start
        self._settings = settings

    def expect(self, model: ErlangMap) -> tuple[float, _Expected]:
        """Log-likelihood; gaps, their sum and sum of logarithms by branch, moves, batch sizes, first branches."""
        return kernels.expectations(self._trace, model.branches(self._first))

    def improve(self, model: ErlangMap, expected: _Expected) -> ErlangMap:
        """Stages and rates from the gaps of each branch, transitions from the moves."""
        count, total, logs, moves, sizes, begin = expected
        self._first = begin / begin.sum()
        count = np.maximum(count, _TINY)
        alive = (count > 1e-6) & (not self._settings.same_stages)
        shape = np.where(alive, _stages(count, np.maximum(total, _TINY), logs, self._settings), model.shape)
        rate = np.where(count > 1e-6, shape * count / np.maximum(total, _TINY * count), model.rate)
        leaving = moves.sum(axis=1, keepdims=True)
        P = np.where(leaving > _TINY, moves / np.maximum(leaving, _TINY), model.P)
        if model.family == "renewal":
            # Gaps that do not know one another: one law of the branch for all of them, the first of a stretch too.
            self._first = count / count.sum()
            P = np.tile(self._first, (model.states, 1))
        q = model.batch_law(sizes, self._settings)
        return replace(model, shape=shape, rate=rate, P=P / P.sum(axis=1, keepdims=True), q=q)


def _stages(count: Float, total: Float, logs: Float, settings: EmSettings) -> Float:
    """Best stages of each branch for its weighted gaps: solves log r - digamma(r) = log(mean) - mean(log)."""
    mean, most = total / count, settings.max_stages
    s = np.maximum(np.log(mean) - logs / count, 1e-6)
    r = (3 - s + np.sqrt((s - 3) ** 2 + 24 * s)) / (12 * s)
    for _ in range(5):
        r = r - (np.log(r) - digamma(r) - s) / (1 / r - polygamma(1, r))
        r = np.clip(r, 1e-2, 1e3)
    r = np.clip(r, 0.5, most)
    if not settings.whole:
        return np.asarray(r)

    def gain(k: Float) -> Float:
        return np.asarray(k * np.log(k / mean) - gammaln(k) + (k - 1) * logs / count - k)

    low = np.clip(np.floor(r), 1, most)
    high = np.clip(low + 1, 1, most)
    return np.asarray(np.where(gain(high) > gain(low), high, low))
