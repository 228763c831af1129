"""The replayed log beside a decision: which of its numbers the choice rests on, and what they leave open.

A number may be inconclusive and yet settle what matters: what a longer log would give lies between two bounds
(`Verdict.low`, `Verdict.high`). Where the cost at both differs by at most a tenth, or the limit is kept at both, the
choice does not hang on what is not known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from crawltwin.model import CostWeights
from crawltwin.model.rates import Rates
from crawltwin.plan.choosing import AIM_MEASURES
from crawltwin.plan.limits import Limits
from validate.logs.agreement import TRUSTED_BY, LogAgreement
from validate.logs.prediction import Prediction

ROOM = 0.1
"""Share of the cost that may stay open, as large as the margin within which a replayed log agrees with its model."""
WORDS = {
    "arrival_rate": "deliveries",
    "loss_probability": "losses",
    "obsolescence_probability": "stale pages",
    "starvation_probability": "the idle indexer",
    "mean_pages": "the backlog",
    "mean_sojourn_served": "the time until a page is indexed",
}
"""What the replayed numbers are, in sentences."""


@dataclass(frozen=True)
class ReplayedNumbers:
    """The verdicts of a replay, beside what decides.

    Parameters
    ----------
    replay : LogAgreement
    measures : mapping
        Solved, under the recommended policy.
    cost : CostWeights
    limits : Limits or None
        What decides instead of the cost.
    """

    replay: LogAgreement
    measures: Mapping[str, Any]
    cost: CostWeights
    limits: Limits | None = None

    @property
    def rests_on(self) -> frozenset[str]:
        """Measures on which the choice rests: deliveries, what has a weight or a limit, and what is made small."""
        return frozenset({"arrival_rate", *self._weighted, *self._bounds, *self._needed})

    @property
    def agreeing(self) -> list[str]:
        """Numbers that agree with the model."""
        return [WORDS[one.measure] for one in self._judged("equivalent")]

    @property
    def against(self) -> list[str]:
        """Numbers that contradict the model, of those on which this choice rests or any plan does."""
        return [WORDS[one.measure] for one in self._judged("different") if self._decisive(one)]

    @property
    def beside(self) -> list[str]:
        """Numbers that contradict the model and on which the choice does not rest."""
        return [WORDS[one.measure] for one in self._judged("different") if not self._decisive(one)]

    @property
    def unsettled(self) -> list[str]:
        """Numbers on which the choice rests and that the log is too short to check as far as the choice needs it."""
        return [WORDS[one.measure] for one in self._judged("inconclusive") if not self._settled(one)]

    @property
    def harmless(self) -> list[str]:
        """Numbers that the log is too short to check, without harm to the choice."""
        return [WORDS[one.measure] for one in self._judged("inconclusive") if self._settled(one)]

    @property
    def _weighted(self) -> list[str]:
        """Those with a weight, where the cost decides."""
        if self.limits is not None and self.limits.minimise != "cost":
            return []
        return [measure for name, measure in AIM_MEASURES.items() if getattr(self.cost, name) > 0]

    @property
    def _bounds(self) -> dict[str, float]:
        """Those with a limit of their own, and the limit."""
        if self.limits is None:
            return {}
        own = {"loss_probability": self.limits.lose_at_most, "obsolescence_probability": self.limits.stale_at_most}
        return {name: bound for name, bound in own.items() if bound is not None}

    @property
    def _needed(self) -> list[str]:
        """Those that must agree by themselves: behind other limits, and what is made small."""
        if self.limits is None:
            return []
        late = ["mean_sojourn_served"] if self.limits.index_within is not None else []
        fewer = ["loss_probability", "obsolescence_probability"] if self.limits.index_at_least is not None else []
        return [*late, *fewer, *([] if self.limits.minimise == "cost" else [AIM_MEASURES[self.limits.minimise]])]

    def _judged(self, word: str) -> list[Prediction]:
        return [one for one in self.replay.predictions if one.verdict.word == word]

    def _decisive(self, one: Prediction) -> bool:
        return one.measure in self.rests_on or one.measure in TRUSTED_BY

    def _settled(self, one: Prediction) -> bool:
        """Whether nothing that a longer log may give would matter to the choice."""
        if one.measure not in self.rests_on:
            return True
        ends = [one.verdict.low, one.verdict.high]
        if one.measure in ("arrival_rate", *self._needed) or not all(map(math.isfinite, ends)):
            return False
        # The replay may be of today's policy, or of one part of the day: what counts is how far off the model may be.
        own = float(self.measures[one.measure])
        low, high = (own + end - one.verdict.comparison.solved for end in ends)
        if high > self._bounds.get(one.measure, math.inf):
            return False
        if one.measure not in self._weighted:
            return True
        cost, *others = [self._cost(one.measure, value) for value in (own, low, high)]
        return all(abs(other - cost) <= ROOM * cost for other in others)

    def _cost(self, measure: str, value: float) -> float:
        return float(Rates.from_measures({**self.measures, measure: value}).cost(self.cost))
