r"""How much longer a list takes than at the mean pace so far: crawls slow down, and end with a few slow hosts.

Let T(n) be the running time in which the first n pages came. On logarithmic scales it is taken as a Brownian motion
with drift: log T grows by :math:`p\,h + \sigma\sqrt{h}\,Z` while log n grows by h. With p = 1 and a small
:math:`\sigma` that is a steady crawl, and the forecast is "pages over time elapsed"; p above 1 is a crawl that slows
down, as one does whose hosts run dry: with a power-law tail of exponent a in the sizes of hosts that are crawled side
by side, T(n) is a power of n with p = 1 / (1 - a). The motion has the same law whatever the unit of time or the length
of the log, so what it did over the pages that came says how far it may go over those to come.

Both p and :math:`\sigma^2` are drawn from their posterior, given T at half octaves of n back from the end of the log;
what is farther back counts less (`MEMORY`). A list is finished, not only continued: as hosts run dry, the last pages
are those of few hosts. So p rises towards the end by a lognormal amount around `TAIL` times the share of the hosts
that ran dry, those without a page in the last quarter of the log. `python -m benchmarks.logs.finish` measures the
forecast on logs that are cut.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from crawltwin.model.checks import FloatArray

STEADY, STEADY_DOUBT = 1.0, 0.35
"""Prior of p: normal."""
SHAPE, SCALE = 2.0, 0.005
"""Prior of sigma squared, per factor e of pages: inverse gamma."""
TAIL, TAIL_DOUBT = 0.5, 1.3
"""Rise of p towards the end of a list whose hosts all ran dry: median, and standard deviation of its logarithm."""
MEMORY = 1.5
"""Change of log n over which the weight of what was seen falls by half."""
FEWEST, POINTS, ROUNDS = 12, 12, 8
"""Pages from which on T(n) is looked at, points of it at most, and rounds of Gibbs sampling."""


def slowdown_factor(
    came: npt.NDArray[np.int64], running: FloatArray, urls: int, dry: float, rng: np.random.Generator, draws: int
) -> FloatArray:
    """Draws of the time that `urls` further pages take, relative to that at the mean pace so far.

    Parameters
    ----------
    came, running : ndarray
        Pages that had come by these times, and the times without pauses; neither ever falls.
    dry : float
        Share of the hosts that ran dry, see `run_dry`.
    """
    pages = int(came[-1])
    slope, variance = _drawn(*_increments(came, running), rng, draws)
    slope = slope + TAIL * dry * np.exp(TAIL_DOUBT * rng.standard_normal(draws))
    ahead = math.log1p(urls / pages)
    grown = slope * ahead + np.sqrt(variance * ahead) * rng.standard_normal(draws)
    factor = np.maximum(np.expm1(np.minimum(grown, 300.0)), 0.0) * pages / urls
    # The ends of the interval lie far below: what would take for ever is only kept finite.
    return np.asarray(np.minimum(factor, np.quantile(factor, 0.99)))


def run_dry(hosts: npt.NDArray[np.uint64] | None) -> float:
    """Share of the hosts, in the order of their pages, without a page in the last quarter; 0 where none is known."""
    if hosts is None or not (hosts != 0).any():
        return 0.0
    known = hosts[hosts != 0]
    return 1 - np.unique(known[-(known.size // 4 + 1) :]).size / np.unique(known).size


def _increments(came: npt.NDArray[np.int64], running: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Increments of log n and of log T(n) over half octaves, the latest last; empty for a short log."""
    wanted = came[-1] * 2.0 ** (-0.5 * np.arange(POINTS))
    at = np.unique(np.searchsorted(came, np.rint(wanted[wanted >= FEWEST])))
    at = at[(running[at] > 0) & (np.diff(came[at], prepend=0) > 0)]
    return np.diff(np.log(came[at])), np.diff(np.log(running[at]))


def _drawn(steps: FloatArray, grown: FloatArray, rng: np.random.Generator, draws: int) -> tuple[FloatArray, FloatArray]:
    """Draws of p and of sigma squared from their posterior, by Gibbs sampling."""
    age = np.cumsum(steps[::-1])[::-1] - steps
    weight = 0.5 ** (age / MEMORY)
    slope = np.full(draws, STEADY)
    variance = np.full(draws, SCALE)
    for _ in range(ROUNDS):
        left = ((grown - slope[:, None] * steps) ** 2 / steps * weight).sum(axis=1)
        variance = (SCALE + left / 2) / rng.gamma(SHAPE + weight.sum() / 2, 1.0, draws)
        precision = STEADY_DOUBT**-2 + (weight * steps).sum() / variance
        mean = (STEADY * STEADY_DOUBT**-2 + (weight * grown).sum() / variance) / precision
        slope = rng.normal(mean, precision**-0.5)
    return slope, variance
