"""`crawltwin solve`: every measure of the paper, exact."""

from __future__ import annotations

import argparse

from crawltwin.cli.options import add_output, add_policy, add_scenario, numbers, probabilities, read_scenario
from crawltwin.cli.output import hand_out
from crawltwin.cli.terminal.progress_line import progress

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

    add_scenario(parser)
    add_policy(parser)
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
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    """Solve and show. Only what is asked for is loaded."""
    from analytic import solve

    scenario = read_scenario(options.scenario, options.policy)
    orders = [] if options.quantiles is None else probabilities(options.quantiles, "--quantiles")
    times = [] if options.at is None else numbers(options.at, "--at", float)
    more = {}
    if times:
        # Refuses times and chains that it cannot take, before the long work begins.
        from analytic import settling_time, transient

        more["transient"] = transient(scenario, times).to_json()
    with progress("solving", options) as update:
        solution = solve(scenario, method=options.method, progress=lambda _step, share: update(share, 1.0))
    answer = solution.to_json()
    if orders:
        quantile = solution.sojourn.quantile
        answer["quantiles"] = [
            {"p": p, "served": quantile(p, "served"), "obsolete": quantile(p, "obsolete"), "all": quantile(p, "all")}
            for p in orders
        ]
    if times:
        answer |= more | {"settling_time": settling_time(scenario)}
    if options.sensitivity:
        from analytic import sensitivity

        answer["sensitivity"] = sensitivity(scenario).to_json()
    if options.variance:
        from analytic import asymptotic_variance

        answer["variance"] = asymptotic_variance(scenario).to_json()

    def show() -> None:
        from crawltwin.cli.tables.solve import show_solution

        show_solution(scenario, answer, options.levels)

    hand_out(options, answer, show)
    return 0
