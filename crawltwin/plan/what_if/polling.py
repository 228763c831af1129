"""What polling costs: the recommended policy under a controller that looks at the backlog only every so often."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from analytic import Solution, solve
from crawltwin.model import Scenario, ThresholdPolicy
from crawltwin.plan.wording import in_percent, in_time

MULTIPLES = (1.0, 5.0, 30.0, 200.0)
"""Mean distances between looks, in mean times between pages, before they are rounded."""
_STEPS = (1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True)
class PolledPoint:
    """The policy looked at every so often.

    Parameters
    ----------
    every : float
        Mean time between looks; 0: at once, as the plan assumes.
    measures : dict
        Solved measures of the same policy.
    extra : float or None
        Share by which its cost is above that of looking at once; None where nothing costs anything.
    """

    every: float
    measures: dict[str, Any]
    extra: float | None

    @property
    def words(self) -> str:
        """How often, for people."""
        return f"every {in_time(self.every)}" if self.every else "at once"

    def shown(self) -> tuple[str, ...]:
        """A row for people: how often, pages lost and stale, time until indexed, robots, extra cost."""
        times = self.measures["mean_sojourn_served"]
        return (
            self.words,
            in_percent(self.measures["loss_probability"]),
            in_percent(self.measures["obsolescence_probability"]),
            "–" if times is None else in_time(times),
            f"{self.measures['mean_active_robots']:.3g}",
            "–" if self.extra is None else in_percent(self.extra),
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"check_every": self.every, "measures": self.measures, "extra_cost": self.extra}


HEADINGS = ("looked at", "pages lost", "gone stale", "time until indexed", "robots", "extra cost")
"""Of the rows of `PolledPoint.shown`."""
_KEPT = ("loss_probability", "obsolescence_probability", "mean_sojourn_served", "mean_active_robots", "cost")


def rounded(time: float) -> float:
    """The nearest of 1, 2, 5 times a power of ten.

    Examples
    --------
    >>> rounded(0.23), rounded(4.1), rounded(36.0)
    (0.2, 5.0, 50.0)
    """
    power = 10.0 ** math.floor(math.log10(time))
    return float(f"{min(_STEPS, key=lambda step: abs(math.log(step * power / time))) * power:.3g}")


def polling_of(solution: Solution) -> tuple[PolledPoint, ...]:
    """The solved policy at once and at growing distances; nothing where the number of robots never changes.

    Cost: one solution for each of four distances. No policy is chosen anew: `crawltwin optimize --check-every` does so.
    """
    scenario = solution.scenario
    policy = scenario.policy_in_force.as_thresholds()
    if len(set(policy.robots)) == 1:
        return ()
    gap = 1.0 / float(solution.measures["arrival_rate"])
    distances = dict.fromkeys(rounded(gap * multiple) for multiple in MULTIPLES)
    found = [solution, *(solve(_looking(scenario, policy, every)) for every in distances)]
    least = solution.measures.get("cost")
    return tuple(
        PolledPoint(
            every,
            {name: one.measures.get(name) for name in _KEPT},
            None if not least else float(one.measures["cost"] / least - 1),
        )
        for every, one in zip((0.0, *distances), found, strict=True)
    )


def _looking(scenario: Scenario, policy: ThresholdPolicy, every: float) -> Scenario:
    return scenario.replace(policy=ThresholdPolicy(policy.robots, policy.thresholds, policy.resume, every))
