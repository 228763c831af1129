r"""Where every measure has a closed form: single Poisson arrivals, exponential indexing and obsolescence.

The number of pages is then a birth-death process with birth rates :math:`\lambda_i` and death rates
:math:`\mu + (i-1)\theta`, so :math:`p_i \propto \prod_{j<i} \lambda_j / (\mu + j\theta)`. A page that finds
:math:`j \ge 1` pages leaves the waiting room by the next event among the server's and the :math:`j` obsolescence
clocks (its own included); the events are exponential with rates :math:`\mu + k\theta, k = j, \dots, 1`, whichever page
they take. So it is served with probability :math:`\mu/(\mu + j\theta)`, and if it is, it has waited
:math:`\sum_{k=1}^{j} 1/(\mu + k\theta)` on average. The sojourn of obsolete pages follows from Little's law.
"""

from __future__ import annotations

import numpy as np

from crawltwin.model import InputError, Scenario


def is_birth_death(scenario: Scenario) -> bool:
    """Whether the closed form applies."""
    if scenario.arrivals.phases > 1:
        return False
    modes = [scenario.arrivals.mode(robots) for robots in set(scenario.policy_in_force.robots_used)]
    plain = all(mode.phases == 1 and mode.max_batch == 1 for mode in modes)
    exponential = scenario.service.order == 1
    return plain and exponential and (scenario.obsolescence is None or scenario.obsolescence.order == 1)


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
    K, policy = scenario.capacity, scenario.policy_in_force
    mu = float(scenario.service.exit_rates[0])
    theta = 0.0 if scenario.obsolescence is None else float(scenario.obsolescence.exit_rates[0])
    robots = np.array([policy.robots_at(i) for i in range(K + 1)])
    births = np.array([scenario.arrivals.mode(int(r)).page_rate for r in robots])
    deaths = mu + theta * np.arange(K)
    p = np.cumprod(np.concatenate([[1.0], births[:-1] / deaths]))
    p /= p.sum()
    levels = np.arange(K + 1)
    rate = float(p @ births)
    served = mu * float(1 - p[0]) / rate
    loss = float(p[K] * births[K]) / rate
    obsolete = theta * float(p @ np.maximum(levels - 1, 0)) / rate
    waits = np.concatenate([[0.0], np.cumsum(1 / (mu + theta * np.arange(1, K)))])[:K]
    is_served = mu / (mu + theta * np.arange(K))
    entering = (p * births)[:K] / rate
    found = {
        "arrival_rate": rate,
        "loss_probability": loss,
        "obsolescence_probability": obsolete,
        "success_probability": served,
        "starvation_probability": float(p[0]),
        # About the first number, so that a constant one comes out exactly.
        "mean_active_robots": float(robots[0] + p @ (robots - robots[0])),
        "mean_pages": float(p @ levels),
        "mean_sojourn": float(p @ levels) / rate,
        "mean_sojourn_served": 1 / mu + float((entering * is_served) @ waits) / served,
    }
    if obsolete > 0:
        rest = found["mean_sojourn"] - found["mean_sojourn_served"] * served
        found["mean_sojourn_obsolete"] = rest / obsolete
    if scenario.cost is not None:
        names = (
            "arrival_rate",
            "loss_probability",
            "obsolescence_probability",
            "mean_sojourn_served",
            "mean_active_robots",
            "starvation_probability",
        )
        found["cost"] = scenario.cost.cost(**{name: found[name] for name in names})
    return found
