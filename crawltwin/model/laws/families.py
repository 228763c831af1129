r"""Named families of phase types, and phase types with given moments.

Three moments are met by a mixture of two Erlang distributions of one common order n (Johnson and Taaffe, Commun.
Statist. Stochastic Models 5, 1989). With :math:`\mu_k = m_k (n-1)!/(n+k-1)!` the mixture needs a two-point law on
:math:`(0, \infty)` with moments :math:`\mu_1, \mu_2, \mu_3`; it exists exactly when :math:`\mu_2 > \mu_1^2` and
:math:`\mu_1 \mu_3 > \mu_2^2`, which holds for n large enough whenever the moments belong to any non-degenerate positive
variable. n = 1 is the paper's hyperexponential.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from crawltwin.model import checks
from crawltwin.model.errors import Faults, InputError
from crawltwin.model.laws.phase_type import PhaseType

MAX_ORDER = 200
"""Largest number of phases that a moment fit may build."""

MAX_STAGES = 2_000
"""Largest number of phases that a family may have."""


def erlang(stages: int, mean: float) -> PhaseType:
    """Sum of `stages` exponentials of equal rate with the given mean."""
    faults = Faults()
    n = checks.integer(stages, "stages", faults, at_least=1, at_most=MAX_STAGES)
    m = checks.number(mean, "mean", faults, above=0)
    faults.raise_if_any()
    assert n is not None
    assert m is not None
    rate = n / m
    return PhaseType(np.eye(1, n)[0], np.diag(np.full(n, -rate)) + np.diag(np.full(n - 1, rate), 1))


def exponential(mean: float) -> PhaseType:
    """Exponential with the given mean."""
    return erlang(1, mean)


def deterministic_like(mean: float, stages: int = 20) -> PhaseType:
    """An Erlang of many stages: a nearly fixed duration, coefficient of variation 1/sqrt(stages)."""
    return erlang(stages, mean)


def hyperexponential(weights: Sequence[float], rates: Sequence[float]) -> PhaseType:
    """Mixture of exponentials: with probability `weights[j]` of rate `rates[j]`."""
    return hyper_erlang(weights, [1] * _length(weights), rates)


def hyper_erlang(weights: Sequence[float], stages: Sequence[int], rates: Sequence[float]) -> PhaseType:
    """Mixture of Erlang distributions: branch j has `stages[j]` phases, each of rate `rates[j]`."""
    faults = Faults()
    w = checks.vector(weights, "weights", faults)
    r = checks.vector(rates, "rates", faults)
    n = [
        checks.integer(count, f"stages[{j}]", faults, at_least=1, at_most=MAX_STAGES) for j, count in enumerate(stages)
    ]
    if w is not None and r is not None and not len(n) == w.size == r.size:
        faults.add("weights", f"weights, stages and rates must be of one length; got {w.size}, {len(n)} and {r.size}")
    if w is not None:
        checks.probability_vector(w, "weights", faults)
    if r is not None:
        for j in np.flatnonzero(r <= 0)[:3]:
            faults.add(f"rates[{j}]", f"rates must be greater than 0; got {r[j]:g}")
    faults.raise_if_any()
    assert w is not None
    assert r is not None
    counts = [count for count in n if count is not None]
    initial = np.concatenate([w[j] * np.eye(1, count)[0] for j, count in enumerate(counts)])
    order = sum(counts)
    S = np.zeros((order, order))
    at = 0
    for j, count in enumerate(counts):
        for step in range(count):
            S[at + step, at + step] = -r[j]
            if step + 1 < count:
                S[at + step, at + step + 1] = r[j]
        at += count
    return PhaseType(initial, S)


def coxian(rates: Sequence[float], go_on: Sequence[float]) -> PhaseType:
    """Phases in a row: after phase j (rate `rates[j]`) go on with probability `go_on[j]`, else end."""
    faults = Faults()
    r = checks.vector(rates, "rates", faults)
    q = checks.vector(go_on, "go_on", faults) if len(go_on) else np.zeros(0)
    if r is not None and q is not None:
        if q.size != r.size - 1:
            faults.add("go_on", f"go_on must have one entry less than rates ({r.size - 1}); got {q.size}")
        for j in np.flatnonzero(r <= 0)[:3]:
            faults.add(f"rates[{j}]", f"rates must be greater than 0; got {r[j]:g}")
        for j in np.flatnonzero((q <= 0) | (q > 1))[:3]:
            faults.add(f"go_on[{j}]", f"go_on must be in (0, 1]; got {q[j]:g}")
    faults.raise_if_any()
    assert r is not None
    assert q is not None
    return PhaseType(np.eye(1, r.size)[0], np.diag(-r) + np.diag(r[:-1] * q, 1))


def from_mean_and_scv(mean: float, scv: float) -> PhaseType:
    """Two moments: balanced-means hyperexponential for scv > 1, a mixture of two Erlangs of one rate below.

    For scv <= 1 the stages are k - 1 and k with 1/k <= scv <= 1/(k-1) (Tijms, Stochastic Models, 1994, appendix B).
    """
    faults = Faults()
    m = checks.number(mean, "mean", faults, above=0)
    c2 = checks.number(
        scv,
        "scv",
        faults,
        at_least=1 / MAX_ORDER,
        way_out=f"A value below 1/{MAX_ORDER} would need more than {MAX_ORDER} phases.",
    )
    faults.raise_if_any()
    assert m is not None
    assert c2 is not None
    if abs(c2 - 1) < 1e-12:
        return erlang(1, m)
    if c2 > 1:
        p = (1 + math.sqrt((c2 - 1) / (c2 + 1))) / 2
        return hyperexponential([p, 1 - p], [2 * p / m, 2 * (1 - p) / m])
    k = math.ceil(1 / c2 - 1e-12)
    p = max(0.0, (k * c2 - math.sqrt(k * (1 + c2) - k * k * c2)) / (1 + c2))
    if p < 1e-12:
        return erlang(k, m)
    rate = (k - p) / m
    S = np.diag(np.full(k, -rate)) + np.diag(np.full(k - 1, rate), 1)
    # Entering at the second phase leaves k - 1 phases to go.
    return PhaseType([1 - p, p, *[0.0] * (k - 2)], S)


def from_three_moments(m1: float, m2: float, m3: float) -> PhaseType:
    """Three moments, by two Erlangs of the smallest common order that reaches them.

    Raises
    ------
    InputError
        When no positive random variable has these moments (m2 <= m1^2 or m1 m3 <= m2^2), or more than `MAX_ORDER`
        phases would be needed; the message names the broken bound.
    """
    faults = Faults()
    for k, value in enumerate((m1, m2, m3), start=1):
        checks.number(value, f"moment {k}", faults, above=0)
    faults.raise_if_any()
    # In units of the mean, so that no power of a large or small mean leaves the range of floating point.
    second, power3 = m2 / m1 / m1, m3 / m1 / m1 / m1
    if not (0 < second < math.inf and 0 < power3 < math.inf and second**2 < math.inf):
        raise InputError(
            f"the moments must be within floating point's range of one another; got {m1:g}, {m2:g}, {m3:g}"
        )
    third = power3 / second**2
    if second <= 1:
        faults.add("moments", f"m2 must be greater than m1^2 = {m1 * m1:g}; got {m2:g}", "No variance can be negative.")
    if third <= 1 and second > 1:
        faults.add(
            "moments",
            f"m3 must be greater than m2^2/m1 = {m2 / m1 * m2:g}; got {m3:g}",
            "No positive variable has these three moments.",
        )
    faults.raise_if_any()
    for n in range(1, MAX_ORDER // 2 + 1):
        mu1, mu2, mu3 = 1 / n, second / (n * (n + 1)), power3 / (n * (n + 1) * (n + 2))
        if abs(mu2 - mu1**2) <= 1e-12 * mu1**2 and abs(mu3 - mu1**3) <= 1e-12 * mu1**3:
            return erlang(n, m1)
        if mu2 > mu1**2 * (1 + 1e-12) and mu1 * mu3 > mu2**2 * (1 + 1e-12):
            w, x = _two_points(mu1, mu2, mu3)
            return hyper_erlang([w, 1 - w], [n, n], [1 / (x[0] * m1), 1 / (x[1] * m1)])
    raise InputError(
        f"the moments must be within reach of {MAX_ORDER} phases; got m2/m1^2 = {second:g} and m1 m3/m2^2 = {third:g}, "
        "too close to a fixed duration. Give fewer moments, or a deterministic-like family"
    )


def from_moments(*moments: float) -> PhaseType:
    """A phase type with the given first one, two or three raw moments."""
    if len(moments) == 1:
        return erlang(1, moments[0])
    if len(moments) == 2:
        m1, m2 = moments
        return from_mean_and_scv(m1, m2 / m1**2 - 1)
    if len(moments) == 3:
        return from_three_moments(*moments)
    raise InputError(f"moments must be one, two or three numbers; got {len(moments)}")


def _two_points(mu1: float, mu2: float, mu3: float) -> tuple[float, tuple[float, float]]:
    """Weight of the first point and both points of the two-point law with the given three moments."""
    # The points are the roots of x^2 - s x + t whose orthogonality to 1 and x fixes s and t.
    variance = mu2 - mu1**2
    s = (mu3 - mu1 * mu2) / variance
    t = (mu1 * mu3 - mu2**2) / variance
    root = math.sqrt(max(s * s - 4 * t, 0.0))
    large = (s + root) / 2
    small = t / large
    return (large - mu1) / (large - small), (small, large)


def _length(value: Any) -> int:
    return len(value) if hasattr(value, "__len__") and not isinstance(value, str) else 0
