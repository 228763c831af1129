r"""Exact derivatives of every measure with respect to the logarithms of the rates.

Three parameters: all arrival rates (start-ups of robots included), all service rates, all obsolescence rates, each
times a common factor :math:`e^\theta`; a controller that looks only every so often adds a fourth, the rate of its
polls. The generator is the sum of these parts, each proportional to its factor, so
:math:`\partial Q/\partial\theta` is that part :math:`Q_\theta` itself, and pQ = 0 gives

.. math:: \frac{\partial p}{\partial\theta} Q = -p\,Q_\theta, \qquad \frac{\partial p}{\partial\theta} e = 0 :

one more solve with the generator that was solved for p. Rates of pages are p times vectors that are themselves
proportional to the arrival, service or obsolescence rates, and the sojourn of served pages depends on service and
obsolescence through the tagged page's chain (`analytic.chain.rewards.Prospects`); the product rule does the rest.

With the logarithm as parameter a derivative is the change of a measure for a relative change of the rates: 0.5 means
0.005 for one percent. Scaling all rates together only changes the unit of time, so over all parameters the
derivatives of probabilities sum to 0, those of rates to the rate, those of times to minus the time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from analytic.chain.primitives import Chain
from analytic.chain.rewards import Prospects, booked_at_arrival, rate_names, state_rewards
from analytic.chain.transitions import Clock
from analytic.response.poisson_equation import Deviation
from analytic.stationary.solution import versions
from crawltwin.model import SCALAR_MEASURES, CostWeights, InputError, Scenario
from crawltwin.model.checks import FloatArray, frozen
from crawltwin.model.measures import unit_of
from crawltwin.model.rates import Rates
from crawltwin.model.results.display import Drawn
from crawltwin.model.scenario import takes_scenario

if TYPE_CHECKING:
    import pandas as pd

COUNTS = ("pages", "lost", "obsolete", "served", "switches")
"""Rates that count transitions; the others are integrals over time."""


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivity(Drawn):
    """Measures and their derivatives with respect to the logarithms of the rates; ``plot()`` compares elasticities.

    Parameters
    ----------
    scenario : Scenario
    values : mapping
        Measure -> value; None where it does not exist.
    derivatives : mapping
        Measure -> {"arrival": ..., "service": ..., "obsolescence": ...}, and "control" where the controller polls;
        None where the measure does not exist.
    level_distribution : ndarray, shape (levels, parameters)
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

    def headline(self) -> str:
        """How the cost, or else the loss, answers to one percent more of each rate."""
        name = "cost" if self.values.get("cost") else "loss_probability"
        slopes = self.elasticity(name)
        if slopes is None:
            return f"derivatives of {len(self.values)} measures; {name} is 0 here"
        moved = ", ".join(f"{clock} {slope:+.3g}%" for clock, slope in slopes.items())
        return f"one percent more of a rate changes {name} by: {moved}"

    def to_frame(self) -> pd.DataFrame:
        """One row for each measure and parameter: measure, parameter, value, derivative, elasticity, unit."""
        import pandas as pd

        rows = [
            {
                "measure": name,
                "parameter": clock,
                "value": self.values[name],
                "derivative": slope,
                "elasticity": slope / value if value else None,
                "unit": unit_of(name),
            }
            for name, slopes in self.derivatives.items()
            if slopes is not None and (value := self.values[name]) is not None
            for clock, slope in slopes.items()
        ]
        return pd.DataFrame(rows)

    def to_json(self) -> dict[str, Any]:
        """As `crawltwin solve --sensitivity --json` prints it."""
        return {
            "parameters": list(next(d for d in self.derivatives.values() if d is not None)),
            "derivatives": {name: None if d is None else dict(d) for name, d in self.derivatives.items()},
            "level_distribution": self.level_distribution.tolist(),
            "versions": versions(),
        }


@takes_scenario
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
    names, clocks = rate_names(chain), chain.clocks
    rewards = state_rewards(events, prospects, names)
    rates = p @ rewards
    moved = deviation.shift(np.stack([-(events.part(clock).T @ p) for clock in clocks]))
    waits = _wait_slopes(prospects)
    slopes = np.stack(
        [moved[i] @ rewards + _own_slope(deviation, clock, waits[clock]) for i, clock in enumerate(clocks)]
    )
    levels = np.stack([np.bincount(events.levels, weights=row, minlength=chain.top + 1) for row in moved], axis=1)
    known = Rates.from_table(rates, names)
    values = existing_measures(known, scenario.cost)
    direction = dict(zip(names, slopes.T, strict=True))
    derivatives = {
        name: None
        if value is None
        else dict(zip(clocks, known.slope(name, direction, scenario.cost).tolist(), strict=True))
        for name, value in values.items()
    }
    return Sensitivity(scenario, values, derivatives, frozen(levels))


def existing_measures(rates: Rates, weights: CostWeights | None) -> dict[str, float | None]:
    """Every scalar measure that linear rates give; None where it does not exist (a mean over pages that are not)."""
    found = rates.measures(weights)
    return {name: _finite(float(found[name])) for name in SCALAR_MEASURES if name in found}


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _wait_slopes(prospects: Prospects) -> dict[Clock, list[FloatArray]]:
    """Derivatives of the booked sojourn by the rates of each clock, the booking rate aside."""
    none = [np.zeros_like(wait) for wait in prospects.wait]
    by_service = prospects.wait_by_service
    by_clocks: list[FloatArray] = [-wait - slope for wait, slope in zip(prospects.wait, by_service, strict=True)]
    return {"arrival": prospects.wait, "service": by_service, "obsolescence": by_clocks, "control": none}


def _own_slope(deviation: Deviation, clock: Clock, wait: list[FloatArray]) -> FloatArray:
    """Change of the linear rates with the state's probabilities held fixed: what the clock's transitions count.

    Pages book their sojourn when they arrive, so `wait` of the arrivals is what they book.
    """
    events, p = deviation.events, deviation.p
    return np.array(
        [
            float(p @ events.count_rate(name, clock))
            if name in COUNTS
            else float(p @ booked_at_arrival(events, wait))
            if name == "sojourn_served"
            else 0.0
            for name in rate_names(events.chain)
        ]
    )
