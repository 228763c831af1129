r"""How long a run must be: known before the first page, from the chain or from a pilot, and checked afterwards.

The standard error of every measure after n pages is :math:`\sigma/\sqrt n`. Two one-sided tests with margin
:math:`\delta` decide with the declared power when :math:`\delta \ge (z_{c} + z_{(1+power)/2})\,\sigma/\sqrt n`, so

.. math:: n = \max_{measures} \left( (z_{c} + z_{(1+power)/2})\, \sigma / \delta \right)^2 .

:math:`\sigma` comes from a pilot of its own random numbers, raised to its upper 90% confidence limit because a pilot is
short. The verdict itself rests on fresh replications alone: a pilot that also counted would favour lucky lengths.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from scipy import stats

from analytic import settling_time
from crawltwin.model import Scenario, TooLargeError
from crawltwin.model.errors import ConvergenceError
from validate.plan import ValidationPlan
from validate.runs import WARMUP_SHARE
from validate.verdict import Comparison, reach

PILOT_PAGES = {"compiled": 1_000_000, "simpy": 50_000}
"""Pages of the pilot with each engine."""
PILOT_REPLICATIONS = 50
"""Replications of the pilot."""
SETTLED = 1e-4
"""Distance to equilibrium, in total variation, that a warm-up must reach."""
CAUTION = 0.9
"""Confidence of the upper limit of a pilot's variances."""
MOST_STATES = 20_000
"""Chains with more states are not asked for their settling time."""


@dataclass(frozen=True)
class PlannedLength:
    """The length of the run that gives the verdict.

    Parameters
    ----------
    pages : int
        Planned, within the budget.
    wanted : int
        What the margins and the power ask for, before the budget.
    limiting : str
        The number that asks for most pages.
    sigma : mapping
        For each number its standard error times the square root of the pages, as planned.
    settling : float or None
        Time until equilibrium from empty, from the chain; None where the chain was too large to ask.
    """

    pages: int
    wanted: int
    limiting: str
    sigma: Mapping[str, float] = field(repr=False)
    settling: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", MappingProxyType(dict(self.sigma)))

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "pages": self.pages,
            "wanted": self.wanted,
            "limiting": self.limiting,
            "settling_time": self.settling,
            "within_budget": self.wanted <= self.pages,
        }


def settling(scenario: Scenario, states: int) -> float | None:
    """Time until a crawler started empty is within `SETTLED` of its equilibrium; None where that is too much to ask."""
    if states > MOST_STATES:
        return None
    try:
        return settling_time(scenario, SETTLED)
    except (TooLargeError, ConvergenceError):
        return None


def least_pages(rate: float, settled: float | None, replications: int) -> int:
    """Pages so that the warm-up of every replication outlasts the settling time."""
    if settled is None:
        return 0
    return math.ceil(rate * settled / WARMUP_SHARE * replications)


def plan_length(
    comparisons: Sequence[Comparison], pilot_pages: int, plan: ValidationPlan, least: int, settled: float | None
) -> PlannedLength:
    """The length from a pilot's comparisons; differences in the pilot are not looked at."""
    caution = math.sqrt((freedom := comparisons[0].freedom) / float(stats.chi2.ppf(1 - CAUTION, freedom)))
    factor, wanted, limiting = reach(plan.confidence, plan.power), float(least), "the warm-up"
    sigma = {}
    for found in comparisons:
        if not math.isfinite(found.error):
            continue
        sigma[found.name] = found.error * math.sqrt(pilot_pages)
        room = found.margin - found.solved_error
        needed = (factor * caution * sigma[found.name] / room) ** 2 if room > 0 else math.inf
        if needed > wanted:
            wanted, limiting = needed, found.name
    left = max(plan.budget - pilot_pages, 1)
    wanted = min(wanted, 1e15)
    return PlannedLength(int(min(math.ceil(wanted), left)), math.ceil(wanted), limiting, sigma, settled)


def given_length(pages: int, least: int, settled: float | None) -> PlannedLength:
    """The length that the plan names, or that of the warm-up where it is longer."""
    limiting = "the warm-up" if least > pages else "as given"
    return PlannedLength(max(pages, least), max(pages, least), limiting, {}, settled)


def variance_ratios(planned: PlannedLength, comparisons: Sequence[Comparison], pages: int) -> dict[str, float]:
    """Variance seen over variance planned, for each number that had a plan."""
    found = {}
    for one in comparisons:
        sigma = planned.sigma.get(one.name, 0.0)
        if sigma > 0 and math.isfinite(one.error):
            found[one.name] = one.error**2 * pages / sigma**2
    return found


def surprising(ratio: float, freedom: int, pilot_freedom: int, tests: int) -> bool:
    """Whether a ratio of variances is outside what two honest estimates give, at 1% over all `tests`."""
    tail = 0.005 / tests
    low, high = (float(stats.f.ppf(p, freedom, pilot_freedom)) for p in (tail, 1 - tail))
    return not low <= ratio <= high
