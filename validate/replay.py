"""A recorded trace against the model that was fitted to it.

The trace goes through the scenario's buffer, policy, indexer and obsolescence as it was recorded (`simulate.replay`);
the scenario, fitted arrivals and all, is solved. A fitted model is not the truth, so the question is not whether both
are the same system but whether they agree within a margin that matters to a plan: a tenth by default. One trace gives
one path; standard errors come from 20 batches of time, and tell how far another stretch of the same crawl may be.

A replay thins the recorded batches when fewer robots run than made the trace. Models with arrivals of another kind than
`thinned` differ in that too, which the result notes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scipy import stats

from analytic import solve
from crawltwin.model import SCALAR_MEASURES, Scenario
from simulate import Interval, RecordedTrace, replay
from validate.comparison import ROUNDING
from validate.plan import ValidationPlan
from validate.verdict import Comparison, Verdict, Word, judge, overall

REPLAY_PLAN = ValidationPlan(margin=0.1, confidence=0.95, power=0.9)
"""What is declared where nothing else is."""


@dataclass(frozen=True, eq=False)
class ReplayCheck:
    """What may be said about a fitted model and the trace it was fitted to.

    Parameters
    ----------
    scenario : Scenario
        The fitted one.
    plan : ValidationPlan
        Margins and confidence.
    verdicts : tuple of Verdict
        One a measure and a level; `simulated` is the replayed value.
    pages : int
        Pages of the trace that were delivered under the policy.
    notes : tuple of str
        What a reader should know.
    """

    scenario: Scenario
    plan: ValidationPlan
    verdicts: tuple[Verdict, ...]
    pages: int
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> Word:
        """Over all measures."""
        return overall(self.verdicts)

    def to_json(self) -> dict[str, Any]:
        """Plain values; `simulated` is the replayed one."""
        return {
            "title": self.scenario.title,
            "scenario": self.scenario.content_hash,
            "verdict": self.verdict,
            "measures": {one.comparison.name: one.to_json() for one in self.verdicts},
            "plan": self.plan.to_json(),
            "pages": self.pages,
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        good = sum(one.word == "equivalent" for one in self.verdicts)
        return f"ReplayCheck: {self.verdict}; {good} of {len(self.verdicts)} numbers equivalent, {self.pages:,} pages"


def replay_check(
    scenario: Scenario,
    trace: RecordedTrace,
    plan: ValidationPlan | None = None,
    *,
    processing_rate: float | None = None,
    recorded_robots: int | None = None,
) -> ReplayCheck:
    """Replay the trace, solve the scenario, judge.

    Parameters
    ----------
    scenario : Scenario
        Fitted to the trace, with the policy to be looked at.
    trace : RecordedTrace
    plan : ValidationPlan, optional
        Margins, confidence and seed; a tenth at 95% by default.
    processing_rate, recorded_robots
        As `simulate.replay` takes them.

    Notes
    -----
    Cost: one solution and some 0.2 microseconds a page.
    """
    plan = plan or REPLAY_PLAN
    solution = solve(scenario)
    replayed = replay(
        scenario,
        trace,
        processing_rate=processing_rate,
        recorded_robots=recorded_robots,
        seed=plan.seed,
        confidence=plan.confidence,
    )
    freedom = replayed.diagnostics.count - 1
    comparisons = []
    for name in (*SCALAR_MEASURES, "level_distribution"):
        solved, found = solution.measures.get(name), replayed.measures.get(name)
        if solved is None or found is None or name not in plan.measures:
            continue
        several = name == "level_distribution"
        for part, (value, interval) in enumerate(zip(solved, found) if several else [(solved, found)]):
            error = _error(interval, plan.confidence, freedom)
            margin, own = plan.margin_of(name, value), ROUNDING * abs(value)
            label = str(part) if several else ""
            comparisons.append(Comparison(name, label, value, interval.value, error, freedom, margin, own))
    pages = int(replayed.diagnostics.pages["delivered"])
    return ReplayCheck(
        scenario,
        plan,
        judge(comparisons, plan.confidence, plan.power, pages),
        pages,
        _notes(scenario, replayed.warnings),
    )


def _error(interval: Interval, confidence: float, freedom: int) -> float:
    """The standard error that an interval of Student's t was made from."""
    return (interval.high - interval.low) / 2 / float(stats.t.ppf((1 + confidence) / 2, freedom))


def _notes(scenario: Scenario, warnings: tuple[str, ...]) -> tuple[str, ...]:
    notes = list(warnings)
    if len(set(scenario.policy_in_force.robots_used)) > 1 and scenario.arrivals.kind != "thinned":
        notes.append(
            f"the replay thins the trace when fewer robots run, the model's arrivals are {scenario.arrivals.kind}: "
            "where the policy changes the number of robots, the two differ by more than the fit"
        )
    return tuple(notes)
