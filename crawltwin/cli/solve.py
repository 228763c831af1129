"""`crawltwin solve`: every measure of the paper, exact."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from crawltwin.cli import arguments
from crawltwin.cli.output import console, number, print_json, progress, save, table, to_json
from crawltwin.model import MEASURES, SCALAR_MEASURES, Scenario

if TYPE_CHECKING:
    from rich.table import Table

EPILOG = """examples:
  crawltwin solve paper.toml
  crawltwin solve paper.toml --policy 4,1@1 --json
  crawltwin solve paper.toml --quantiles 0.5,0.95,0.99 --levels
  crawltwin solve paper.toml --at 1,10,100        from an empty system: how far along is it then?

Times are in the scenario's own unit: if rates are per second, times are seconds.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from analytic import METHODS

    arguments.add_scenario(parser)
    arguments.add_policy(parser)
    parser.add_argument(
        "--method", choices=METHODS, default="auto", help="how to solve (default: auto, which says why)"
    )
    parser.add_argument("--levels", action="store_true", help="show the probability of each number of pages")
    parser.add_argument(
        "--quantiles", metavar="P,...", help="quantiles of the time in the system, for example 0.5,0.95"
    )
    parser.add_argument("--at", metavar="T,...", help="measures at these times, started empty, and the settling time")
    parser.add_argument(
        "--sensitivity",
        action="store_true",
        help="exact derivatives of every measure for relative changes of the arrival, service and obsolescence rates",
    )
    parser.add_argument(
        "--variance",
        action="store_true",
        help="asymptotic variance of every estimate, and how long a simulation must run for 1%% at 95%% confidence",
    )
    arguments.add_output(parser)


def run(options: argparse.Namespace) -> int:
    """Solve and show."""
    from analytic import asymptotic_variance, sensitivity, settling_time, solve, transient

    scenario = arguments.read_scenario(options)
    levels = [] if options.quantiles is None else arguments.probabilities(options.quantiles, "--quantiles")
    times = [] if options.at is None else arguments.numbers(options.at, "--at", float)
    # Refuses times and chains that it cannot take, before the long work begins.
    on_the_way = transient(scenario, times) if times else None
    with progress("solving") as update:
        solution = solve(scenario, method=options.method, progress=lambda _step, share: update(share, 1.0))
    answer = solution.to_json()
    if levels:
        answer["quantiles"] = [
            {"p": p, **{fate: solution.sojourn.quantile(p, fate) for fate in ("served", "obsolete", "all")}}
            for p in levels
        ]
    if on_the_way is not None:
        answer["transient"] = on_the_way.to_json()
        answer["settling_time"] = settling_time(scenario)
    if options.sensitivity:
        answer["sensitivity"] = sensitivity(scenario).to_json()
    if options.variance:
        answer["variance"] = asymptotic_variance(scenario).to_json()
    if options.out:
        save(options.out, to_json(answer))
    if options.json:
        print_json(answer)
    else:
        _show(scenario, answer, options.levels)
    return 0


def _show(scenario: Scenario, answer: dict[str, Any], levels: bool) -> None:
    screen = console()
    screen.print(scenario.title or "scenario", style="bold", markup=False)
    screen.print("Policy: " + scenario.policy_in_force.in_words(scenario.top_level), markup=False)
    screen.print(_measures(answer["measures"], answer["solver"]["errors"]))
    if levels:
        screen.print(_levels(answer["measures"]["level_distribution"]))
    if "quantiles" in answer:
        screen.print(_quantiles(answer["quantiles"]))
    if "transient" in answer:
        screen.print(_transient(answer["transient"]))
        screen.print(f"Within 1% of equilibrium from time {number(answer['settling_time'], 4)} on.", markup=False)
    if "sensitivity" in answer:
        screen.print(_sensitivity(answer["sensitivity"]))
    if "variance" in answer:
        screen.print(_variance(answer["variance"]))
    solver = answer["solver"]
    screen.print(
        f"Solved by {solver['method']} ({solver['why']}): {solver['states']:,} states, "
        f"residual {solver['residual']:.1e}, error estimate {solver['error_estimate']:.1e}, {solver['seconds']:.2f} s",
        style="dim",
        markup=False,
    )
    for note in answer["notes"]:
        screen.print(f"Note: {note}.", style="dim", markup=False)


def _measures(measures: dict[str, Any], errors: dict[str, Any]) -> Table:
    names = [name for name in SCALAR_MEASURES if name in measures]
    rows = [(MEASURES[n].words, MEASURES[n].symbol, number(measures[n]), MEASURES[n].unit) for n in names]
    columns = (("measure", "left"), ("symbol", "left"), ("value", "right"), ("unit", "left"))
    if not errors:
        return table("", columns, rows)
    # An extrapolated answer has an error for each measure.
    wider = [(*row, f"{errors[name]:.0e}" if name in errors else "") for row, name in zip(rows, names, strict=True)]
    return table("", (*columns, ("error estimate", "right")), wider)


def _levels(masses: list[float]) -> Table:
    peak = max(masses)
    rows = [(str(level), number(mass), "█" * round(40 * mass / peak)) for level, mass in enumerate(masses)]
    return table("number of pages", (("pages", "right"), ("probability", "right"), ("", "left")), rows)


def _quantiles(found: list[dict[str, Any]]) -> Table:
    rows = [(f"{row['p']:g}", number(row["served"]), number(row["obsolete"]), number(row["all"])) for row in found]
    columns = (("quantile", "right"), ("served", "right"), ("obsolete", "right"), ("all, lost as 0", "right"))
    return table("time in the system", columns, rows)


def _sensitivity(found: dict[str, Any]) -> Table:
    rows = [
        (name, *(number(slopes[clock]) for clock in found["parameters"]))
        for name, slopes in found["derivatives"].items()
        if slopes is not None
    ]
    columns = (("measure", "left"), *((f"{clock} rates", "right") for clock in found["parameters"]))
    return table("change of each measure for a relative change of", columns, rows)


def _variance(found: dict[str, Any]) -> Table:
    rows = [
        (
            name + (" (approximate)" if name in found["approximate"] else ""),
            number(variance),
            number(found["run_length"][name], 4),
        )
        for name, variance in found["variances"].items()
        if variance is not None
    ]
    columns = (("measure", "left"), ("variance x run length", "right"), ("run length for 1% at 95%", "right"))
    return table("planning a simulation", columns, rows)


def _transient(found: list[dict[str, Any]]) -> Table:
    rows = [
        (
            number(row["time"]),
            number(row["measures"]["mean_pages"]),
            number(row["measures"]["starvation_probability"]),
            number(row["measures"]["loss_probability"]),
            number(row["distance"], 3),
        )
        for row in found
    ]
    headings = ("time", "mean pages", "indexer idle", "page lost", "distance to equilibrium")
    return table("from an empty system", [(heading, "right") for heading in headings], rows)
