r"""Is the trace more regular than any small model? A fixed politeness delay leaves gaps that hardly vary.

The most regular of the models has Erlang gaps of `stages` stages: a coefficient of variation of
:math:`1/\sqrt{stages}`, an index of dispersion of 1/stages over any number of gaps, and half of its gaps within
:math:`1.35/\sqrt{stages}` of their median (the normal law, which such gaps come near). Two numbers of the trace are
compared with that: the shortest interval that holds half of the gaps, which a few long gaps among many equal ones do
not move, and the index of dispersion over several gaps, which a coarse clock does not move. Half of the variance, that
of twice as many stages, is beyond what chance makes of a trace of the most regular model.
"""

from __future__ import annotations

import math

import numpy as np

from fitting.trace.segments import Float, Segments
from fitting.trace.statistics import interval_dispersion

HALF = 1.35
"""Standard deviations that the middle half of a normal law takes."""
NARROW = 0.7
EVEN = 0.55
"""Shares of the model's width and dispersion below which a trace is more regular: half of the variance, both."""
BLOCKS = 40
"""Blocks of gaps that a dispersion is taken from at least."""


def half_width(gaps: Float) -> float:
    """Length of the shortest interval that holds half of the gaps."""
    ordered = np.sort(gaps)
    half = ordered.size // 2 + 1
    return float((ordered[half - 1 :] - ordered[: ordered.size - half + 1]).min())


def regular_words(data: Segments, resolution: float, stages: int) -> tuple[str, ...]:
    """A sentence where no model of Erlang gaps with so many stages is as regular as the trace; else nothing.

    Parameters
    ----------
    data : Segments
        Gaps between batches.
    resolution : float
        The clock's step in seconds: a width below it cannot be seen.
    stages : int
        Stages of the most regular model.
    """
    middle, width = float(np.median(data.gaps)), half_width(data.gaps)
    end = f"no small Markovian process is that regular (at most {stages} stages), and the fit is more random than the "
    if width + resolution < NARROW * HALF / math.sqrt(stages) * middle:
        found = f"half of the gaps lie within {width:.2g} s of one another, around {middle:.4g} s"
        return (f"{found}, as behind a fixed politeness delay: {end}crawler",)
    spans = np.unique(np.geomspace(1, max(len(data) // BLOCKS, 1), 12).astype(np.int64))
    dispersion = interval_dispersion(data, spans)
    if np.isfinite(dispersion).any() and np.nanmin(dispersion) < EVEN / stages:
        found = f"over {int(spans[np.nanargmin(dispersion)])} gaps the time varies {np.nanmin(dispersion):.2g} times as"
        return (f"{found} much as a Poisson stream's, as behind a fixed politeness delay: {end}crawler",)
    return ()
