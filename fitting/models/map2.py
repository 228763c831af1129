r"""MAPs of order two from moments and correlations, with a verdict on what is possible.

The gaps of every MAP of order two have :math:`\rho_k = \gamma^k (c^2-1)/(2c^2)`: three moments and the decay
:math:`\gamma` are the whole model. With the rates :math:`\lambda_1 \le \lambda_2` that the three moments fix, every
such process has one of two canonical forms (Bodrog, Heindl, Horváth and Telek, A Markovian canonical form of
second-order matrix-exponential processes, Eur. J. Oper. Res. 190, 2008)

.. math::
   D_0 = \begin{pmatrix} -\lambda_1 & (1-a)\lambda_1 \\ 0 & -\lambda_2\end{pmatrix}, \qquad
   D_1^{+} = \begin{pmatrix} a\lambda_1 & 0 \\ (1-b)\lambda_2 & b\lambda_2\end{pmatrix}\ (\gamma = ab), \qquad
   D_1^{-} = \begin{pmatrix} 0 & a\lambda_1 \\ b\lambda_2 & (1-b)\lambda_2\end{pmatrix}\ (\gamma = -ab),

with a, b in [0, 1]. The mean adds one linear equation, so a and b solve a quadratic: the model is feasible exactly
when a root lies in the square. Outside, the verdict names the bound that is broken and the nearest model inside.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from crawltwin.model import BMAP
from crawltwin.model.errors import Faults, InputError

_EDGE = 1e-9
_SLOWEST = 1e-6  # how near to 1 a decay may come: the matrices hold its distance from 1 to eps / 1e-6
"""Relative distance from an open bound at which the nearest feasible model is put."""


@dataclass(frozen=True)
class Verdict:
    """Whether a MAP of order two with the wanted numbers exists.

    Attributes
    ----------
    feasible : bool
        Whether it does.
    broken : tuple of str
        The bounds that are broken, in words with numbers.
    wanted, nearest : dict
        ``mean``, ``scv``, ``third_moment``, ``decay`` and ``lag1``, as wanted and as in the nearest feasible model.
    """

    feasible: bool
    broken: tuple[str, ...]
    wanted: dict[str, float]
    nearest: dict[str, float]

    def __str__(self) -> str:
        if self.feasible:
            return "a MAP of order two has these numbers"
        return "no MAP of order two has these numbers: " + "; ".join(self.broken)


@dataclass(frozen=True)
class Map2:
    """A MAP of order two and the verdict on the numbers it was asked for."""

    D0: npt.NDArray[np.float64]
    D1: npt.NDArray[np.float64]
    verdict: Verdict

    def bmap(self, batch_sizes: Sequence[float] = (1.0,)) -> BMAP:
        """As a BMAP with batch sizes independent of the phase."""
        return BMAP.from_map(self.D0, self.D1, batch_sizes)


def third_moment_bounds(mean: float, scv: float) -> tuple[float, float]:
    """Third moments that a phase type of order two can have with this mean and squared coefficient of variation.

    For scv > 1 the lower bound is open and there is no upper one; at scv = 1 only the exponential's 6 m^3 is
    possible (with this order more would need scv > 1).
    """
    m3 = mean**3
    if scv >= 1:
        return 1.5 * m3 * (1 + scv) ** 2, math.inf
    return 3 * m3 * (3 * scv - 1 + math.sqrt(2) * (1 - scv) ** 1.5), 6 * m3 * scv


@lru_cache(maxsize=256)
def lag1_bounds(scv: float) -> tuple[float, float]:
    """Lag-1 correlations that any MAP of order two with this scv can have, the third moment free.

    For scv > 1 the upper bound (scv - 1)/(2 scv), the decay being 1, is never reached. The lower one, and both for
    scv < 1, come from a search over the third moment.
    """
    half = (scv - 1) / (2 * scv)
    if abs(half) < 1e-12:
        return 0.0, 0.0
    low, high = third_moment_bounds(1.0, scv)
    if scv > 1:
        thirds = low * (1 + np.geomspace(1e-6, 1e4, 60))
    else:
        thirds = np.linspace(low, high, 61)[1:-1]
    reached = [half * g for m3 in thirds for g in decay_bounds(1.0, scv, float(m3))]
    return min(reached), max(reached) if scv < 1 else half


def _rates(mean: float, scv: float, third: float) -> tuple[float, float] | None:
    """Rates (smaller first) of the order-two phase type with these moments; None where they are not real."""
    h2 = (scv - 1) / 2
    h3 = third / (6 * mean**3) - (1 + scv) ** 2 / 4
    if abs(h2) < 1e-12:
        return (1 / mean, 1 / mean) if abs(h3) < 1e-9 else None
    b = h3 + h2 * h2 - h2
    inner = b * b + 4 * h2**3
    if inner < 0:
        if inner < -1e-12 * max(b * b, abs(h2) ** 3):
            return None
        inner = 0.0
    c = math.sqrt(inner)
    if h3 == 0:
        return None
    first, second = (2 * h2 + b - c) / (2 * mean * h3), (2 * h2 + b + c) / (2 * mean * h3)
    low, high = min(first, second), max(first, second)
    return (low, high) if low > 0 else None


def _canonical(mean: float, rates: tuple[float, float], decay: float) -> tuple[float, float] | None:
    """The pair (a, b) of the canonical form with this decay, or None where no pair lies in [0, 1]^2."""
    x, y = 1 / rates[0], 1 / rates[1]
    slack = 1e-9

    def inside(a: float, b: float) -> bool:
        return -slack <= a <= 1 + slack and -slack <= b <= 1 + slack

    if decay >= 0:
        # (1-b) x + (1-a) y = mean (1 - ab), ab = decay, as a quadratic in b.
        pairs = _roots(x, mean * (1 - decay) - x - y, decay * y)
        candidates = [(decay / b if b > 0 else 0.0, b) for b in pairs]
        if decay == 0:
            # a = 0 or b = 0; the two are the two ways to write a renewal process.
            candidates += [(0.0, (x + y - mean) / x), ((x + y - mean) / y, 0.0)]
    else:
        # b x + y = mean (1 + ab), ab = -decay.
        b = (mean * (1 - decay) - y) / x
        candidates = [(-decay / b, b)] if b > 0 else []
    for a, b in candidates:
        if inside(a, b):
            return min(max(a, 0.0), 1.0), min(max(b, 0.0), 1.0)
    return None


def _roots(p2: float, p1: float, p0: float) -> list[float]:
    inner = p1 * p1 - 4 * p2 * p0
    if inner < 0:
        if inner < -1e-12 * max(p1 * p1, 1e-300):
            return []
        inner = 0.0
    root = math.sqrt(inner)
    # The larger root without cancellation, the other from the product.
    big = (-p1 + math.copysign(root, -p1)) / (2 * p2)
    return [big, p0 / (p2 * big)] if big != 0 else [0.0]


def decay_bounds(mean: float, scv: float, third: float) -> tuple[float, float]:
    """Smallest and largest decay of the correlations with these three moments, by bisection on feasibility.

    The feasible decays are an interval around 0, the renewal process; (0, 0) where the moments themselves are not.
    """
    rates = _rates(mean, scv, third)
    if rates is None or _canonical(mean, rates, 0.0) is None:
        return 0.0, 0.0
    ends = []
    for sign in (-1.0, 1.0):
        good, bad = 0.0, 1.0
        # Judged well away from 1, where a and b within their tolerance of 1 would pass for feasible.
        if sign > 0 and _canonical(mean, rates, 1 - 1e-6) is not None:
            ends.append(1.0)
            continue
        for _ in range(60):
            middle = (good + bad) / 2
            if _canonical(mean, rates, sign * middle) is None:
                bad = middle
            else:
                good = middle
        ends.append(sign * good)
    return ends[0], ends[1]


def gamma_third_moment(mean: float, scv: float) -> float:
    """Third moment of the Gamma law, inside the bounds of order two for every scv from 1/2 on: the default choice."""
    return mean**3 * (1 + scv) * (1 + 2 * scv)


def from_moments(mean: float, scv: float, decay: float, third: float | None = None, lag1: float | None = None) -> Map2:
    """The MAP of order two with these numbers, or the nearest feasible one, with the verdict.

    Parameters
    ----------
    mean, scv : float
        Of the gaps.
    decay : float
        Ratio of successive correlations.
    third : float, optional
        Third raw moment; that of the Gamma law by default.
    lag1 : float, optional
        Lag-1 correlation that was measured; it follows from `scv` and `decay` here and is only judged.

    Raises
    ------
    InputError
        When a number is not finite, or `mean` or `scv` is not positive.
    """
    faults = Faults()
    for name, value in (("mean", mean), ("scv", scv)):
        if not (math.isfinite(value) and value > 0):
            faults.add(name, f"{name} must be positive and finite; got {value!r}")
    for name, number in (("decay", decay), ("third moment", third), ("lag1", lag1)):
        if number is not None and not math.isfinite(number):
            faults.add(name, f"{name} must be finite; got {number!r}")
    faults.raise_if_any()
    broken: list[str] = []
    wanted = {"mean": mean, "scv": scv, "decay": decay}
    if third is not None:
        wanted["third_moment"] = third
    c2 = scv
    if c2 < 0.5:
        broken.append(f"the squared coefficient of variation must be at least 1/2; got {scv:.6g}")
        c2 = 0.5
    if lag1 is not None:
        wanted["lag1"] = lag1
        low, high = lag1_bounds(c2)
        if not (low <= lag1 < high or (lag1 == 0 and low == high)):
            got, least, most = _told(lag1, low, high)
            side = f"below (c2 - 1)/(2 c2) = {most}" if lag1 >= high and c2 > 1 else f"in [{least}, {most}]"
            broken.append(
                f"the lag-1 correlation must be {side}, whatever the third moment, at c2 = {c2:.3g}; got {got}"
            )
    m3 = _third(mean, c2, third, broken)
    low, high = decay_bounds(mean, c2, m3)
    gamma = min(max(decay, low), high if high < 1 else 1 - _SLOWEST)
    if gamma != decay:
        got, least, most = _told(decay, low, high)
        broken.append(
            f"the decay of the correlations must be at least {least} and "
            f"{'below' if high >= 1 else 'at most'} {most} with these three moments; got {got}"
        )
    rates = _rates(mean, c2, m3)
    pair = None if rates is None else _canonical(mean, rates, gamma)
    if rates is None or pair is None:
        raise InputError.at("moments", f"no order-two process was found near mean {mean:g}, scv {c2:g}, m3 {m3:g}")
    D0, D1 = _matrices(rates, pair, gamma)
    nearest = {
        "mean": mean,
        "scv": c2,
        "third_moment": m3,
        "decay": gamma,
        "lag1": gamma * (c2 - 1) / (2 * c2),
    }
    return Map2(D0, D1, Verdict(not broken, tuple(broken), wanted, nearest))


def _told(value: float, *bounds: float) -> tuple[str, ...]:
    """A value and its bounds with three digits, or with as many as tell it from them."""
    texts = [tuple(f"{one:.{digits}g}" for one in (value, *bounds)) for digits in range(3, 18)]
    return next((found for found in texts if found[0] not in found[1:]), texts[-1])


def _third(mean: float, scv: float, third: float | None, broken: list[str]) -> float:
    if abs(scv - 1) < 1e-9:
        if third is not None and abs(third / (6 * mean**3) - 1) > 1e-6:
            got, only = _told(third, 6 * mean**3)
            broken.append(f"the third moment must be 6 m^3 = {only} at c2 = 1; got {got}")
        return 6 * mean**3
    chosen = gamma_third_moment(mean, scv) if third is None else third
    low, high = third_moment_bounds(mean, scv)
    inside = low * (1 + _EDGE) if scv > 1 else low
    if chosen < inside or chosen > high:
        got, least, most = _told(chosen, low, high)
        bound = f"above {least}" if high == math.inf else f"in [{least}, {most}]"
        broken.append(f"the third moment must be {bound} at c2 = {scv:.3g}; got {got}")
        # Just inside, where the two rates are still apart by more than rounding.
        width = low if high == math.inf else high - low
        chosen = min(max(chosen, low + 1e-6 * width), high if high == math.inf else high - 1e-6 * width)
    return chosen


def _matrices(
    rates: tuple[float, float], pair: tuple[float, float], gamma: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    (x, y), (a, b) = rates, pair
    D0 = np.array([[-x, (1 - a) * x], [0.0, -y]])
    D1 = (
        np.array([[a * x, 0.0], [(1 - b) * y, b * y]]) if gamma >= 0 else np.array([[0.0, a * x], [b * y, (1 - b) * y]])
    )
    if y - x > 1e-9 * y and gamma >= 0:
        # Where the gaps are hyperexponential, the diagonal form of the paper says more to people.
        diagonal = _diagonal_form(D0, D1)
        if diagonal is not None:
            return diagonal
    return D0, D1


def _diagonal_form(
    D0: npt.NDArray[np.float64], D1: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None:
    """The same process with a diagonal D_0, if its matrices have no negative rate; None otherwise."""
    x, y = -D0[0, 0], -D0[1, 1]
    # Right eigenvectors of D0, scaled so that the transformation keeps the row sums: T e = e.
    T = np.array([[1.0, D0[0, 1] / (x - y)], [0.0, 1.0]])
    scale = np.linalg.solve(T, np.ones(2))
    if np.any(np.abs(scale) < 1e-12):
        return None
    T = T * scale
    moved = np.linalg.solve(T, D1 @ T)
    if (moved < -1e-12 * y).any():
        return None
    moved = np.maximum(moved, 0.0)
    rates = np.array([x, y])
    moved *= (rates / moved.sum(axis=1))[:, None]
    return np.diag(-rates), moved


def decay_of(correlations: Sequence[float]) -> float:
    """Decay by least squares on the logarithms of the correlations at lags 1, 2, ... (the leading positive ones).

    Slow decay is what Diamond and Alfa's method is for. With fewer than two positive correlations it is 0.
    """
    values = np.asarray(correlations, dtype=np.float64)
    stop = int(np.argmax(values <= 0)) if (values <= 0).any() else values.size
    if stop < 2:
        return 0.0
    lags = np.arange(1, stop + 1)
    return float(np.exp(np.polyfit(lags, np.log(values[:stop]), 1)[0]))


def diamond_alfa(mean: float, variance: float, correlations: Sequence[float], third: float | None = None) -> Map2:
    """The paper's fit: mean, variance and the decay of the correlations; the third moment by choice.

    Examples
    --------
    >>> fitted = diamond_alfa(212.03, 51352.38, [0.622, 0.574, 0.555, 0.537, 0.523, 0.507])
    >>> fitted.verdict.feasible
    False
    """
    return from_moments(mean, variance / mean**2, decay_of(correlations), third, lag1=float(correlations[0]))


def from_lag1(mean: float, scv: float, third: float, lag1: float) -> Map2:
    """Three moments and the lag-1 correlation, in closed form: the start of an EM, or a fit of its own."""
    half = (scv - 1) / (2 * scv)
    decay = lag1 / half if abs(half) > 1e-9 else 0.0
    return from_moments(mean, scv, decay, third, lag1=lag1)
