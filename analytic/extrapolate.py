r"""Limits of slowly converging sequences with an error estimate: Aitken's process with guarded ratios.

A measure found with windows of 0, 1, 2, ... ordered pages approaches its limit nearly geometrically: the differences
:math:`d_k = v_k - v_{k-1}` have ratios :math:`q_k = d_k / d_{k-1}` that settle. The limit is then
:math:`a_k = v_k + d_k\,q_k/(1 - q_k)`. The ratios still drift, so the estimate of the error is the larger of

- what the limit moved, :math:`|a_k - a_{k-1}|`, or :math:`|a_{k-1} - a_{k-2}|` scaled by the last ratio, and
- what it would move if the ratio went on drifting at its last pace until it settled,

times `SAFETY`. Where the sequence is not of that kind (ratios outside (0, 1)), the last value stands and the
estimate is the sum of the last differences continued at a ratio of `CAUTIOUS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crawltwin.model.checks import FloatArray

SAFETY = 2.0
CAUTIOUS = 0.9


@dataclass(frozen=True)
class Limit:
    """Extrapolated values and the estimates of their absolute errors, entry by entry."""

    value: FloatArray
    error: FloatArray


def limit(sequence: Sequence[npt.ArrayLike], noise: float) -> Limit:
    """Extrapolate a sequence of arrays of one shape.

    Parameters
    ----------
    sequence : sequence of array_like
        Values v_0, v_1, ..., the finest last. Fewer than four give no estimate (infinite error).
    noise : float
        Relative error of each value itself; differences below it are taken for noise.

    Examples
    --------
    >>> found = limit([1 + 0.5**k for k in range(6)], noise=0.0)
    >>> abs(float(found.value) - 1.0) < 1e-12
    True
    """
    v = np.array([np.asarray(entry, dtype=np.float64) for entry in sequence])
    last = v[-1]
    if len(v) < 4:
        return Limit(last, np.full(last.shape, np.inf))
    d = np.diff(v, axis=0)
    floor = noise * np.abs(last)
    with np.errstate(divide="ignore", invalid="ignore"):
        q = d[1:] / d[:-1]
    q1, q0 = q[-1], q[-2]
    regular = (q1 > 0) & (q1 < 0.97) & (q0 > 0) & (q0 < 0.97)
    safe1, safe0 = np.where(regular, q1, 0.5), np.where(regular, q0, 0.5)
    now = last + d[-1] * safe1 / (1 - safe1)
    before = v[-2] + d[-2] * safe0 / (1 - safe0)
    # A ratio that still rises by `drift` a step, each rise smaller by the same ratio, ends at this one.
    drift = np.abs(safe1 - safe0)
    end = np.minimum(safe1 + drift * safe1 / (1 - safe1), 0.5 * (1 + safe1))
    drifting = np.abs(d[-1]) * (end / (1 - end) - safe1 / (1 - safe1))
    moved = np.abs(now - before)
    if len(v) > 4:
        q00 = np.where((q[-3] > 0) & (q[-3] < 0.97), q[-3], 0.5)
        earlier = v[-3] + d[-3] * q00 / (1 - q00)
        # A change that happens to vanish once must not pass for accuracy.
        moved = np.maximum(moved, safe1 * np.abs(before - earlier))
    error = SAFETY * np.maximum(moved, drifting) + 4 * floor / (1 - safe1)
    recent = np.abs(d[-3:]).max(axis=0)
    cautious = recent / (1 - CAUTIOUS) + floor
    quiet = recent <= 4 * floor
    value = np.where(regular & ~quiet, now, last)
    return Limit(value, np.where(quiet, recent + 4 * floor, np.where(regular, error, cautious)))
