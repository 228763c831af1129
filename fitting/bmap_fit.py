r"""From the process of batch epochs to a BMAP: batch sizes independent of the phase, or different for every branch.

Independent (the paper's): :math:`D_k = d_k D_1`. By branch: the EM of `fitting.erlang_map` with a law of the batch
size for every branch. The first is the second with equal laws, so twice the difference of the log-likelihoods is
compared with a chi-square law of :math:`(M-1)(B-1)` degrees of freedom, M branches and B sizes that occur.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import chi2

from crawltwin.model import BMAP
from fitting import erlang_map
from fitting.candidates import Candidate
from fitting.erlang_map import ErlangMap
from fitting.map_em import GeneralMap
from fitting.segments import Float, Segments

SIGNIFICANT = 0.01


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
        Whether the sizes by phase were taken: significant at 1 % and the smaller BIC.
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

    def to_json(self) -> dict[str, Any]:
        """As a plain dictionary."""
        return {k: (None if isinstance(v, float) and not math.isfinite(v) else v) for k, v in self.__dict__.items()}


def _untested(words: str) -> BatchTest:
    return BatchTest(math.nan, 0, math.nan, math.nan, math.nan, False, words)


def with_batches(
    chosen: Candidate, data: Segments, sizes: Float, mode: str = "test"
) -> tuple[BMAP, ErlangMap | GeneralMap, BatchTest]:
    """The BMAP of the chosen candidate and the trace's batches.

    Parameters
    ----------
    sizes : array
        Shares of batches of 1, 2, ... pages, over all batches.
    mode : {"test", "independent", "by-phase"}
        Let the test decide, or force one of the two.

    Returns
    -------
    tuple
        The process, the model with its batch laws, and the test.
    """
    model = chosen.model
    if not isinstance(model, ErlangMap):
        return (
            BMAP.from_map(model.D0, model.D1, _exact(sizes).tolist()),
            model,
            _untested("batch sizes are taken as independent of the phase: only Erlang branches are tested for more"),
        )
    alone = replace(model, q=np.tile(_exact(sizes), (model.branches, 1)))
    if sizes.size == 1 or model.branches == 1:
        return alone.bmap(), alone, _untested("there is nothing to test: one batch size or one branch")
    shares = data.batch_counts / len(data)
    used = int(np.count_nonzero(data.batch_counts))
    most = int(model.shape.max())
    # Both sides must be at their own maximum, or the ratio would measure how far the gaps' law was from its own.
    base = erlang_map.run_em(
        replace(model, q=np.tile(shares, (model.branches, 1))),
        data,
        whole=True,
        steps=200,
        tolerance=1e-7,
        max_stages=most,
    ).model
    joint = base.log_likelihood(data)
    run = erlang_map.run_em(base, data, whole=True, by_branch=True, steps=200, tolerance=1e-7, max_stages=most)
    by_phase = run.model.log_likelihood(data)
    degrees = (model.branches - 1) * (used - 1)
    statistic = max(2 * (by_phase - joint), 0.0)
    p = float(chi2.sf(statistic, degrees)) if degrees else math.nan
    better = bool(p < SIGNIFICANT and statistic > degrees * math.log(len(data)))
    dependent = mode == "by-phase" or (mode == "test" and better)
    words = (
        f"batch sizes {'depend' if better else 'do not clearly depend'} on the phase "
        f"(likelihood ratio {statistic:.1f} on {degrees} degrees of freedom, p = {p:.2g})"
    )
    test = BatchTest(statistic, degrees, p, joint, by_phase, dependent, words)
    kept = run.model if dependent else alone
    if dependent:
        kept = replace(kept, q=np.stack([_exact(row) for row in kept.q]))
    return kept.bmap(), kept, test


def _exact(shares: Float) -> Float:
    """Shares that sum to one to the last bit that is checked; sizes that never occur keep a zero."""
    return np.asarray(shares / shares.sum())
