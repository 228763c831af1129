r"""How good a fit to counts is: residuals of the counts, their correlations and dispersion beside the model's.

For a process in equilibrium with matrices :math:`D_0, D_1`, :math:`D = D_0 + D_1`, and the counts
:math:`N_1, N_2, \dots` of successive intervals of length :math:`\tau`,

.. math:: E(N_1 N_{1+k}) = \theta D_1 M e^{D (k-1) \tau} M D_1 e, \qquad M = \int_0^\tau e^{D s} ds .
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import expm

from crawltwin.model import BMAP
from fitting.choose.goodness import Goodness, judged, residual_tests
from fitting.models.gap_model import GapModel
from fitting.trace.segments import CountedIntervals, Float, Segments
from fitting.trace.statistics import correlations, dispersion_index


def rate_series(data: CountedIntervals) -> Segments:
    """Pages per second of each interval, over their mean, plus one: a positive series for all that works on gaps."""
    rate = data.sizes / data.gaps
    return Segments(rate / max(rate.mean(), 1e-300) + 1.0, np.ones(len(data), np.int64), data.first)


def count_correlations(process: BMAP, length: float, lags: int) -> Float:
    """Correlations of the pages in intervals of this length at lags 1 to `lags`."""
    order = process.phases
    arrivals = np.asarray(sum(k * Dk for k, Dk in enumerate(process.D)))
    # The upper right block of this exponential is the integral of e^{Ds} from 0 to the length.
    both = np.block([[np.asarray(process.generator), np.eye(order)], [np.zeros((order, 2 * order))]])
    exponential = expm(both * length)
    step, integral = exponential[:order, :order], exponential[:order, order:]
    left = process.phase_distribution @ arrivals @ integral
    right = integral @ arrivals.sum(axis=1)
    mean = process.page_rate * length
    variance = process.dispersion(length) * mean
    result = np.empty(lags)
    for k in range(lags):
        result[k] = (left @ right - mean**2) / variance
        left = left @ step
    return result


def windows(data: CountedIntervals, spans: Float) -> Float:
    """Index of dispersion for counts over so many successive intervals, windows half of one apart; NaN for few."""
    result = []
    for span in spans.astype(int):
        sums = []
        for piece in data.stretches():
            total = np.concatenate([[0], np.cumsum(data.sizes[piece])])
            at = np.arange(0, total.size - span, max(span // 2, 1))
            sums.append(total[at + span] - total[at])
        result.append(dispersion_index(sums))
    return np.array(result)


def assess_counts(model: GapModel, process: BMAP, data: CountedIntervals, warnings: tuple[str, ...]) -> Goodness:
    """Compare the fitted process with the counts; intervals of uneven length enter the horizons with their median."""
    series = rate_series(data)
    typical = float(np.median(data.gaps))
    lags = max(1, min(100, len(data) // 10))
    spans = np.unique(np.geomspace(1, max(len(data) // 40, 2), 10).astype(np.int64)).astype(float)
    found = Goodness(
        **residual_tests(model, data),
        lags=np.arange(1, lags + 1).astype(float),
        trace_correlations=correlations(series, lags),
        model_correlations=count_correlations(process, typical, lags),
        horizons=spans * typical,
        trace_idc=windows(data, spans),
        model_idc=np.array([process.dispersion(span * typical) for span in spans]),
        spans=np.zeros(0),
        trace_idi=np.zeros(0),
        model_idi=np.zeros(0),
    )
    return judged(found, warnings, "counts")
