"""Does the log agree with the model? One answer for every command that asks.

The recorded trace goes through the scenario's buffer, policy, indexer and obsolescence. The model is simulated many
times over the same length from the same empty start: one run of it differs from the next as one stretch of crawling
differs from another. `validate.logs.prediction` says when a number of the replayed log agrees with those of the runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from analytic import solve
from crawltwin.model import Scenario
from crawltwin.model.measures import unit_of
from crawltwin.model.results.display import Shown
from fitting import FitResult
from simulate import RecordedTrace, SampleSettings, draw_replay, draw_sample
from validate.logs.prediction import Prediction, judge_runs, numbers_of
from validate.logs.trace import Keep, trace_of_fit
from validate.plan import ValidationPlan
from validate.verdict import Verdict, Word, overall

if TYPE_CHECKING:
    import pandas as pd

LOG_PLAN = ValidationPlan(margin=0.1, confidence=0.95, power=0.9)
"""What is declared where nothing else is."""
LEAST_RUNS = 99
"""Runs of the model at least; more where the confidence asks for it."""
REPLAYS = 10
"""Replays of the log, which redraw what the log does not tell, and are put together."""
PREDICTED = (
    "arrival_rate",
    "loss_probability",
    "obsolescence_probability",
    "starvation_probability",
    "mean_pages",
    "mean_sojourn_served",
)
"""Numbers that a plan shows."""
TRUSTED_BY = ("arrival_rate", "loss_probability", "obsolescence_probability")
"""Numbers that decide whether a plan may rest on the model."""


@dataclass(frozen=True, eq=False, repr=False)
class LogAgreement(Shown):
    """What may be said about a model and the log that it stands for.

    Parameters
    ----------
    scenario : Scenario
        The model, with the policy to be looked at.
    plan : ValidationPlan
        Margins and confidence, as declared beforehand.
    predictions : tuple of Prediction
        One for each measure, and for each level where the plan lists them.
    pages, recorded : int
        Pages delivered under the policy in one replay on average, and pages in the log.
    seconds : float
        Length of the log without its pauses.
    runs : int
        Runs of the model.
    notes : tuple of str
        What a reader should know.
    """

    scenario: Scenario
    plan: ValidationPlan
    predictions: tuple[Prediction, ...]
    pages: int
    recorded: int
    seconds: float
    runs: int
    notes: tuple[str, ...] = ()

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """One for each number; `simulated` is the replayed value."""
        return tuple(one.verdict for one in self.predictions)

    @property
    def verdict(self) -> Word:
        """Over all numbers."""
        return overall(self.verdicts)

    @property
    def trusted(self) -> bool:
        """Whether deliveries, losses and stale pages do not contradict the model."""
        return all(one.verdict.word != "different" for one in self.predictions if one.measure in TRUSTED_BY)

    @property
    def least_agreement(self) -> float:
        """The smallest p-value of a difference, of the numbers that decide whether a plan may rest on the model."""
        return min((one.verdict.p_difference for one in self.predictions if one.measure in TRUSTED_BY), default=1.0)

    @property
    def rank(self) -> tuple[int, int, float]:
        """By which several parts of a log are ordered, the one that agrees least first."""
        words = [one.word for one in self.verdicts]
        return -words.count("different"), -words.count("inconclusive"), self.least_agreement

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

    def predictions_to_json(self) -> dict[str, Any]:
        """As `crawltwin plan` shows it: predicted against replayed."""
        return {
            "measures": {one.measure: one.to_json() for one in self.predictions},
            "pages": self.recorded,
            "log_seconds": self.seconds,
            "verdict": self.verdict,
            "trusted": self.trusted,
            "notes": list(self.notes),
        }

    def to_frame(self) -> pd.DataFrame:
        """One row for each number: predicted with its interval, and replayed."""
        import pandas as pd

        return pd.DataFrame(
            [{"measure": one.measure, **one.to_json(), "unit": unit_of(one.measure)} for one in self.predictions]
        )

    def headline(self) -> str:
        """The verdict and its counts."""
        good = sum(one.word == "equivalent" for one in self.verdicts)
        return f"{self.verdict}; {good} of {len(self.verdicts)} numbers equivalent, {self.pages:,} pages"


def compare_log(
    scenario: Scenario,
    trace: RecordedTrace,
    plan: ValidationPlan | None = None,
    *,
    processing_rate: float | None = None,
    recorded_robots: int | None = None,
    notes: Sequence[str] = (),
) -> LogAgreement:
    """Replay the trace, run the model over the same length, judge.

    Parameters
    ----------
    scenario : Scenario
        The model of the trace, with the policy to be looked at.
    trace : RecordedTrace
    plan : ValidationPlan, optional
        Margins, confidence, measures and seed; a tenth at 95% by default.
    processing_rate, recorded_robots
        As `simulate.replay` takes them.
    notes : sequence of str
        Remarks on the trace, kept with the result.

    Notes
    -----
    Cost: one solution and `LEAST_RUNS` runs of the log's length, some 0.2 microseconds per page.
    """
    plan = plan or LOG_PLAN
    solution = solve(scenario)
    replayed = draw_replay(
        scenario,
        trace,
        processing_rate=processing_rate,
        recorded_robots=recorded_robots,
        replications=REPLAYS,
        seed=plan.seed,
        engine=plan.engine,
    )
    span = replayed.time / REPLAYS
    count = max(LEAST_RUNS, math.ceil(2 / (1 - plan.confidence)) - 1)
    runs = draw_sample(
        scenario,
        SampleSettings(time=span, replications=count, warmup=0.0, seed=plan.seed + 1, engine=plan.engine, workers=1),
    )
    pages = replayed.pages // REPLAYS
    return LogAgreement(
        scenario,
        plan,
        judge_runs(numbers_of(solution, replayed, runs, plan), plan, pages),
        pages,
        trace.pages,
        span,
        count,
        (*notes, *_thinning(scenario)),
    )


def compare_fitted_log(
    fit: FitResult,
    scenario: Scenario,
    *,
    processing_rate: float | None = None,
    recorded_robots: int | None = None,
    seed: int = 1,
    keep: Keep | None = None,
    confidence: float = LOG_PLAN.confidence,
) -> LogAgreement:
    """The log of a fit, or the part of it that `keep` takes, under the scenario's policy.

    Content sizes over `processing_rate` are indexing times where the log has them.
    """
    trace, notes = trace_of_fit(fit, seed, keep)
    return compare_log(
        scenario,
        trace,
        replace(LOG_PLAN, seed=seed, measures=PREDICTED, confidence=confidence),
        processing_rate=processing_rate if trace.content is not None else None,
        recorded_robots=recorded_robots,
        notes=notes,
    )


def _thinning(scenario: Scenario) -> tuple[str, ...]:
    if len(set(scenario.policy_in_force.robots_used)) < 2 or scenario.arrivals.kind == "thinned":
        return ()
    words = (
        f"the replay thins the trace when fewer robots run, the model's arrivals are {scenario.arrivals.kind}: "
        "where the policy changes the number of robots, the two differ by more than the fit"
    )
    return (words,)
