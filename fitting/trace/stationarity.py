r"""Does the trace keep its rate? Change points of the rate, over the time that was run.

The trace is cut into windows, of equally many gaps and again of equally much time (a slow part has few
gaps, a fast one takes little time). The logarithms of the windows' rates are split in two where the split lowers the
sum of squares most, and again within the parts, as long as the gain exceeds :math:`12 \log(n)\,\hat\sigma^2` (a BIC
with a margin). :math:`\hat\sigma^2` is the variance at low frequencies of what the split leaves, the median of the
periodogram over the lowest eighth of the frequencies: the step that is tested is no part of it, and regimes that come
and go many times, which a stationary model has too, raise no flag.

Daily cycles are another matter: `fitting.season` looks for them first and takes them out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fitting.trace.segments import Float, Int, Segments

WINDOWS = 120
PENALTY = 12.0
SHORTEST = 5
"""Windows that a part must have."""
FEWEST = 20
"""Gaps that a part must have: a few long gaps are a heavy tail or pauses, no level."""
CHANGE = 1.5
"""Rates that differ by this factor count as changed; smaller steps matter to no buffer."""


@dataclass(frozen=True)
class Stationarity:
    """What was found.

    Attributes
    ----------
    change_points : tuple of int
        Gap numbers at which the mean gap changes.
    levels : tuple of float
        Mean gap in each part.
    ratio : float
        Largest over smallest of them.
    latest : float
        Rate of the last part over that of the whole trace; 1 where nothing changed.
    since : float
        Seconds from the first page to the beginning of the last part; 0 where nothing changed or it is not known.
    changed, stationary : bool
        Whether the rate changes by a factor of `CHANGE`; neither that nor a period was found.
    words : tuple of str
        The findings as sentences.
    """

    change_points: tuple[int, ...]
    levels: tuple[float, ...]
    ratio: float
    latest: float
    changed: bool
    stationary: bool
    words: tuple[str, ...]
    since: float = 0.0


def low_noise(left: Float) -> float:
    """Variance of independent windows that would be as loud at low frequencies as `left`."""
    power = np.abs(np.fft.rfft(left)) ** 2 / left.size
    lowest = power[1 : max(8, left.size // 8) + 1]
    # The ordinates of a periodogram are exponential: their median is log 2 of the mean.
    return float(np.median(lowest)) / math.log(2)


def _split(values: Float, penalty: float, offset: int, found: list[int]) -> None:
    n = values.size
    if n < 2 * SHORTEST:
        return
    total = np.cumsum(values)
    k = np.arange(SHORTEST, n - SHORTEST + 1)
    left, right = total[k - 1] / k, (total[-1] - total[k - 1]) / (n - k)
    gain = k * (n - k) / n * (left - right) ** 2
    best = int(np.argmax(gain))
    at = int(k[best])
    remains = np.concatenate([values[:at] - left[best], values[at:] - right[best]])
    if gain[best] <= penalty * max(low_noise(remains), 1e-12):
        return
    _split(values[:at], penalty, offset, found)
    found.append(offset + at)
    _split(values[at:], penalty, offset + at, found)


def change_points(data: Segments) -> tuple[int, ...]:
    """Gap numbers at which the level of the gaps changes, in order. Cost: a few passes."""
    n = len(data)
    windows = min(WINDOWS, n // 20)
    if windows < 20:
        return ()
    ends = np.cumsum(data.gaps)
    by_gaps = np.arange(windows) * (n // windows)
    by_time = np.searchsorted(ends, ends[-1] * np.arange(windows) / windows)
    views = []
    for begins in (by_gaps, by_time):
        found: list[int] = []
        _split(_log_rates(ends, begins, begins is by_time), PENALTY * math.log(windows), 0, found)
        views.append(_parts_of_enough([int(begins[at]) for at in found], n))
    return max(views, key=lambda points: _ratio(_levels(data, points)))


def _parts_of_enough(points: list[int], gaps: int) -> tuple[int, ...]:
    """The points without the borders of parts that hold fewer than `FEWEST` gaps.

    A gap as long as many windows of even time makes a part of its own there, and several windows begin at it.
    """
    borders = [0, *points, gaps]
    small = [(a, b) for a, b in pairwise(borders) if b - a < FEWEST]
    return tuple(point for point in points if not any(point in part for part in small))


def _levels(data: Segments, points: tuple[int, ...]) -> tuple[float, ...]:
    """Mean gap in each part."""
    return tuple(float(part.mean()) for part in np.split(data.gaps, points) if part.size)


def _ratio(levels: tuple[float, ...]) -> float:
    return max(levels) / min(levels) if levels else math.nan


def _log_rates(ends: Float, begins: Int, even_time: bool) -> Float:
    """Logarithms of the rates in windows that begin at these gaps, of even time or of even numbers of gaps."""
    if even_time:
        # Half of a gap more: an empty window has a rate too, a low one.
        return np.log(np.diff([*begins, ends.size]) + 0.5)
    last = np.append(begins[1:], begins[1] * begins.size) - 1
    return np.asarray(-np.log(np.diff(ends[last], prepend=0.0)))


def judge(data: Segments, periodic: bool = False) -> Stationarity:
    """The changes in words; `periodic`: a period was found before, and `data` are the gaps without it."""
    points = change_points(data)
    levels = _levels(data, points)
    ratio = _ratio(levels)
    changed = bool(points) and ratio >= CHANGE
    words: tuple[str, ...] = ()
    if changed:
        times = "once" if len(points) == 1 else f"{len(points)} times"
        found = (
            f"the mean gap changes {times}, between {min(levels):.4g} s and {max(levels):.4g} s{_direction(levels)}, "
            f"and is {levels[-1]:.4g} s in the end: the model is fitted without these changes and has the mean rate of "
            "the log; a plan takes the latest"
        )
        words = (found,)
    latest = float(data.gaps.mean()) / levels[-1] if changed else 1.0
    return Stationarity(points, levels, ratio, latest, changed, not changed and not periodic, words)


def _direction(levels: tuple[float, ...]) -> str:
    """How a ramp goes; nothing for a single step or for changes to and fro."""
    steps = np.diff(levels)
    if steps.size < 2 or not (np.all(steps > 0) or np.all(steps < 0)):
        return ""
    return ", growing all the time" if steps[0] > 0 else ", shrinking all the time"
