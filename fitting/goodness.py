r"""How good the fit is, and where it is not.

Rosenblatt's residuals :math:`u_t = F(x_t \mid x_1, \dots, x_{t-1})` of a true model are independent and uniform on
(0, 1). Their distance from uniformity (Kolmogorov and Smirnov) and the correlations of their normal scores (Ljung
and Box, from statsmodels) are tested; with a hundred thousand gaps every model fails a test, so the sizes of the
deviations count for the verdict, the p-values are told. Correlations, indices of dispersion and quantiles of the
trace stand beside those of the model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammainc, gammaincc, ndtri
from scipy.stats import kstest

from crawltwin.model import BMAP
from fitting.erlang_map import ErlangMap
from fitting.map_em import GeneralMap
from fitting.segments import Float, Segments
from fitting.statistics import correlations, count_dispersion, interval_dispersion

LAGS = 20
SMALL_KS = 0.03
SMALL_CORRELATION = 0.05
SMALL_DISPERSION = 1.5
FEW_GAPS = 300


def residuals(model: ErlangMap | GeneralMap, data: Segments) -> Float:
    """Rosenblatt residuals of every gap. Cost: a pass, and the distribution functions of all states at all gaps."""
    if isinstance(model, ErlangMap):
        ahead = np.empty((len(data), model.branches))
        model.without_batches().scores(data, ahead)
        inside = gammainc(model.shape, model.rate * data.gaps[:, None])
        return np.asarray((ahead * inside).sum(axis=1))
    states = np.empty((len(data), model.order))
    model.scores(data, states)
    # The survival function needs one matrix exponential a gap: a table on a fine logarithmic grid is as good.
    grid = np.geomspace(data.gaps.min() * 0.999, data.gaps.max() * 1.001, 2000)
    survival = _survival_by_phase(model, grid)
    table = np.stack([np.interp(data.gaps, grid, survival[:, i]) for i in range(model.order)], axis=1)
    return np.asarray(1 - (states * table).sum(axis=1))


def _survival_by_phase(model: GeneralMap, points: Float) -> Float:
    """P(gap > x) from each phase, points x phases, by squaring the exponential of a small step.

    A matrix of small norm has no squaring inside the library's own exponential, whose closed forms for triangular
    matrices lose digits when diagonal entries nearly agree.
    """
    from scipy.linalg import expm

    rate = float(-np.diag(model.D0).min())
    result = np.empty((points.size, model.order))
    for row, x in enumerate(points):
        halvings = max(0, math.ceil(math.log2(max(rate * x, 1e-300)))) + 1
        power = expm(model.D0 * (x / 2**halvings))
        for _ in range(halvings):
            power = power @ power
        result[row] = power.sum(axis=1)
    return result


def survival_of(model: ErlangMap | GeneralMap, points: Float) -> Float:
    """P(gap > x) of an arbitrary gap at each point."""
    if isinstance(model, ErlangMap):
        return np.asarray(gammaincc(model.shape, model.rate * points[:, None]) @ model.start)
    return np.asarray(_survival_by_phase(model, points) @ model.start)


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
    verdict : str
        ``good``, ``fair`` or ``poor``.
    words : tuple of str
        The verdict as sentences.
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
    verdict: str
    words: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """As a plain dictionary; what does not exist is null."""
        result: dict[str, Any] = {}
        for name, value in self.__dict__.items():
            if isinstance(value, np.ndarray):
                result[name] = [float(v) if math.isfinite(v) else None for v in value]
            elif isinstance(value, float):
                result[name] = value if math.isfinite(value) else None
            else:
                result[name] = list(value) if isinstance(value, tuple) else value
        return result


def _model_correlations(process: BMAP, lags: int) -> Float:
    """Correlations at lags 1 to `lags` of the gaps, all from powers applied to one vector."""
    inverse = np.linalg.inv(-process.D[0])
    jump = inverse @ sum(process.D[2:], start=process.D[1])
    mean = process.interval_moment(1)
    left = process.batch_phase_distribution @ inverse
    column = inverse.sum(axis=1)
    result = np.empty(lags)
    for k in range(lags):
        left = left @ jump
        result[k] = (left @ column - mean**2) / process.interval_variance
    return result


def assess(
    model: ErlangMap | GeneralMap, process: BMAP, data: Segments, warnings: tuple[str, ...], lags: int = 100
) -> Goodness:
    """Compare the fitted process with the trace.

    Parameters
    ----------
    model : ErlangMap or GeneralMap
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
    from statsmodels.tsa.stattools import acf as sample_correlations
    from statsmodels.tsa.stattools import q_stat

    u = np.clip(residuals(model, data), 1e-12, 1 - 1e-12)
    ks = kstest(u, "uniform")
    scores = Segments(ndtri(u) + 10.0, data.sizes, data.first)
    acf = np.nan_to_num(correlations(scores, min(LAGS, len(data) // 5 or 1)))
    # Through Fourier transforms: the library's one-call test multiplies every pair, minutes for a million gaps.
    box = float(q_stat(sample_correlations(ndtri(u), nlags=len(acf), fft=True)[1:], len(data))[1][-1])
    reach = max(1, min(lags, len(data) // 10))
    spans = np.unique(np.geomspace(1, max(len(data) // 20, 1), 12).astype(np.int64))
    mean = float(data.gaps.mean())
    horizons = mean * np.geomspace(1, max(len(data) / 40, 2), 12)
    own = _model_correlations(process, reach)
    cumulative = _model_correlations(process, int(spans[-1])) if spans[-1] > 1 else own
    scv = process.interval_variance / process.interval_moment(1) ** 2
    model_idi = np.array([scv * (1 + 2 * np.sum((1 - np.arange(1, n) / n) * cumulative[: n - 1])) for n in spans])
    trace_rho = correlations(data, reach)
    trace_idc, model_idc = count_dispersion(data, horizons), np.array([process.dispersion(h) for h in horizons])
    verdict, words = _verdict(
        len(data), float(ks.statistic), float(np.abs(acf).max()), trace_rho, own, trace_idc, model_idc, warnings, data
    )
    return Goodness(
        float(ks.statistic),
        float(ks.pvalue),
        float(np.abs(acf).max()),
        box,
        np.arange(1, reach + 1).astype(float),
        trace_rho,
        own,
        horizons,
        trace_idc,
        model_idc,
        spans.astype(float),
        interval_dispersion(data, spans),
        model_idi,
        verdict,
        words,
    )


def _verdict(
    n: int,
    distance: float,
    left: float,
    trace_rho: Float,
    model_rho: Float,
    trace_idc: Float,
    model_idc: Float,
    warnings: tuple[str, ...],
    data: Segments,
) -> tuple[str, tuple[str, ...]]:
    """Points are given for what is off; the words say what."""
    words: list[str] = []
    points = 0
    chance = 1.36 / math.sqrt(n)
    if distance <= max(SMALL_KS, chance):
        words.append(f"the distribution of the gaps is met (largest difference of probabilities {distance:.3f})")
    else:
        points += 2 if distance > 0.08 else 1
        words.append(f"the distribution of the gaps is missed by up to {distance:.3f} in probability")
    if left <= max(SMALL_CORRELATION, 3 / math.sqrt(n)):
        words.append("no dependence is left in the residuals that would matter")
    else:
        points += 1
        words.append(
            f"a correlation of {left:.2f} is left in the residuals: the order of the gaps is not fully followed"
        )
    lags = min(20, trace_rho.size)
    off = np.nanmax(np.abs(trace_rho[:lags] - model_rho[:lags])) if np.isfinite(trace_rho[:lags]).any() else 0.0
    if off <= max(SMALL_CORRELATION, 4 / math.sqrt(n)):
        words.append(f"correlations to lag {lags} are met within {off:.3f}")
    else:
        points += 1
        words.append(f"correlations to lag {lags} are missed by up to {off:.2f}")
    with np.errstate(invalid="ignore"):
        ratio = np.abs(np.log(model_idc / trace_idc))
    known = ratio[np.isfinite(ratio)]
    if known.size and float(known.max()) > math.log(SMALL_DISPERSION):
        points += 1
        words.append(
            "burstiness over longer times (index of dispersion) differs by a factor of up to "
            f"{math.exp(known.max()):.1f}"
        )
    if n < FEW_GAPS:
        points += 1
        words.append(f"{n} gaps are few: every number here is rough")
    if data.gaps.var() < 0.1 * data.gaps.mean() ** 2:
        points += 1
        words.append(
            "the gaps hardly vary, as behind a fixed politeness delay: no small Markovian process is "
            "that regular, and the "
            "fit is more random than the crawler"
        )
    for warning in warnings:
        points += 1
        words.append(warning)
    return ("good" if points == 0 else "fair" if points <= 2 else "poor"), tuple(words)
