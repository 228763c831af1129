r"""Markovian arrivals with Erlang branches: a hidden Markov chain chooses, for every gap, one of M Erlang laws.

State i: an Erlang gap of :math:`r_i` stages of rate :math:`\lambda_i`, then state j with probability
:math:`P_{ij}`; the batch at the gap's end has k pages with probability :math:`q_i(k)`. As a BMAP its phases are the
stages of all branches: :math:`D_0` runs through a branch, :math:`D_k` leads from the last stage of branch i to the
first of branch j with rate :math:`\lambda_i q_i(k) P_{ij}`. (ER-CHMM: Horváth and Okamura, A fast EM algorithm for
fitting marked Markovian arrival processes with a new special structure, EPEW 2013.)

The EM here differs from theirs in one thing: the numbers of stages need no search over all partitions of an order. A
first run lets the stages be real numbers (Gamma branches, the same E step), a second one rounds them and goes on with
the best whole numbers at every M step. Both runs raise their likelihood at every step, and the test of that is
always on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from crawltwin.model import BMAP
from crawltwin.model.bmap import stationary
from crawltwin.model.errors import ConvergenceError
from fitting import erlang_kernels as kernels
from fitting.segments import Float, Segments

MAX_STAGES = 10
"""Most stages of one branch by default: a coefficient of variation below 0.32 within a branch is not followed, so that
the chain stays small."""
_TINY = 1e-12
_FALL = 1e-9
"""How far the log-likelihood may fall in a step, relative to its size, before it counts as a fault: rounding only."""


@dataclass(frozen=True, eq=False)
class ErlangMap:
    """Parameters of the process.

    Parameters
    ----------
    shape, rate : array
        Stages and stage rate of each branch (`shape` is whole once a fit is finished).
    P : array
        Branch of the next gap given that of this one.
    q : array
        Probability of a batch of 1, 2, ... pages at the end of a gap of each branch.
    """

    shape: Float
    rate: Float
    P: Float
    q: Float

    @property
    def branches(self) -> int:
        """Number of branches, M."""
        return int(self.shape.size)

    @property
    def order(self) -> int:
        """Number of phases of the BMAP."""
        return int(self.shape.sum())

    @cached_property
    def start(self) -> Float:
        """Stationary law of the branch at a gap."""
        if self.branches == 1:
            return np.ones(1)
        return np.asarray(stationary(self.P + 1e-300), dtype=np.float64)

    @property
    def constant(self) -> Float:
        """Constants of the log densities."""
        return np.asarray(self.shape * np.log(self.rate) - gammaln(self.shape))

    @property
    def parameters(self) -> int:
        """Free parameters of the gaps' law: stages, rates and transitions (batch sizes not counted)."""
        return self.branches * 2 + self.branches * (self.branches - 1)

    def scores(self, data: Segments, predicted: Float | None = None) -> Float:
        """Log-likelihood of each gap (and its batch) given all before it, from the stationary start."""
        room = np.empty((0, 0)) if predicted is None else predicted
        return np.asarray(
            kernels.forward(
                data.gaps,
                data.log_gaps,
                _marks(data, self.q),
                data.first,
                self.start,
                self.P,
                self.constant,
                self.shape,
                self.rate,
                _padded(self.q),
                room,
            )
        )

    def log_likelihood(self, data: Segments) -> float:
        """Total log-likelihood of gaps and batches. Cost: one pass."""
        return float(self.scores(data).sum())

    def without_batches(self) -> ErlangMap:
        """The process of the batches' epochs alone."""
        return replace(self, q=np.ones((self.branches, 1)))

    def with_batch_sizes(self, shares: Float) -> ErlangMap:
        """The process with batches of 1, 2, ... pages in these shares, whatever the branch."""
        return replace(self, q=np.tile(shares / shares.sum(), (self.branches, 1)))

    def slowed(self, factor: float) -> ErlangMap:
        """The process with every gap `factor` times as long."""
        return replace(self, rate=self.rate / factor)

    def bmap(self) -> BMAP:
        """As matrices D_0, D_1, ..."""
        stages = self.shape.astype(int)
        at = np.concatenate([[0], np.cumsum(stages)])
        D = np.zeros((self.q.shape[1] + 1, at[-1], at[-1]))
        for i, (count, rate) in enumerate(zip(stages, self.rate)):
            for step in range(count):
                D[0, at[i] + step, at[i] + step] = -rate
                if step + 1 < count:
                    D[0, at[i] + step, at[i] + step + 1] = rate
            for k in range(self.q.shape[1]):
                D[k + 1, at[i + 1] - 1, at[:-1]] = rate * self.q[i, k] * self.P[i]
        # The diagonal is the rate itself in every stage, not minus a sum: entries that differ in the last bit make
        # the matrix exponentials of other programs lose half of their digits.
        return BMAP(list(D))


def _padded(q: Float) -> Float:
    """Probabilities with a last column for sizes that the model does not know: nearly impossible, not an error."""
    return np.hstack([q, np.full((q.shape[0], 1), _TINY)])


def _marks(data: Segments, q: Float) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    if q.shape[1] == 1 and np.all(q == 1):
        return np.zeros(len(data), dtype=np.int64)
    return np.minimum(data.sizes - 1, q.shape[1])


@dataclass(frozen=True)
class Run:
    """How an EM run went: its result, the log-likelihood after every step, and whether it came to rest."""

    model: ErlangMap
    history: tuple[float, ...]
    converged: bool


def _shapes(count: Float, total: Float, logs: Float, whole: bool, most: int) -> Float:
    """Best stages of each branch for its weighted gaps: solves log r - digamma(r) = log(mean) - mean(log)."""
    mean = total / count
    s = np.maximum(np.log(mean) - logs / count, 1e-6)
    r = (3 - s + np.sqrt((s - 3) ** 2 + 24 * s)) / (12 * s)
    for _ in range(5):
        r = r - (np.log(r) - digamma(r) - s) / (1 / r - polygamma(1, r))
        r = np.clip(r, 1e-2, 1e3)
    r = np.clip(r, 0.5, most)
    if not whole:
        return np.asarray(r)

    def gain(k: Float) -> Float:
        return np.asarray(k * np.log(k / mean) - gammaln(k) + (k - 1) * logs / count - k)

    low = np.clip(np.floor(r), 1, most)
    high = np.clip(low + 1, 1, most)
    return np.asarray(np.where(gain(high) > gain(low), high, low))


def _step(
    model: ErlangMap,
    start: Float,
    data: Segments,
    marks: np.ndarray[tuple[int], np.dtype[np.int64]],
    *,
    whole: bool,
    by_branch: bool,
    most: int,
) -> tuple[float, ErlangMap, Float]:
    likelihood, count, total, logs, moves, sizes, begin = kernels.expectations(
        data.gaps,
        data.log_gaps,
        marks,
        data.first,
        start,
        model.P,
        model.constant,
        model.shape,
        model.rate,
        _padded(model.q),
    )
    count = np.maximum(count, _TINY)
    alive = count > 1e-6
    shape = np.where(alive, _shapes(count, np.maximum(total, _TINY), logs, whole, most), model.shape)
    rate = np.where(alive, shape * count / np.maximum(total, _TINY * count), model.rate)
    leaving = moves.sum(axis=1, keepdims=True)
    P = np.where(leaving > _TINY, moves / np.maximum(leaving, _TINY), model.P)
    q = model.q
    if by_branch:
        q = sizes[:, : q.shape[1]] / np.maximum(sizes[:, : q.shape[1]].sum(axis=1, keepdims=True), _TINY)
    return likelihood, ErlangMap(shape, rate, P / P.sum(axis=1, keepdims=True), q), begin / begin.sum()


def run_em(
    model: ErlangMap,
    data: Segments,
    *,
    whole: bool,
    by_branch: bool = False,
    steps: int = 500,
    tolerance: float = 1e-7,
    max_stages: int = MAX_STAGES,
) -> Run:
    """EM from `model` until a step gains less than `tolerance` nats a gap, or for `steps` steps.

    Parameters
    ----------
    whole : bool
        Whole numbers of stages, or real ones.
    by_branch : bool
        Fit the batch sizes of every branch too; else `model.q` stays.
    max_stages : int
        Most stages of one branch.

    Raises
    ------
    ConvergenceError
        When the likelihood fell, which EM cannot do: a fault of the program, never of the data.
    """
    marks = _marks(data, model.q)
    start = model.start
    history: list[float] = []
    converged = False
    for _ in range(steps):
        likelihood, better, start_next = _step(
            model, start, data, marks, whole=whole, by_branch=by_branch, most=max_stages
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
        model, start = better, start_next
    return Run(model, tuple(history), converged)


def rounded(model: ErlangMap, max_stages: int = MAX_STAGES) -> ErlangMap:
    """The process with each branch's stages rounded and its mean kept."""
    shape = np.clip(np.rint(model.shape), 1, max_stages)
    return ErlangMap(shape, model.rate * shape / model.shape, model.P, model.q)
