r"""A swing seen for one period but not for two: it may be a cycle, and the log cannot confirm it.

The logarithms of the rates of each 24th of a period are compared with the best pace of one to three sines, or of a few
parts of the period where enough of it came again. It is told as a possible cycle where three things hold.

- It explains more of the sum of squares than chance: :math:`12 \log(n)\,\hat\sigma^2` and more for n cells, the rule
  of `fitting.trace.stationarity`, with :math:`\hat\sigma^2` from what the pace leaves at low frequencies.
- It tells the rates better than the steps that were found do, by the BIC. Where the log goes on beyond one period, a
  ramp or a step does not come back.
- The rate at its peak is `LEAST_SWING` times that of the trough.

Spells of hours look the same for so short a time; no test can tell them apart.
"""

from __future__ import annotations

import math

import numpy as np

from fitting.season.forms import FINE, Shape, shapes
from fitting.season.running import Running
from fitting.season.spectral_test import LEAST_BATCHES, LEAST_PERIODS, PER_PERIOD
from fitting.trace.segments import Float
from fitting.trace.stationarity import PENALTY, Stationarity, low_noise

ONE_PERIOD = 1.0 - 1 / PER_PERIOD
"""Periods from which on a peak and a trough have been seen."""
LEAST_SWING = 2.0
"""More than a step or a cycle seen twice must change the rate: spells swing as much now and then for a single turn."""
AGAIN = 1.25
"""Periods from which on enough of the period came again to tell parts of the day from steps."""
MOST_PARTS = 3


def possible_cycle(running: Running, steps: Stationarity, begins: Float) -> Shape | None:
    """The form of a pace that may be a cycle, by the rules in this file's head; None where there is none.

    Parameters
    ----------
    steps : Stationarity
        Changes of the rate that were found without a cycle.
    begins : array
        Times at which the gaps begin.
    """
    if not ONE_PERIOD <= running.periods < LEAST_PERIODS:
        return None
    number, batches, seconds = running.by_cell(PER_PERIOD)
    if batches.sum() < LEAST_BATCHES or number.size < PER_PERIOD * ONE_PERIOD:
        return None
    rates = np.log((batches + 0.5) / seconds)
    folded = running.folded()
    best: tuple[float, Shape, Float] | None = None
    for shape in shapes(*folded, 1.0)[1:]:
        if shape.borders and (len(shape.borders) > MOST_PARTS or running.periods < AGAIN):
            continue
        hourly = shape.rates.reshape(PER_PERIOD, FINE).mean(axis=1)
        left = rates - np.log(hourly[number % PER_PERIOD])
        bic = _bic(left, seconds, 1 + shape.parameters)
        if best is None or bic < best[0]:
            best = (bic, shape, left)
    if best is None:
        return None
    bic, shape, left = best
    middle = (number + 0.5) * running.period / PER_PERIOD - running.phase
    part = np.searchsorted(begins[list(steps.change_points)], middle)
    stepped = _bic(rates + np.log(steps.levels)[part], seconds, 1 + 2 * len(steps.change_points))
    gain = _squares(rates, seconds) - _squares(left, seconds)
    swing = float(shape.rates.max() / shape.rates.min())
    told = gain > PENALTY * math.log(rates.size) * low_noise(left) and bic < stepped and swing >= LEAST_SWING
    return shape if told else None


def _squares(values: Float, weight: Float) -> float:
    """Sum of squares about the mean, by the share of each cell that was run."""
    share = weight / weight.max()
    return float(share @ (values - share @ values / share.sum()) ** 2)


def _bic(left: Float, weight: Float, parameters: int) -> float:
    return left.size * math.log(max(_squares(left, weight), 1e-12) / left.size) + parameters * math.log(left.size)
