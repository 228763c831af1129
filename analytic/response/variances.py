r"""Asymptotic variances: how long a simulation must run, known before its first event.

For a time average, a rate of counted pages, or a mean over pages, observed over [0, t],

.. math:: \mathrm{Var}(\text{estimate over } [0, t]) \approx \sigma^2 / t .

**Integrals and counts.** Let A be the integral of a(state), plus a mark m for every transition of some kinds (a batch
of three delivered: 3 pages). With the mean rate :math:`\alpha = a + \sum m\cdot\text{rate}` and h the solution of the
Poisson equation :math:`-Qh = \alpha - \bar\alpha` (`poisson_equation`), :math:`A_t - \bar\alpha t + h(X_t) -
h(X_0)` is a martingale whose jumps are :math:`m + h(s') - h(s)`; h is bounded, so for two of them

.. math:: \sigma_{AB} = \sum_s p(s) \sum_{s \to s'} \text{rate}\; [m_A + h_A(s') - h_A(s)] [m_B + h_B(s') - h_B(s)],

over *all* transitions, those included that count something and leave the state as it is. It is a sum of squares for A
= B: nothing cancels.

**Quotients.** The loss probability is the quotient of two counts, the mean sojourn that of the integral of the number
of pages and the count of pages (each page in the system adds to the integral while it is there; what is cut off at
the ends does not grow with t). For a quotient r = A/B the delta method gives :math:`(\sigma_{AA} - 2r\sigma_{AB} +
r^2\sigma_{BB})/\bar\beta^2`, and likewise for the cost.

**Sojourn of served and of obsolete pages.** What is booked at a departure is the page's age, which the state does not
hold. The moments of the ages make the variance exact with one obsolescence phase (`analytic.response.ages`). Beyond its
`MAX_LEVELS` levels, with several phases or indexers, a controller with a memory or robots that fetch, the integral of
the number of pages that will be served is replaced by that of its mean given the state: same mean, but without the
scatter of fates around it. Those values are marked approximate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import norm

from analytic.chain.generator import Kind
from analytic.chain.primitives import Chain
from analytic.chain.rewards import Prospects, present_pages, rate_names, state_rewards
from analytic.response.ages import MAX_LEVELS, BookedAges, ages_known
from analytic.response.derivatives import COUNTS, existing_measures
from analytic.response.poisson_equation import Deviation
from analytic.stationary.solution import versions
from crawltwin.model import Fault, InputError, Scenario
from crawltwin.model.checks import FloatArray, frozen
from crawltwin.model.measures import unit_of
from crawltwin.model.rates import RATES, Rates
from crawltwin.model.results.display import Shown
from crawltwin.model.scenario import takes_scenario

if TYPE_CHECKING:
    import pandas as pd

FUNCTIONALS = (*RATES, "sojourn_obsolete")
"""The integrals and counts of every chain; after them switches, and fetches where robots fetch."""
LEVEL, SOJOURN = FUNCTIONALS.index("level"), FUNCTIONALS.index("sojourn_served")

MAX_SHARES = 2_000
"""Most levels for which the variance of each level's share of the time is computed: one solve per level."""


@dataclass(frozen=True, eq=False, repr=False)
class AsymptoticVariance(Shown):
    """Variance constants of the estimates that a simulation makes.

    Parameters
    ----------
    scenario : Scenario
    values, variances : mapping
        Measure -> mean, and -> sigma^2 such that the estimate over [0, t] has variance about sigma^2 / t. None where
        the measure does not exist.
    level_distribution : ndarray or None
        sigma^2 of the share of time at each number of pages; None beyond `MAX_SHARES` levels.
    approximate : frozenset of str
        Measures whose variance is an approximation.
    covariances : ndarray
        Of the integrals and counts, in the order of `FUNCTIONALS`, then switches and fetches.
    """

    scenario: Scenario
    values: Mapping[str, float | None]
    variances: Mapping[str, float | None]
    level_distribution: FloatArray | None
    approximate: frozenset[str]
    covariances: FloatArray

    def standard_error(self, measure: str, time: float) -> float:
        """Standard deviation of the estimate over a run of length `time`."""
        if not time > 0 or not np.isfinite(time):
            raise InputError(f"time must be greater than 0; got {time!r}")
        return float(np.sqrt(self._variance(measure) / time))

    def run_length(self, measure: str, relative_half_width: float = 0.01, confidence: float = 0.95) -> float:
        """Length of run for which the interval of `measure` has this half width, relative to the measure.

        Infinite where it is beyond all numbers: the measure is too near 0.

        Cost: nothing further. The warm-up is not included.

        Examples
        --------
        >>> from crawltwin.model import examples
        >>> found = asymptotic_variance(examples.load("mm1k"))
        >>> round(found.run_length("mean_pages", 0.01) / found.run_length("mean_pages", 0.02), 9)
        4.0
        """
        faults = [
            Fault(name, f"{name} must be in (0, 1); got {value!r}")
            for name, value in (("relative_half_width", relative_half_width), ("confidence", confidence))
            if not 0 < value < 1
        ]
        if faults:
            raise InputError(faults)
        variance, value = self._variance(measure), self.values[measure]
        if not value:
            raise InputError(f"measure must not be 0 for a relative half width; got {measure} = {value}")
        narrow = relative_half_width * value
        try:
            return variance * float(norm.ppf((1 + confidence) / 2) / narrow) ** 2 if narrow else math.inf
        except OverflowError:
            return math.inf

    def _variance(self, measure: str) -> float:
        if measure not in self.variances:
            raise InputError(f"measure must be one of {', '.join(self.variances)}; got {measure!r}")
        found = self.variances[measure]
        if found is None:
            raise InputError(f"measure must exist in this scenario; got {measure!r}, which does not")
        return found

    def headline(self) -> str:
        """The longest run that 1% at 95% confidence takes."""
        lengths = {name: self.run_length(name) for name, value in self.values.items() if value and self.variances[name]}
        if not lengths:
            return "no measure varies"
        worst = max(lengths, key=lambda name: lengths[name])
        return f"half widths of 1% at 95% confidence take a run of {lengths[worst]:.4g} units of time ({worst})"

    def to_frame(self) -> pd.DataFrame:
        """One row for each measure: value, variance constant, whether approximate, run length for 1% at 95%."""
        import pandas as pd

        rows = [
            {
                "measure": name,
                "value": value,
                "variance": self.variances[name],
                "approximate": name in self.approximate,
                "run_length": self.run_length(name) if value else None,
                "unit": unit_of(name),
            }
            for name, value in self.values.items()
            if value is not None
        ]
        return pd.DataFrame(rows)

    def to_json(self) -> dict[str, Any]:
        """As `crawltwin solve --variance --json` prints it; run lengths for a half width of 1% at 95% confidence."""
        return {
            "variances": dict(self.variances),
            "approximate": sorted(self.approximate),
            "run_length": {
                name: self.run_length(name) if value and self.variances[name] is not None else None
                for name, value in self.values.items()
            },
            "level_distribution": None if self.level_distribution is None else self.level_distribution.tolist(),
            "versions": versions(),
        }


@takes_scenario
def asymptotic_variance(scenario: Scenario) -> AsymptoticVariance:
    """Variance constants of every measure's estimate, from Poisson equations.

    Parameters
    ----------
    scenario : Scenario
        With a policy; with several obsolescence phases, small enough for the explicit chain.

    Notes
    -----
    Cost: one factorisation, nine solves, and one more per level for the level distribution; with exponential
    obsolescence each is linear in the capacity.

    Examples
    --------
    >>> from crawltwin.model import examples
    >>> asymptotic_variance(examples.load("mm1k")).variances["mean_pages"] > 0
    True
    """
    chain = Chain.of(scenario)
    deviation = Deviation.of(chain)
    events, p = deviation.events, deviation.p
    prospects = Prospects.of(chain)
    more = rate_names(chain)[len(RATES) :]
    functionals = (*FUNCTIONALS, *more)
    rewards = state_rewards(events, prospects)
    rates = p @ rewards
    further = state_rewards(events, prospects, more)
    # In place of what pages book when they arrive: the pages present that will be served, given the state.
    will_be_served = present_pages(events, prospects.chance)
    earned = np.column_stack([rewards, rewards[:, LEVEL] - will_be_served, further])
    earned[:, SOJOURN] = will_be_served
    exact = chain.obsolescence is None or (chain.top <= MAX_LEVELS and ages_known(chain))
    with_ages = exact and chain.obsolescence is not None
    covariances = _covariances(deviation, earned, functionals, prospects.chance if with_ages else None)
    known = Rates.from_table(np.concatenate([rates, [rates[LEVEL] - rates[SOJOURN]], p @ further]), functionals)
    values = existing_measures(known, scenario.cost)
    # Of a number that is constant but for rounding, rounding may leave less than nothing.
    variances = {
        name: None if value is None else max(0.0, float(known.variance(name, covariances, functionals, scenario.cost)))
        for name, value in values.items()
    }
    booked = {"mean_sojourn_served", "mean_sojourn_obsolete"}
    if scenario.cost is not None and scenario.cost.response > 0:
        booked.add("cost")
    approximate = frozenset() if exact else frozenset(booked)
    shares = _level_variances(deviation) if chain.top < MAX_SHARES else None
    return AsymptoticVariance(scenario, values, variances, shares, approximate & frozenset(values), frozen(covariances))


def _covariances(
    deviation: Deviation, earned: FloatArray, names: Sequence[str], chance: list[FloatArray] | None
) -> FloatArray:
    """sigma_AB of all functionals, transition by transition; with `chance`, the ages of the pages included."""
    events, p = deviation.events, deviation.p
    h = deviation.excess(earned)
    found = np.zeros((len(names),) * 2)
    for event in events.kinds:
        entries, marks = event.rates.tocoo(), _marks(event, names)
        # What counts nothing and leaves the state as it is is no jump.
        keep = (entries.row != entries.col) | bool(marks.any())
        row, column = entries.row[keep], entries.col[keep]
        jumps = marks + h[column] - h[row]
        found += jumps.T @ (jumps * (p[row] * entries.data[keep])[:, None])
    if chance is not None:
        single = {count: np.array([float(name == count) for name in names]) for count in COUNTS}
        ages = BookedAges.of(deviation, chance, h, single)
        # An age that is booked as served is not booked as obsolete.
        sign = np.zeros(len(names))
        sign[SOJOURN], sign[FUNCTIONALS.index("sojourn_obsolete")] = 1.0, -1.0
        found += np.outer(sign, ages.with_others) + np.outer(ages.with_others, sign)
        found += ages.own * np.outer(sign, sign)
    return found


def _marks(event: Kind, names: Sequence[str]) -> FloatArray:
    """What one transition adds to each functional."""
    return np.array([float(getattr(event, name)) if name in COUNTS else 0.0 for name in names])


def _level_variances(deviation: Deviation) -> FloatArray:
    """sigma^2 of the share of time at each level: 2 p (f - f) h for its indicator f."""
    levels, p = deviation.events.levels, deviation.p
    top, found = deviation.events.chain.top, []
    for first in range(0, top + 1, 64):
        block = np.arange(first, min(first + 64, top + 1))
        indicator = (levels[:, None] == block).astype(np.float64)
        found.append(2 * (p @ ((indicator - p @ indicator) * deviation.excess(indicator))))
    return frozen(np.concatenate(found))
