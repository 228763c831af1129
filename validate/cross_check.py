"""One scenario, or several as one family, solved and simulated, and what may be said about their agreement."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crawltwin.model import MEASURES, InputError, Scenario
from crawltwin.model.measures import unit_of
from crawltwin.model.results.display import Drawn, measure_of
from crawltwin.model.scenario import check_scenario
from crawltwin.work.progress import ProgressCallback
from simulate.sample.result import versions
from validate.evidence import Evidence, gather_evidence
from validate.identities import Identity
from validate.length import PlannedLength, surprising, variance_ratios
from validate.parts import words_of
from validate.plan import ValidationPlan
from validate.verdict import Comparison, Verdict, Word, judge, overall

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class CrossCheck(Drawn):
    """The result: a verdict for each number, and for all together; ``check["cost"]`` is one of them.

    ``plot()`` shows each difference with its interval, in margins.

    Parameters
    ----------
    scenario : Scenario
    plan : ValidationPlan
        As declared beforehand.
    verdicts : tuple of Verdict
        The family; Holm's correction is over it (and over the other scenarios of the same call).
    approach : tuple of Verdict
        The approach to equilibrium from empty, a family of its own; empty where it was not asked for.
    identities : tuple of Identity
        What must hold exactly on either side.
    length : PlannedLength
        The run as planned.
    pages, replications : int
        Pages that the verdicts rest on, and the replications that were run: fewer than planned on a short budget.
    seconds : float
        Wall-clock time of everything.
    notes : tuple of str
        What a reader should know.
    """

    scenario: Scenario
    plan: ValidationPlan
    verdicts: tuple[Verdict, ...]
    approach: tuple[Verdict, ...]
    identities: tuple[Identity, ...]
    length: PlannedLength
    pages: int
    replications: int
    events: int
    seconds: float
    variance_ratios: Mapping[str, float] = field(repr=False)
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> Word:
        """`different` when a number is or an identity fails, `equivalent` when all are, else `inconclusive`."""
        if not all(identity.holds for identity in self.identities):
            return "different"
        return overall([*self.verdicts, *self.approach])

    def of(self, measure: str) -> tuple[Verdict, ...]:
        """The verdicts of one measure: one, or one for each part."""
        return tuple(verdict for verdict in self.verdicts if verdict.comparison.measure == measure)

    def __getitem__(self, name: str) -> Any:
        """The verdict on a measure; a tuple of them where it has several numbers."""
        found = {one.comparison.measure: self.of(one.comparison.measure) for one in self.verdicts}
        verdicts = measure_of(found, name)
        return verdicts[0] if verdicts[0].comparison.part == "" else verdicts

    def headline(self) -> str:
        """The verdict and its counts."""
        counts = {word: sum(one.word == word for one in self.verdicts) for word in ("equivalent", "different")}
        return (
            f"{self.scenario.title or 'a scenario'}: {self.verdict}; {counts['equivalent']} of {len(self.verdicts)} "
            f"numbers equivalent, {counts['different']} different, {self.pages:,} pages"
        )

    def to_json(self) -> dict[str, Any]:
        """The contract's object: plain dictionaries, lists and numbers."""
        measures: dict[str, Any] = {}
        for name in MEASURES:
            found = self.of(name)
            if name == "level_distribution":
                measures[name] = _listed(found)
            else:
                measures[name] = found[0].to_json() if found else None
        return {
            "title": self.scenario.title,
            "scenario": self.scenario.content_hash,
            "verdict": self.verdict,
            "measures": measures,
            **{
                name: [{"part": str(one.comparison.part), **one.to_json()} for one in self.of(name)]
                for name in ("mode_probabilities", "sojourn_distribution", "sojourn_quantiles")
            },
            "approach_to_equilibrium": [
                {"measure": one.comparison.measure, "part": str(one.comparison.part), **one.to_json()}
                for one in self.approach
            ],
            "identities": [identity.to_json() for identity in self.identities],
            "plan": self.plan.to_json(),
            "length": self.length.to_json(),
            "variance_seen_over_planned": dict(self.variance_ratios),
            "pages": self.pages,
            "replications": self.replications,
            "events": self.events,
            "seconds": self.seconds,
            "notes": list(self.notes),
            "versions": dict(versions()),
        }

    def to_frame(self) -> pd.DataFrame:
        """Tidy and long: one row per number."""
        import pandas as pd

        rows = [
            {"family": family, "measure": one.comparison.measure, "part": str(one.comparison.part), **one.to_json()}
            | {"unit": unit_of(one.comparison.measure)}
            for family, verdicts in (("stationary", self.verdicts), ("approach", self.approach))
            for one in verdicts
        ]
        return pd.DataFrame(rows)


def crosscheck(
    scenario: Scenario | Sequence[Scenario],
    plan: ValidationPlan | None = None,
    *,
    approach: bool = True,
    workers: int | None = 1,
    cluster: str | None = None,
    progress: ProgressCallback | None = None,
) -> Any:
    """Solve, simulate, judge.

    Parameters
    ----------
    scenario : Scenario or sequence of Scenario
        Of one scenario the result is a `CrossCheck`, of several a tuple of them, judged as one family.
    plan : ValidationPlan, optional
        Margins, confidence, power, budget, seed; the defaults ask for 0.5% with 99% confidence.
    approach : bool
        Compare the approach to equilibrium from empty as well.
    workers, cluster
        Processes on this machine, or the address of a Dask scheduler; the result does not depend on them.
    progress : callable, optional
        Told (done, total).

    Notes
    -----
    Cost: 0.1 to 0.2 microseconds per page with the compiled engine; a margin of 0.5% takes from a few million to some
    hundred million pages. Standard errors fall with the square root.

    Examples
    --------
    >>> from crawltwin.model import examples
    >>> crosscheck(examples.load("mm1k"), ValidationPlan(margin=0.1), approach=False).verdict
    'equivalent'
    """
    plan = plan or ValidationPlan()
    several = isinstance(scenario, Iterable) and not isinstance(scenario, str)
    scenarios: list[Any] = list(scenario) if isinstance(scenario, Iterable) and several else [scenario]
    if not scenarios:
        raise InputError("scenario must be at least one scenario; got none")
    for one in scenarios:
        check_scenario(one, "crosscheck")
    evidence = []
    for index, one in enumerate(scenarios):
        told = None if progress is None else _share_of(progress, index, len(scenarios))
        evidence.append(gather_evidence(one, plan, approach, workers, cluster, told))
    results = judge_all(evidence, plan)
    return results if several else results[0]


def judge_all(evidence: Sequence[Evidence], plan: ValidationPlan) -> tuple[CrossCheck, ...]:
    """Verdicts over all scenarios as one family, and over all their approaches as another."""
    results = []
    stationary = _by_scenario(
        [one.comparisons for one in evidence], plan, [one.sample.diagnostics.pages["delivered"] for one in evidence]
    )
    approaches = _by_scenario(
        [one.approach.comparisons for one in evidence], plan, [one.approach.pages for one in evidence]
    )
    for one, verdicts, approach in zip(evidence, stationary, approaches, strict=True):
        ratios = variance_ratios(one.length, one.comparisons, one.sample.pages)
        results.append(
            CrossCheck(
                one.scenario,
                plan,
                verdicts,
                approach,
                one.identities,
                one.length,
                one.sample.pages,
                one.sample.freedom + 1,
                one.sample.diagnostics.events,
                one.seconds,
                ratios,
                _notes(one, verdicts, ratios, plan),
            )
        )
    return tuple(results)


def _by_scenario(
    comparisons: Sequence[tuple[Comparison, ...]], plan: ValidationPlan, pages: Sequence[int]
) -> list[tuple[Verdict, ...]]:
    """One family over all scenarios, its verdicts handed back scenario by scenario."""
    family = [one for found in comparisons for one in found]
    verdicts: list[tuple[Verdict, ...]] = []
    at = 0
    for found, length in zip(comparisons, pages, strict=True):
        # The whole family is judged each time: only the estimate of missing pages depends on the scenario's length.
        verdicts.append(judge(family, plan.confidence, plan.power, length, spending=True)[at : at + len(found)])
        at += len(found)
    return verdicts


def _notes(
    evidence: Evidence, verdicts: Sequence[Verdict], ratios: Mapping[str, float], plan: ValidationPlan
) -> tuple[str, ...]:
    notes = [*evidence.solution.notes, *evidence.notes]
    if all(math.isinf(one.error) for one in evidence.comparisons):
        notes.append(
            f"the start is not forgotten within {evidence.length.pages:,} pages, so nothing can be concluded: "
            f"{evidence.length.wanted:,} pages are the least for a verdict"
        )
    elif evidence.length.wanted > evidence.length.pages:
        notes.append(
            f"the plan asks for {evidence.length.wanted:,} pages because of {words_of(evidence.length.limiting)}, "
            f"the budget allows {evidence.length.pages:,}: to be called different a number must be surer than "
            f"{plan.confidence:.12g}, the less is known of it the more"
        )
    if evidence.length.settling is None:
        notes.append("the chain is too large for its settling time: a twentieth of each run was left out as warm-up")
    odd = surprising(evidence.length, ratios, evidence.sample.freedom)
    if odd:
        # What never happened in the pilot, or in the run, has a variance of zero there: nothing is further off.
        worst = max(odd, key=lambda name: abs(math.log(ratios[name])) if ratios[name] > 0 else math.inf)
        notes.append(
            f"the variance of {words_of(worst)} was {ratios[worst]:.2g} times the planned one, "
            "more than chance would do"
        )
    within = [
        one.comparison.words for one in verdicts if one.word == "equivalent" and one.p_difference <= 1 - plan.confidence
    ]
    if within:
        notes.append(
            f"{', '.join(within)}: inside the margin, yet not the same number; with sound sides this happens in "
            f"{1 - plan.confidence:.1%} of families"
        )
    notes += [
        f"{identity.name} fails on the {identity.side} side: the gap is {identity.gap:.3g}"
        for identity in evidence.identities
        if not identity.holds
    ]
    return tuple(notes)


def _listed(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """A measure of several parts: lists, and one verdict over all."""
    rows = [one.to_json() for one in verdicts]
    columns = {name: [row[name] for row in rows] for name in ("solved", "simulated", "low", "high", "margin")}
    return {
        "levels": [str(one.comparison.part) for one in verdicts],
        **columns,
        "verdict": overall(verdicts),
        "verdicts": [one.word for one in verdicts],
    }


def _share_of(progress: ProgressCallback, index: int, count: int) -> ProgressCallback:
    """Progress of one scenario among several."""
    return lambda done, total: progress(index + done / total, count)
