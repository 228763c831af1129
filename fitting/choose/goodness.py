r"""How good the fit is, and where it is not.

Rosenblatt's residuals :math:`u_t = F(x_t \mid x_1, \dots, x_{t-1})` of a true model are independent and uniform on
(0, 1). Their distance from uniformity (Kolmogorov and Smirnov) and the correlations of their normal scores (Ljung
and Box, from statsmodels) are tested; with a hundred thousand gaps every model fails a test, so the sizes of the
deviations count for the verdict, the p-values are told. Correlations, indices of dispersion and quantiles of the
trace stand beside those of the model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from crawltwin.model import BMAP
from fitting.choose.plain_values import plain
from fitting.models.gap_model import GapModel, gap_correlations
from fitting.trace.segments import Float, Segments
from fitting.trace.statistics import correlations, count_dispersion, interval_dispersion

LAGS = 20
SMALL_KS = 0.03
SMALL_CORRELATION = 0.05
SMALL_DISPERSION = 1.5
FEW_GAPS = 300
RESIDUALS = 1_000_000
"""Gaps of a longer trace whose residuals are looked at, in blocks spread over it."""
BLOCKS = 40


@dataclass(frozen=True)
class Goodness:
    """The numbers behind the verdict, and the verdict.

    Attributes
    ----------
    ks_distance, ks_p : float
        Of the residuals from uniformity.
    residual_correlation, ljung_box_p : float
        Largest correlation of the residuals' normal scores at lags 1 to 20, and the test of all of them.
    lags, trace_correlations, model_correlations : array
        Correlations of the gaps, side by side.
    horizons, trace_idc, model_idc : array
        Index of dispersion for counts of pages.
    spans, trace_idi, model_idi : array
        Index of dispersion for intervals.
    residuals : int
        Gaps whose residuals were looked at.
    verdict : str
        ``good``, ``fair`` or ``poor``.
    words : tuple of str
        The verdict as sentences.
    faults : tuple of str
        Those of them that speak against the fit.
    """

    ks_distance: float
    ks_p: float
    residual_correlation: float
    ljung_box_p: float
    lags: Float
    trace_correlations: Float
    model_correlations: Float
    horizons: Float
    trace_idc: Float
    model_idc: Float
    spans: Float
    trace_idi: Float
    model_idi: Float
    residuals: int = 0
    verdict: str = ""
    words: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As a plain dictionary; what does not exist is null."""
        return {name: plain(value) for name, value in vars(self).items()}


def residual_tests(model: GapModel, data: Segments) -> dict[str, Any]:
    """Distance of the residuals from uniformity, their largest correlation, and the p-values of both."""
    from scipy.stats import kstest
    from statsmodels.tsa.stattools import acf as sample_correlations
    from statsmodels.tsa.stattools import q_stat

    part = data.sample(RESIDUALS, BLOCKS)
    u = np.clip(model.residuals(part), 1e-12, 1 - 1e-12)
    ks = kstest(u, "uniform")
    scores = Segments(ndtri(u) + 10.0, np.ones(u.size, np.int64), part.first)
    acf = np.nan_to_num(correlations(scores, min(LAGS, len(part) // 5 or 1)))
    # Through Fourier transforms: the library's one-call test multiplies every pair, minutes for a million gaps.
    box = float(q_stat(sample_correlations(ndtri(u), nlags=len(acf), fft=True)[1:], len(part))[1][-1])
    return {
        "ks_distance": float(ks.statistic),
        "ks_p": float(ks.pvalue),
        "residual_correlation": float(np.abs(acf).max()),
        "ljung_box_p": box,
        "residuals": len(part),
    }


def assess(model: GapModel, process: BMAP, data: Segments, warnings: tuple[str, ...] = (), lags: int = 100) -> Goodness:
    """Compare the fitted process with the trace.

    Parameters
    ----------
    model : GapModel
        Law of the gaps.
    process : BMAP
        The whole process with batches.
    data : Segments
        The trace.
    warnings : tuple of str
        Findings of the cleaning (changes of rate, daily cycles) that go into the verdict.
    lags : int
        Correlations to compare.
    """
    tests = residual_tests(model, data)
    reach = max(1, min(lags, len(data) // 10))
    spans = np.unique(np.geomspace(1, max(len(data) // 20, 1), 12).astype(np.int64))
    mean = float(data.gaps.mean())
    horizons = mean * np.geomspace(1, max(len(data) / 40, 2), 12)
    own = gap_correlations(process, reach)
    cumulative = gap_correlations(process, int(spans[-1])) if spans[-1] > 1 else own
    scv = process.interval_variance / process.interval_moment(1) ** 2
    model_idi = np.array([scv * (1 + 2 * np.sum((1 - np.arange(1, n) / n) * cumulative[: n - 1])) for n in spans])
    found = Goodness(
        **tests,
        lags=np.arange(1, reach + 1).astype(float),
        trace_correlations=correlations(data, reach),
        model_correlations=own,
        horizons=horizons,
        trace_idc=count_dispersion(data, horizons),
        model_idc=np.array([process.dispersion(h) for h in horizons]),
        spans=spans.astype(float),
        trace_idi=interval_dispersion(data, spans),
        model_idi=model_idi,
    )
    return judged(found, warnings)


def judged(found: Goodness, warnings: tuple[str, ...], what: str = "gaps") -> Goodness:
    """The numbers with their verdict: points are given for what is off; the words say what."""
    told: list[tuple[int, str]] = []
    n, distance, left = found.residuals, found.ks_distance, found.residual_correlation
    chance = 1.36 / math.sqrt(n)
    if distance <= max(SMALL_KS, chance):
        told.append((0, f"the distribution of the {what} is met (largest difference of probabilities {distance:.3f})"))
    else:
        points = 2 if distance > 0.08 else 1
        told.append((points, f"the distribution of the {what} is missed by up to {distance:.3f} in probability"))
    if left <= max(SMALL_CORRELATION, 3 / math.sqrt(n)):
        told.append((0, "no dependence is left in the residuals that would matter"))
    else:
        order = f"the order of the {what} is not fully followed"
        told.append((1, f"a correlation of {left:.2f} is left in the residuals: {order}"))
    lags = min(20, found.lags.size)
    apart = np.abs(found.trace_correlations[:lags] - found.model_correlations[:lags])
    off = np.nanmax(apart) if np.isfinite(apart).any() else 0.0
    if off <= max(SMALL_CORRELATION, 4 / math.sqrt(n)):
        told.append((0, f"correlations to lag {lags} are met within {off:.3f}"))
    else:
        told.append((1, f"correlations to lag {lags} are missed by up to {off:.2f}"))
    with np.errstate(invalid="ignore"):
        ratio = np.abs(np.log(found.model_idc / found.trace_idc))
    known = ratio[np.isfinite(ratio)]
    if known.size and float(known.max()) > math.log(SMALL_DISPERSION):
        factor = f"differs by a factor of up to {math.exp(known.max()):.1f}"
        told.append((1, f"burstiness over longer times (index of dispersion) {factor}"))
    if n < FEW_GAPS:
        told.append((1, f"{n} {what} are few: every number here is rough"))
    told += [(1, warning) for warning in warnings]
    points = sum(count for count, _ in told)
    verdict = "good" if points == 0 else "fair" if points <= 2 else "poor"
    words, faults = tuple(word for _, word in told), tuple(word for count, word in told if count)
    return replace(found, verdict=verdict, words=words, faults=faults)
