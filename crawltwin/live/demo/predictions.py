"""What the model says of policies before they are run, and what is said afterwards."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crawltwin.live.demo.fitted import FittedCrawl
from crawltwin.live.measured import Measured
from crawltwin.model import CostWeights, Policy, Scenario, ThresholdPolicy
from validate.verdict import Comparison, Verdict, judge

JUDGED = (
    *("mean_pages", "obsolescence_probability", "mean_active_robots"),
    *(
        "arrival_rate",
        "loss_probability",
        "mean_fetches",
        "starvation_probability",
        "mean_sojourn_served",
        "switch_rate",
    ),
)
"""The measures that are judged; the first three are the bar."""
BAR = JUDGED[:3]
SMALLEST_MARGIN = 0.01
"""Probabilities may be off by this much, however small they are."""
REACH = 2.0
"""Standard errors of the fitted means that count as the prediction's own doubt."""

Solver = Callable[[Scenario], Mapping[str, Any]]


def solved(scenario: Scenario) -> Mapping[str, Any]:
    """The measures by the chain."""
    from analytic import solve

    return solve(scenario).measures


@dataclass(frozen=True)
class Prediction:
    """What the model says of one policy.

    Attributes
    ----------
    policy : Policy
    values : dict
        Each measure.
    doubts : dict
        By how much each may be off because the crawl that was fitted was short.
    """

    policy: Policy
    values: dict[str, float]
    doubts: dict[str, float]


def predict(
    fitted: FittedCrawl, policies: Sequence[Policy], weights: CostWeights, solver: Solver = solved
) -> list[Prediction]:
    """The measures of each policy. Cost: four solutions per policy."""
    found = []
    for policy in policies:
        centre = _numbers(solver(fitted.scenario(policy, weights)))
        squares = dict.fromkeys(centre, 0.0)
        for name, error in fitted.errors.items():
            moved = _numbers(solver(fitted.scenario(policy, weights, **{name: 1 + error})))
            for measure in centre:
                squares[measure] += (moved[measure] - centre[measure]) ** 2
        found.append(Prediction(policy, centre, {name: REACH * math.sqrt(sum_) for name, sum_ in squares.items()}))
    return found


def recommend(fitted: FittedCrawl, weights: CostWeights, solver: Solver = solved) -> ThresholdPolicy:
    """The cheapest policy that goes from all robots to fewer at one threshold."""
    most = fitted.robots
    policies = [ThresholdPolicy([most])]
    policies += [
        ThresholdPolicy([most, fewer], [limit]) for fewer in range(1, most) for limit in range(fitted.capacity)
    ]
    return min(policies, key=lambda policy: _numbers(solver(fitted.scenario(policy, weights)))["cost"])


def chosen_policies(
    recommended: ThresholdPolicy, robots: int, capacity: int, look: float
) -> tuple[ThresholdPolicy, ...]:
    """The five policies that are run: three with thresholds, one with hysteresis, one that looks now and then."""
    middle = max(capacity // 3, 1)
    thresholds = [
        recommended,
        ThresholdPolicy([robots, 1], [middle]),
        ThresholdPolicy([robots, robots // 2], [middle // 2]),
    ]
    spare = [ThresholdPolicy([robots, 2, 1], [middle // 2, middle + 1]), ThresholdPolicy([robots - 1])]
    distinct: list[ThresholdPolicy] = []
    for policy in (*thresholds, *spare):
        if policy not in distinct and len(distinct) < len(thresholds):
            distinct.append(policy)
    hysteresis = ThresholdPolicy([robots, 1], [middle + 2], resume=[max(middle - 2, 0)])
    return (*distinct, hysteresis, ThresholdPolicy([robots, 1], [middle], check_every=look))


@dataclass(frozen=True)
class Judged:
    """A prediction, what was measured, and the verdicts."""

    prediction: Prediction
    measured: Measured
    verdicts: tuple[Verdict, ...]

    def within(self, measure: str, margin: float, confidence: float) -> bool:
        """Whether the prediction lies in the measured interval, or off by at most the margin."""
        value, seen = self.prediction.values[measure], self.measured.values[measure]
        interval = self.measured.interval(measure, confidence)
        return interval.low <= value <= interval.high or abs(value - seen) <= margin * abs(seen)


def judge_all(
    predictions: Sequence[Prediction], measured: Sequence[Measured], margin: float, confidence: float
) -> list[Judged]:
    """Verdicts over all policies as one family."""
    rows = []
    for index, (prediction, seen) in enumerate(zip(predictions, measured, strict=True)):
        for name in JUDGED:
            value = prediction.values.get(name, math.nan)
            if math.isfinite(value) and math.isfinite(seen.values.get(name, math.nan)):
                allowed = margin * abs(value)
                if "probability" in name:
                    allowed = max(allowed, SMALLEST_MARGIN)
                part, error = prediction.policy.short, seen.errors[name]
                doubt = prediction.doubts[name]
                found = Comparison(name, part, value, seen.values[name], error, seen.freedom, allowed, doubt)
                rows.append((index, found))
    pages = min(seen.pages for seen in measured)
    verdicts = judge([found for _, found in rows], confidence=confidence, pages=pages)
    return [
        Judged(prediction, seen, tuple(one for (own, _), one in zip(rows, verdicts, strict=True) if own == index))
        for index, (prediction, seen) in enumerate(zip(predictions, measured, strict=True))
    ]


def _numbers(measures: Mapping[str, Any]) -> dict[str, float]:
    """The scalar measures; NaN where one does not exist."""
    return {
        name: math.nan if value is None else float(value)
        for name, value in measures.items()
        if name != "level_distribution"
    }
