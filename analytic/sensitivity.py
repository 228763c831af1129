r"""Exact derivatives of every measure with respect to the logarithms of the rates.

Three parameters: all arrival rates, all service rates, all obsolescence rates, each times a common factor
:math:`e^\theta`. The generator is the sum of three parts, each proportional to its factor, so
:math:`\partial Q/\partial\theta` is that part :math:`Q_\theta` itself, and pQ = 0 gives

.. math:: \frac{\partial p}{\partial\theta} Q = -p\,Q_\theta, \qquad \frac{\partial p}{\partial\theta} e = 0 :

one more solve with the generator that was solved for p. Rates of pages are p times vectors that are themselves
proportional to the arrival, service or obsolescence rates, and the sojourn of served pages depends on service and
obsolescence through the tagged page's chain (`analytic.rewards.Prospects`); the product rule does the rest.

With the logarithm as parameter a derivative is the change of a measure for a relative change of the rates: 0.5 means
0.005 for one percent. Scaling all rates together only changes the unit of time, so over the three parameters the
derivatives of probabilities sum to 0, those of rates to the rate, those of times to minus the time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from analytic.chain import Chain
from analytic.deviation import Deviation
from analytic.events import CLOCKS, Clock
from analytic.rewards import RATES, Prospects, booked_at_arrival, cost_of_rates, measures_of_rates, state_rewards
from analytic.solution import versions
from crawltwin.model import SCALAR_MEASURES, CostWeights, InputError, Scenario
from crawltwin.model.checks import FloatArray, frozen

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Measures and their derivatives with respect to the logarithms of the rates.

    Parameters
    ----------
    scenario : Scenario
    values : mapping
        Measure -> value; None where it does not exist.
    derivatives : mapping
        Measure -> {"arrival": ..., "service": ..., "obsolescence": ...}; None where the measure does not exist.
    level_distribution : ndarray, shape (levels, 3)
        Derivatives of the probability of each number of pages, in the same order.
    """

    scenario: Scenario
    values: Mapping[str, float | None]
    derivatives: Mapping[str, Mapping[str, float] | None]
    level_distribution: FloatArray

    def elasticity(self, measure: str) -> Mapping[str, float] | None:
        """Percent of change of a measure for one percent more of each rate."""
        if measure not in self.values:
            raise InputError(f"measure must be one of {', '.join(self.values)}; got {measure!r}")
        value, slopes = self.values[measure], self.derivatives[measure]
        if not value or slopes is None:
            return None
        return {clock: slope / value for clock, slope in slopes.items()}

    def to_frame(self) -> pd.DataFrame:
        """One row a measure and parameter: measure, parameter, value, derivative, elasticity."""
        import pandas as pd

        rows = [
            {
                "measure": name,
                "parameter": clock,
                "value": self.values[name],
                "derivative": slope,
                "elasticity": slope / value if value else None,
            }
            for name, slopes in self.derivatives.items()
            if slopes is not None and (value := self.values[name]) is not None
            for clock, slope in slopes.items()
        ]
        return pd.DataFrame(rows)

    def to_json(self) -> dict[str, Any]:
        """As `crawltwin solve --sensitivity --json` prints it."""
        return {
            "parameters": list(CLOCKS),
            "derivatives": {name: None if d is None else dict(d) for name, d in self.derivatives.items()},
            "level_distribution": self.level_distribution.tolist(),
            "versions": versions(),
        }


def sensitivity(scenario: Scenario) -> Sensitivity:
    """Derivatives of every measure with respect to the logarithms of the arrival, service and obsolescence rates.

    Parameters
    ----------
    scenario : Scenario
        With a policy; with several obsolescence phases, small enough for the explicit chain.

    Notes
    -----
    Cost: one factorisation and three solves; linear in the capacity with exponential obsolescence.

    Examples
    --------
    >>> from crawltwin.model import examples
    >>> found = sensitivity(examples.load("mm1k")).derivatives["starvation_probability"]
    >>> abs(sum(found.values())) < 1e-12  # all rates together: only the clock runs faster
    True
    """
    chain = Chain.of(scenario)
    deviation = Deviation.of(chain)
    events, p = deviation.events, deviation.p
    prospects = Prospects.of(chain, derivative=True)
    rewards = state_rewards(events, prospects)
    rates = p @ rewards
    moved = deviation.shift(np.stack([-(events.part(clock).T @ p) for clock in CLOCKS]))
    slopes = np.stack(
        [
            moved[index] @ rewards + _own_slope(clock, rates, float(p @ booked_at_arrival(events, wait)))
            for index, (clock, wait) in enumerate(zip(CLOCKS, _wait_slopes(prospects), strict=True))
        ]
    )
    levels = np.stack([np.bincount(events.levels, weights=row, minlength=chain.top + 1) for row in moved], axis=1)
    values, derivatives = _measures(rates, slopes, scenario.cost)
    names = [name for name in SCALAR_MEASURES if name in values]
    return Sensitivity(
        scenario, {name: values[name] for name in names}, {name: derivatives[name] for name in names}, frozen(levels)
    )


def _wait_slopes(prospects: Prospects) -> tuple[list[FloatArray], list[FloatArray], list[FloatArray]]:
    """Derivatives of the booked sojourn by arrival, service and obsolescence rates, the booking rate aside."""
    none = [np.zeros_like(wait) for wait in prospects.wait]
    by_service = prospects.wait_by_service
    by_clocks: list[FloatArray] = [-wait - slope for wait, slope in zip(prospects.wait, by_service, strict=True)]
    return none, by_service, by_clocks


def _own_slope(clock: Clock, rates: FloatArray, booked: float) -> FloatArray:
    """Change of the linear rates with the state's probabilities held fixed."""
    slope = np.zeros(len(RATES))
    own = {"arrival": ("pages", "lost", "sojourn_served"), "service": ("served",), "obsolescence": ("obsolete",)}[clock]
    for name in own:
        slope[RATES.index(name)] = rates[RATES.index(name)]
    slope[RATES.index("sojourn_served")] += booked
    return slope


def _measures(
    rates: FloatArray, slopes: FloatArray, weights: CostWeights | None
) -> tuple[dict[str, float | None], dict[str, dict[str, float] | None]]:
    """Quotients and the cost by the quotient rule."""
    value = {name: float(found) for name, found in measures_of_rates(rates).items()}
    rate = dict(zip(RATES, rates.tolist(), strict=True))
    slope = dict(zip(RATES, slopes.T, strict=True))
    rate["sojourn_obsolete"] = rate["level"] - rate["sojourn_served"]
    slope["sojourn_obsolete"] = slope["level"] - slope["sojourn_served"]
    found: dict[str, FloatArray] = {
        "arrival_rate": slope["pages"],
        "starvation_probability": slope["starvation"],
        "mean_active_robots": slope["robots"],
        "mean_pages": slope["level"],
    }
    for name, (above, below) in QUOTIENTS.items():
        if rate[below] > 0:
            found[name] = (slope[above] - value[name] * slope[below]) / rate[below]
    if weights is not None and rate["served"] > 0:
        value["cost"] = float(cost_of_rates(rates, weights))
        found["cost"] = (
            weights.loss * slope["lost"]
            + weights.obsolescence * slope["obsolete"]
            + weights.response * found["mean_sojourn_served"]
            + weights.robots * slope["robots"]
            + weights.starvation * slope["starvation"]
        )
    names = [*value] if weights is None or "cost" in value else [*value, "cost"]
    derivatives = {
        name: dict(zip(CLOCKS, found[name].tolist(), strict=True)) if name in found else None for name in names
    }
    values = {name: value.get(name) if name in found else None for name in names}
    return values, derivatives


QUOTIENTS: Mapping[str, tuple[str, str]] = {
    "loss_probability": ("lost", "pages"),
    "obsolescence_probability": ("obsolete", "pages"),
    "success_probability": ("served", "pages"),
    "mean_sojourn": ("level", "pages"),
    "mean_sojourn_served": ("sojourn_served", "served"),
    "mean_sojourn_obsolete": ("sojourn_obsolete", "obsolete"),
}
"""Measures that are quotients of two linear rates."""
