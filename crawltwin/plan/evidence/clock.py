r"""A clock that is coarse against the pace: two readings of the log, and the policy that stands both.

Pages of one tick may have come one by one or all at once; the log cannot tell. With K places the reading matters when a
page shares its tick with K / `FEW_TICKS` others or more (so that a few ticks fill the buffer), and when a page is
indexed faster than the clock ticks (else the indexer itself cannot tell). Then the log is fitted both ways. *Spread*:
single pages at random moments of their tick. *Batch*: all pages of a tick at one random moment of it, the most that the
tick allows. The truth lies between the two.

The policy that is offered is the one whose worst case is best. With :math:`J_b(\pi)` the cost of policy :math:`\pi` in
reading b, it has the least :math:`\max_b (J_b(\pi) / \min_{\pi'} J_b(\pi') - 1)`: whichever reading is true, no policy
would have saved more than that share. (The largest cost itself would nearly always be that of the batches, and the
policy theirs.) Under limits it must keep them in both readings, and the larger of the two aims is made small.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from analytic import Optimum, Solution, optimize, solve
from analytic.policy.memory.evaluator import rates_of_levels
from analytic.policy.tables import sorted_tables, table_of
from crawltwin.model import Scenario
from crawltwin.model.checks import FloatArray
from crawltwin.plan.choosing import Limited, choose_within, with_policy
from crawltwin.plan.day.logged_crawl import AsLogged, as_logged
from crawltwin.plan.evidence.resampling import Spread
from crawltwin.plan.evidence.today import ComparedLine, compared
from crawltwin.plan.prepare import scenario_of
from crawltwin.plan.settings import PlanSettings
from crawltwin.plan.wording import in_percent, in_time
from fitting import FitOptions, FitResult, RawLog, fit
from fitting.choose.refit import at_latest_rate
from validate.logs.agreement import LogAgreement

Replay = Callable[[FitResult, Scenario, AsLogged], "LogAgreement | None"]
"""From a fit, the scenario with the policy and that of today to what the replayed log says."""
FEW_TICKS = 10.0
"""Ticks in which the companions of a page would fill the buffer, for the clock to matter."""
ReadingName = Literal["spread", "batch"]
WORDS: dict[ReadingName, str] = {"spread": "pages spread over the tick", "batch": "each tick one batch"}


@dataclass(frozen=True)
class Reading:
    """One reading of the log, with the offered policy in it.

    Parameters
    ----------
    name : {"spread", "batch"}
    solution, today : Solution
        Under the offered policy, and the crawl as it was logged.
    best : str
        The policy that this reading alone would ask for, in its short form.
    above : float
        What the offered policy costs above that one, relative to its cost.
    replay : LogAgreement or None
        The log, read this way with other moments than those that were fitted, under the policy.
    """

    name: ReadingName
    solution: Solution = field(repr=False)
    today: Solution = field(repr=False)
    best: str
    above: float
    replay: LogAgreement | None = field(repr=False)

    @property
    def lost(self) -> float:
        """Share of the pages that are lost under the offered policy."""
        return float(self.solution.measures["loss_probability"])

    @property
    def compared(self) -> tuple[ComparedLine, ...]:
        """Today against recommended in this reading."""
        return compared(self.today.measures, self.solution.measures, {}, {})

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "measures": dict(self.solution.measures),
            "today": dict(self.today.measures),
            "best_policy": self.best,
            "cost_above_best": self.above,
            "replay": None if self.replay is None else self.replay.predictions_to_json(),
        }


@dataclass(frozen=True)
class ClockBounds:
    """What the clock hides, and both bounds of it.

    Parameters
    ----------
    step : float
        The clock's step in seconds.
    companions : float
        Other pages in the tick of a page, on average.
    taken : {"spread", "batch"}
        The reading that the fit judged to be likelier: the plan's other figures are of this one.
    readings : tuple of Reading
        Both of them, or only the one that was taken where the other could not be fitted.
    """

    step: float
    companions: float
    taken: ReadingName
    readings: tuple[Reading, ...]

    @property
    def own(self) -> Reading:
        """The reading that was taken."""
        return next(one for one in self.readings if one.name == self.taken)

    @property
    def both(self) -> bool:
        """Whether both readings could be fitted."""
        return len(self.readings) == 2

    def objections(self) -> list[str]:
        """Clauses of what speaks against the model of the reading that was not taken."""
        return [
            f"the log replayed with {WORDS[one.name]} lies outside what its model predicts"
            for one in self.readings
            if one is not self.own and one.replay is not None and not one.replay.trusted
        ]

    def in_words(self) -> str:
        """Why the plan is provisional, as a clause."""
        tick = "one-second" if self.step == 1 else in_time(self.step)
        within = "a second" if self.step == 1 else "one tick"
        words = (
            f"the clock's {tick} ticks hide how pages arrive within {within} ({self.companions:.3g} others share the "
            "tick of a page)"
        )
        if self.both:
            losses = [in_percent(one.lost) for one in self.readings]
            words += f", and from {losses[0]} to {losses[1]} of the pages are lost under this policy"
        else:
            words += ", and the other reading could not be fitted"
        return f"{words}; a log with milliseconds would decide"

    def choice_in_words(self) -> str:
        """How the policy was chosen, as a sentence."""
        if not self.both:
            return f"The policy was chosen for one reading of the clock, {WORDS[self.taken]}; no other could be fitted."
        asked = " and ".join(f"`{one.best}` ({WORDS[one.name]})" for one in self.readings)
        worst = max(one.above for one in self.readings)
        return (
            f"The two readings of the clock ask for {asked}; the policy offered costs at most {in_percent(worst)} more "
            "than the best one, whichever is true."
        )

    def rows(self) -> list[tuple[str, ...]]:
        """Both readings side by side, for a table: each question with its answers, then what each would ask for."""
        by_question = [
            (lines[0].question.words, *(line.shown(line.recommended) for line in lines))
            for lines in zip(*(one.compared for one in self.readings), strict=True)
        ]
        checked = ["not done" if one.replay is None else one.replay.verdict for one in self.readings]
        return [
            *by_question,
            ("the policy it alone asks for", *(one.best for one in self.readings)),
            ("cost of the offered policy above it", *(in_percent(one.above) for one in self.readings)),
            ("the log replayed this way, beside its model", *checked),
        ]

    @property
    def headings(self) -> list[str]:
        """Of the columns of `rows` beside the first."""
        return [WORDS[one.name] for one in self.readings]

    def widened(self, lines: tuple[ComparedLine, ...]) -> tuple[ComparedLine, ...]:
        """The comparison with intervals that reach over both readings."""
        others = [{line.question.measure: line for line in one.compared} for one in self.readings]

        def over(own: Spread, seen: list[float]) -> Spread:
            known = [*seen, own.value, *((own.low, own.high) if own.known else ())]
            return Spread(own.value, min(known), max(known))

        return tuple(
            replace(
                line,
                today=over(line.today, [one[line.question.measure].today.value for one in others]),
                recommended=over(line.recommended, [one[line.question.measure].recommended.value for one in others]),
            )
            for line in lines
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "step": self.step,
            "companions": self.companions,
            "taken": self.taken,
            "words": self.in_words(),
            "readings": {one.name: one.to_json() for one in self.readings},
        }


def reading_taken(fitted: FitResult, options: FitOptions, settings: PlanSettings) -> ReadingName | None:
    """The reading that the fit took, where the clock is so coarse that the other might give another policy."""
    ticks = fitted.batches.ticks
    if options.ticks != "judge" or ticks is None or fitted.batches.rule not in ("spread", "ties"):
        return None
    crowded = ticks.companions * FEW_TICKS >= settings.capacity
    seen = fitted.log.resolution > fitted.service(settings.processing_rate, settings.service_mean).mean
    if not (crowded and seen):
        return None
    return "spread" if fitted.batches.rule == "spread" else "batch"


@dataclass(frozen=True)
class ReadLog:
    """A log in one reading: its fit, and the scenario to be optimised, alike in all but the arrivals."""

    name: ReadingName
    fit: FitResult
    scenario: Scenario

    def today(self, settings: PlanSettings) -> AsLogged:
        """The crawl as it was logged."""
        return as_logged(self.fit, self.scenario, settings)


def read_otherwise(
    log: RawLog | Mapping[int, RawLog], taken: ReadLog, options: FitOptions, settings: PlanSettings
) -> ReadLog:
    """The same log in the other reading. Cost: another fit."""
    name: ReadingName = "batch" if taken.name == "spread" else "spread"
    fitted = at_latest_rate(fit(log, options=replace(options, ticks=name, repetitions=20, refits=0)))
    return ReadLog(name, fitted, taken.scenario.replace(arrivals=scenario_of(fitted, settings).arrivals))


@dataclass(frozen=True, eq=False)
class ClockChoice:
    """The choice over all readings: the optimum of each on the same policies, and the one that was offered."""

    logs: tuple[ReadLog, ...]
    optima: tuple[Optimum, ...]
    limited: Limited | None
    at: int

    @classmethod
    def of(cls, logs: Sequence[ReadLog], settings: PlanSettings, own: Optimum) -> ClockChoice:
        """The policy whose worst case is best, see this file's head; `own` is the optimum of the first reading."""
        found = [own, *(optimize(log.scenario) for log in logs[1:])]
        tables = sorted_tables(np.vstack([one.tables for one in found]))
        optima = [replace(one, tables=tables, rates=rates_of_levels(one.scenario, tables)) for one in found]
        if settings.limits is None:
            worst = costs_above(optima).max(axis=0)
            return cls(tuple(logs), tuple(optima), None, int(np.argmin(worst)))
        first, *others = [(one, log.today(settings).rates()) for one, log in zip(optima, logs, strict=True)]
        chosen, limited = choose_within(first[0], settings.limits, first[1], beside=others)
        return cls(tuple(logs), tuple(optima), limited, _index(chosen))

    @property
    def optimum(self) -> Optimum:
        """That of the reading that was taken, with the offered policy as its best."""
        return with_policy(self.optima[0], self.at)

    def bounds(self, settings: PlanSettings, replay: Replay) -> ClockBounds:
        """Both readings under the offered policy, each with its own replay of the log. Cost: that of the replays."""
        above = costs_above(self.optima)
        ticks = self.logs[0].fit.batches.ticks
        assert ticks is not None
        readings = []
        for row, (log, optimum) in enumerate(zip(self.logs, self.optima, strict=True)):
            alone = optimum
            if settings.limits is not None:
                alone, _ = choose_within(optimum, settings.limits, log.today(settings).rates())
            scenario = log.scenario.replace(policy=self.optimum.best.policy)
            today = log.today(settings)
            readings.append(
                Reading(
                    log.name,
                    solve(scenario),
                    today.solution(),
                    alone.best.policy.short,
                    float(above[row, self.at]),
                    replay(log.fit, scenario, today),
                )
            )
        ordered = tuple(sorted(readings, key=lambda one: one.name == "batch"))
        return ClockBounds(self.logs[0].fit.log.resolution, ticks.companions, self.logs[0].name, ordered)


def _index(optimum: Optimum) -> int:
    """Where the best policy stands among those that were evaluated."""
    own = table_of(optimum.best.robots, optimum.best.thresholds, optimum.scenario.capacity)
    return int(np.flatnonzero((optimum.tables == np.array(own)).all(axis=1))[0])


def costs_above(optima: Sequence[Optimum]) -> FloatArray:
    """What each policy costs above the best one of each reading, relative to it; shape (readings, policies)."""
    costs = np.stack([one.costs for one in optima])
    least = costs.min(axis=1, keepdims=True)
    return np.asarray((costs - least) / np.where(least > 0, least, 1.0))
