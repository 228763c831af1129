"""What polling costs: the recommended policy under a controller that looks at the backlog only every so often."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from crawltwin.model import Scenario, ThresholdPolicy
from crawltwin.plan.day.parts import WHOLE_DAY, day_solution
from crawltwin.plan.wording import in_percent, in_time
from fitting.season.pace import PacePart

DAY = 86_400.0

MULTIPLES = (1.0, 5.0, 30.0, 200.0)
"""Mean distances between looks, in mean times between pages, before they are rounded."""
_STEPS = {1.0: (1, 2, 5, 10, 20, 30, 60), 60.0: (1, 2, 5, 10, 20, 30, 60), 3_600.0: (1, 2, 4, 8, 12, 24)}
"""Times that people choose, in seconds, minutes and hours; else 1, 2, 5 times a power of ten seconds or days."""


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
            "–" if self.extra is None else in_percent(round(self.extra, 4)),
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"check_every": self.every, "measures": self.measures, "extra_cost": self.extra}


HEADINGS = ("looked at", "pages lost", "gone stale", "time until indexed", "robots", "extra cost")
"""Of the rows of `PolledPoint.shown`."""
_KEPT = ("loss_probability", "obsolescence_probability", "mean_sojourn_served", "mean_active_robots", "cost")


def rounded(time: float) -> float:
    """The nearest time that people would choose.

    Examples
    --------
    >>> rounded(0.23), rounded(4.1), rounded(36.0), rounded(1000.0)
    (0.2, 5.0, 30.0, 1200.0)
    """
    unit = max((size for size in _STEPS if size <= time), default=1.0)
    steps: Sequence[float] = _STEPS[unit]
    if time < 1 or time >= DAY:
        unit = 1.0 if time < 1 else DAY
        power = 10.0 ** math.floor(math.log10(time / unit))
        steps = [step * power for step in (1, 2, 5, 10)]
    return float(f"{min(steps, key=lambda step: abs(math.log(step * unit / time))) * unit:.6g}")


def polling_of(every: Sequence[Scenario], parts: Sequence[PacePart] = (WHOLE_DAY,)) -> tuple[PolledPoint, ...]:
    """The policy at once and at growing distances; nothing where the number of robots never changes.

    Parameters
    ----------
    every : sequence of Scenario
        With the policy, one for each part of the day; measures are averages over the day.
    parts : sequence of PacePart

    Notes
    -----
    Cost: five solutions for each part. No policy is chosen anew: `crawltwin optimize --check-every` does so.
    """
    if all(len(scenario.policy_in_force.robots_used) == 1 for scenario in every):
        return ()
    at_once = day_solution(every, parts)
    gap = 1.0 / float(at_once.measures["arrival_rate"])
    distances = dict.fromkeys(rounded(gap * multiple) for multiple in MULTIPLES)
    found = [at_once, *(day_solution([_looking(one, distance) for one in every], parts) for distance in distances)]
    least = at_once.measures.get("cost")
    return tuple(
        PolledPoint(
            every,
            {name: one.measures.get(name) for name in _KEPT},
            None if not least else float(one.measures["cost"] / least - 1),
        )
        for every, one in zip((0.0, *distances), found, strict=True)
    )


def _looking(scenario: Scenario, every: float) -> Scenario:
    policy = scenario.policy_in_force.as_thresholds()
    if len(policy.robots) == 1:
        return scenario
    return scenario.replace(policy=ThresholdPolicy(policy.robots, policy.thresholds, policy.resume, every))
