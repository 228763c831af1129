r"""Where every measure has a closed form: single Poisson arrivals, exponential indexing and obsolescence.

The number of pages is then a birth-death process with birth rates :math:`\lambda_i` and death rates
:math:`\mu + (i-1)\theta`, so :math:`p_i \propto \prod_{j<i} \lambda_j / (\mu + j\theta)`. A page that finds
:math:`j \ge 1` pages leaves the waiting room by the next event among the server's and the :math:`j` obsolescence
clocks (its own included); the events are exponential with rates :math:`\mu + k\theta, k = j, \dots, 1`, whichever page
they take. So it is served with probability :math:`\mu/(\mu + j\theta)`, and if it is, it has waited
:math:`\sum_{k=1}^{j} 1/(\mu + k\theta)` on average. The sojourn of obsolete pages follows from Little's law.
"""

from __future__ import annotations

import math

import numpy as np

from crawltwin.model import SCALAR_MEASURES, InputError, Scenario
from crawltwin.model.rates import Rates
from crawltwin.model.scenario import takes_scenario


@takes_scenario
def is_birth_death(scenario: Scenario) -> bool:
    """Whether the closed form applies."""
    if scenario.features - {"switching"} or scenario.arrivals.phases > 1:
        return False
    modes = [scenario.arrivals.mode(robots) for robots in set(scenario.policy_in_force.robots_used)]
    plain = all(mode.phases == 1 and mode.max_batch == 1 for mode in modes)
    exponential = scenario.service.order == 1
    return plain and exponential and (scenario.obsolescence is None or scenario.obsolescence.order == 1)


@takes_scenario
def closed_form(scenario: Scenario) -> dict[str, float]:
    """Every scalar measure that exists. Cost: quadratic in the capacity.

    Examples
    --------
    >>> from crawltwin.model import examples
    >>> round(closed_form(examples.load("mm1k"))["starvation_probability"], 6)
    0.362341
    """
    if not is_birth_death(scenario):
        raise InputError(
            "the scenario must have single Poisson arrivals, exponential service and exponential obsolescence; "
            "got another one. Its measures can be solved: `crawltwin solve`"
        )
    scenario.check_features((), "the closed form")
    K, policy = scenario.capacity, scenario.policy_in_force
    mu = float(scenario.service.exit_rates[0])
    theta = 0.0 if scenario.obsolescence is None else float(scenario.obsolescence.exit_rates[0])
    robots = np.array(policy.robots_by_level(K))
    births = np.array([scenario.arrivals.mode(int(r)).page_rate for r in robots])
    deaths = mu + theta * np.arange(K)
    p = np.cumprod(np.concatenate([[1.0], births[:-1] / deaths]))
    p /= p.sum()
    levels = np.arange(K + 1)
    waits = np.concatenate([[0.0], np.cumsum(1 / (mu + theta * np.arange(1, K)))])[:K]
    is_served = mu / (mu + theta * np.arange(K))
    served = mu * float(1 - p[0])
    rates = Rates(
        pages=p @ births,
        lost=p[K] * births[K],
        obsolete=theta * (p @ np.maximum(levels - 1, 0)),
        served=served,
        # About the first number, so that a constant one comes out exactly.
        robots=robots[0] + p @ (robots - robots[0]),
        starvation=p[0],
        level=p @ levels,
        sojourn_served=served / mu + ((p * births)[:K] * is_served) @ waits,
    )
    found = {name: float(value) for name, value in rates.measures(scenario.cost).items()}
    return {name: found[name] for name in SCALAR_MEASURES if math.isfinite(found.get(name, math.nan))}
