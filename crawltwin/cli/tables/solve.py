"""What people see of a solution: measures, levels, quantiles, the way to equilibrium, slopes and variances."""

from __future__ import annotations

from typing import Any

from crawltwin.cli.output import number, say, show_notes, show_table
from crawltwin.model import MEASURES, SCALAR_MEASURES, Scenario


def show_solution(scenario: Scenario, answer: dict[str, Any], levels: bool) -> None:
    """Every part of the answer as a table of its own."""
    say(scenario.title or "scenario", style="bold")
    say("Policy: " + scenario.policy_in_force.in_words(scenario.top_level))
    _measures(answer["measures"], answer["solver"]["errors"])
    if levels:
        _levels(answer["measures"]["level_distribution"])
    for name, show in (
        ("quantiles", _quantiles),
        ("transient", _transient),
        ("settling_time", _settling_time),
        ("sensitivity", _sensitivity),
        ("variance", _variance),
    ):
        if name in answer:
            show(answer[name])
    solver = answer["solver"]
    say(
        f"Solved by {solver['method']} ({solver['why']}): {solver['states']:,} states, residual "
        f"{solver['residual']:.1e}, error estimate {solver['error_estimate']:.1e}, {solver['seconds']:.2f} s",
        style="dim",
    )
    show_notes(answer["notes"])


def _measures(measures: dict[str, Any], errors: dict[str, Any]) -> None:
    names = [name for name in SCALAR_MEASURES if name in measures]
    rows = [(MEASURES[n].words, MEASURES[n].symbol, number(measures[n]), MEASURES[n].unit) for n in names]
    headings = ("measure", "symbol", ">value", "unit")
    if not errors:
        show_table("", headings, rows)
        return
    # An extrapolated answer has an error for each measure.
    wider = [(*row, f"{errors[name]:.0e}" if name in errors else "") for row, name in zip(rows, names, strict=True)]
    show_table("", (*headings, ">error estimate"), wider)


def _levels(masses: list[float]) -> None:
    peak = max(masses)
    rows = [(str(level), number(mass), "█" * round(40 * mass / peak)) for level, mass in enumerate(masses)]
    show_table("number of pages", (">pages", ">probability", ""), rows)


def _quantiles(found: list[dict[str, Any]]) -> None:
    rows = [(f"{row['p']:g}", number(row["served"]), number(row["obsolete"]), number(row["all"])) for row in found]
    show_table("time in the system", (">quantile", ">served", ">obsolete", ">all, lost as 0"), rows)


def _transient(found: list[dict[str, Any]]) -> None:
    names = ("mean_pages", "starvation_probability", "loss_probability")
    rows = [
        (number(row["time"]), *(number(row["measures"][name]) for name in names), number(row["distance"], 3))
        for row in found
    ]
    headings = (">time", ">mean pages", ">indexer idle", ">page lost", ">distance to equilibrium")
    show_table("from an empty system", headings, rows)


def _settling_time(found: float) -> None:
    say(f"Within 1% of equilibrium from time {number(found, 4)} on.")


def _sensitivity(found: dict[str, Any]) -> None:
    slopes = {name: slope for name, slope in found["derivatives"].items() if slope is not None}
    rows = [(name, *(number(slope[clock]) for clock in found["parameters"])) for name, slope in slopes.items()]
    headings = ("measure", *(f">{clock} rates" for clock in found["parameters"]))
    show_table("change of each measure for a relative change of", headings, rows)


def _variance(found: dict[str, Any]) -> None:
    rows = [
        (
            name + (" (approximate)" if name in found["approximate"] else ""),
            number(variance),
            number(found["run_length"][name], 4),
        )
        for name, variance in found["variances"].items()
        if variance is not None
    ]
    headings = ("measure", ">variance x run length", ">run length for 1% at 95%")
    show_table("planning a simulation", headings, rows)
