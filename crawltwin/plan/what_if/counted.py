"""Counts do not tell batches from bursts that are shorter than an interval: what the policy costs in the other reading.

The fit to counts has rivals of both kinds. The plan rests on the chosen one; the best rival of the other kind, where
the counts are about as likely under it, is the other reading. What the policy costs there above the best one of that
reading bounds what not knowing can cost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from analytic import optimize, solve
from crawltwin.model import Scenario
from crawltwin.plan.prepare import scenario_of
from crawltwin.plan.settings import PlanSettings
from crawltwin.plan.wording import in_percent, named
from fitting import FitResult

AS_LIKELY = 5.0
"""Difference of log-likelihoods, either way, up to which the counts do not tell the readings apart."""


@dataclass(frozen=True)
class CountedReading:
    """The reading that was not taken, under the recommended policy.

    Parameters
    ----------
    model : str
        Its model, for people.
    batched : bool
        Whether it is the one in batches.
    best : str
        The policy that it would ask for, in its short form.
    above : float
        What the recommended policy costs above that one in this reading, relative to its cost.
    lost, lost_here : float
        Share of the pages that are lost under the recommended policy, in the plan's reading and in this one.
    """

    model: str
    batched: bool
    best: str
    above: float
    lost: float
    lost_here: float

    def in_words(self) -> str:
        """What is not known and what it may cost, as a clause."""
        how = "in batches" if self.batched else "one by one, in bursts shorter than an interval"
        return (
            f"counts do not tell batches from short bursts: had pages come {how} ({self.model}), "
            f"{in_percent(self.lost_here)} instead of {in_percent(self.lost)} of them would be lost under this policy, "
            f"and it would cost {in_percent(max(self.above, 0.0))} more than the best one there, {named(self.best)}"
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return dict(vars(self))


def other_reading(fit: FitResult, chosen: Scenario, settings: PlanSettings) -> CountedReading | None:
    """The other reading of counts under the chosen policy; None where the counts exclude it, or for a log of pages.

    Cost: an optimisation and two solutions.
    """
    batched = fit.chosen.method == "batched"
    rivals = [
        one
        for one in fit.candidates
        if fit.counted and one.right_mean and (one.method == "batched") != batched
        and abs(one.log_likelihood - fit.chosen.log_likelihood) <= AS_LIKELY
    ]  # fmt: skip
    if not rivals:
        return None
    rival = min(rivals, key=lambda one: one.bic)
    process = rival.model.bmap()
    arrivals = scenario_of(replace(fit, process=process), settings).arrivals
    there = chosen.replace(arrivals=arrivals)
    best, own, here = optimize(there.replace(policy=None)).best, solve(there), solve(chosen)
    return CountedReading(
        rival.name,
        not batched,
        best.policy.short,
        float(own.measures["cost"] / best.cost - 1) if best.cost > 0 else 0.0,
        float(here.measures["loss_probability"]),
        float(own.measures["loss_probability"]),
    )
