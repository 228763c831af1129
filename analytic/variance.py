r"""Asymptotic variances: how long a simulation must run, known before its first event.

For a time average, a rate of counted pages, or a mean over pages, observed over [0, t],

.. math:: \mathrm{Var}(\text{estimate over } [0, t]) \approx \sigma^2 / t .

**Integrals and counts.** Let A be the integral of a(state), plus a mark m for every transition of some kinds (a batch
of three delivered: 3 pages). With the mean rate :math:`\alpha = a + \sum m\cdot\text{rate}` and h the solution of the
Poisson equation :math:`-Qh = \alpha - \bar\alpha` (`analytic.deviation`), :math:`A_t - \bar\alpha t + h(X_t) -
h(X_0)` is a martingale whose jumps are :math:`m + h(s') - h(s)`; h is bounded, so for two of them

.. math:: \sigma_{AB} = \sum_s p(s) \sum_{s \to s'} \text{rate}\; [m_A + h_A(s') - h_A(s)] [m_B + h_B(s') - h_B(s)],

over *all* transitions, those included that count something and leave the state as it is. It is a sum of squares for A
= B: nothing cancels.

**Quotients.** The loss probability is the quotient of two counts, the mean sojourn that of the integral of the number
of pages and the count of pages (each page in the system adds to the integral while it is there; what is cut off at
the ends does not grow with t). For a quotient r = A/B the delta method gives :math:`(\sigma_{AA} - 2r\sigma_{AB} +
r^2\sigma_{BB})/\bar\beta^2`, and likewise for the cost.

**Sojourn of served and of obsolete pages.** What is booked at a departure is the page's age, which the state does not
hold. The moments of the ages make the variance exact with one obsolescence phase (`analytic.ages`). Beyond its
`MAX_LEVELS` levels, or with several phases, the integral of the number of pages that will be served is replaced by that
of its mean given the state: same mean, but without the scatter of fates around it. Those values are marked approximate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import norm

from analytic.ages import MAX_LEVELS, BookedAges
from analytic.chain import Chain
from analytic.deviation import Deviation
from analytic.events import Event
from analytic.rewards import RATES, Prospects, measures_of_rates, present_pages, state_rewards
from analytic.sensitivity import QUOTIENTS
from analytic.solution import versions
from crawltwin.model import SCALAR_MEASURES, Fault, InputError, Scenario
from crawltwin.model.checks import FloatArray, frozen

if TYPE_CHECKING:
    import pandas as pd

COUNTS = ("pages", "lost", "obsolete", "served")
"""Functionals that count pages at transitions; the others are integrals over time."""

FUNCTIONALS = (*RATES, "sojourn_obsolete")

MAX_SHARES = 2_000
"""Most levels for which the variance of each level's share of the time is computed: one solve a level."""


@dataclass(frozen=True, eq=False)
class AsymptoticVariance:
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
        Of the integrals and counts, in the order of `FUNCTIONALS`.
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
        return variance * float(norm.ppf((1 + confidence) / 2) / (relative_half_width * value)) ** 2

    def _variance(self, measure: str) -> float:
        if measure not in self.variances:
            raise InputError(f"measure must be one of {', '.join(self.variances)}; got {measure!r}")
        found = self.variances[measure]
        if found is None:
            raise InputError(f"measure must exist in this scenario; got {measure!r}, which does not")
        return found

    def to_frame(self) -> pd.DataFrame:
        """One row a measure: value, variance constant, whether approximate, run length for 1% at 95%."""
        import pandas as pd

        rows = [
            {
                "measure": name,
                "value": value,
                "variance": self.variances[name],
                "approximate": name in self.approximate,
                "run_length": self.run_length(name) if value else None,
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


def asymptotic_variance(scenario: Scenario) -> AsymptoticVariance:
    """Variance constants of every measure's estimate, from Poisson equations.

    Parameters
    ----------
    scenario : Scenario
        With a policy; with several obsolescence phases, small enough for the explicit chain.

    Notes
    -----
    Cost: one factorisation, nine solves, and one more a level for the level distribution; with exponential obsolescence
    each is linear in the capacity.

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
    rewards = state_rewards(events, prospects)
    rates = p @ rewards
    # In place of what pages book when they arrive: the pages present that will be served, given the state.
    will_be_served = present_pages(events, prospects.chance)
    level = rewards[:, RATES.index("level")]
    earned = np.column_stack([rewards, level - will_be_served])
    earned[:, RATES.index("sojourn_served")] = will_be_served
    exact = chain.obsolescence is None or (chain.obsolescence_phases == 1 and chain.top <= MAX_LEVELS)
    with_ages = exact and chain.obsolescence is not None
    covariances = _covariances(deviation, earned, prospects.chance if with_ages else None)
    values, variances = _measures(scenario, rates, covariances)
    booked = {"mean_sojourn_served", "mean_sojourn_obsolete"}
    if scenario.cost is not None and scenario.cost.response > 0:
        booked.add("cost")
    approximate = frozenset() if exact else frozenset(booked)
    shares = _level_variances(deviation) if chain.top < MAX_SHARES else None
    names = [name for name in SCALAR_MEASURES if name in values]
    return AsymptoticVariance(
        scenario,
        {name: values[name] for name in names},
        {name: variances[name] for name in names},
        shares,
        approximate & frozenset(names),
        frozen(covariances),
    )


def _covariances(deviation: Deviation, earned: FloatArray, chance: list[FloatArray] | None) -> FloatArray:
    """sigma_AB of all functionals, transition by transition; with `chance`, the ages of the pages included."""
    events, p = deviation.events, deviation.p
    h = deviation.excess(earned)
    found = np.zeros((len(FUNCTIONALS),) * 2)
    for event in events.events:
        entries, marks = event.rates.tocoo(), _marks(event)
        # What counts nothing and leaves the state as it is is no jump.
        keep = (entries.row != entries.col) | bool(marks.any())
        row, column = entries.row[keep], entries.col[keep]
        jumps = marks + h[column] - h[row]
        found += jumps.T @ (jumps * (p[row] * entries.data[keep])[:, None])
    if chance is not None:
        obsolete, served = (
            sum((_marks(event) for event in events.events if getattr(event, fate)), start=np.zeros(len(FUNCTIONALS)))
            for fate in ("obsolete", "served")
        )
        ages = BookedAges.of(deviation, chance, h, obsolete, served)
        # An age that is booked as served is not booked as obsolete.
        sign = np.zeros(len(FUNCTIONALS))
        sign[FUNCTIONALS.index("sojourn_served")], sign[FUNCTIONALS.index("sojourn_obsolete")] = 1.0, -1.0
        found += np.outer(sign, ages.with_others) + np.outer(ages.with_others, sign)
        found += ages.own * np.outer(sign, sign)
    return found


def _marks(event: Event) -> FloatArray:
    """What one transition adds to each functional."""
    return np.array([float(getattr(event, name)) if name in COUNTS else 0.0 for name in FUNCTIONALS])


def _level_variances(deviation: Deviation) -> FloatArray:
    """sigma^2 of the share of time at each level: 2 p (f - f) h for its indicator f."""
    levels, p = deviation.events.levels, deviation.p
    top, found = deviation.events.chain.top, []
    for first in range(0, top + 1, 64):
        block = np.arange(first, min(first + 64, top + 1))
        indicator = (levels[:, None] == block).astype(np.float64)
        found.append(2 * (p @ ((indicator - p @ indicator) * deviation.excess(indicator))))
    return frozen(np.concatenate(found))


def _measures(
    scenario: Scenario, rates: FloatArray, covariances: FloatArray
) -> tuple[dict[str, float | None], dict[str, float | None]]:
    """Gradients of the measures in the functionals, and the variances along them."""
    mean = dict(zip(RATES, rates.tolist(), strict=True))
    mean["sojourn_obsolete"] = mean["level"] - mean["sojourn_served"]
    value = {name: float(found) for name, found in measures_of_rates(rates).items()}
    unit = {name: np.eye(len(FUNCTIONALS))[k] for k, name in enumerate(FUNCTIONALS)}
    gradient: dict[str, FloatArray] = {
        "arrival_rate": unit["pages"],
        "starvation_probability": unit["starvation"],
        "mean_active_robots": unit["robots"],
        "mean_pages": unit["level"],
    }
    for name, (above, below) in QUOTIENTS.items():
        if mean[below] > 0:
            gradient[name] = (unit[above] - value[name] * unit[below]) / mean[below]
    weights = scenario.cost
    if weights is not None and mean["served"] > 0:
        value["cost"] = weights.cost(
            arrival_rate=value["arrival_rate"],
            loss_probability=value["loss_probability"],
            obsolescence_probability=value["obsolescence_probability"],
            mean_sojourn_served=value["mean_sojourn_served"],
            mean_active_robots=value["mean_active_robots"],
            starvation_probability=value["starvation_probability"],
        )
        gradient["cost"] = (
            weights.loss * unit["lost"]
            + weights.obsolescence * unit["obsolete"]
            + weights.response * gradient["mean_sojourn_served"]
            + weights.robots * unit["robots"]
            + weights.starvation * unit["starvation"]
        )
    values = {name: value[name] if name in gradient else None for name in value}
    variances = {
        name: float(gradient[name] @ covariances @ gradient[name]) if name in gradient else None for name in value
    }
    return values, variances
