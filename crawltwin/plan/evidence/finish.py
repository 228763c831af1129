"""When will it be done: the time to finish a list of URLs, with all the doubt that the log leaves.

The time of the list is that of as many further pages at the pace of the log, with its noise, its drift and what no log
can show (`pace`), or longer where few slow hosts are its tail (`host_queues`). Under another number of robots it is
scaled by the ratio of the model's times (`analytic.completion`), with the doubt of that ratio over the resampled
traces; hosts are not faster for it. The crawler pauses: pauses come as a Poisson stream whose rate is that of the log,
with the doubt that so many pauses leave (a gamma law, Jeffreys' prior), and each is as long as one of those in the log;
pauses that came in bouts come so again, and leave the doubt of so many bouts.
A crawler that is stopped is so by time, one that waits for a page is so by pages, which few slow hosts set apart: the
pauses of the log tell which by the pace around them. Where the log tells how the frontier grows (`frontier`), a second
answer counts in what the URLs will bring.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from analytic import Completion, Solution, completion, solve
from crawltwin.model import InputError, Scenario
from crawltwin.model.checks import FloatArray
from crawltwin.plan.evidence.frontier import Growth, growth_of
from crawltwin.plan.evidence.host_queues import HostQueues
from crawltwin.plan.evidence.host_sizes import FOLLOWED, pages_left
from crawltwin.plan.evidence.pace import ONE_HOST, SEVERAL_HOSTS, Habits, shared_times, unforeseen
from crawltwin.plan.settings import PlanSettings
from crawltwin.plan.url_list import UrlList
from crawltwin.plan.wording import in_time
from fitting import CountLog, FitResult

DRAWS = 2000
EACH = 200
"""Pauses of one draw that are drawn one by one; the sum of more is normal."""
AROUND = 0.1
"""Part of the running time around a pause in which pages are counted."""
PARTS = 8
"""Parts of the log in which pauses are counted, to tell whether they come in bouts."""
MOST = 1e9
"""Pauses that are expected in one draw at most: more would not end within any lifetime."""
ENDS = (0.05, 0.95)
"""The interval that is told: nine of ten crawls are done inside it."""
LONGER = 1.1
"""Hosts make the tail of a draw where it takes this many times as long as at the pace of the whole crawl."""
KNOWN = 0.9
"""Share of the pages whose host must be known, and from which on they are of one host."""


FINISH_HEADINGS = ("what", "today", "under the policy")


@dataclass(frozen=True)
class Finish:
    """When a list is done.

    Parameters
    ----------
    median, low, high : float
        Seconds, pauses included; nine of ten crawls are done between `low` and `high`.
    running : float
        Mean time in the model while the crawler runs, without pauses.
    tail : float
        Share of the cases in which few slow hosts decide.
    """

    median: float
    low: float
    high: float
    running: float
    tail: float = 0.0

    def in_words(self) -> str:
        """The answer in a clause."""
        if math.isinf(self.median):
            return "no end in sight"
        high = "without an end" if math.isinf(self.high) else in_time(self.high, digits=2)
        return f"{in_time(self.median, digits=2)} (in nine of ten cases {in_time(self.low, digits=2)} to {high})"

    def to_json(self) -> dict[str, float | None]:
        """Plain numbers, in seconds; None for what has no end."""
        found = {"median": self.median, "low": self.low, "high": self.high, "running": self.running}
        return {name: value if math.isfinite(value) else None for name, value in found.items()} | {"tail": self.tail}


@dataclass(frozen=True)
class FinishTimes:
    """Both answers: today's crawl, and the recommended policy.

    Parameters
    ----------
    urls : int
        Known now.
    today, plan : Finish
    pauses : int
        In the log.
    linear : float or None
        Seconds at the mean pace of the whole log, pauses included: the plain formula, of today's crawl.
    hosts_known : bool
        Whether the list tells how many URLs each host has.
    growth : Growth or None
        What the log tells of the frontier.
    today_grown, plan_grown : Finish or None
        With the URLs that will be found on the way.
    """

    urls: int
    today: Finish
    plan: Finish
    pauses: int
    linear: float | None = None
    hosts_known: bool = False
    growth: Growth | None = None
    today_grown: Finish | None = None
    plan_grown: Finish | None = None

    def in_words(self) -> str:
        """Both answers, and what limits them."""
        both = f"in {self.plan.in_words()} under the policy, in {self.today.in_words()} today"
        what = "1 URL is fetched" if self.urls == 1 else f"{self.urls:,} URLs are fetched"
        words = [f"{what} {both}; {_pauses(self.pauses)}.", self._limit()]
        if self.linear is not None:
            words.append(
                f"At the mean pace of the whole log, pauses included, it would be {in_time(self.linear)} today."
            )
        if self.growth is None or self.today_grown is None or self.plan_grown is None:
            words.append("Links that are found on the way are not counted: the log does not tell them.")
        elif math.isinf(self.today_grown.median):
            words.append(
                f"With the links that are found on the way there is no end in sight: a page brings "
                f"{self.growth.now:.2g} new URLs, and the frontier grows."
            )
        else:
            words.append(
                f"A page brings {self.growth.now:.2g} new URLs; with these it is {self.plan_grown.in_words()} under "
                f"the policy, {self.today_grown.in_words()} today."
            )
        return " ".join(words)

    def rows(self) -> list[tuple[str, str, str]]:
        """The answers below `FINISH_HEADINGS`."""
        known = "the URL that is known" if self.urls == 1 else f"the {self.urls:,} URLs that are known"
        found = [(known, self.today, self.plan)]
        if self.today_grown is not None and self.plan_grown is not None:
            found.append(("with those that they will bring", self.today_grown, self.plan_grown))
        return [(what, today.in_words(), plan.in_words()) for what, today, plan in found]

    def _limit(self) -> str:
        if self.today.tail < 0.05:
            return "The pace of the whole crawl decides; later ends are those of stops that the log has not shown."
        given = "" if self.hosts_known else "; a list of the URLs (--urls FILE) would tell how many each host has"
        return f"Few slow hosts are the last in {self.today.tail:.0%} of the cases{given}."

    def to_json(self) -> dict[str, Any]:
        """Plain numbers."""
        grown = {
            name: None if one is None else one.to_json()
            for name, one in (("today", self.today_grown), ("plan", self.plan_grown))
        }
        return {
            "urls": self.urls,
            "today": self.today.to_json(),
            "plan": self.plan.to_json(),
            "pauses": self.pauses,
            "linear": self.linear,
            "with_links": None if self.growth is None else grown | {"new_urls_per_page": self.growth.now},
        }


def _pauses(count: int) -> str:
    if count == 0:
        return "the log shows no pauses"
    return f"pauses like the {'one' if count == 1 else count} of the log are counted in"


def finish_times(
    fit: FitResult, settings: PlanSettings, under: Sequence[tuple[Scenario, Solution]], rates: FloatArray
) -> FinishTimes:
    """When the URLs of the settings are done.

    Parameters
    ----------
    under : sequence of (Scenario, Solution)
        The policy and today, each at the mean pace and solved over the day.
    rates : ndarray
        Pages per second of both, a row for each resampled trace; without rows their doubt is not known.
    """
    wanted, urls = settings.urls, settings.url_count
    if wanted is None or urls is None:
        raise InputError("urls must be given to tell when they are done; got none")
    growth = growth_of(fit.log, urls)
    found: list[list[Finish]] = []
    lists = [(completion(scenario, urls), solve(scenario).measures["arrival_rate"]) for scenario, _ in under]
    # A short list takes longer than at the mean rate where it may begin in a slow phase. The pace of the log has its
    # phases already: of the model only what sets the policy apart from today is left.
    begun = urls / lists[1][1] / lists[1][0].mean
    for column, ((done, rate), (_, over_day)) in enumerate(zip(lists, under, strict=True)):
        # The pace of the log has its own doubt: of the rates on resampled traces their ratio to today's is left.
        ratio = rates[:, column] / rates[:, 1] if rates.size else np.ones(1)
        own = over_day.measures["arrival_rate"] * ratio / np.median(ratio)
        counted = (None,) if growth is None else (None, growth)
        found.append([finish_of(wanted, done, begun * rate / own, fit, settings.seed, links) for links in counted])
    (plan, *plan_grown), (today, *today_grown) = found
    return FinishTimes(
        urls,
        today=today,
        plan=plan,
        pauses=fit.cleaning.pauses,
        linear=urls * float(fit.log.seconds[-1]) / int(_history(fit)[0][-1]),
        hosts_known=isinstance(wanted, UrlList),
        growth=growth,
        today_grown=next(iter(today_grown), None),
        plan_grown=next(iter(plan_grown), None),
    )


def finish_of(
    wanted: UrlList | int,
    done: Completion,
    slower: FloatArray,
    fit: FitResult,
    seed: int,
    growth: Growth | None = None,
) -> Finish:
    """The law of the time to finish by simulation of its parts. Cost: two seconds for a thousand hosts.

    Parameters
    ----------
    wanted : UrlList or int
        The list, or its length.
    done : Completion
        In the fitted model.
    slower : ndarray
        Draws of what its mean is multiplied by: the doubt of the fitted rates beside that of the pace of the log.
    growth : Growth, optional
        Then the URLs that will be found on the way are counted in.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(13,)))
    urls = float(wanted if isinstance(wanted, int) else wanted.total)
    grown = np.full(DRAWS, urls) if growth is None else growth.totals(int(urls), rng, DRAWS)
    ends = np.isfinite(grown)
    urls_drawn = np.where(ends, grown, urls)
    came, running = _history(fit)
    relative = done.mean / (urls * running[-1] / came[-1]) * rng.choice(slower, DRAWS)
    habits = _habits(fit)
    shared = shared_times(came, running, urls_drawn, habits, rng) * unforeseen(habits, rng, DRAWS) * relative
    times = _with_hosts(wanted, urls_drawn, shared, fit, running, rng)
    total = np.where(ends, times + _paused(times, urls_drawn / came[-1], running, fit, rng), np.inf)
    low, median, high = np.quantile(total, (ENDS[0], 0.5, ENDS[1]), method="inverted_cdf")
    return Finish(float(median), float(low), float(high), done.mean, float(np.mean(times > LONGER * shared)))


def _habits(fit: FitResult) -> Habits:
    """Those of crawls of one host where nearly all pages are known to be of one."""
    if isinstance(fit.log, CountLog) or fit.log.host is None:
        return SEVERAL_HOSTS
    pages = np.unique(fit.log.host[fit.log.host != 0], return_counts=True)[1]
    return ONE_HOST if pages.max(initial=0) >= KNOWN * fit.log.host.size else SEVERAL_HOSTS


def _with_hosts(
    wanted: UrlList | int,
    urls: FloatArray,
    shared: FloatArray,
    fit: FitResult,
    running: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Draws of the running time with the queues of the hosts, where the log tells these."""
    log = fit.log
    if isinstance(log, CountLog) or log.host is None:
        return shared
    known = log.host != 0
    if known.mean() < KNOWN or np.all(log.host == log.host[0]):
        return shared
    queues = HostQueues.of(log.host[known], running[known], None if log.took is None else log.took[known])
    if isinstance(wanted, UrlList):
        hosts, left = _listed(wanted, queues)
        left = np.outer(urls / wanted.total, left)
    else:
        hosts, left = pages_left(queues.pages, queues.silence, queues.new, float(wanted), rng, urls.size)
        left = left * (urls / wanted)[:, None]
    tail = queues.rule * (1 - queues.replaced)
    return np.where(rng.random(urls.size) < tail, queues.times(hosts, left, shared, rng), shared)


def _listed(wanted: UrlList, queues: HostQueues) -> tuple[npt.NDArray[np.intp], FloatArray]:
    """Numbers of the hosts of a list in the log, -1 for others, and their URLs; of very many hosts those with most."""
    keys = np.array(wanted.keys[:FOLLOWED], dtype=np.uint64)
    at = np.minimum(np.searchsorted(queues.keys, keys), queues.keys.size - 1)
    return np.where(queues.keys[at] == keys, at, -1), np.array(wanted.counts[:FOLLOWED], dtype=float)


def _history(fit: FitResult) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """Pages that had come, and the time until then without the pauses: at each page, or at the end of each interval."""
    log = fit.log
    if isinstance(log, CountLog):
        return np.cumsum(log.count), np.cumsum(log.length)
    gaps = np.diff(log.seconds, prepend=0.0)
    gaps[[stretch.first for stretch in fit.cleaning.stretches[1:]]] = 0.0
    return np.arange(1, gaps.size + 1), np.cumsum(gaps)


def _paused(
    times: FloatArray, again: FloatArray, running: FloatArray, fit: FitResult, rng: np.random.Generator
) -> FloatArray:
    """Time spent in pauses during each running time, in which `again` times as many pages come as in the log."""
    stretches = fit.cleaning.stretches
    lengths = np.array([later.begin - earlier.end for earlier, later in pairwise(stretches)])
    lengths = lengths[lengths > 0]
    observed = sum(stretch.end - stretch.begin for stretch in stretches)
    if not lengths.size or observed <= 0:
        return np.zeros_like(times)
    exposed = np.where(rng.random(times.size) < _with_pages(running, fit), again, times / observed)
    together = _together(running, fit)
    rate = rng.gamma(lengths.size / together + 0.5, 1.0, times.size)
    counts = np.rint(rng.poisson(np.minimum(rate * exposed, MOST)) * together).astype(np.int64)
    single = np.where(counts <= EACH, counts, 0)
    drawn = rng.choice(lengths, int(single.sum()))
    owner = np.repeat(np.arange(times.size), single)
    many = counts - single
    sums = many * lengths.mean() + np.sqrt(many) * lengths.std() * rng.standard_normal(times.size)
    return np.asarray(np.bincount(owner, weights=drawn, minlength=times.size) + np.maximum(sums, 0.0))


def _together(running: FloatArray, fit: FitResult) -> float:
    """Pauses that come in one bout: the dispersion of their number in parts of the log, of pages or of running time."""
    if isinstance(fit.log, CountLog):
        return 1.0
    at = np.array([stretch.first for stretch in fit.cleaning.stretches[1:]])
    places = (at / running.size, running[at] / running[-1])
    parts = [np.bincount(np.minimum(PARTS * one, PARTS - 1).astype(int), minlength=PARTS) for one in places]
    return max(1.0, min(float(counts.var(ddof=1) / counts.mean()) for counts in parts))


def _with_pages(running: FloatArray, fit: FitResult) -> float:
    """Probability that pauses come with pages, not with time, by the pages per second around those of the log."""
    if isinstance(fit.log, CountLog):
        return 0.5
    at = running[[stretch.first for stretch in fit.cleaning.stretches[1:]]]
    around = AROUND / 2 * running[-1]
    begin, end = np.maximum(at - around, 0.0), np.minimum(at + around, running[-1])
    pages = np.searchsorted(running, end, side="right") - np.searchsorted(running, begin)
    return float(expit(np.log((pages + 1) / running.size / (end - begin) * running[-1]).sum()))
