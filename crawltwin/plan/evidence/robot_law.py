"""What is assumed of fewer robots, whether the data support it, and what the policy costs if it is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analytic import solve
from crawltwin.model import ControlledArrivals, ModeMatrices, Scenario
from crawltwin.model.interval import Interval
from crawltwin.plan.prepare import arrivals_by_share
from crawltwin.plan.settings import PlanSettings
from fitting import FitResult

POINTS = 5
"""Exponents at which the policy is solved again, from one end of the interval to the other."""


@dataclass(frozen=True)
class FewerRobots:
    """The assumption that r of N robots bring the share r/N, or the law that the data support instead.

    Attributes
    ----------
    verdict : {"supported", "refuted", "cannot tell"}
        What the data say of the share r/N.
    law, words : str
        The law in force, and a sentence.
    theta : Interval
        r robots bring (r/N)^theta of what N bring; assumed where one number of robots was seen.
    worst_cost, worst_theta : float
        The largest cost of the recommended policy over the interval of theta, and where it is.
    """

    verdict: str
    law: str
    words: str
    theta: Interval
    worst_cost: float
    worst_theta: float

    def to_json(self) -> dict[str, Any]:
        """As a plain dictionary."""
        return {**vars(self), "theta": self.theta.to_json()}


def fewer_robots(fit: FitResult, chosen: Scenario, settings: PlanSettings) -> FewerRobots:
    """The recommended policy under other laws of what fewer robots bring. Cost: `POINTS` solutions."""
    evidence = fit.evidence
    worst = []
    for theta in np.linspace(evidence.theta.low, evidence.theta.high, POINTS).tolist():
        shares = [(r / settings.recorded) ** theta for r in range(1, settings.robots + 1)]
        scenario = chosen.replace(arrivals=_by_share(fit, chosen, settings, shares))
        worst.append((float(solve(scenario).measures["cost"]), float(theta)))
    cost, theta = max(worst)
    words = (
        f"{evidence.words}; the policy costs {cost:.4g} at worst, if r robots bring (r/N)^{theta:.2f} of what N bring"
    )
    return FewerRobots(evidence.verdict, evidence.law, words, evidence.theta, cost, theta)


def _by_share(fit: FitResult, chosen: Scenario, settings: PlanSettings, shares: Sequence[float]) -> ControlledArrivals:
    """The plan's arrivals with these shares of what the robots of the log bring; learned processes keep their form."""
    if not isinstance(chosen.arrivals, ModeMatrices) or fit.modes is None:
        return arrivals_by_share(fit.process, settings, shares)
    full = fit.evidence.rates[-1].rate.value
    modes = chosen.arrivals.modes
    return ModeMatrices({r: mode.scaled(full * shares[r - 1] / mode.page_rate) for r, mode in modes.items()})
