"""What a plan is: a decision with everything that supports it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import crawltwin
from analytic import Certificate, Optimum, Solution
from crawltwin.model import Scenario
from crawltwin.model.results.display import Drawn
from crawltwin.plan.choosing import Limited
from crawltwin.plan.day.schedule import DayPlan
from crawltwin.plan.evidence.backlog import Backlog
from crawltwin.plan.evidence.clock import WORDS, ClockBounds
from crawltwin.plan.evidence.finish import FinishTimes
from crawltwin.plan.evidence.replayed import ReplayedNumbers
from crawltwin.plan.evidence.resampling import Spread, Uncertainty
from crawltwin.plan.evidence.robot_law import FewerRobots
from crawltwin.plan.evidence.robots import RobotsInLog
from crawltwin.plan.evidence.today import ComparedLine, CostTerm, compared, cost_terms, decides_alone, fewer_pages
from crawltwin.plan.evidence.unsuitable import fills_within_interval
from crawltwin.plan.evidence.verdict import PlanVerdict, outside_in_words, stands_in, undecided
from crawltwin.plan.prepare import Input
from crawltwin.plan.settings import PlanSettings
from crawltwin.plan.what_if.assumed import Assumption
from crawltwin.plan.what_if.counted import CountedReading
from crawltwin.plan.what_if.polling import PolledPoint
from crawltwin.plan.what_if.sweeps import Sweep
from crawltwin.plan.wording import UNIT_OF_KIND, gain_in_words, instruction, is_told, listed, named, with_interval
from fitting import FitResult
from validate import CrossCheck
from validate.logs.agreement import LogAgreement

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class Plan(Drawn):
    """A decision with everything that supports it.

    Pictures: ``plot()`` is the backlog under the policy; others are "cost", "doubt" and "backlog".

    Parameters
    ----------
    fit : FitResult
    scenario : Scenario
        With the recommended policy.
    inputs : tuple of Input
        Every number and its origin.
    optimum, certificate, solution
        The choice, its proof among wider classes, and the measures under it.
    limited : Limited or None
        How the choice was made where limits decide.
    today : Solution
        The crawl as it was logged.
    check : CrossCheck or None
        Solved against simulated.
    replay : LogAgreement or None
        The log under the policy, beside the model's prediction.
    doubt : Uncertainty or None
    assumed : tuple of Assumption
        Numbers that were not given, and what they do to the policy.
    backlog : Backlog or None
    finish : FinishTimes or None
        When a list of URLs is done, today and under the policy.
    sweeps : tuple of Sweep
    polling : tuple of PolledPoint
        The policy under a controller that looks only every so often; empty where the number of robots never changes.
    robots : RobotsInLog
        What the plan takes a robot to be in this log.
    remarks : tuple of str
        What else there is to know of the log: pauses, a fixed delay.
    limiting : tuple of str
        What in the log makes the plan provisional, as clauses: a coarse clock, a rate that changes, few gaps, silence,
        a number of robots that does not fit.
    missing : tuple of str
        Steps that were left out, and why.
    seconds : mapping
        Time of each step.
    clock : ClockBounds or None
        Both readings of a clock that is coarse against the pace; None where it does not matter.
    fewer : FewerRobots or None
        What is assumed of fewer robots, and the cost of the policy if that is wrong.
    day : DayPlan or None
        Parts of the day and their policies, where the rate follows the time of day. `optimum`, `solution`, `today` and
        `doubt` are then averages over the day, `solution` those of what is recommended; `check` and `backlog` are of
        the busiest part, `replay` of the part that agrees least, and `scenario` has the mean pace.
    counted : CountedReading or None
        Of counts, the reading that was not taken (batches or short bursts), where they do not exclude it.
    """

    fit: FitResult = field(repr=False)
    settings: PlanSettings
    scenario: Scenario
    inputs: tuple[Input, ...] = field(repr=False)
    optimum: Optimum = field(repr=False)
    limited: Limited | None = field(repr=False)
    certificate: Certificate | None = field(repr=False)
    solution: Solution = field(repr=False)
    today: Solution = field(repr=False)
    check: CrossCheck | None = field(repr=False)
    replay: LogAgreement | None = field(repr=False)
    doubt: Uncertainty | None = field(repr=False)
    assumed: tuple[Assumption, ...] = field(repr=False)
    backlog: Backlog | None = field(repr=False)
    finish: FinishTimes | None = field(repr=False)
    sweeps: tuple[Sweep, ...] = field(repr=False)
    polling: tuple[PolledPoint, ...] = field(repr=False)
    robots: RobotsInLog
    remarks: tuple[str, ...]
    missing: tuple[str, ...]
    seconds: dict[str, float] = field(compare=False, repr=False)
    fewer: FewerRobots | None = None
    clock: ClockBounds | None = None
    limiting: tuple[str, ...] = ()
    day: DayPlan | None = None
    counted: CountedReading | None = None

    @property
    def policy(self) -> str:
        """The recommended policy, or the best single one, in its short form."""
        return self.optimum.best.policy.short

    @property
    def by_part(self) -> bool:
        """Whether a policy for each part of the day is recommended; `policy` is then the best single one."""
        return self.day is not None and self.day.worth_it

    def headline(self) -> str:
        """The verdict, then what to do."""
        return f"{self.verdict.word}. {' '.join(self.orders)}"

    def to_frame(self) -> pd.DataFrame:
        """Today against recommended: one row for each question, with intervals where they are known."""
        import pandas as pd

        rows = [
            {"question": line.question.words, "measure": line.question.measure, "when": when, **spread.to_json()}
            | {"shown": line.shown(spread), "unit": UNIT_OF_KIND[line.question.kind]}
            for line in self.compared
            for when, spread in (("today", line.today), ("recommended", line.recommended))
        ]
        return pd.DataFrame(rows)

    @cached_property
    def compared(self) -> tuple[ComparedLine, ...]:
        """Today against recommended, with intervals that include the doubt of the fit."""
        spreads: tuple[Mapping[str, Spread], Mapping[str, Spread]] = ({}, {})
        if self.doubt is not None:
            spreads = self.doubt.today, self.doubt.schedule if self.by_part else self.doubt.measures
        lines = compared(self.today.measures, self.solution.measures, *spreads)
        return lines if self.clock is None else self.clock.widened(lines)

    @property
    def orders(self) -> tuple[str, ...]:
        """What to do, as instructions: one, or one for each part of the day."""
        K = self.scenario.capacity
        if self.day is None or not self.by_part:
            return (instruction(self.scenario.policy_in_force, K),)
        both = zip(self.day.parts, self.day.policies, strict=True)
        return tuple(f"{self.day.clock(part)}: {instruction(policy, K)}" for part, policy in both)

    @cached_property
    def terms(self) -> tuple[CostTerm, ...]:
        """Where the cost comes from."""
        assert self.scenario.cost is not None
        return cost_terms(self.solution.measures, self.scenario.cost)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What the reader should know before acting, as sentences, beside what the verdict says already."""
        alone = "" if self.limited is not None else decides_alone(self.terms)
        # A verdict that speaks against the plan names neither limits of the log nor what is missing.
        beside = [] if self.trusted else [*self.limiting, *self._not_given()]
        limits = [f"{words[:1].upper()}{words[1:]}." for words in beside if not is_told(words, self.verdict.in_words())]
        return tuple(words for words in (*limits, alone, fewer_pages(self.compared), *self.remarks) if words)

    @property
    def gain_words(self) -> str:
        """The cost beside that of the best fixed number of robots, as a clause."""
        return gain_in_words(self.optimum.profit, len(self.optimum.best.robots) == 1)

    @property
    def cost_words(self) -> str:
        """What the recommendation costs, and the best fixed number of robots beside it, as a sentence."""
        own, known = self.optimum.best.cost, None if self.doubt is None else self.doubt.cost
        shown = f"{own:.4g}" if known is None or not known.known else with_interval(own, known.low, known.high)
        cost = f"`{named(self.policy)}` costs {shown}, {self.gain_words}."
        whole = f"Over the day the policies by part cost {self.solution.measures['cost']:.4g}. The best single policy "
        return whole * self.by_part + cost

    @cached_property
    def doubt_words(self) -> tuple[str, ...]:
        """What the resampled traces say of the decision, as sentences; empty where there are none."""
        if self.doubt is None:
            return ()
        words = self.doubt.in_words(named(self.policy))
        if self.by_part:
            return ("Of the policies that serve the whole day:", *words)
        if self.clock is None or not self.clock.both:
            return words
        return (
            f"Chosen for both readings of the clock, resampled in the likelier ({WORDS[self.clock.taken]}):",
            *words,
        )

    @cached_property
    def verdict(self) -> PlanVerdict:
        """Whether the plan may be acted on, with the reasons."""
        return PlanVerdict.of(tuple(self._against()), tuple(self._provisional()), tuple(self._checked()))

    @property
    def trusted(self) -> bool:
        """Whether nothing that was checked speaks against the plan."""
        return self.verdict.word != "NOT TRUSTED"

    def _against(self) -> list[str]:
        words = []
        if self._poor and not stands_in(self.fit, self.scenario):
            words.append(f"the model fits the log poorly ({self._poor})")
        if self.check is not None and self.check.verdict == "different":
            words.append("the simulation gives other numbers than the solved model")
        if self._replayed is not None and self._replayed.against:
            words.append(outside_in_words(self._replayed.against, self.fit.season))
        words += [] if self.clock is None else self.clock.objections()
        if self.limited is not None and not self.limited.kept:
            where = " in both readings of the clock" if self.clock is not None and self.clock.both else ""
            words.append(self.limited.objection(self.solution.measures, self.today.measures, where))
            words += [one.in_words() for one in self.assumed if any(point.policy for point in one.points)]
        return words

    @property
    def _poor(self) -> str:
        """Why the stream fits the log poorly, beside what limits the plan; empty where it does not."""
        faults = self.fit.goodness.faults if self.fit.goodness.verdict == "poor" else ()
        limits = "; ".join(self.limiting)
        return "; ".join([one for one in faults if not is_told(one, limits)] or faults)

    def _provisional(self) -> list[str]:
        words = [*self.limiting, *self._not_given()]
        # What stands in place of the stream whose fit was judged, is judged by the replay only.
        replayed = self._replayed
        if self._poor and (replayed is None or "losses" not in replayed.agreeing):
            words.append(
                f"{stands_in(self.fit, self.scenario)} stand in for a stream that fits the log poorly ({self._poor}), "
                "and the replayed log does not confirm their losses"
            )
        if self.limited is None and self.settings.cost is None:
            words.append("neither limits (--lose-at-most, --index-within) nor weights (--cost) were given")
        if self.day is not None and self.day.followed is None:
            words.append("the parts of the day were not followed in time")
        elif self.day is not None and self.day.followed is not None and not self.day.followed.close:
            words.append("the parts of the day are too short to be taken as stationary")
        if self.check is None:
            words.append("the solved numbers were not checked by simulation")
        elif self.check.verdict == "inconclusive":
            words.append("the simulation was too short to check the solved numbers (give it more pages with --budget)")
        within = fills_within_interval(self.fit, self.scenario.capacity)
        if within:
            words.append(within)
        if replayed is None:
            words.append("the log was not replayed under the policy")
        elif replayed.unsettled:
            words.append(f"the log is too short to check {listed(replayed.unsettled)} by replaying it")
        if replayed is not None and replayed.beside:
            words.append(
                f"the replayed log contradicts the model in {listed(replayed.beside)}, which do not decide here"
            )
        words.append("the uncertainty of the decision is not known" if self.doubt is None else undecided(self.doubt))
        if self.settings.quick:
            words.append("this is a first look (run it again without --quick)")
        return [one for one in words if one]

    def _not_given(self) -> list[str]:
        """Numbers that are missing, and what hangs on them."""
        words = [one.in_words() for one in self.assumed if one.matters]
        if not self.settings.is_given("robots") and self.settings.robots == 1:
            words.append("the number of robots was not given (--robots), so there is nothing to choose among")
        return words

    @cached_property
    def _replayed(self) -> ReplayedNumbers | None:
        """The replayed log beside what decides; None where it was not replayed."""
        if self.replay is None:
            return None
        limits = None if self.limited is None else self.limited.limits
        assert self.scenario.cost is not None
        return ReplayedNumbers(self.replay, self.solution.measures, self.scenario.cost, limits)

    def _checked(self) -> list[str]:
        if self._replayed is None:
            return []
        harmless = self._replayed.harmless
        short = f", and the choice does not hang on {listed(harmless)}, which it is too short to check" * bool(harmless)
        return [
            f"{self.fit.goodness.verdict} fit",
            "solved and simulated agree",
            f"the replayed log agrees with the model in {listed(self._replayed.agreeing)}{short}",
        ]

    def to_json(self) -> dict[str, Any]:
        """As `crawltwin plan --json` prints it."""
        best, policy = self.optimum.best, self.scenario.policy_in_force
        return {
            "verdict": self.verdict.to_json(),
            "suitable": True,
            "policy": {
                "robots": list(best.robots),
                "thresholds": list(best.thresholds),
                "table": list(policy.robots_by_level(self.scenario.capacity)),
                "words": policy.in_words(self.scenario.capacity),
                "cost": best.cost,
                "proof": best.proof,
            },
            "trusted": self.trusted,
            "today_and_plan": {line.question.measure: line.to_json() for line in self.compared},
            "measures": dict(self.solution.measures),
            "inputs": [dict(vars(one)) for one in self.inputs],
            "robots": self.robots.to_json(),
            "clock": None if self.clock is None else self.clock.to_json(),
            "counted": None if self.counted is None else self.counted.to_json(),
            "fewer_robots": None if self.fewer is None else self.fewer.to_json(),
            "limits": None if self.limited is None else self.limited.to_json(),
            "cost_terms": {term.name: term.to_json() for term in self.terms},
            "fixed": {str(robots): cost for robots, cost in self.optimum.fixed.items()},
            "profit_percent": self.optimum.profit,
            "day": None if self.day is None else self.day.to_json(),
            "certificate": None if self.certificate is None else self.certificate.to_json(),
            "check": None if self.check is None else {"verdict": self.check.verdict, "pages": self.check.pages},
            "replay": None if self.replay is None else self.replay.predictions_to_json(),
            "uncertainty": None if self.doubt is None else self.doubt.to_json(),
            "assumed": [one.to_json() for one in self.assumed],
            "backlog": None if self.backlog is None else self.backlog.to_json(),
            "finish": None if self.finish is None else self.finish.to_json(),
            "what_if": [found.to_json() for found in self.sweeps],
            "cannot_tell": list(self.fit.cannot_tell),
            "polling": [point.to_json() for point in self.polling],
            "fit": {"chosen": self.fit.chosen.name, "verdict": self.fit.goodness.verdict,
                    "warnings": list(self.fit.warnings)},
            "limiting": list(self.limiting),
            "remarks": list(self.remarks),
            "missing": list(self.missing),
            "scenario": self.scenario.to_mapping(),
            "seconds": dict(self.seconds),
            "versions": {"crawltwin": crawltwin.__version__},
        }  # fmt: skip
