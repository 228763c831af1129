"""The report of a cross-check: solved against simulated, one verdict per number."""

from __future__ import annotations

import math
from collections.abc import Sequence

from crawltwin.plan.wording import Kind, listed, with_interval
from crawltwin.report import Block, Cell, Column, Points, Report, Section, Table, Text, Tone, gather
from validate.cross_check import CrossCheck
from validate.parts import words_of
from validate.verdict import Verdict, overall, round_up

VERDICT_TONES: dict[str, Tone] = {"equivalent": "good", "different": "bad", "inconclusive": "warn"}


def crosscheck_report(results: Sequence[CrossCheck], command: str) -> Report:
    """Everything that `crawltwin validate` found, for one or several scenarios."""
    plan = results[0].plan
    verdicts = [verdict for result in results for verdict in (*result.verdicts, *result.approach)]
    counts = {word: sum(one.word == word for one in verdicts) for word in VERDICT_TONES}
    word = overall(verdicts) if all(i.holds for result in results for i in result.identities) else "different"
    found = ", ".join(f"{count} {word}" for word, count in counts.items())
    margins = f"a relative margin of {plan.margin:g} (probabilities: at least {plan.absolute_margin:g})"
    summary = [
        f"Solved against simulated, {len(results)} scenario{'s' if len(results) > 1 else ''}: **{word}**.",
        f"Of {len(verdicts)} numbers: {found}, at {margins} with {plan.confidence:.0%} confidence.",
        f"{sum(result.pages for result in results):,} pages were simulated for it.",
    ]
    sections = [_scenario_section(result, index, len(results)) for index, result in enumerate(results)]
    return Report(
        "Cross-check of the solved and the simulated side",
        summary,
        [_how(), *sections],
        gather(
            {f"{index + 1}: {result.scenario.title}": result.scenario for index, result in enumerate(results)},
            seeds=[plan.seed],
            seconds={"cross-check": sum(result.seconds for result in results)},
            libraries=("simpy",),
        ),
        command,
        [
            f"{result.scenario.title or 'scenario'}: {one.comparison.words}: {one.needs}"
            for result in results
            for one in (*result.verdicts, *result.approach)
            if one.word != "equivalent"
        ]
        + [
            f"{result.scenario.title or 'scenario'}: the identity {one.name} does not hold"
            for result in results
            for one in result.identities
            if not one.holds
        ],
        {"results": [result.to_json() for result in results]},
    )


def _how() -> Section:
    return Section(
        "How to read this",
        [
            Points(
                [
                    "**equivalent**: the difference is below the margin, by two one-sided tests at the confidence.",
                    "Low and high are one-sided bounds at that confidence: both lie inside solved ± margin.",
                    "**different**: not the same number, at the confidence over all numbers together (Holm).",
                    "**inconclusive**: neither can be said yet; the pages that are missing are estimated.",
                    "**by splitting**: a loss too rare to be counted, found by splitting trials where the level rises.",
                    "That **all** numbers are equivalent holds at the confidence of a single one (intersection-union).",
                ]
            )
        ],
    )


def _scenario_section(result: CrossCheck, index: int, count: int) -> Section:
    label = f"Scenario {index + 1}: " if count > 1 else ""
    title = f"{label}{result.scenario.title or 'untitled'}"
    key = f"s{index + 1}"
    blocks: list[Block] = [
        Text(
            f"Verdict: **{result.verdict}**, from {result.pages:,} pages in {result.replications} independent "
            f"replications ({result.plan.engine} engine). Length set by: {words_of(result.length.limiting)}."
        ),
        _table(f"{label}Measures, levels, modes and sojourn times", result.verdicts, f"{key}-numbers"),
    ]
    if result.approach:
        blocks.append(
            _table(
                f"{label}Approach to equilibrium: averages over [0, t] from empty", result.approach, f"{key}-approach"
            )
        )
    blocks.append(
        Table(
            f"{label}What must hold exactly",
            ["identity", "side", "holds", Column("gap", "number"), Column("allowed", "number")],
            [
                (
                    i.name,
                    i.side,
                    Cell("yes" if i.holds else "no", tone="good" if i.holds else "bad"),
                    Cell(i.gap, f"{i.gap:.2g}"),
                    i.allowed,
                )
                for i in result.identities
            ],
            name=f"{key}-identities",
        )
    )
    if result.notes:
        blocks.append(Points(result.notes))
    return Section(title, blocks)


def _table(caption: str, verdicts: Sequence[Verdict], name: str) -> Table:
    """The numbers of one comparison; pages that are missing have a column where something is open."""
    numbers = ("solved", "simulated (low to high)", "margin", "score")
    undecided = any(one.word == "inconclusive" for one in verdicts)
    return Table(
        caption,
        [
            "measure",
            "part",
            "verdict",
            *[Column(head, "number") for head in (*numbers, *["pages missing"] * undecided)],
        ],
        [
            (
                f"{words_of(one.comparison.measure)}{' (by splitting)' if one.comparison.split_pages else ''}",
                str(one.comparison.part),
                Cell(one.word, tone=VERDICT_TONES[one.word]),
                one.comparison.solved,
                simulated(one),
                Cell(one.comparison.margin, f"{one.comparison.margin:.2g}"),
                _score(one.comparison.score),
                *[pages_missing(one)] * undecided,
            )
            for one in verdicts
        ],
        name=name,
    )


def pages_missing(one: Verdict) -> Cell:
    """How many more pages would decide, where that is open."""
    if one.word != "inconclusive":
        return Cell(None)
    return (
        Cell(None, "more than can be told")
        if one.more_pages is None
        else Cell(one.more_pages, f"{round_up(one.more_pages):,}")
    )


def simulated(one: Verdict, kind: Kind = "number") -> Cell:
    """The simulated value with its bounds, to the place that they allow; nothing where no case was seen."""
    seen = one.comparison.seen
    if seen is None:
        return Cell(None)
    few = "" if math.isfinite(one.high - one.low) else " (too few cases for bounds)"
    return Cell(seen, with_interval(seen, one.low, one.high, kind=kind) + few)


def simulated_head(result: CrossCheck) -> str:
    """Above the simulated values: with the confidence of their bounds, where there are any."""
    known = any(math.isfinite(one.high - one.low) for one in result.verdicts)
    return f"simulated ({result.plan.confidence:.0%})" if known else "simulated"


def left_open(result: CrossCheck) -> str:
    """What the simulation was too short to check: up to three measures by name, or how many numbers."""
    open_ones = [one.comparison.measure for one in result.verdicts if one.word == "inconclusive"]
    names = [words_of(measure) for measure in dict.fromkeys(open_ones)]
    return listed(names) if 0 < len(names) <= 3 else f"{len(open_ones)} of {len(result.verdicts)} numbers"


def _score(score: float) -> Cell:
    return Cell(score, f"{score:.2f}") if math.isfinite(score) else Cell(None)
