"""Today against recommended: what the crawl does now beside what the policy would do, and where the cost comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from crawltwin.model import CostWeights
from crawltwin.model.rates import Rates
from crawltwin.plan.evidence.resampling import Spread
from crawltwin.plan.wording import Kind, in_percent, with_interval

ALONE = 0.8
"""Share of the cost above which one term decides alone."""


FEWER = 0.75
"""Share of today's indexed pages below which the loss of pace is pointed out."""


@dataclass(frozen=True)
class Question:
    """One line of the comparison: what is asked, of which measure, and of which kind the values are."""

    words: str
    measure: str
    kind: Kind
    complement: bool = False


QUESTIONS = (
    Question("pages lost", "loss_probability", "share"),
    Question("pages gone stale", "obsolescence_probability", "share"),
    Question("time until a page is indexed, mean", "mean_sojourn_served", "time"),
    Question("pages delivered", "arrival_rate", "rate"),
    Question("pages indexed", "indexed_rate", "rate"),
    Question("indexer busy", "starvation_probability", "share", complement=True),
    Question("robots running, mean", "mean_active_robots", "number"),
)
"""What an operator asks first."""


@dataclass(frozen=True)
class ComparedLine:
    """One question with both answers."""

    question: Question
    today: Spread
    recommended: Spread
    like: float | None = None

    def shown(self, spread: Spread) -> str:
        """A value with its interval, where one is known; both sides have the unit of `like`, or of the smaller one."""
        like = self.like or min(self.today.value, self.recommended.value)
        return with_interval(spread.value, spread.low, spread.high, kind=self.question.kind, like=like or None)

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries and numbers."""
        return {"question": self.question.words, "today": self.today.to_json(), "plan": self.recommended.to_json()}


TERMS = {
    "loss": "lost pages",
    "obsolescence": "stale pages",
    "response": "time until indexed",
    "robots": "running robots",
    "starvation": "an idle indexer",
    "switching": "switching robots",
}
"""The terms of the cost, for people."""


@dataclass(frozen=True)
class CostTerm:
    """One term of the cost under the recommended policy."""

    name: str
    weight: float
    cost: float
    share: float

    @property
    def words(self) -> str:
        """What costs, for people."""
        return TERMS[self.name]

    def to_json(self) -> dict[str, Any]:
        """Plain numbers."""
        return {"weight": self.weight, "cost": self.cost, "share": self.share}


def compared(
    today: Mapping[str, Any],
    recommended: Mapping[str, Any],
    today_spreads: Mapping[str, Spread],
    recommended_spreads: Mapping[str, Spread],
) -> tuple[ComparedLine, ...]:
    """Both sides by question, from their measures and from their intervals where these are known."""
    today, recommended = (
        {**one, "indexed_rate": one["arrival_rate"] * one["success_probability"]} for one in (today, recommended)
    )
    found = []
    for question in QUESTIONS:
        name = question.measure
        if today.get(name) is None or recommended.get(name) is None:
            continue
        both = [
            spreads.get(name, Spread(float(measures[name])))
            for measures, spreads in ((today, today_spreads), (recommended, recommended_spreads))
        ]
        if question.complement:
            both = [Spread(1 - one.value, 1 - one.high, 1 - one.low) for one in both]
        found.append(ComparedLine(question, both[0], both[1]))
    # Rates of one table have one unit.
    rates = [one.value for line in found if line.question.kind == "rate" for one in (line.today, line.recommended)]
    return tuple(
        replace(line, like=min(rates)) if line.question.kind == "rate" and min(rates) > 0 else line for line in found
    )


def cost_terms(measures: Mapping[str, Any], weights: CostWeights) -> tuple[CostTerm, ...]:
    """The terms of equation (2) with their shares, largest first; empty where the cost is 0."""
    rates = Rates.from_measures(measures)
    costs = {
        name: float(rates.cost(CostWeights(**{name: weight}))) if weight else 0.0
        for name, weight in weights.to_mapping().items()
    }
    total = sum(costs.values())
    if total <= 0:
        return ()
    terms = [CostTerm(name, getattr(weights, name), cost, cost / total) for name, cost in costs.items()]
    return tuple(sorted(terms, key=lambda term: -term.cost))


def decides_alone(terms: tuple[CostTerm, ...]) -> str:
    """A warning where one term of the cost decides by itself; else nothing."""
    if not terms or terms[0].share < ALONE:
        return ""
    return (
        f"One term decides alone: {terms[0].share:.0%} of the cost comes from {terms[0].words}, so the other weights "
        "hardly matter. Check whether that is meant, or give limits instead of weights."
    )


def fewer_pages(lines: tuple[ComparedLine, ...]) -> str:
    """A warning where the policy indexes far fewer pages than the crawl does today; else nothing."""
    line = next((line for line in lines if line.question.measure == "indexed_rate"), None)
    if line is None or line.recommended.value >= FEWER * line.today.value:
        return ""
    share = in_percent(1 - line.recommended.value / line.today.value)
    return (
        f"Fewer robots fetch fewer pages: the policy indexes {share} fewer than today. Give --index-at-least 90% to "
        "keep the pace."
    )
