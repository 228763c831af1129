r"""Limits of nearly geometric sequences, with error estimates that were calibrated against known answers.

A measure found with windows of 0, 1, 2, ... ordered pages approaches its limit nearly geometrically: the differences
:math:`d_k = v_k - v_{k-1}` have ratios :math:`q_k = d_k/d_{k-1}` that change slowly. The limit is
:math:`v_k + d_k T(q_k)` with :math:`T(q) = q + q^2 + \dots`, one term for each window still to come: Aitken's process,
cut where the window forgets nothing.

The ratios drift: up towards their final value at first, down again when the window reaches the backlogs that really
occur. With :math:`\delta` the last change of the ratio and :math:`\epsilon` the last change of that change, the error
estimate of one measure is the largest of

- what the sum would lose if the ratio fell by :math:`2|\delta| + 3|\epsilon|` at every further step,
- what it would gain if the ratio rose by :math:`2(|\delta| + |\epsilon|)`, each further rise smaller by the ratio,
- what it would gain if the ratio came back to the largest of the last b steps, with b the largest batch: pages come and
  are confused by whole batches, so the ratios dip at the multiples of b,
- what the extrapolated value moved since the last window, and `LEAST` of the whole correction.

A single measure can look good by chance (its error changes sign). All measures share one cause of error, so the largest
ratio of estimate to correction among the scalar measures is applied to all, as is the largest ratio of differences; a
difference that is smaller than an earlier one times the middle ratios since then is taken to be that large; and
neighbouring levels share their relative estimates. All of it times `SAFETY`. Where a sequence is not of this kind (a
ratio outside (0, 1)), the last value stands, and the estimate is ten times its last changes.

`docs/accuracy.md` shows estimates beside true errors; no true error there is larger.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crawltwin.model.checks import FloatArray

SAFETY = 2.0
LEAST = 0.05
NEIGHBOURS = 7
"""Levels that share their relative estimates: each with three on either side."""

LARGEST = 0.97
"""Differences with larger ratios are not extrapolated."""

SHORTEST = 5
"""Values that an estimate needs: three ratios."""


@dataclass(frozen=True)
class Limit:
    """Extrapolated values and the estimates of their absolute errors, entry by entry."""

    value: FloatArray
    error: FloatArray


@dataclass(frozen=True)
class Common:
    """What the sequences of one model have in common, because their errors have one cause.

    Parameters
    ----------
    share : float
        Estimate at least this share of the correction.
    ratio : float
        A ratio that the differences may come back to.
    decay : tuple of float
        The middle one of their ratios at each of the last steps, the newest first.
    """

    share: float = 0.0
    ratio: float = 0.0
    decay: tuple[float, ...] = ()


ALONE = Common()
"""A sequence with no others beside it."""


def limit(sequence: Sequence[npt.ArrayLike], noise: float, remaining: int, common: Common = ALONE) -> Limit:
    """Extrapolate a sequence of arrays of one shape.

    Parameters
    ----------
    sequence : sequence of array_like
        Values v_0, v_1, ..., the finest last. Fewer than `SHORTEST` give no estimate (infinite error).
    noise : float
        Relative error of each value itself; differences below it are taken for noise.
    remaining : int
        How many steps are left until the value would be exact.
    common : Common
        What other sequences of the same model have shown.

    Examples
    --------
    >>> found = limit([1 + 0.5**k for k in range(6)], noise=0.0, remaining=100)
    >>> bool(abs(found.value - 1.0) <= found.error)
    True
    """
    plain = _one(sequence, noise, remaining, common)
    correction = np.abs(plain.value - np.asarray(sequence[-1], dtype=np.float64))
    return Limit(plain.value, SAFETY * np.maximum(plain.error, common.share * correction))


def limits(
    values: Sequence[Mapping[str, FloatArray]], noise: float, remaining: int, cycle: int = 1
) -> tuple[dict[str, Limit], Common]:
    """Extrapolate named measures together; also what the scalar ones have in common.

    `cycle` is the number of steps after which the ratios may come back to what they were.
    """
    share = 0.0
    moving = []
    for name, last in values[-1].items():
        if last.ndim == 0:
            sequence = [entry[name] for entry in values]
            found = _one(sequence, noise, remaining, ALONE)
            correction = abs(float(found.value - last))
            if correction > 0 and np.isfinite(found.error):
                share = max(share, min(float(found.error) / correction, 1.0))
                moving.append(np.array(sequence))
    common = Common(share, *_ratios(np.array(moving), cycle)) if moving else ALONE
    together = {name: limit([entry[name] for entry in values], noise, remaining, common) for name in values[-1]}
    return {name: _neighbours(found) for name, found in together.items()}, common


def _ratios(sequences: FloatArray, cycle: int) -> tuple[float, tuple[float, ...]]:
    """The largest ratio of the last `cycle` steps, and the middle ones of the last steps, the newest first."""
    d = np.diff(sequences, axis=1)
    q = np.divide(d[:, 1:], d[:, :-1], out=np.zeros_like(d[:, 1:]), where=d[:, :-1] != 0)
    inside = np.where((q > 0) & (q < LARGEST), q, 0.0)
    return float(inside[:, -cycle:].max()), tuple(np.median(inside[:, : -SHORTEST + 1 : -1], axis=0).tolist())


def _neighbours(found: Limit) -> Limit:
    """Every entry of a list takes the largest relative estimate around it."""
    if found.value.ndim == 0 or not np.isfinite(found.error).all():
        return found
    size = np.abs(found.value)
    relative = np.divide(found.error, size, out=np.zeros_like(size), where=size > 0)
    padded = np.pad(relative, NEIGHBOURS // 2, mode="edge")
    around = np.lib.stride_tricks.sliding_window_view(padded, NEIGHBOURS).max(axis=-1)
    return Limit(found.value, np.maximum(found.error, around * size))


def _one(sequence: Sequence[npt.ArrayLike], noise: float, remaining: int, common: Common) -> Limit:
    """The estimate of one measure by itself, before safety."""
    v = np.array([np.asarray(entry, dtype=np.float64) for entry in sequence])
    last = v[-1]
    if len(v) < SHORTEST:
        return Limit(last, np.full(last.shape, np.inf))
    d = np.diff(v, axis=0)
    floor = noise * np.abs(last)
    q = np.divide(d[1:], d[:-1], out=np.full(d[1:].shape, 2.0), where=d[:-1] != 0)
    inside = (q > 0) & (q < LARGEST)
    regular = inside[-3:].all(axis=0)
    ratio = np.where(inside, q, 0.5)
    now, before, earlier = ratio[-1], ratio[-2], ratio[-3]
    drift = np.abs(now - before)
    bend = np.abs(now - 2 * before + earlier)
    still = np.zeros_like(now)
    tail = _tail(now, still, remaining)
    value = last + d[-1] * tail
    lower = _tail(now, -(2 * drift + 3 * bend), remaining)
    settled = np.minimum(now + 2 * (drift + bend) * now / (1 - now), 0.5 * (1 + now))
    upper = _tail(np.maximum(settled, common.ratio), still, remaining)
    value_before = v[-2] + d[-2] * _tail(before, still, remaining + 1)
    value_earlier = v[-3] + d[-3] * _tail(earlier, still, remaining + 2)
    moved = np.maximum(np.abs(value - value_before), now * np.abs(value_before - value_earlier))
    drifting = np.abs(d[-1]) * np.maximum(upper - tail, tail - lower)
    hidden = _hidden(d, common.decay) * _tail(np.full(now.shape, common.ratio), still, remaining)
    error = np.maximum.reduce([drifting, moved, hidden, LEAST * np.abs(d[-1]) * tail]) + 4 * floor / (1 - now)
    recent = np.abs(d[-3:]).max(axis=0)
    quiet = recent <= 4 * floor
    return Limit(
        np.where(regular & ~quiet, value, last),
        np.where(quiet, recent + 4 * floor, np.where(regular, error, min(remaining, 10) * recent + floor)),
    )


def _hidden(d: FloatArray, decay: tuple[float, ...]) -> FloatArray:
    """By how much the last difference is smaller than the earlier ones let expect: parts of it cancel for a while."""
    expected, factor = np.abs(d[-1]), 1.0
    for step, ratio in enumerate(decay, start=2):
        factor *= ratio
        expected = np.maximum(expected, factor * np.abs(d[-step]))
    return np.asarray(expected - np.abs(d[-1]))


def _tail(first: FloatArray, pace: FloatArray, steps: int) -> FloatArray:
    """Sum of products of ratios that begin at `first` and change by `pace` a step, over `steps` steps."""
    total, product = np.zeros_like(first), np.ones_like(first)
    for step in range(1, min(steps, 400) + 1):
        product = product * np.clip(first + pace * step, 0.0, 0.98)
        total = total + product
    return total
