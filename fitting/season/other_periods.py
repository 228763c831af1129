r"""A cycle whose period nobody named: the strongest line of the spectrum, from two turns in the log up.

Where neither the period that was asked for nor a step is found, the rates of up to `MOST_CELLS` cells of equal length
are compared with sines of all frequencies, from two turns in the time of the log to one turn in `PER_TURN` cells. The
strongest is tested like a given period (`fitting.season.spectral_test`): against its neighbours, so that spells, which
raise the spectrum over a whole range, are no line. As it was chosen among many, its p-value counts as often as there
are frequencies that can be told apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from fitting.season.forms import shapes
from fitting.season.running import Running
from fitting.season.spectral_test import LEAST_BATCHES, LEAST_PERIODS, PER_PERIOD, period_evidence
from fitting.trace.segments import Float
from fitting.trace.stationarity import CHANGE

MOST_CELLS = 960
PER_CELL = 5
"""Batches in a cell at least, on average."""
PER_TURN = 6
BETWEEN = 4
"""Frequencies that are tried for each one that can be told apart."""
SURE = 0.01
"""p-value of the strongest of all periods."""
SHORTEST = 60.0
"""Seconds; shorter periods cannot be asked for."""
_WRITTEN = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
_ROUND = (86400, 43200, 3600, 1800, 600, 60, 1)
"""Seconds of whose multiples people make periods."""


@dataclass(frozen=True)
class OtherPeriod:
    """A cycle that was found: its period in seconds, the highest rate over the lowest, its p-value."""

    period: float
    swing: float
    p: float

    def in_words(self, asked: bool) -> str:
        """What was found, and what to do where a period can be asked for, as a clause."""
        written = next(f"{self.period / unit:.5g}{name}" for name, unit in _WRITTEN if self.period % unit == 0)
        found = (
            f"the rate swings {self.swing:.2g}-fold with a period of about {written} (p = {max(self.p, 1e-99):.1g}), "
            "and the model averages over it"
        )
        return f"{found}: --period {written} fits it on a clock that goes with the swing" if asked else found


def other_period(running: Running) -> OtherPeriod | None:
    """The strongest cycle of any period, by the rules in this file's head. Cost: 0.1 s, and a pass over the times."""
    if not running.stretches:
        return None
    batches = sum(own.size - 1 for own in running.stretches)
    cells = min(MOST_CELLS, batches // PER_CELL)
    if batches < LEAST_BATCHES:
        return None
    whole = replace(running, period=running.span, phase=0.0)
    number, count, seconds = whole.by_cell(cells)
    most = min(cells / PER_TURN, running.span / SHORTEST)
    turns = np.arange(LEAST_PERIODS * BETWEEN, most * BETWEEN + 1) / BETWEEN
    if not turns.size:
        return None
    place = (number + 0.5) / cells
    for width in (1.0, 1 / BETWEEN, 1 / BETWEEN**2):
        strongest = float(turns[np.argmax(_power(place, count, seconds, turns))])
        turns = strongest + np.linspace(-width, width, 4 * BETWEEN + 1)
    found = replace(running, period=_rounded(running.span / strongest, running.span), phase=0.0)
    evidence = period_evidence(found)
    p = min(1.0, evidence.p * max(most - 1, 1)) if evidence.tested else 1.0
    if p >= SURE:
        return None
    best = min(shapes(*found.folded(), evidence.dispersion)[1:], key=lambda one: one.bic)
    hourly = best.rates.reshape(PER_PERIOD, -1).mean(axis=1)
    swing = float(hourly.max() / hourly.min())
    return OtherPeriod(found.period, swing, p) if swing >= CHANGE and math.isfinite(swing) else None


def _rounded(period: float, span: float) -> float:
    """The roundest number of seconds that is off by less than an eighth of a turn at the ends of the log."""
    off = period**2 / (4 * span)
    near = ((round(period / unit) * unit) for unit in _ROUND)
    return float(next((one for one in near if one > 0 and abs(one - period) <= off), max(round(period), 1)))


def _power(place: Float, count: Float, seconds: Float, turns: Float) -> Float:
    """Strength of a sine of so many turns in the rates of the cells, each by its running time."""
    off = count - seconds * (count.sum() / seconds.sum())
    share = seconds / seconds.sum()
    power = np.empty(turns.size)
    for at, own in enumerate(turns.tolist()):
        wave = np.exp(2j * np.pi * own * place)
        power[at] = abs(off @ (wave - share @ wave)) ** 2
    return power
