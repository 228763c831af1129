r"""A frontier that grows: what the known URLs will bring, and whether the crawl ends by itself.

Each page brings m new URLs on average. As a site is known ever better, m falls, for a site of finite size
exponentially with the pages fetched: :math:`m(x) = m\,e^{-x/\tau}` after x further pages. N URLs that are known now
then grow to the y at which nothing is left, :math:`N + m\tau(1 - e^{-y/\tau}) = y`, a value of Lambert's function;
where m does not fall that is :math:`N/(1-m)`, the mean of a branching process, if m is below one, and no end
otherwise.

The log tells m by cohorts of pages, from the oldest to the newest. Where it names the page on which each was found,
the pages whose links have all been fetched are told from those that still have some in the frontier by the parents of
the latest pages: the oldest tenth of these parents is the border, and the N known URLs come from the pages after it.
A crawler that counts the URLs that it discovered tells m directly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import lambertw

from crawltwin.model.checks import FloatArray
from fitting import CountLog, RawLog

COHORTS = 6
TOLD = 0.5
"""Share of the pages whose parents must be in the log."""
ENDLESS = 100.0
"""A frontier that grows to so many times all that is known has no end in sight."""
FALL, FALL_DOUBT = 0.5, 1.0
"""Prior of the fall of log m over as many pages as there were: normal, never below 0."""
FORM, LIMITED = 0.7, 0.15
"""Standard deviation of the logarithm of what is still to be found, as m may fall in another way, and probability that
a limit of depth or scope lets nothing more in."""
FLOOR = 0.1
"""Standard deviation of log m of a cohort beside that of its counts."""


@dataclass(frozen=True, eq=False)
class Growth:
    """New URLs per page, from the oldest cohort to the newest.

    Parameters
    ----------
    pages : int
        Of the log.
    at, fetched, found : ndarray
        The middle of each cohort in pages before the end of the log, its pages, and the new URLs that they brought.
    dispersion : float
        Variance over mean of the new URLs of a page.
    """

    pages: int
    at: FloatArray
    fetched: FloatArray
    found: FloatArray
    dispersion: float

    @property
    def now(self) -> float:
        """New URLs per page of late."""
        return float(self.found[-1] / self.fetched[-1])

    def totals(self, urls: int, rng: np.random.Generator, draws: int) -> FloatArray:
        """Draws of the URLs that will be fetched until the frontier is empty; infinite where it never is."""
        logs, ages = np.log(np.maximum(self.found, 0.5) / self.fetched), self.at / self.pages
        precision = 1 / (self.dispersion / np.maximum(self.found, 0.5) + FLOOR**2)
        design = np.column_stack([np.ones(ages.size), ages])
        normal = design.T @ (precision[:, None] * design) + np.diag([0.0, FALL_DOUBT**-2])
        mean = np.linalg.solve(normal, design.T @ (precision * logs) + np.array([0.0, FALL * FALL_DOUBT**-2]))
        drawn = rng.multivariate_normal(mean, np.linalg.inv(normal), draws)
        rate, fall = np.exp(np.minimum(drawn[:, 0], 50.0)), np.maximum(drawn[:, 1], 0.0)
        total = fetched_in_all(float(urls), rate, fall / self.pages)
        ends = np.isfinite(total)
        last = rate * np.exp(-fall * np.where(ends, total, 0.0) / self.pages)
        noise = np.sqrt(self.dispersion * np.where(ends, total - urls, 0.0)) / np.maximum(1 - last, 0.05)
        total = np.maximum(total + noise * rng.standard_normal(draws), urls)
        form = np.where(rng.random(draws) < LIMITED, 0.0, np.exp(FORM * rng.standard_normal(draws)))
        with np.errstate(invalid="ignore"):
            total = np.where(ends, urls + (total - urls) * form, np.inf)
        return np.where(total < ENDLESS * (self.pages + urls), total, np.inf)


def fetched_in_all(urls: float, rate: FloatArray, fall: FloatArray) -> FloatArray:
    """The y with `urls` + rate (1 - exp(-fall y)) / fall = y; without a fall urls / (1 - rate), or infinite."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        bound = urls + rate / fall
        at: Any = -rate * np.exp(-fall * bound)
        falling = bound + np.real(lambertw(at)) / fall
        steady = np.where(rate < 1, urls / (1 - rate), np.inf)
    return np.where(fall > 1e-12 / urls, np.maximum(falling, urls), steady)


def growth_of(log: RawLog | CountLog, urls: int) -> Growth | None:
    """What the log tells, where it tells anything; `urls` are those that are known now."""
    if isinstance(log, CountLog):
        return None if log.discovered is None else _counted(log.count, log.discovered)
    if log.parent is None or log.page is None:
        return None
    keys, first = np.unique(log.page, return_index=True)
    at = np.minimum(np.searchsorted(keys, log.parent), keys.size - 1)
    parent = np.where((keys[at] == log.parent) & (log.parent != 0), first[at], -1)
    parent = parent[(parent >= 0) & (parent < np.arange(parent.size))]
    pages = len(log)
    if parent.size < TOLD * pages or pages < 4 * COHORTS:
        return None
    border = int(np.quantile(parent[-max(parent.size // 10, 10) :], 0.1))
    border = min(max(border, 1), pages - max(pages // 50, 1))
    edges = np.unique(np.append(np.linspace(0, border, COHORTS).astype(int), pages))
    found = np.histogram(parent, np.append(edges[:-1], pages + 1))[0].astype(float)
    found[-1] += urls
    offspring = np.bincount(parent[parent < border], minlength=border)
    spread = float(offspring.var() / offspring.mean()) if offspring.any() else 1.0
    return Growth(pages, pages - (edges[1:] + edges[:-1]) / 2, np.diff(edges).astype(float), found, max(spread, 1.0))


def _counted(count: npt.NDArray[np.int64], discovered: npt.NDArray[np.int64]) -> Growth | None:
    came, pages = np.cumsum(count), int(count.sum())
    edges = np.unique(np.searchsorted(came, np.linspace(0, pages, COHORTS + 1)[1:-1]) + 1)
    edges = edges[(edges > 0) & (edges < count.size)]
    fetched, found = (np.add.reduceat(column, np.append(0, edges)) for column in (count, discovered))
    if fetched.min() <= 0:
        return None
    ends = np.cumsum(fetched)
    spread = float(np.sum((discovered - count * found.sum() / pages) ** 2) / max(found.sum(), 1))
    return Growth(pages, pages - ends + fetched / 2, fetched.astype(float), found.astype(float), max(spread, 1.0))
