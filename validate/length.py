r"""How long a run must be: known before the first page, from the chain or from a pilot, and checked afterwards.

The standard error of every measure after n pages is :math:`\sigma/\sqrt n`. Two one-sided tests with margin
:math:`\delta` decide with the declared power when :math:`\delta \ge (z_{c} + z_{(1+power)/2})\,\sigma/\sqrt n`, so

.. math:: n = \max_{measures} \left( (z_{c} + z_{(1+power)/2})\, \sigma / \delta \right)^2 .

For time averages, rates and ratios of counts the chain knows :math:`\sigma` exactly: its asymptotic variance is one
more linear solve with Q (the Poisson equation). For the rest (sojourn times by fate, their distributions, modes), and
where the chain is too large, it comes from a pilot with random numbers of its own, raised to its upper 90% confidence
limit because a pilot is short. The verdict itself rests on fresh replications alone: a pilot that also counted would
favour lucky lengths. Afterwards the variances seen are held against the planned ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from scipy import stats

from analytic import Solution, asymptotic_variance, settling_time
from crawltwin.model import Scenario, TooLargeError
from crawltwin.model.errors import ConvergenceError
from crawltwin.model.measures import PROBABILITIES
from crawltwin.model.results.carried import Carried
from validate.plan import ValidationPlan
from validate.verdict import Comparison, reach

PILOT_PAGES = {"compiled": 1_000_000, "simpy": 50_000}
"""Pages of the pilot with each engine."""
PILOT_REPLICATIONS = 50
"""Replications of the pilot."""
LEAST_REPLICATIONS = 10
"""Fewer give no usable standard error."""
PAGES_UNSETTLED = 1000
"""Least pages of a replication where the settling time is not known."""
WARMUP_SHARE = 0.05
"""Share of each replication that is left out."""
SETTLED = 1e-4
"""Distance to equilibrium, in total variation, that a warm-up must reach."""
CAUTION = 0.9
"""Confidence of the upper limit of a pilot's variances."""
LARGEST_ERROR = 0.1
"""Planned standard error, relative to the number, beyond which the variance seen tells nothing."""
CASES_EACH = 10
"""Cases in each replication of a pilot from which on it tells a variance."""
MOST_STATES = 5_000
"""Chains with more states are not asked for their settling time."""


@dataclass(frozen=True)
class PlannedLength(Carried):
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
        For each number its standard error times the square root of the pages, as planned. What the pilot saw too seldom
        to tell a variance has none: the length heeds it, but no variance is held against it.
    from_chain : frozenset of str
        The numbers whose sigma is the chain's; the others have the pilot's.
    settling : float or None
        Time until equilibrium from empty, from the chain; None where the chain was too large to ask.
    pilot_freedom : int
        Degrees of freedom of the pilot's sigmas; 0 where there was no pilot.
    """

    pages: int
    wanted: int
    limiting: str
    sigma: Mapping[str, float] = field(repr=False)
    settling: float | None = None
    from_chain: frozenset[str] = frozenset()
    pilot_freedom: int = 0

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
            "variances_from_chain": sorted(self.from_chain),
        }


def settling(scenario: Scenario, states: int) -> float | None:
    """Time until a crawler started empty is within `SETTLED` of its equilibrium; None where that is too much to ask."""
    if states > MOST_STATES:
        return None
    try:
        return settling_time(scenario, SETTLED)
    except (TooLargeError, ConvergenceError):
        return None


def longest_stay(solution: Solution) -> float:
    """Time within which a page leaves the system, but for `SETTLED` of the cases.

    The state may be in equilibrium while no page that leaves has been there for long yet: sojourn times forget the
    start only after the pages of the approach have left. Of a chain too large to ask it is what an exponential
    law of the same mean would have.
    """
    law, at = solution.sojourn, 1 - SETTLED
    try:
        if law is not None and solution.solver.states <= MOST_STATES:
            return max(law.quantile(at, "served") or 0.0, law.quantile(at, "obsolete") or 0.0)
    except (TooLargeError, ConvergenceError):
        pass
    means = (solution.measures[f"mean_sojourn_{fate}"] or 0.0 for fate in ("served", "obsolete"))
    return -math.log(SETTLED) * max(means)


@dataclass(frozen=True)
class StartUp:
    """How long the start is remembered.

    Parameters
    ----------
    rate : float
        Pages per unit of time.
    settled : float or None
        Time until the state is in equilibrium; None where it is not known.
    stay : float
        Time until the pages of the approach have left.
    """

    rate: float
    settled: float | None
    stay: float

    @property
    def _pages(self) -> float:
        """Of a replication whose warm-up outlasts both."""
        return self.rate * ((self.settled or 0.0) + self.stay) / WARMUP_SHARE

    def least_pages(self, replications: int) -> int:
        """Pages so that every replication forgets its start within its warm-up."""
        return math.ceil(self._pages * replications)

    def replications(self, pages: int, wanted: int) -> int:
        """Replications, `wanted` at most, that forget their start within so many pages; 0 where too few would.

        Where the settling time is not known, each replication has at least `PAGES_UNSETTLED` pages; where the crawler
        is settled from the first moment on, at least one.
        """
        each = max(self._pages, PAGES_UNSETTLED if self.settled is None else 1.0)
        most = min(int(pages / each * (1 + 1e-9)), wanted)
        return most if most >= LEAST_REPLICATIONS else 0


def chain_sigmas(scenario: Scenario, rate: float, states: int) -> dict[str, float]:
    """Standard error times the square root of the pages, from the chain, for every number that it knows exactly."""
    if states > MOST_STATES:
        return {}
    try:
        found = asymptotic_variance(scenario)
    except (TooLargeError, ConvergenceError):
        return {}
    # Over a time t the variance is sigma^2 / t, and t is pages / rate.
    sigmas = {
        name: math.sqrt(variance * rate)
        for name, variance in found.variances.items()
        if variance is not None and name not in found.approximate
    }
    shares = () if found.level_distribution is None else found.level_distribution
    return sigmas | {
        f"level_distribution[{level}]": math.sqrt(max(float(variance), 0.0) * rate)
        for level, variance in enumerate(shares)
    }


def plan_length(
    comparisons: Sequence[Comparison],
    pilot_pages: int,
    plan: ValidationPlan,
    least: int,
    settled: float | None,
    chain: Mapping[str, float] | None = None,
) -> PlannedLength:
    """The length from the chain's and a pilot's variances; differences in the pilot are not looked at."""
    freedom = comparisons[0].freedom
    caution = math.sqrt(freedom / float(stats.chi2.ppf(1 - CAUTION, freedom)))
    factor, wanted, limiting = reach(plan.confidence, plan.power), float(least), "the warm-up"
    exact = chain or {}
    sigma, known = {}, {one.name for one in comparisons} & set(exact)
    for found in comparisons:
        if not math.isfinite(found.error):
            continue
        from_chain = found.name in known
        own = exact[found.name] if from_chain else found.error * math.sqrt(pilot_pages)
        if from_chain or _tells_variance(found, own, pilot_pages):
            sigma[found.name] = own
        room = found.margin - found.solved_error
        careful = own * (1.0 if from_chain else caution)
        needed = (factor * careful / room) ** 2 if room > 0 else math.inf
        if needed > wanted:
            wanted, limiting = needed, found.name
    left = max(plan.budget - pilot_pages, 1)
    wanted = min(wanted, 1e15)
    pages = int(min(math.ceil(wanted), left))
    return PlannedLength(pages, math.ceil(wanted), limiting, sigma, settled, frozenset(known & set(sigma)), freedom)


def too_short(budget: int, needed: int, settled: float | None) -> PlannedLength:
    """The whole budget, which ends before enough replications have forgotten their start."""
    return PlannedLength(budget, max(needed, budget + 1), "the warm-up", {}, settled)


def given_length(pages: int, least: int, settled: float | None) -> PlannedLength:
    """The length that the plan names, or that of the warm-up where it is longer."""
    limiting = "the warm-up" if least > pages else "as given"
    return PlannedLength(max(pages, least), max(pages, least), limiting, {}, settled)


def variance_ratios(planned: PlannedLength, comparisons: Sequence[Comparison], pages: int) -> dict[str, float]:
    """Variance seen over variance planned, for each number that had a plan and whose cases were seen often enough."""
    found = {}
    for one in comparisons:
        sigma = planned.sigma.get(one.name, 0.0)
        # A constant has no variance but rounding's.
        if sigma > 0 and one.solved_error < one.error < math.inf and _seen_often(one, sigma, pages):
            found[one.name] = one.error**2 * pages / sigma**2
    return found


def _seen_often(one: Comparison, sigma: float, pages: int) -> bool:
    """Whether the planned error is small beside the number, or for a probability beside that of the contrary.

    It is a tenth after a hundred independent cases, or as many bursts of them. Of fewer cases the variance seen is
    anything: mostly that of none.
    """
    rarer = min(one.solved, 1 - one.solved) if one.measure in PROBABILITIES else abs(one.solved)
    return sigma <= LARGEST_ERROR * rarer * math.sqrt(pages)


def _tells_variance(one: Comparison, sigma: float, pages: int) -> bool:
    """Whether a pilot of so many pages tells the variance of a number, each of its replications by cases of its own.

    Of a quantile with two pages beyond it in each replication the variance comes out 15 to 25% too small.
    """
    return one.cases >= CASES_EACH * (one.freedom + 1) and _seen_often(one, sigma, pages)


def surprising(planned: PlannedLength, ratios: Mapping[str, float], freedom: int) -> list[str]:
    """Numbers whose variance is not what was planned, at 1% over all: by chi-square, or by F against a pilot."""
    tail = 0.005 / max(len(ratios), 1)
    laws = {True: stats.chi2(freedom, scale=1 / freedom), False: stats.f(freedom, max(planned.pilot_freedom, 1))}
    limits = {known: (float(law.ppf(tail)), float(law.ppf(1 - tail))) for known, law in laws.items()}
    found = []
    for name, ratio in ratios.items():
        low, high = limits[name in planned.from_chain]
        if not low <= ratio <= high:
            found.append(name)
    return found
