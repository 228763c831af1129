"""`crawltwin optimize`: how many robots at which backlog."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from crawltwin.cli import arguments
from crawltwin.cli.output import console, number, print_json, progress, save, table, to_json
from crawltwin.model import InputError, ThresholdPolicy

if TYPE_CHECKING:
    from rich.console import Console

    from analytic import Certificate, Constrained, Optimum, ParetoFront

EPILOG = """examples:
  crawltwin optimize paper.toml
  crawltwin optimize paper.toml --json --out best.json
  crawltwin optimize paper.toml --write best.toml     the scenario with the best policy in it
  crawltwin optimize paper.toml --certify             is any policy better, threshold or not?
  crawltwin optimize paper.toml --at-most mean_active_robots=1.5 --at-least success_probability=0.6
  crawltwin optimize paper.toml --pareto              what there is to choose from before costs are set

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
    parser.add_argument(
        "--certify",
        action="store_true",
        help="compare with every level-based policy, threshold or not, and with a controller that sees the phases",
    )
    parser.add_argument(
        "--at-most",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="keep a measure at or below a bound, for example loss_probability=0.01; may be repeated",
    )
    parser.add_argument(
        "--at-least",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="keep a measure at or above a bound; may be repeated",
    )
    parser.add_argument(
        "--pareto", action="store_true", help="the policies that no other beats in every criterion at once"
    )
    parser.add_argument(
        "--method",
        choices=("auto", "enumerate", "bound", "search"),
        default="auto",
        help="how to find the best of each set (default: auto; the answer says how far it is proved)",
    )
    arguments.add_output(parser)


def run(options: argparse.Namespace) -> int:
    """Optimise and show."""
    from analytic import certify, constrain, optimize, pareto

    scenario = arguments.read_scenario(options)
    at_most, at_least = _bounds(options.at_most, "--at-most"), _bounds(options.at_least, "--at-least")
    with progress("comparing policies") as update:
        optimum = optimize(scenario, progress=update, method=options.method)
    answer = optimum.to_json()
    certificate = certify(scenario, optimum) if options.certify else None
    constrained = constrain(optimum, at_most, at_least) if at_most or at_least else None
    front = pareto(optimum) if options.pareto else None
    for key, part in (("certificate", certificate), ("constrained", constrained), ("pareto", front)):
        if part is not None:
            answer[key] = part.to_json()
    if options.out:
        save(options.out, to_json(answer))
    impossible = constrained is not None and constrained.best is None
    if options.write and not impossible:
        scenario.replace(policy=_chosen(optimum, constrained)).write(options.write)
    if options.json:
        print_json(answer)
    else:
        screen = console()
        _show(screen, optimum, options.curves)
        if certificate is not None:
            _show_certificate(screen, certificate)
        if constrained is not None:
            _show_constrained(screen, constrained)
        if front is not None:
            _show_front(screen, front)
    return 1 if impossible else 0


def _bounds(given: list[str], option: str) -> dict[str, float]:
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        try:
            found[name.strip()] = float(value)
        except ValueError:
            equals = ""
        if not equals:
            raise InputError(f"{option} must be NAME=VALUE, for example loss_probability=0.01; got {text!r}")
    return found


def _chosen(optimum: Optimum, constrained: Constrained | None) -> ThresholdPolicy:
    """The policy to recommend: the best, or the best that keeps the constraints."""
    if constrained is None or constrained.best is None:
        return optimum.best.policy
    return ThresholdPolicy(constrained.best.robots, constrained.best.thresholds)


def _show(screen: Console, optimum: Optimum, curves: bool) -> None:
    screen.print(optimum.scenario.title or "scenario", style="bold", markup=False)
    best = optimum.best
    rows = [
        (
            " or ".join(map(str, item.robots)),
            ", ".join(map(str, item.thresholds)) or "-",
            f"{item.cost:.4f}",
            ", ".join(map(str, item.strict_thresholds or ())) or "-",
            "-" if item.strict_cost is None else f"{item.strict_cost:.4f}",
            item.proof,
        )
        for item in optimum.policies
    ]
    columns = (
        ("robots", "left"),
        ("best thresholds", "left"),
        ("cost", "right"),
        ("with every number used", "left"),
        ("cost", "right"),
        ("proof", "left"),
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
        f"{len(optimum.tables):,} policies compared. {PROOFS[optimum.method]}",
        markup=False,
    )


PROOFS = {
    "enumerated": "Every threshold policy was evaluated.",
    "bounded": "Of larger sets no policy is better: lower bounds prove it.",
    "searched": "Larger sets were searched without proof: a better policy of those is possible.",
}


def _show_certificate(screen: Console, certificate: Certificate) -> None:
    rows = [
        ("best threshold policy", f"{certificate.threshold.cost:.6f}", ""),
        ("best level-based policy", f"{certificate.level_cost:.6f}", f"{certificate.level_bound:.6f}"),
        ("sees every phase", f"{certificate.seen_cost:.6f}", f"{certificate.seen_bound:.6f}"),
    ]
    columns = (("controller", "left"), ("cost", "right"), ("none below", "right"))
    screen.print(table("certificate", columns, rows))
    screen.print(f"{certificate.in_words()} {certificate.nodes:,} nodes, {certificate.seconds:.2f} s.", markup=False)


def _show_constrained(screen: Console, found: Constrained) -> None:
    bounds = [f"{name} <= {value:g}" for name, value in found.at_most.items()]
    bounds += [f"{name} >= {value:g}" for name, value in found.at_least.items()]
    words = " and ".join(bounds)
    if found.best is None:
        reach = ", ".join(f"{name} {number(value)}" for name, value in found.attainable.items())
        screen.print(f"No threshold policy keeps {words}. Best within reach, one by one: {reach}.", markup=False)
    else:
        columns = (("robots", "left"), ("thresholds", "left"), ("share", "right"), ("cost", "right"))
        rows = [_policy_row(found.best)] + [_policy_row(choice) for choice in found.mixture]
        screen.print(table(f"best policy with {words}, then the best mixture over time", columns, rows, bold=0))
    if found.mixture_cost is not None:
        prices = ", ".join(f"{name} {number(price)}" for name, price in found.multipliers.items())
        screen.print(
            f"Mixture: cost {found.mixture_cost:.4f}. Lagrange multipliers (what a unit of slack in each bound saves): "
            f"{prices}.",
            markup=False,
        )
    if not found.complete:
        screen.print("Only evaluated policies were compared, not all; --method enumerate compares all.", markup=False)


def _policy_row(choice: Any) -> tuple[str, str, str, str]:
    return (
        " or ".join(map(str, choice.robots)),
        ", ".join(map(str, choice.thresholds)) or "-",
        f"{choice.share:.4f}",
        f"{choice.cost:.4f}",
    )


def _show_front(screen: Console, front: ParetoFront) -> None:
    frame = front.to_frame()
    rows = [
        (
            " or ".join(map(str, robots)),
            ", ".join(map(str, thresholds)) or "-",
            *(number(value, 4) for value in values),
        )
        for robots, thresholds, *values in frame.itertuples(index=False)
    ]
    names = [name.replace("_probability", "").replace("mean_", "").replace("_", " ") for name in front.criteria]
    columns = [("robots", "left"), ("thresholds", "left"), *((name, "right") for name in (*names, "cost"))]
    whole = "" if front.complete else " among those evaluated"
    screen.print(table(f"policies that no other beats in every criterion{whole}, cheapest first", columns, rows))
