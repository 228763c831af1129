"""`crawltwin optimize`: how many robots at which backlog."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from crawltwin.cli.options import add_output, add_scenario, read_scenario
from crawltwin.cli.output import hand_out
from crawltwin.cli.terminal.progress_line import asked_to_stop, progress
from crawltwin.model.errors import InputError

if TYPE_CHECKING:
    from analytic import Certificate, Constrained, Optimum
    from crawltwin.model import Scenario, ThresholdPolicy

EPILOG = """examples:
  crawltwin optimize paper.toml
  crawltwin optimize paper.toml --json --out best.json
  crawltwin optimize paper.toml --write best.toml     the scenario with the best policy in it
  crawltwin optimize paper.toml --certify             is any policy better, threshold or not?
  crawltwin optimize paper.toml --at-most mean_active_robots=1.5 --at-least success_probability=0.6
  crawltwin optimize paper.toml --pareto              what there is to choose from before costs are set
  crawltwin optimize hysteresis.toml --resume         thresholds and resume points together
  crawltwin optimize paper.toml --check-every 0,1,5   what does it cost to look only every so often?

Thresholds: robots 3, 1 with threshold 2 means 3 robots while at most 2 pages are in the system, 1 above.
Equal thresholds skip the number of robots between them. Exit code 1 when no policy keeps the bounds: nothing is written
by --write then. Ctrl-C during --certify ends the search for a proof: the answer is given with the bounds found by then,
with exit code 130.
"""


PROVING = "looking for a better rule of any kind"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_scenario(parser)
    parser.add_argument(
        "--curves", action="store_true", help="show the cost over the threshold for every pair of robots"
    )
    parser.add_argument(
        "--write", metavar="FILE", help="write the scenario with the best policy there (.toml or .json)"
    )
    parser.add_argument(
        "--certify",
        action="store_true",
        help="compare with every level-based policy, threshold or not, and with a controller that sees the phases",
    )
    for name, words in (
        ("--at-most", "keep a measure at or below a bound, for example loss_probability=0.01; may be repeated"),
        ("--at-least", "keep a measure at or above a bound; may be repeated"),
    ):
        parser.add_argument(name, metavar="NAME=VALUE", action="append", default=[], help=words)
    parser.add_argument(
        "--pareto", action="store_true", help="the policies that no other beats in every criterion at once"
    )
    parser.add_argument(
        "--resume",
        action=argparse.BooleanOptionalAction,
        help="find resume points together with the thresholds (default: where switches cost, or where the scenario's "
        "policy has resume points)",
    )
    parser.add_argument(
        "--check-every",
        metavar="DISTANCES",
        help="mean distances between the controller's looks, for example 0,1,5,20: the best policy for each, and what "
        "polling costs; the first one is optimised in full (default: that of the scenario's policy)",
    )
    parser.add_argument(
        "--method",
        choices=("auto", "enumerate", "bound", "search"),
        default="auto",
        help="how to find the best of each set (default: auto; the answer says how far it is proved)",
    )
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    """Optimise and show."""
    from analytic import constrain, optimize, pareto, polling_cost
    from analytic.policy.certificate import check_certifiable
    from analytic.policy.constraints import check_bounds

    scenario = read_scenario(options.scenario)
    if options.certify:
        check_certifiable(scenario)
    looks = None if options.check_every is None else _distances(options.check_every)
    at_most, at_least = _bounds(options.at_most, "--at-most"), _bounds(options.at_least, "--at-least")
    if at_most or at_least:
        check_bounds(at_most, at_least)
    with progress("comparing policies", options) as update:
        if looks is None:
            polling, optimum = None, optimize(scenario, update, options.method, resume=options.resume)
        else:
            polling = polling_cost(scenario, looks, options.resume, update, options.method)
            optimum = polling.optima[0]
    certificate, stopped = _certified(scenario, optimum, options) if options.certify else (None, False)
    constrained = constrain(optimum, at_most, at_least) if at_most or at_least else None
    front = pareto(optimum) if options.pareto else None
    parts = {"certificate": certificate, "constrained": constrained, "pareto": front, "polling": polling}
    answer = optimum.to_json() | {key: part.to_json() for key, part in parts.items() if part is not None}
    impossible = constrained is not None and constrained.best is None
    if options.write and not impossible:
        scenario.replace(policy=_chosen(optimum, constrained)).write(options.write)

    def show() -> None:
        from crawltwin.cli.tables import optimize as tables

        tables.show_optimum(optimum, options.curves)
        if certificate is not None:
            tables.show_certificate(certificate)
        if constrained is not None:
            tables.show_constrained(constrained)
        if front is not None:
            tables.show_front(front)
        if polling is not None:
            tables.show_polling(polling)

    hand_out(options, answer, show)
    return 130 if stopped else 1 if impossible else 0


def _certified(scenario: Scenario, optimum: Optimum, options: argparse.Namespace) -> tuple[Certificate, bool]:
    """The certificate, and whether its search was asked to stop."""
    from analytic import certify

    with asked_to_stop() as asked, progress(PROVING, options) as update:

        def told(nodes: int, cost: float, bound: float) -> bool:
            open_by = max(0.0, cost - bound) / abs(cost) if cost else 0.0
            update(nodes, 0, f"{PROVING} ({open_by:.1e} open; Ctrl-C ends the search)")
            return asked()

        return certify(scenario, optimum, progress=told), asked()


def _bounds(given: list[str], option: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for text in given:
        name, _, value = (part.strip() for part in text.partition("="))
        if name in found:
            raise InputError(f"{option} must bound each measure once; got {name!r} again")
        try:
            found[name] = float(value)
        except ValueError:
            raise InputError(f"{option} must be NAME=VALUE, for example loss_probability=0.01; got {text!r}") from None
    return found


def _distances(text: str) -> list[float]:
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise InputError(
            f"--check-every must be numbers separated by commas, for example 0,1,5; got {text!r}"
        ) from None


def _chosen(optimum: Optimum, constrained: Constrained | None) -> ThresholdPolicy:
    """The policy to recommend: the best, or the best that keeps the constraints."""
    return optimum.best.policy if constrained is None or constrained.best is None else constrained.best.policy
