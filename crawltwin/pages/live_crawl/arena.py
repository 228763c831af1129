"""The page of the arena: one recorded crawl under several rules, who is best, by how much, and where ours is not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from crawltwin.live.arena.standings import REPLICATIONS, SECONDS, SHOWN, Standing
from crawltwin.live.demo.fitted import FittedCrawl
from crawltwin.model import Scenario
from crawltwin.plan.wording import instruction, kind_of, with_interval
from crawltwin.report import (
    COLOURS,
    Cell,
    Column,
    Figure,
    Report,
    Section,
    Table,
    Text,
    Tone,
    draw,
    gather,
    style_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TONES: dict[str, Tone] = {"better": "good", "worse": "bad", "not told apart": "plain"}
"""Of the rule of the row, against ours: the colour says what the word says."""


def arena_report(
    standings: Sequence[Standing], fitted: FittedCrawl, scenario: Scenario, seed: int, command: str
) -> Report:
    """Everything that `crawltwin live arena` found; `scenario` has our policy and the weights."""
    ours, others = standings[0], standings[1:]
    nearest = min(others, key=lambda one: one.cost)
    beaten = [f"{one.name} ({_listed(one.better_in)})" for one in others if one.better_in]
    return Report(
        "One crawl under several rules of control",
        [
            (
                f"**{ours.name[0].upper()}{ours.name[1:]}** costs {ours.cost:.3g}; the best of the others, "
                f"{nearest.name}, costs {nearest.cost:.3g}."
            ),
            (
                "In some measure another rule is better than ours: " + "; ".join(beaten) + "."
                if beaten
                else "No other rule is better than ours in any measure."
            ),
            (
                "Ours was chosen with the model and the weights by which all are judged; the other rules do not know "
                "the weights. They are written from public descriptions, none is the crawlers' own code."
            ),
        ],
        [_costs(standings, scenario), _measures(standings), _how(fitted)],
        gather({"fitted crawl": scenario}, seeds=[seed], seconds={}),
        command,
        [],
        {"standings": [one.to_json() for one in standings]},
    )


def _costs(standings: Sequence[Standing], scenario: Scenario) -> Section:
    assert scenario.cost is not None
    rows = [
        (
            one.name,
            Cell(one.word(), "", TONES[one.word()]) if place else "ours",
            Cell(one.cost, f"{one.cost:.3g}"),
            _more(one) if place else Cell(None),
        )
        for place, one in enumerate(standings)
    ]
    heads: list[Column | str] = ["rule", "against ours", Column("cost", "number")]
    table = Table("Cost", [*heads, Column("more than ours (intervals for all at once)", "number")], rows, name="cost")
    words = f"Weights: {scenario.cost.words}."
    if scenario.policy is not None:
        words += f" `{scenario.policy.short}`: {instruction(scenario.policy, scenario.capacity)}"
    return Section("Who is best", [Text(words), table, _figure(standings)])


def _figure(standings: Sequence[Standing]) -> Figure:
    others = list(reversed(standings[1:]))

    def paint(axes: Axes) -> None:
        for place, one in enumerate(others):
            found = one.difference
            reach = [[found.value - found.low], [found.high - found.value]]
            axes.errorbar([found.value], [place], xerr=reach, color=COLOURS[0], marker="o")
        axes.axvline(0.0, color=COLOURS[3], linewidth=1, marker="")
        axes.set_yticks(range(len(others)), [one.name for one in others])
        style_axes(axes, "cost more than ours", "")

    least = min(one.difference.value for one in others)
    return draw(
        "costs",
        paint,
        "Cost of each rule less that of ours, with intervals for all at once; right of the line ours is better.",
        f"{len(others)} rules; the nearest costs {least:.2g} more than ours."
        if least > 0
        else "A rule is as cheap as ours.",
        height=0.7 + 0.36 * len(others),
    )


def _measures(standings: Sequence[Standing]) -> Section:
    rows: list[list[Cell | str]] = []
    for place, one in enumerate(standings):
        rows.append([one.name, *(_measure(one, name, bool(place)) for name in SHOWN[1:])])
    heads = [Column(name.replace("_", " "), "number") for name in SHOWN[1:]]
    words = "Better or worse than ours is said where it is sure, for all rules and measures at once."
    return Section(
        "Where ours is not the best", [Text(words), Table("Measures", ["rule", *heads], rows, name="measures")]
    )


def _how(fitted: FittedCrawl) -> Section:
    return Section(
        "How they were compared",
        [
            Text(
                f"{fitted.pages:,} pages of the record, {REPLICATIONS} replications of {SECONDS:g} seconds from empty. "
                "The k-th fetch takes as long as the k-th of the record, whatever the rule, and so does the indexing. "
                "Each replication begins at another place of the record."
            )
        ],
    )


def _measure(one: Standing, name: str, compared: bool) -> Cell:
    """A measure in its unit, with the word that tells the rule from ours."""
    value, word = one.values[name], one.word(name)
    shown = with_interval(value, kind=kind_of(name))
    if not compared or word == "not told apart":
        return Cell(value, shown)
    return Cell(value, f"{shown}, {word}", TONES[word])


def _more(one: Standing) -> Cell:
    found = one.difference
    return Cell(found.value, with_interval(found.value, found.low, found.high))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(name.replace("_", " ") for name in names)
