"""How the backlog may grow, how long pages stay, and when a list is done, under the recommended policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from analytic import Completion, Solution, completion, passage
from crawltwin.model import Scenario
from crawltwin.plan.settings import PlanSettings

QUANTILES = (0.5, 0.9, 0.95, 0.99)


@dataclass(frozen=True)
class Backlog:
    """How the backlog may grow, how long pages stay, and when a list is done.

    Parameters
    ----------
    limit, within : int and float
        The limit asked about, and the time.
    passed : float
        Probability that the backlog passes the limit within that time, from an empty system.
    mean_passage : float
        Mean time until it does; infinite where it never may.
    waits : tuple of (p, seconds)
        Quantiles of the time that indexed pages spend in the system.
    timeout, late : float or None
        Share of indexed pages that spend longer than the timeout.
    list : Completion or None
    curve : tuple of (limit, probability)
        Probability of passing each limit within that time, over the whole range of limits.
    """

    limit: int
    within: float
    passed: float
    mean_passage: float
    waits: tuple[tuple[float, float | None], ...]
    timeout: float | None
    late: float | None
    list: Completion | None
    curve: tuple[tuple[int, float], ...]

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries and numbers."""
        return {
            "limit": self.limit,
            "within": self.within,
            "passed": self.passed,
            "mean_passage": self.mean_passage,
            "sojourn_quantiles": [{"p": p, "seconds": value} for p, value in self.waits],
            "timeout": self.timeout,
            "late": self.late,
            "list": None if self.list is None else self.list.to_json(),
        }


def backlog_of(scenario: Scenario, solution: Solution, settings: PlanSettings) -> Backlog:
    """First passage, time in the system against a timeout, and the list, under the scenario's policy.

    Without an own limit and time the question is: how likely is a full system within one hour?
    """
    limit = min(settings.backlog_limit if settings.backlog_limit is not None else scenario.top_level - 1,
                scenario.top_level - 1)  # fmt: skip
    within = settings.backlog_time if settings.backlog_time is not None else 3600.0
    first = passage(scenario, limit)
    late = None
    if settings.timeout is not None:
        found = solution.sojourn.survival(settings.timeout, "served")
        late = None if found is None else float(np.asarray(found))
    return Backlog(
        limit=limit,
        within=within,
        passed=first.cdf(within),
        mean_passage=first.mean,
        waits=tuple((p, solution.sojourn.quantile(p, "served")) for p in QUANTILES),
        timeout=settings.timeout,
        late=late,
        list=None if settings.url_count is None else completion(scenario, settings.url_count),
        curve=tuple((at, passage(scenario, at).cdf(within)) for at in _spread_limits(scenario.top_level - 1)),
    )


def _spread_limits(most: int) -> list[int]:
    """Up to thirteen limits from 0 to `most`, evenly spread."""
    return sorted({round(k * most / 12) for k in range(13)})
