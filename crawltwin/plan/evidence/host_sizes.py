r"""How many pages each host has left, where only their sum is known.

A host of k pages, one every g of the crawl's pages, that was silent for s of them ran dry at k, or still has pages. For
that the likelihood is how often a gap of a host in this log was longer than s/g times the mean of those before it: in a
polite crawl hosts come in turn, and a silence of two turns tells much, while after bursts it tells little. Where few
gaps were seen it is exp(-s/g), as for pages at random. The size of a host has one of a grid of laws: power laws
(Lomax), whose few large hosts are the tail of most crawls, and Weibull laws, from exponential to hosts of like sizes. A
law's weight is the likelihood of all silences under it, times that of the number of URLs that remain. Of what remains
draws are made host by host, and those kept whose sum is nearest to the number of URLs; these are scaled to it. Hosts
that were not seen yet have their part in it: as many per page as came anew in the latter half of the log.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crawltwin.model.checks import FloatArray

Index = npt.NDArray[np.intp]

SCALES = np.geomspace(0.5, 1e5, 18)
"""Scales of the laws, in pages."""
POWERS = (0.6, 0.9, 1.3, 2.0)
"""Exponents of Lomax laws."""
SHAPES = (1.0, 2.0, 4.0)
"""Shapes of Weibull laws: exponential, and ever more alike."""
LOOKS, TRIES = 12, 6
"""Sums of remaining pages that tell how likely a law makes the list, and draws of them for each one that is kept."""
EXPONENTIAL = 5.0
"""Gaps of an exponential law that count beside those of the log."""
BLUR, UNLIKELY = 0.5, 12.0
"""Standard deviation of the logarithm of a sum beside that of its draws, and log-likelihoods that are left out."""
FOLLOWED, UNSEEN = 3000, 1000
"""Hosts with the most pages of which draws are made, and of hosts that are yet to come at most."""


@dataclass(frozen=True)
class SizeLaw:
    """A law of the sizes of hosts: Lomax with an exponent, or Weibull with a shape."""

    scale: float
    power: float = 0.0
    shape: float = 0.0

    def survival(self, pages: FloatArray) -> FloatArray:
        """Probability of more pages than these."""
        if self.power:
            return np.asarray((1 + pages / self.scale) ** -self.power)
        return np.asarray(np.exp(-((pages / self.scale) ** self.shape)))

    def remaining(self, pages: FloatArray, uniform: FloatArray) -> FloatArray:
        """Pages beyond these at which the survival given them is `uniform`; at least one."""
        if self.power:
            more = (self.scale + pages) * (uniform ** (-1 / self.power) - 1)
        else:
            past = (pages / self.scale) ** self.shape
            more = self.scale * (past - np.log(uniform)) ** (1 / self.shape) - pages
        return np.maximum(np.ceil(more), 1.0)


LAWS = tuple(SizeLaw(scale, power=power) for power in POWERS for scale in SCALES) + tuple(
    SizeLaw(scale, shape=shape) for shape in SHAPES for scale in SCALES
)


def silence_likelihood(order: Index, first: Index, last: Index) -> FloatArray:
    """Of each host, if it still has pages: how often gaps of the log were longer than its silence.

    Parameters
    ----------
    order : ndarray
        Numbers of all pages, host by host.
    first, last : ndarray
        Places of the first and the last page of each host in `order`.
    """
    pages = last - first + 1
    begin = np.repeat(first, pages)
    rank, since = np.arange(order.size) - begin, order - order[begin]
    later = np.flatnonzero(rank >= 2)
    before = since[later - 1] / (rank[later] - 1)
    ratio = np.sort((since[later] - since[later - 1]) / before)
    known = pages > 1
    every = since[last[known]] / (pages[known] - 1)
    gap = np.full(pages.size, np.median(every) if known.any() else float(order.size))
    gap[known] = every
    silent = (order.size - 1 - order[last]) / gap
    longer = ratio.size - np.searchsorted(ratio, silent)
    return np.asarray((longer + EXPONENTIAL * np.exp(-np.minimum(silent, 500.0))) / (ratio.size + EXPONENTIAL))


def law_fits(pages: FloatArray, silence: FloatArray) -> FloatArray:
    """Log-likelihood of the silences under each law."""
    # Many hosts have the same number of pages: survival is computed once for each number.
    sizes, which = np.unique(pages, return_inverse=True)
    fits = []
    for law in LAWS:
        goes_on, ends = law.survival(sizes), law.survival(sizes - 1) - law.survival(sizes)
        fits.append(float(np.log(np.maximum(goes_on[which] * silence + ends[which], 1e-300)).sum()))
    return np.array(fits)


def pages_left(
    pages: FloatArray, silence: FloatArray, new: float, urls: float, rng: np.random.Generator, draws: int
) -> tuple[npt.NDArray[np.intp], FloatArray]:
    """Which hosts may have pages left, -1 for one that was not seen yet, and draws of how many.

    Parameters
    ----------
    pages, silence : ndarray
        Of each host: pages seen, and the likelihood of its silence if it still has some.
    new : float
        Hosts per page that were seen for the first time, of late.
    urls : float
        Pages left of all hosts; those of hosts that are not followed are left out.
    """
    fits = law_fits(pages, silence)
    followed = np.argsort(-pages * silence, kind="stable")[:FOLLOWED]
    urls = max(urls * float((pages * silence)[followed].sum() / (pages * silence).sum()), 1.0)
    pages, silence = pages[followed], silence[followed]
    unseen = min(int(np.ceil(2 * new * urls)), UNSEEN)

    def drawn(law: SizeLaw, count: int) -> FloatArray:
        goes_on, ends = law.survival(pages) * silence, law.survival(pages - 1) - law.survival(pages)
        living = rng.random((count, pages.size)) * (goes_on + ends) < goes_on
        living[:, 0] = True
        coming = np.arange(unseen) < rng.poisson(new * urls, (count, 1))
        there = np.concatenate([living, coming], axis=1)
        seen = np.append(pages, np.zeros(unseen))
        return np.where(there, law.remaining(seen, 1 - rng.random(there.shape)), 0.0)

    likely = np.flatnonzero(fits > fits.max() - UNLIKELY)
    sums = np.array([np.log(drawn(LAWS[law], LOOKS).sum(axis=1)) for law in likely])
    spread = sums.var(axis=1) + BLUR**2
    fit = fits[likely] - 0.5 * ((sums.mean(axis=1) - np.log(urls)) ** 2 / spread + np.log(spread))
    weight = np.exp(fit - fit.max())
    found = []
    for law, count in zip(likely, rng.multinomial(draws, weight / weight.sum()), strict=True):
        tried = drawn(LAWS[law], count * TRIES)
        total = tried.sum(axis=1)
        kept = np.argsort(np.abs(np.log(total / urls)), kind="stable")[:count]
        found.append(tried[kept] * (urls / total[kept])[:, None])
    return np.append(followed, np.full(unseen, -1)), rng.permutation(np.concatenate(found))
