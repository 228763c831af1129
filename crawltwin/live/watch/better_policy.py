"""A new policy when the crawl has changed, and only one that is better by more than its doubt.

The best policy of the model as it is now (thresholds, and resume points where they count) is held against the policy
that is obeyed, in that model and in each of its variants, which are moved by the doubt of what was learnt. The smallest
of the gains must be positive.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from crawltwin.live.watch.refit import Relearnt
from crawltwin.model import Scenario, ThresholdPolicy


@dataclass(frozen=True)
class Improvement:
    """A policy that is worth writing.

    Attributes
    ----------
    policy : ThresholdPolicy
    cost, before : float
        Cost of it and of the present policy in the model as it is now.
    gain, doubt : float
        What it saves, and by how much that may be less because of what is not known well.
    """

    policy: ThresholdPolicy
    cost: float
    before: float
    gain: float
    doubt: float


def improve(model: Relearnt, present: ThresholdPolicy) -> Improvement | None:
    """A policy that is surely better than the present one; None where none is."""
    from analytic import optimize

    scenario = model.scenario.replace(policy=present)
    best = optimize(scenario).best.policy
    if best == present:
        return None
    before, after = cost_of(scenario, present), cost_of(scenario, best)
    gains = [before - after, *(cost_of(one, present) - cost_of(one, best) for one in model.variants)]
    if min(gains) <= 0:
        return None
    return Improvement(best, after, before, gains[0], gains[0] - min(gains))


def cost_of(scenario: Scenario, policy: ThresholdPolicy) -> float:
    """The cost of a policy by the chain."""
    from analytic import solve

    found = solve(scenario.replace(policy=policy)).measures["cost"]
    return math.inf if found is None else float(found)
