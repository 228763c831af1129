r"""Has the pace changed? A two-sided CUSUM on the times that blocks of deliveries take.

Take blocks of m deliveries; the time y of a block over its mean is close to a gamma variable, and
:math:`x = 3(y^{1/3} - 1)` is close to normal (Wilson and Hilferty 1931), also in the tails. With the mean and the
standard deviation of x from the reference, in units of which a change of the pace by 30% is :math:`\delta`,

.. math:: S^+ \leftarrow \max(0, S^+ + z - k), \qquad S^- \leftarrow \max(0, S^- - z - k), \qquad k = \delta/2,

and the alarm goes off above h. Siegmund's approximation (Sequential Analysis, 1985) gives the mean number of blocks
until a false alarm of one side, :math:`(e^{2k(h+1.166)} - 2k(h+1.166) - 1)/(2k^2)`. Three things would break its
promise and are counted: neighbouring blocks are correlated (the long-run standard deviation is used), the reference is
an estimate (k is taken smaller by the error of its mean when h is chosen), and there are two sides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from crawltwin.model.errors import InputError

BLOCK = 20
"""Deliveries per block."""
CHANGE = 1.3
"""The change of pace that is looked for."""
DAYS = 30.0
"""Days of stationary data with one false alarm at most, on average."""
FEWEST_BLOCKS = 40
DAY = 86_400.0


@dataclass(frozen=True)
class Reference:
    """What the pace was when the watch began.

    Attributes
    ----------
    gap : float
        Mean seconds between deliveries.
    mean, deviation : float
        Of the transformed block times; `deviation` is the long-run one.
    blocks : int
        Blocks that they rest on.
    shift : float
        A faster pace by 30%, in deviations.
    threshold : float
        Where the alarm goes off.
    """

    gap: float
    mean: float
    deviation: float
    blocks: int
    shift: float
    threshold: float

    @classmethod
    def of(cls, gaps: Sequence[float], days: float = DAYS) -> Reference:
        """The reference from at least 800 gaps."""
        values = np.asarray(gaps, dtype=np.float64)
        count = values.size // BLOCK
        if count < FEWEST_BLOCKS:
            raise InputError(f"at least {FEWEST_BLOCKS * BLOCK} gaps must be known; got {values.size}")
        gap = float(values[: count * BLOCK].mean())
        if gap <= 0:
            raise InputError("deliveries must take time; got gaps of nothing")
        x = transformed(values[: count * BLOCK].reshape(count, BLOCK).sum(axis=1), gap)
        deviation = max(long_run_deviation(x), 1e-6)
        shift = abs(3 * (CHANGE ** (-1 / 3) - 1)) / deviation
        threshold = alarm_threshold(shift / 2, days * DAY / (gap * BLOCK), 1 / math.sqrt(count))
        return cls(gap, float(x.mean()), deviation, count, shift, threshold)

    @property
    def delay(self) -> float:
        """Deliveries until a change by 30% is found, on average."""
        return BLOCK * (self.threshold + 1.166) / (self.shift / 2)


@dataclass
class Cusum:
    """The running test; plain numbers, so that it can be kept in a file.

    Attributes
    ----------
    slower, faster : float
        The two sums.
    gathered, inside : float, int
        Seconds and deliveries of the block that is being filled.
    since_slower, since_faster : list
        Deliveries and seconds since each sum was last nothing: what the pace was after the change.
    """

    slower: float = 0.0
    faster: float = 0.0
    gathered: float = 0.0
    inside: int = 0
    since_slower: list[float] = field(default_factory=lambda: [0.0, 0.0])
    since_faster: list[float] = field(default_factory=lambda: [0.0, 0.0])

    def add(self, gap: float, reference: Reference) -> str | None:
        """Take one gap; "slower" or "faster" when the alarm goes off."""
        self.gathered += gap
        self.inside += 1
        if self.inside < BLOCK:
            return None
        seconds, self.gathered, self.inside = self.gathered, 0.0, 0
        z = (float(transformed(np.array([seconds]), reference.gap)[0]) - reference.mean) / reference.deviation
        k = reference.shift / 2
        self.slower, self.faster = max(0.0, self.slower + z - k), max(0.0, self.faster - z - k)
        for total, since in ((self.slower, self.since_slower), (self.faster, self.since_faster)):
            if total == 0.0:
                since[:] = [0.0, 0.0]
            else:
                since[0] += BLOCK
                since[1] += seconds
        if self.slower > reference.threshold:
            return "slower"
        return "faster" if self.faster > reference.threshold else None

    def to_json(self) -> dict[str, Any]:
        """As in the state file."""
        return asdict(self)


def transformed(seconds: np.ndarray, gap: float) -> np.ndarray:
    """Block times as nearly normal values."""
    return np.asarray(3 * (np.cbrt(seconds / (BLOCK * gap)) - 1))


def long_run_deviation(x: np.ndarray) -> float:
    """Standard deviation that counts the correlation of neighbours.

    Where the first correlation is within its own error the plain deviation serves. Elsewhere it is Bartlett's estimate
    of the long-run one, never below the plain one, and one standard error above it: too small a value would break the
    promise on false alarms, too large a one costs some deliveries until an alarm.
    """
    n = x.size
    centred = x - x.mean()
    variance = float(centred @ centred / n)
    plain = math.sqrt(variance * n / (n - 1))
    if float(centred[1:] @ centred[:-1]) <= variance * math.sqrt(n):
        return plain
    lags = max(1, round(n ** (1 / 3)))
    total = variance
    for lag in range(1, lags + 1):
        total += 2 * (1 - lag / (lags + 1)) * float(centred[lag:] @ centred[:-lag] / n)
    return math.sqrt(max(total, variance) * n / (n - 1)) * (1 + math.sqrt(lags / (3 * n)))


def run_length(k: float, h: float) -> float:
    """Mean number of blocks until one side raises a false alarm, by Siegmund's approximation."""
    b = h + 1.166
    if k == 0:
        return b * b
    return (math.exp(2 * k * b) - 2 * k * b - 1) / (2 * k * k)


def alarm_threshold(k: float, blocks: float, doubt: float) -> float:
    """The height at which both sides together raise one false alarm in `blocks`, the mean being off by `doubt`."""
    slack = max(k - doubt, 0.05)
    low, high = 0.0, 10_000.0
    for _ in range(100):
        middle = (low + high) / 2
        try:
            long_enough = run_length(slack, middle) >= 2 * blocks
        except OverflowError:
            long_enough = True
        low, high = (low, middle) if long_enough else (middle, high)
    return high
