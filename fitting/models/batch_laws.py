r"""From the process of batch epochs to a BMAP: batch sizes independent of the phase, or one law for each state.

Independent (the paper's): :math:`D_k = d_k D_1`. By state: EM with a law of the batch size for each hidden state (a
branch, or a phase of a MAP). The first is the second with equal laws, so twice the difference of the log-likelihoods
is compared with a chi-square law of :math:`(M-1)(B-1)` degrees of freedom, M states and B sizes that occur.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtrc

from fitting.models.em import EmSettings
from fitting.models.gap_model import GapModel
from fitting.trace.segments import Float, Segments

SIGNIFICANT = 0.01
TESTED_GAPS = 200_000
"""Gaps of a longer trace on which the test is made, in blocks spread over it."""
TESTED_BLOCKS = 40


@dataclass(frozen=True)
class BatchTest:
    """Whether batch sizes depend on the phase.

    Attributes
    ----------
    statistic, degrees, p : float, int, float
        Of the likelihood-ratio test.
    independent, by_phase : float
        Log-likelihoods of gaps and batches together.
    dependent : bool
        Whether the sizes by phase were taken: significant at 1% and the smaller BIC.
    words : str
        The same as a sentence.
    """

    statistic: float
    degrees: int
    p: float
    independent: float
    by_phase: float
    dependent: bool
    words: str

    @classmethod
    def untested(cls, words: str) -> BatchTest:
        """No test was made, and why."""
        return cls(math.nan, 0, math.nan, math.nan, math.nan, False, words)


def with_batches(model: GapModel, data: Segments, sizes: Float, mode: str = "test") -> tuple[GapModel, BatchTest]:
    """The model of the gaps with the batches of the trace.

    Parameters
    ----------
    sizes : array
        Shares of batches of 1, 2, ... pages, over all batches.
    mode : {"test", "independent", "by-phase"}
        Let the test decide, or force one of the two.

    Returns
    -------
    tuple
        The model with its batch laws, and the test.
    """
    alone = model.with_batch_sizes(sizes)
    if model.structure.family == "map2":
        # EM would lead away from the moments that this family is made to have.
        return alone, BatchTest.untested("batch sizes are taken as independent of the phase, as the paper does")
    if sizes.size == 1 or model.states == 1:
        return alone, BatchTest.untested("there is nothing to test: one batch size or one branch")
    whole, data = data, data.sample(TESTED_GAPS, TESTED_BLOCKS)
    used = int(np.count_nonzero(data.batch_counts))
    # Both sides must be at their own maximum, or the ratio would measure how far the gaps' law was from its own.
    settings = EmSettings(steps=200, max_stages=max(model.structure.stages, default=1))
    base = model.with_batch_sizes(data.batch_shares).refit(data, settings).model
    joint = base.log_likelihood(data)
    free = base.refit(data, replace(settings, by_phase=True)).model
    by_phase = free.log_likelihood(data)
    degrees = (model.states - 1) * (used - 1)
    statistic = max(2 * (by_phase - joint), 0.0)
    p = float(chdtrc(degrees, statistic)) if degrees else math.nan
    better = bool(p < SIGNIFICANT and statistic > degrees * math.log(len(data)))
    dependent = mode == "by-phase" or (mode == "test" and better)
    words = (
        f"batch sizes {'depend' if better else 'do not clearly depend'} on the phase "
        f"(likelihood ratio {statistic:.1f} on {degrees} degree{'' if degrees == 1 else 's'} of freedom, p = {p:.2g})"
    )
    if whole is not data:
        words += f", tested on {len(data):,} gaps"
        if dependent:
            last = replace(settings, by_phase=True, steps=model.steps_over_all)
            free = _knowing(free, whole.batch_shares).refit(whole, last).model
    exact = replace(free, q=with_first_batches(free.q / free.q.sum(axis=1, keepdims=True), whole, sizes))
    return exact if dependent else alone, BatchTest(statistic, degrees, p, joint, by_phase, dependent, words)


def with_first_batches(laws: Float, data: Segments, sizes: Float | None) -> Float:
    """Batch laws of the gaps, in the last axis, and in every phase the batches that end no gap: they begin a stretch.

    `sizes` are the shares over all batches: those of `data` and, in as small a share as possible, others, at most one
    for each stretch. Only these are mixed in. None: only the batches of `data` are known, and the laws stay.
    """
    if sizes is None:
        return laws
    own = np.zeros(sizes.size)
    own[: data.batch_shares.size] = data.batch_shares
    seen = own > 0
    most = data.first.size / (data.first.size + len(data))
    begin = float(np.clip(np.max(1 - sizes[seen] / own[seen]), 0.0, most))
    others = np.maximum(sizes - (1 - begin) * own, 0.0)
    known = np.zeros((*laws.shape[:-1], sizes.size))
    known[..., : laws.shape[-1]] = laws
    if begin == 0.0:
        return known
    return np.asarray((1 - begin) * known + begin * others / others.sum())


def _knowing(model: GapModel, shares: Float) -> GapModel:
    """The model with a part of chance in its batch laws, so that it knows every size of the whole trace."""
    q = np.zeros((model.states, shares.size))
    q[:, : model.q.shape[1]] = 0.99 * model.q
    return replace(model, q=q + 0.01 * shares)
