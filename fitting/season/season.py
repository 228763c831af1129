"""Does the rate follow the time of day? The test, the form of the pace, and what may be said of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fitting.season.forms import Shape, parts_of, shapes, smooth_borders
from fitting.season.one_turn import possible_cycle
from fitting.season.pace import Pace, PacePart
from fitting.season.running import CELLS, Running
from fitting.season.spectral_test import LEAST_PERIODS, UNTESTED, PeriodEvidence, period_evidence
from fitting.trace.segments import Float
from fitting.trace.stationarity import Stationarity

SIGNIFICANT = 0.03
"""Of the test of the period; docs/fitting.md has what it does on made traces."""
SWING = 0.2
"""Half of the swing, relative to the mean, from which on a period counts: smaller ones matter to no buffer."""
ROUGH = 0.1
"""How far sines may stray from the even pace of a part of the period, as a root of squared logarithms."""
DAY = 86400.0


@dataclass(frozen=True)
class Season:
    """What is known of a period.

    Attributes
    ----------
    period, periods : float
        Its length in seconds, and how many of them the log covers.
    p : float
        p-value of the test that there is none; NaN: not tested.
    dispersion : float
        Variance over mean of the counts at the time scale of the period.
    amplitude : float
        Half of the swing of the pace relative to its mean; NaN where nothing was tested.
    shapes : tuple of Shape
        The forms that were compared.
    pace : Pace or None
        None: no period was found.
    utc : bool
        Whether times of day are in universal time; else they are as the log writes them.
    possible : Pace or None
        A pace that the log shows for one period, and too short to confirm it; None: there is none.
    """

    period: float
    periods: float
    p: float
    dispersion: float
    amplitude: float
    shapes: tuple[Shape, ...] = ()
    pace: Pace | None = None
    utc: bool = False
    possible: Pace | None = None

    @property
    def found(self) -> bool:
        """Whether the rate follows the period."""
        return self.pace is not None

    @property
    def too_short(self) -> bool:
        """Whether the log covers too few periods to tell."""
        return self.periods < LEAST_PERIODS

    @property
    def name(self) -> str:
        """``day``, ``week``, or ``period of 3600 s``."""
        known = {DAY: "day", 7 * DAY: "week"}
        return known.get(self.period, f"period of {self.period:g} s")

    def in_words(self) -> str:
        """What was found, as a clause."""
        if self.pace is None:
            return ""
        paces = [part.pace for part in self.pace.parts if part.share > 0]
        parts = f"{len(paces)} parts"
        form = parts if self.pace.form == parts else f"{self.pace.form}, {parts}"
        return (
            f"the rate follows the {self.name}: from {min(paces):.2f} to {max(paces):.2f} times its mean "
            f"({form}, p = {max(self.p, 1e-99):.1g}); the model is fitted on a clock that goes with it"
        )

    def possible_in_words(self) -> str:
        """What may be a cycle, with its size, as a clause."""
        if self.possible is None:
            return ""
        paces = self.possible.cells[self.possible.seen]
        return (
            f"the rate swings {paces.max() / paces.min():.2g}-fold, from {paces.min():.2g} to {paces.max():.2g} times "
            f"its mean and back: this may be a cycle of the {self.name}, and cannot be confirmed, since the log covers "
            f"{self.periods:.1f} of the two {self.name}s that are needed"
        )

    def too_short_in_words(self) -> str:
        """Why a change of rate cannot be told from a period, as a clause."""
        return (
            f"two {self.name}s are needed to tell a cycle from a trend, and the log covers "
            f"{'less than a tenth of one' if self.periods < 0.1 else f'{self.periods:.1f}'}"
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "found": self.found,
            "period": self.period,
            "periods": self.periods,
            "too_short": self.too_short,
            "p": None if math.isnan(self.p) else self.p,
            "dispersion": None if math.isnan(self.dispersion) else self.dispersion,
            "amplitude": None if math.isnan(self.amplitude) else self.amplitude,
            "utc": self.utc,
            "possible": None if self.possible is None else self.possible.to_json(),
            "forms": [{"form": one.name, "parameters": one.parameters, "bic": one.bic} for one in self.shapes],
            **({} if self.pace is None else self.pace.to_json()),
        }


def find_season(running: Running, utc: bool = False) -> Season:
    """Test the period; where it holds, choose the form of the pace. Cost: 0.1 s, and a pass over the times."""
    evidence = period_evidence(running) if running.stretches else UNTESTED
    if not evidence.tested:
        return Season(running.period, running.periods, math.nan, math.nan, math.nan, utc=utc)
    batches, seconds = running.folded()
    forms = shapes(batches, seconds, evidence.dispersion)
    best = min(forms[1:], key=lambda one: one.bic)
    pace = _pace(running, best, batches, seconds, evidence)
    ran = pace.cells[pace.seen]
    amplitude = float(np.ptp(ran)) / 2
    told = evidence.p < SIGNIFICANT and amplitude >= SWING and best.bic < forms[0].bic
    return Season(
        running.period,
        running.periods,
        evidence.p,
        evidence.dispersion,
        amplitude,
        tuple(forms),
        pace if told else None,
        utc,
    )


def with_possible(season: Season, running: Running, steps: Stationarity, begins: Float) -> Season:
    """The season with the cycle that a log of one period may show; `steps` and `begins` as in `possible_cycle`."""
    shape = possible_cycle(running, steps, begins) if season.too_short and running.stretches else None
    if shape is None:
        return season
    return replace(season, possible=_pace(running, shape, *running.folded(), UNTESTED))


def _pace(running: Running, shape: Shape, batches: Float, seconds: Float, evidence: PeriodEvidence) -> Pace:
    seen = seconds > 0
    rates = np.where(seen, shape.rates, 1.0)
    cells = np.where(seen, rates / (rates @ seconds / seconds.sum()), 1.0)
    width = running.period / CELLS
    # Of the time that a cell of the calendar was there, the share that was run.
    there = np.bincount(np.arange(*_calendar(running)) % CELLS, minlength=CELLS)
    share = np.where(seen, seconds / np.maximum(there * width, seconds), 0.0)
    parts = []
    for own in parts_of(shape.borders or smooth_borders(rates, seconds, ROUGH), CELLS):
        weight, count = share[own].sum(), batches[own].sum()
        pace = float(share[own] @ cells[own] / weight) if weight > 0 else 1.0
        error = math.sqrt(max(evidence.dispersion, 1.0) / max(count, 1.0))
        begin, end = own[0] * width, (own[-1] + 1) * width
        parts.append(PacePart(begin, end, pace, error, float(weight / share.sum())))
    parts.sort(key=lambda part: part.begin)
    return Pace(running.period, running.phase, shape.name, cells, seen, tuple(parts))


def _calendar(running: Running) -> tuple[int, int]:
    """Numbers of the first cell of the log, and of the one after its last."""
    width = running.period / CELLS
    begin, end = running.stretches[0][0], running.stretches[-1][-1]
    return int((begin + running.phase) // width), int((end + running.phase) // width) + 1
