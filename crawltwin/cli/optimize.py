"""`crawltwin optimize`: how many robots at which backlog."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from crawltwin.cli import arguments
from crawltwin.cli.output import console, number, print_json, progress, save, table, to_json

if TYPE_CHECKING:
    from analytic import Optimum

EPILOG = """examples:
  crawltwin optimize paper.toml
  crawltwin optimize paper.toml --json --out best.json
  crawltwin optimize paper.toml --write best.toml     the scenario with the best policy in it

Thresholds: robots 3, 1 with threshold 2 means 3 robots while at most 2 pages are in the system, 1 above.
Equal thresholds skip the number of robots between them.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    arguments.add_scenario(parser)
    parser.add_argument(
        "--curves", action="store_true", help="show the cost over the threshold for every pair of robots"
    )
    parser.add_argument(
        "--write", metavar="FILE", help="write the scenario with the best policy there (.toml or .json)"
    )
    arguments.add_output(parser)


def run(options: argparse.Namespace) -> int:
    """Optimise and show."""
    from analytic import optimize

    scenario = arguments.read_scenario(options)
    with progress("comparing policies") as update:
        optimum = optimize(scenario, progress=update)
    answer = optimum.to_json()
    if options.out:
        save(options.out, to_json(answer))
    if options.write:
        scenario.replace(policy=optimum.best.policy).write(options.write)
    if options.json:
        print_json(answer)
    else:
        _show(optimum, options.curves)
    return 0


def _show(optimum: Optimum, curves: bool) -> None:
    screen = console()
    screen.print(optimum.scenario.title or "scenario", style="bold", markup=False)
    best = optimum.best
    rows = [
        (
            " or ".join(map(str, item.robots)),
            ", ".join(map(str, item.thresholds)) or "-",
            f"{item.cost:.4f}",
            ", ".join(map(str, item.strict_thresholds or ())) or "-",
            "-" if item.strict_cost is None else f"{item.strict_cost:.4f}",
        )
        for item in optimum.policies
    ]
    columns = (
        ("robots", "left"),
        ("best thresholds", "left"),
        ("cost", "right"),
        ("with every number used", "left"),
        ("cost", "right"),
    )
    screen.print(table("best policy of each set of robots", columns, rows, bold=optimum.policies.index(best)))
    if curves:
        for item in optimum.policies:
            if len(item.robots) == 2:
                costs = optimum.curve(item.robots)["cost"]
                shown = "  ".join(f"{j}: {number(cost, 5)}" for j, cost in enumerate(costs))
                screen.print(f"{item.robots[0]} or {item.robots[1]}, cost by threshold  {shown}", markup=False)
    screen.print(
        f"Best: {best.policy.in_words(optimum.scenario.capacity)} Cost {best.cost:.4f}.", style="bold", markup=False
    )
    fixed = min(optimum.fixed, key=lambda robots: optimum.fixed[robots])
    screen.print(
        f"That is {optimum.profit:.2f}% below the best fixed number, {fixed} at {optimum.fixed[fixed]:.4f}. "
        f"{len(optimum.tables):,} policies compared.",
        markup=False,
    )
