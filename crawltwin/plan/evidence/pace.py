r"""The time of further pages at the pace of the whole crawl, with its noise and its drift.

Let T(n) be the running time in which the first n pages came. Where the pace is stationary, T(n + m) is m times the mean
so far, and the relative error has the variance :math:`\kappa (1/m + 1/n)`, with :math:`\kappa` the noise of one page
summed over its correlations; neighbouring batches of pages tell it. Beside that noise the pace may drift: on
logarithmic scales T is taken as a Brownian motion, log T grows by :math:`p\,h + \sigma\sqrt h\,Z` while log n grows by
h; a list of m pages has a gamma law of noise beside that, of shape :math:`m / \kappa`, exact for a Poisson stream, so
that short lists have no times below zero. With p = 1 and :math:`\sigma = 0` that is the steady crawl, and the forecast
is "pages done over time elapsed"; p above 1 is a crawl that slows down. The posterior of p and :math:`\sigma` is summed
on a grid, given T at half octaves of n back from the end of the log.

What the crawl has not met yet no log tells: a first stop, a host that hangs, a slow end. `unforeseen` makes the rest
longer in some of the draws.

How often crawls slow down and how often something unforeseen happens is a matter of experience, and depends on the
hosts (`Habits`): a crawl of one site mostly keeps its pace, one of several hosts slows down as they run dry or hang.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from crawltwin.model.checks import FloatArray

SLOPES = np.linspace(0.3, 2.7, 49)
"""Values of p."""
SLOWER, FASTER = 0.5, 0.3
"""Prior of p where it is not 1: standard deviations above and below 1."""
MOTIONS = np.concatenate([[0.0], 0.0005 * 2.0 ** np.arange(12)])
"""Values of sigma squared, per factor e of pages."""
STILL = 0.5
"""Prior probability of sigma = 0."""
STEP = np.log(2) / 2
"""Half an octave of pages: T(n) is looked at in such steps."""
SHAPE = 0.5
"""Least shape of the gamma law of the noise of a list: a list of few pages is as irregular as such a gap, not more."""
BATCHES = (8, 16, 32)
"""Batches into which the pages are cut to tell their noise."""
FEW = 30
"""Pages up to which the noise of a page is that of a Poisson stream at least."""
FEWEST, POINTS = 12, 12
"""Pages from which on T(n) is looked at, and points of it at most."""


@dataclass(frozen=True)
class Habits:
    """What is known of crawls of a kind before the log.

    Parameters
    ----------
    steady : float
        Probability that p is 1.
    slows : float
        Probability that p is above 1 where it is not 1.
    unforeseen : float
        Probability that something makes the rest longer which the log has not shown.
    lengthened : float
        Mean of the logarithm of the factor then.
    """

    steady: float
    slows: float
    unforeseen: float
    lengthened: float


ONE_HOST = Habits(steady=0.6, slows=0.9, unforeseen=0.2, lengthened=0.5)
SEVERAL_HOSTS = Habits(steady=0.6, slows=0.7, unforeseen=0.5, lengthened=0.5)


def shared_times(
    came: npt.NDArray[np.int64], running: FloatArray, urls: FloatArray, habits: Habits, rng: np.random.Generator
) -> FloatArray:
    """Draws of the time that further pages take at the pace so far.

    Parameters
    ----------
    came, running : ndarray
        Pages that had come by these times, and the times without pauses; neither ever falls.
    urls : ndarray
        Further pages in each draw.
    habits : Habits
        Of crawls of this kind.
    """
    pages, elapsed, draws = int(came[-1]), float(running[-1]), urls.size
    noise = page_noise(came, running)
    at = _points(came, running)
    steps, grown = np.diff(np.log(came[at])), np.diff(np.log(running[at]))
    slope, motion = _posterior(habits, (steps, grown, noise * _spread(came[at[:-1]], came[at[1:]])), rng, draws)
    ahead = np.log1p(urls / pages)
    freedom = min(BATCHES[1], 1 + pages / 8)
    doubted = noise * freedom / rng.chisquare(freedom, draws)
    # A short list is over before the pace has drifted further than it does from one point to the next.
    drift = np.sqrt(motion * np.minimum(ahead, STEP * (ahead / STEP) ** 2)) / -np.expm1(-slope * ahead)
    shape = np.maximum(urls / doubted, SHAPE)
    spread = np.sqrt(doubted / pages + drift**2)
    steady = elapsed * np.expm1(np.minimum(slope * ahead, 300.0)) * np.exp(spread * rng.standard_normal(draws))
    return np.asarray(steady * rng.gamma(shape) / shape)


def unforeseen(habits: Habits, rng: np.random.Generator, draws: int) -> FloatArray:
    """Factors of the rest: 1 where nothing happens, else a Pareto law from 1 on."""
    # As many draws as the probability has it, not about as many: the middle of the answer lies where they begin.
    longer = rng.permutation(draws) < habits.unforeseen * draws
    return np.where(longer, np.exp(rng.exponential(habits.lengthened, draws)), 1.0)


def page_noise(came: npt.NDArray[np.int64], running: FloatArray) -> float:
    """Relative variance of the time of one page, its correlations summed up: the largest that batches tell."""
    found = [min(1.0, FEW / came[-1])]
    for batches in BATCHES:
        at = np.searchsorted(came, np.linspace(0, came[-1], batches + 1)[1:])
        pages, times = np.diff(came[at]), np.diff(running[at])
        pace = times[pages > 0] / pages[pages > 0]
        if pace.size > 2 and pace.min() > 0:
            found.append(float(pages.mean() * np.mean(np.diff(np.log(pace)) ** 2) / 2))
    return float(max(found))


def _spread(before: npt.NDArray[Any], after: npt.NDArray[Any]) -> FloatArray:
    """Variance of the growth of log T per unit of noise: (m / (n + m))^2 (1/m + 1/n) with n before and n + m after."""
    more = after - before
    return np.asarray((more / after) ** 2 * (1 / more + 1 / before))


def _points(came: npt.NDArray[np.int64], running: FloatArray) -> npt.NDArray[np.intp]:
    """Where T(n) is looked at: half octaves back from the end, the latest last."""
    wanted = came[-1] * np.exp(-STEP * np.arange(POINTS))
    at = np.unique(np.searchsorted(came, np.rint(wanted[wanted >= FEWEST])))
    return np.asarray(at[(running[at] > 0) & (np.diff(came[at], prepend=0) > 0)])


def _posterior(
    habits: Habits, seen: tuple[FloatArray, FloatArray, FloatArray], rng: np.random.Generator, draws: int
) -> tuple[FloatArray, FloatArray]:
    """Draws of p and of sigma squared from their posterior on the grid, given growths of log n and log T, and noise."""
    steps, grown, noise = seen
    slope, motion = (axis.ravel() for axis in np.meshgrid(np.append(SLOPES, 1.0), MOTIONS, indexing="ij"))
    prior = np.outer(
        np.append((1 - habits.steady) * _slope_prior(habits.slows), habits.steady),
        np.where(MOTIONS == 0, STILL, (1 - STILL) / (MOTIONS.size - 1)),
    ).ravel()
    variance = noise + motion[:, None] * steps
    fit = -0.5 * ((grown - slope[:, None] * steps) ** 2 / variance + np.log(variance)).sum(axis=1)
    weight = prior * np.exp(fit - fit.max())
    drawn = rng.choice(weight.size, draws, p=weight / weight.sum())
    return slope[drawn], motion[drawn]


def _slope_prior(slows: float) -> FloatArray:
    """Probabilities of `SLOPES`: two halves of normal laws that meet at 1."""
    slower, faster = (
        np.where(side, np.exp(-(((SLOPES - 1) / doubt) ** 2) / 2), 0.0)
        for side, doubt in ((SLOPES >= 1, SLOWER), (SLOPES < 1, FASTER))
    )
    return np.asarray(slows * slower / slower.sum() + (1 - slows) * faster / faster.sum())
