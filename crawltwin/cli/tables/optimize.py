"""What people see of an optimisation: the best of each set, the certificate, constraints, the Pareto front."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from crawltwin.cli.output import number, say, show_table

if TYPE_CHECKING:
    from analytic import Certificate, Constrained, Optimum, ParetoFront, PollingCost
    from crawltwin.model import ThresholdPolicy


def show_optimum(optimum: Optimum, curves: bool) -> None:
    """The best policy of each set of robots, and the best of all."""
    say(optimum.scenario.title or "scenario", style="bold")
    best = optimum.best
    rows = [
        (
            *_policy(item.policy),
            f"{item.cost:.4f}",
            _points(item.strict_thresholds or (), item.strict_resume),
            "-" if item.strict_cost is None else f"{item.strict_cost:.4f}",
            item.proof,
        )
        for item in optimum.policies
    ]
    headings = ("robots", "best thresholds", ">cost", "with every number used", ">cost", "proof")
    show_table("best policy of each set of robots", headings, rows, bold=optimum.policies.index(best))
    for item in optimum.policies:
        if curves and len(item.robots) == 2:
            costs = optimum.curve(item.robots)["cost"]
            shown = "  ".join(f"{j}: {number(cost, 5)}" for j, cost in enumerate(costs))
            say(f"{item.robots[0]} or {item.robots[1]}, cost by threshold  {shown}")
    say(f"Best: {best.policy.in_words(optimum.scenario.capacity)} Cost {best.cost:.4f}.", style="bold")
    fixed = min(optimum.fixed, key=lambda robots: optimum.fixed[robots])
    say(
        f"That is {optimum.profit:.2f}% below the best fixed number, {fixed} at {optimum.fixed[fixed]:.4f}. "
        f"{len(optimum.tables):,} policies compared. {optimum.proof_in_words()}"
    )


def show_certificate(certificate: Certificate) -> None:
    """How far the best threshold policy is from the best of all policies."""
    rows = [
        ("best threshold policy", f"{certificate.threshold.cost:.6f}", ""),
        ("best level-based policy", f"{certificate.level_cost:.6f}", f"{certificate.level_bound:.6f}"),
        ("sees every phase", f"{certificate.seen_cost:.6f}", f"{certificate.seen_bound:.6f}"),
    ]
    show_table("certificate", ("controller", ">cost", ">none below"), rows)
    say(f"{certificate.in_words()} {certificate.nodes:,} nodes, {certificate.seconds:.2f} s.")


def show_constrained(found: Constrained) -> None:
    """The best policy that keeps the bounds, and what the bounds cost."""
    bounds = [f"{name} <= {value:g}" for name, value in found.at_most.items()]
    bounds += [f"{name} >= {value:g}" for name, value in found.at_least.items()]
    words = " and ".join(bounds)
    if found.best is None:
        reach = ", ".join(
            f"{name} {number(value)}" for reached in found.attainable.values() for name, value in reached.items()
        )
        say(f"No threshold policy keeps {words}. Best within reach, one by one: {reach}.")
    else:
        rows = [
            (*_policy(choice.policy), f"{choice.share:.4f}", f"{choice.cost:.4f}")
            for choice in (found.best, *found.mixture)
        ]
        title = f"best policy with {words}, then the best mixture over time"
        show_table(title, ("robots", "thresholds", ">share", ">cost"), rows, bold=0)
    if found.mixture_cost is not None:
        prices = ", ".join(f"{name} {number(price)}" for name, price in found.multipliers.items())
        say(
            f"Mixture: cost {found.mixture_cost:.4f}. Lagrange multipliers (what a unit of slack in each bound saves): "
            f"{prices}."
        )
    if not found.complete:
        say("Only evaluated policies were compared, not all; --method enumerate compares all.")


def show_front(front: ParetoFront) -> None:
    """The policies that no other beats in every criterion."""
    rows = [
        (*_policy(policy), *(number(value, 4) for value in (*values, cost)))
        for policy, values, cost in zip(front.policies, front.values.tolist(), front.costs.tolist(), strict=True)
    ]
    names = [name.replace("_probability", "").replace("mean_", "").replace("_", " ") for name in front.criteria]
    whole = "" if front.complete else " among those evaluated"
    title = f"policies that no other beats in every criterion{whole}, cheapest first"
    show_table(title, ("robots", "thresholds", *(f">{name}" for name in (*names, "cost"))), rows)


def show_polling(polling: PollingCost) -> None:
    """The best policy for each distance between looks, and what polling costs."""
    shown = zip(polling.optima, polling.to_json()["distances"], strict=True)
    rows = [
        (number(row["check_every"]), *_policy(one.best.policy), f"{one.best.cost:.4f}", f"{row['extra_percent']:.2f}%")
        for one, row in shown
    ]
    show_table("what polling costs", (">mean distance", "robots", "thresholds", ">cost", ">more"), rows)


def _policy(policy: ThresholdPolicy) -> tuple[str, str]:
    return " or ".join(map(str, policy.robots)), _points(policy.thresholds, policy.resume)


def _points(thresholds: Sequence[int], resume: Sequence[int] | None) -> str:
    """Thresholds, and after a slash the resume points where they differ."""
    words = ", ".join(map(str, thresholds)) or "-"
    return words if resume is None or tuple(resume) == tuple(thresholds) else f"{words} / {', '.join(map(str, resume))}"
