r"""Is there a period? A test that holds for correlated arrivals, whatever their correlations are.

A stationary stream with correlations has a smooth spectrum; a period stands out of it as a line. So the rate of each
24th of a period, weighted with the time that was run in it, is regressed on a constant, a trend, the sine and cosine of
the period and of its half and third, and on those of neighbouring frequencies, j over the length of the log away on
either side, j = 1, ..., J. After orthogonalisation in this order every column has the same variance under the null, as
far as the spectrum is flat from the neighbours on the left to those on the right, so

.. math:: F_h = \frac{(a_h^2 + b_h^2)/2}{\text{mean of the squared neighbours}} \sim F_{2,\,4J}.

:math:`F_1` catches a swing; Fisher's combination of the three p-values catches several peaks. The result is the smaller
of :math:`\frac54 p_1` and :math:`5 p_{1..3}`. The strength of the neighbours against that of a Poisson stream is the
index of dispersion at the time scale of the period: what correlations do to the doubt of a pace.

Less than two periods have no frequency between a trend and the period: nothing is tested.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fitting.season.running import Running
from fitting.trace.segments import Float

PER_PERIOD = 24
HARMONICS = 3
NEIGHBOURS = 4
"""Neighbouring frequencies on each side at most."""
LEAST_PERIODS = 2.0 - 1 / PER_PERIOD
"""A log of two days begins and ends with a page, not at midnight."""
LEAST_BATCHES = 200
ALONE = 0.8
"""Share of the error probability that the first harmonic has for itself."""


@dataclass(frozen=True)
class PeriodEvidence:
    """What the test gave: its p-value, and the index of dispersion at the time scale of the period; NaN: not tested."""

    p: float
    dispersion: float

    @property
    def tested(self) -> bool:
        """Whether the log is long enough."""
        return math.isfinite(self.p)


UNTESTED = PeriodEvidence(math.nan, math.nan)


def period_evidence(running: Running) -> PeriodEvidence:
    """The test in this file's head. Cost: a few small regressions."""
    if running.periods < LEAST_PERIODS:
        return UNTESTED
    from scipy.stats import chi2
    from scipy.stats import f as f_law

    number, batches, seconds = running.by_cell(PER_PERIOD)
    if batches.sum() < LEAST_BATCHES:
        return UNTESTED
    weight = np.sqrt(seconds / seconds.mean())
    rates = batches / seconds / (batches.sum() / seconds.sum()) * weight
    turn = (number + 0.5) / PER_PERIOD
    basis = [np.ones(turn.size), turn - turn.mean(), *(w for h in range(1, HARMONICS + 1) for w in _wave(turn, h))]
    reach = max(1, min(NEIGHBOURS, int(running.periods) - 1))
    found, noise = [], []
    for h in range(1, HARMONICS + 1):
        aside = [h + side * j / running.periods for j in range(1, reach + 1) for side in (-1, 1)]
        columns = np.column_stack([*basis, *(w for f in aside for w in _wave(turn, f))]) * weight[:, None]
        if columns.shape[0] <= columns.shape[1]:
            return UNTESTED
        Q, R = np.linalg.qr(columns)
        # A column that the time that was run cannot tell from those before it counts for nothing.
        own = np.abs(np.diag(R)) > 1e-6 * np.linalg.norm(columns, axis=0)
        power = np.where(own, (Q.T @ rates) ** 2, np.nan)
        pair, beside = power[2 * h : 2 * h + 2], power[len(basis) :]
        beside = beside[np.isfinite(beside)]
        if not np.isfinite(pair).all() or beside.size < 4 or not beside.any():
            continue
        found.append((h, float(f_law.sf(pair.mean() / beside.mean(), 2, beside.size))))
        noise.append(beside)
    if not found:
        return UNTESTED
    together = float(chi2.sf(-2 * sum(math.log(max(p, 1e-300)) for _, p in found), 2 * len(found)))
    alone = found[0][1] / ALONE if found[0][0] == 1 else 1.0
    dispersion = float(np.concatenate(noise).mean()) * batches.sum() / batches.size
    return PeriodEvidence(min(1.0, alone, together / (1 - ALONE)), dispersion)


def _wave(turn: Float, frequency: float) -> tuple[Float, Float]:
    angle = 2 * np.pi * frequency * turn
    return np.cos(angle), np.sin(angle)
