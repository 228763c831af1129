r"""Queues of hosts under politeness: the time until the last of them is empty.

A polite crawler fetches one page of a host at a time, with a delay after it, and has workers for so many hosts at once.
A list is done when its capacity has fetched all pages, and not before the host with the most work for its pace: a few
slow hosts are the tail of most crawls. What each host has left is told by the list, or guessed (`host_sizes`). Three
more things are learned from the log.

*Whether hosts matter.* A polite crawler hardly ever takes two pages of a host in a row while others wait; a crawl host
by host does so most of the time, a list in random order as often as chance has it, and in both only the pace of the
whole crawl counts. How often neighbours in the log have the same host, against chance, gives the probability that
queues of hosts rule (`HostQueues.rule`). A crawl whose hosts run dry while others come in their place goes on like that
and has no tail either (`HostQueues.replaced`).

*How fast a host can be.* Its pace of late is a lower bound: while all workers are busy, hosts wait for them. The
number of hosts from which on the workers are all busy has a posterior on a logarithmic grid: by the share of the
fetches that began as soon as politeness allowed, where the log has the times of fetches, and by whether the rate of
the crawl fell with the number of its hosts.

*How sure that is.* Few gaps and few fetches tell a pace badly, and hosts become faster or slower: by how much the paces
of the hosts of the log changed from one stretch of gaps to the next, they may change again, up or down
(`HostQueues.changes`).

Rates are shared fairly, no host above its own pace, the sum not above the capacity; a host that is done leaves its
share to the others (`drained`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logsumexp, polygamma

from crawltwin.model.checks import FloatArray
from crawltwin.plan.evidence.host_sizes import Index, silence_likelihood
from crawltwin.work.compiling import njit

RECENT = 20
"""Gaps of a host that tell its pace of late."""
ENOUGH = 5
"""Waits of a host from which on they tell its politeness."""
LOOKED_AT = 300
"""Hosts with the most pages that tell when their fetches began."""
WINDOWS = 12
"""Parts of the log whose rates are compared."""
BUSY = np.geomspace(0.05, 20.0, 60)
"""Hosts from which on all workers are busy, relative to those that live now."""
NEAR, TURNS = 24, 4
"""Pages within which neighbours are compared with chance, since the hosts at work change slowly: so many, or these
turns of all hosts (their effective number) where that is more."""
SURE = 0.9
"""Largest probability that hosts which run dry are replaced."""
DRY = 0.2
"""Likelihood of its silence below which a host is taken to have run dry."""
PRIOR = 0.27
"""Probability before the log that queues of hosts rule."""


@dataclass(frozen=True, eq=False)
class HostQueues:
    """What a log tells of its hosts.

    Parameters
    ----------
    keys, pages : ndarray
        Of the hosts, and how many pages came from each.
    order : ndarray
        Numbers of all pages, host by host.
    running : ndarray
        Times of all pages, without pauses.
    took : ndarray or None
        Seconds that their fetches took, NaN where unknown.
    """

    keys: npt.NDArray[np.uint64]
    pages: FloatArray
    order: Index
    running: FloatArray
    took: FloatArray | None

    @classmethod
    def of(cls, host: npt.NDArray[np.uint64], running: FloatArray, took: FloatArray | None = None) -> HostQueues:
        """From the host of each page, its time, and the time of its fetch. Cost: one sort of the pages."""
        keys, owner, pages = np.unique(host, return_inverse=True, return_counts=True)
        return cls(keys, pages.astype(float), np.argsort(owner, kind="stable"), running, took)

    @cached_property
    def last(self) -> Index:
        """Place of the last page of each host in `order`."""
        return np.cumsum(self.pages).astype(np.intp) - 1

    @cached_property
    def first(self) -> Index:
        """Place of the first page of each host in `order`."""
        return self.last - self.pages.astype(np.intp) + 1

    @cached_property
    def owner(self) -> Index:
        """Number of the host of each page, host by host."""
        return np.repeat(np.arange(self.keys.size), self.pages.astype(np.intp))

    @cached_property
    def gap(self) -> FloatArray:
        """Seconds between two pages of a host of late; of hosts with one page the median of the others."""
        recent = np.maximum(self.first, self.last - RECENT)
        spent = self.running[self.order[self.last]] - self.running[self.order[recent]]
        known = spent > 0
        every = spent[known] / (self.last - recent)[known]
        gap = np.full(self.keys.size, np.median(every) if known.any() else self.running[-1] / self.running.size)
        gap[known] = every
        return np.maximum(gap, 1e-9)

    @cached_property
    def changes(self) -> FloatArray:
        """Squared changes of the logarithm of the pace of hosts, beyond those of gaps at random.

        Of each host with enough gaps: the mean of those of late against as many before them.
        """
        gaps = np.minimum(RECENT, (self.last - self.first) // 2)
        known = gaps >= ENOUGH
        times, last, gaps = self.running[self.order], self.last[known], gaps[known]
        later, earlier = times[last] - times[last - gaps], times[last - gaps] - times[last - 2 * gaps]
        seen = (later > 0) & (earlier > 0)
        return np.asarray(np.log(later[seen] / earlier[seen]) ** 2 - 2 * polygamma(1, gaps[seen]))

    @cached_property
    def fetch(self) -> tuple[FloatArray, FloatArray]:
        """Mean seconds of a fetch from each host, 0 where unknown, and the shape of the gamma law of their doubt.

        No host is faster than its fetches. With the relative variance v of a fetch the mean of n of them is known as
        that of n / v exponential times; before the log v is 1, with the weight of two fetches.
        """
        if self.took is None:
            return np.zeros(self.keys.size), np.ones(self.keys.size)
        took = self.took[self.order]
        known = np.isfinite(took)
        owner, took = self.owner[known], took[known]
        counts = np.maximum(np.bincount(owner, minlength=self.keys.size), 1)
        mean = np.bincount(owner, took, self.keys.size) / counts
        squares = np.bincount(owner, (took / np.maximum(mean[owner], 1e-9) - 1) ** 2, self.keys.size)
        return mean, counts * (counts + 1) / (squares + 2)

    @cached_property
    def silence(self) -> FloatArray:
        """Likelihood of the silence of each host if it still has pages."""
        return silence_likelihood(self.order, self.first, self.last)

    @cached_property
    def new(self) -> float:
        """Hosts per page that were seen for the first time, in the latter half of the log."""
        half = self.running.size // 2
        return float(np.count_nonzero(self.order[self.first] >= half) / max(self.running.size - half, 1))

    @cached_property
    def rule(self) -> float:
        """Probability that queues of hosts rule, against pages that come host by host or in random order."""
        found, chance = avoidable_pairs(self.host_of_page)
        return float(expit(politeness(found, chance) + np.log(PRIOR / (1 - PRIOR))))

    @cached_property
    def host_of_page(self) -> Index:
        """Number of the host of each page, in the order of the log."""
        host = np.empty(self.order.size, dtype=np.intp)
        host[self.order] = self.owner
        return host

    @cached_property
    def replaced(self) -> float:
        """Share of the hosts that run dry in whose place others come: such a crawl goes on, and has no tail.

        Hosts that came in the last quarter of the log, over half of those that ran dry in its latter half.
        """
        pages = self.running.size
        came = np.count_nonzero(self.order[self.first] >= pages - pages // 4)
        dry = np.count_nonzero((self.order[self.last] >= pages // 2) & (self.silence < DRY))
        return float(min(SURE, came / (dry / 2 + 1)))

    @cached_property
    def prompt(self) -> float:
        """Share of the fetches of late that began as soon as politeness allowed; a half where it is not known.

        Politeness is a fixed delay, or a multiple of the fetch before: the tenth part of the waits of a host that are
        shortest tell which, and the fetches that waited no longer than that and a tenth were prompt.
        """
        if self.took is None:
            return 0.5
        end, took = self.running[self.order], self.took[self.order]
        shares, weights = [], []
        for host in np.argsort(-self.pages, kind="stable")[:LOOKED_AT]:
            own = slice(self.first[host], self.last[host] + 1)
            wait = end[own][1:] - took[own][1:] - end[own][:-1]
            ratio = wait / np.maximum(took[own][:-1], 1e-3)
            both = [one[np.isfinite(one) & (one > 0)] for one in (wait, ratio)]
            if min(one.size for one in both) >= ENOUGH:
                shares.append(max(np.mean(one[-RECENT:] <= 1.1 * np.quantile(one, 0.1)) for one in both) - 0.1)
                weights.append(self.pages[host])
        return float(np.clip(np.average(shares, weights=weights), 0.02, 0.98)) if shares else 0.5

    def busy(self) -> FloatArray:
        """Posterior of `BUSY`."""
        at = np.unique(np.linspace(0, self.running.size - 1, WINDOWS + 1).astype(int))
        at = at[np.append(True, np.diff(self.running[at]) > 0)]
        prior = np.where(BUSY >= 1, self.prompt / (BUSY >= 1).sum(), (1 - self.prompt) / (BUSY < 1).sum())
        if at.size < 3:
            return np.asarray(prior)
        begin, end = self.running[at[:-1]], self.running[at[1:]]
        rates = np.diff(at) / (end - begin)
        came, went = self.running[self.order[self.first]], self.running[self.order[self.last]]
        pace = np.where(self.pages > 1, (went - came) / np.maximum(self.pages - 1, 1), self.gap)
        pace = np.maximum(pace, 1e-9)
        possible = np.zeros(rates.size)
        for k in range(rates.size):
            present = np.minimum(went, end[k]) - np.maximum(came - pace, begin[k])
            possible[k] = (np.maximum(present, 0) / pace).sum() / (end[k] - begin[k])
        possible = np.maximum(possible, 1e-12)
        off = np.log(rates) - np.log(np.minimum(possible / possible[-1], BUSY[:, None]))
        spread = np.maximum(off.var(axis=1), 0.02)
        fit = -rates.size / 4 * np.log(spread)
        weight = prior * np.exp(fit - fit.max())
        return np.asarray(weight / weight.sum())

    def times(self, hosts: Index, left: FloatArray, shared: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draws of the time until the queues are empty.

        Parameters
        ----------
        hosts : ndarray
            Numbers of the hosts in `keys`; -1 for one that the log does not know, whose pace is that of another one.
        left : ndarray
            Pages left of each host, a row for each draw.
        shared : ndarray
            The time that the capacity needs for all of them at the pace so far.
        """
        draws = shared.size
        busy = rng.choice(BUSY, draws, p=self.busy())[:, None]
        unknown = hosts < 0
        shape = np.minimum(self.pages[hosts], RECENT) + 1
        gap = self.gap[hosts] * shape / rng.gamma(shape, 1.0, (draws, hosts.size))
        gap[:, unknown] = rng.choice(self.gap, (draws, np.count_nonzero(unknown)))
        fetch, sure = (column[hosts] for column in self.fetch)
        least = np.where(unknown, 0.0, fetch) * sure / rng.gamma(sure, 1.0, (draws, hosts.size))
        gap = np.maximum(gap * np.minimum(busy, 1.0), least) * self._changed(rng, draws)[:, None]
        capacity = left.sum(axis=1) / shared * np.maximum(busy[:, 0], 1.0)
        return np.asarray(drained(left, gap, capacity))

    def _changed(self, rng: np.random.Generator, draws: int) -> FloatArray:
        """Factors by which the paces of hosts change: as in the log, and no more up than down."""
        # Beside the hosts that tell it counts one that keeps its pace: one host alone would have no bounds.
        spread = np.sqrt(max(self.changes.sum(), 0.0) / rng.chisquare(self.changes.size + 1, draws))
        return np.asarray(np.exp(np.clip(spread * rng.standard_normal(draws), -20.0, 20.0)))


def avoidable_pairs(host: Index) -> tuple[float, float]:
    """Neighbours of the same host that another order would have avoided: how many there are, and how many by chance.

    Of w pages with c_1, c_2, ... of each host a random order has the mean sum c (c - 1) / w, and no order has fewer
    than 2 max c - w - 1. Counted within pieces of the log.
    """
    shares = np.bincount(host) / host.size
    piece = np.arange(host.size) // max(NEAR, int(TURNS / (shares @ shares)))
    length = np.bincount(piece)
    pieces, counts = np.unique(np.stack([piece, host]), axis=1, return_counts=True)
    chance = np.bincount(pieces[0], counts * (counts - 1.0)) / length
    largest = np.zeros(length.size)
    np.maximum.at(largest, pieces[0], counts)
    unavoidable = np.maximum(2 * largest - length - 1, 0)
    same = np.bincount(piece[1:][(np.diff(host) == 0) & (np.diff(piece) == 0)], minlength=length.size)
    return float((same - unavoidable).sum()), float((chance - unavoidable).sum())


def politeness(found: float, chance: float) -> float:
    """Log evidence of a polite crawl: pairs as a Poisson number, of a share s of chance below 1 (2 - 2 s) if polite.

    Else that share is 1 for a random order, or more for host by host (its inverse uniform), each in half of the cases.
    """
    share = (np.arange(200) + 0.5) / 200
    polite = _mean_exp(found * np.log(share) - chance * share + np.log(2 - 2 * share))
    by_host = _mean_exp(-found * np.log(share) - chance / share)
    return float(polite - np.logaddexp(by_host, -chance) + np.log(2))


def _mean_exp(logs: FloatArray) -> float:
    return float(logsumexp(logs) - np.log(logs.size))


@njit(cache=True, nogil=True)
def drained(left: FloatArray, gap: FloatArray, capacity: FloatArray) -> FloatArray:
    """Time until all queues of each row are empty, with rates of at most 1 / gap shared fairly."""
    rows, hosts = left.shape
    found = np.zeros(rows)
    for row in range(rows):
        order = np.argsort(-gap[row])
        work, pace = left[row][order], 1.0 / gap[row][order]
        now = 0.0
        while True:
            possible, longest, living = 0.0, 0.0, 0
            for h in range(hosts):
                if work[h] > 0:
                    living += 1
                    possible += pace[h]
                    longest = max(longest, work[h] / pace[h])
            if possible <= capacity[row] * (1 + 1e-9):
                found[row] = now + longest
                break
            # The slow hosts first: who needs less than an equal share leaves the rest to the others.
            spare, share = capacity[row], 0.0
            for h in range(hosts):
                if work[h] > 0:
                    share = spare / living
                    if pace[h] >= share:
                        break
                    spare -= pace[h]
                    living -= 1
            step = np.inf
            for h in range(hosts):
                if work[h] > 0:
                    step = min(step, work[h] / min(pace[h], share))
            now += step
            for h in range(hosts):
                rate = min(pace[h], share)
                # Who needs less than a two hundredth of the time so far is done with the others: fewer steps.
                if work[h] > 0 and work[h] - rate * step <= 0.005 * rate * now:
                    work[h] = 0.0
                elif work[h] > 0:
                    work[h] -= rate * step
    return found
