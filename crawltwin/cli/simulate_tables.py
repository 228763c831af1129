"""What people see of a simulation: tables of intervals, of coverage, of comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawltwin.cli.output import console, number, table
from crawltwin.model import MEASURES, SCALAR_MEASURES, Scenario

if TYPE_CHECKING:
    from simulate import Comparison, Coverage, Selection, SimulationResult


def show(scenario: Scenario, result: SimulationResult, levels: bool) -> None:
    """Every measure with its interval, quantiles, and how they came about."""
    screen = console()
    screen.print(scenario.title or "scenario", style="bold", markup=False)
    screen.print("Policy: " + scenario.policy_in_force.in_words(scenario.capacity), markup=False)
    rows = []
    for name in SCALAR_MEASURES:
        if (interval := result.measures.get(name)) is not None:
            width = interval.relative_half_width
            rows.append(
                (
                    MEASURES[name].words,
                    number(interval.value),
                    number(interval.low),
                    number(interval.high),
                    f"±{width:.2%}" if width < 10 else "-",
                    MEASURES[name].unit,
                )
            )
    percent = f"{result.confidence:.0%}"
    columns = [("measure", "left"), ("value", "right"), (f"{percent} from", "right"), ("to", "right"), ("", "right")]
    screen.print(table("", [*columns, ("unit", "left")], rows))
    if levels:
        found = result.measures["level_distribution"]
        level_rows = [(str(i), number(one.value), number(one.low), number(one.high)) for i, one in enumerate(found)]
        headings = [("pages", "right"), ("probability", "right"), ("from", "right"), ("to", "right")]
        screen.print(table("number of pages", headings, level_rows))
    quantile_rows = [
        (fate, f"{p:g}", number(one.value), number(one.low), number(one.high))
        for fate, found in result.quantiles.items()
        for p, one in found.items()
    ]
    if quantile_rows:
        headings = [("pages", "left"), ("quantile", "right"), ("value", "right"), ("from", "right"), ("to", "right")]
        screen.print(table("time in the system", headings, quantile_rows))
    _show_diagnostics(result)


def _show_diagnostics(result: SimulationResult) -> None:
    screen, how = console(), result.diagnostics
    pages = ", ".join(f"{count:,} {fate}" for fate, count in how.pages.items())
    rate = how.events / how.seconds / 1e6 if how.seconds else 0.0
    screen.print(
        f"{how.count} {how.units}; warm-up of {how.warmup_time:.4g} left out of each run; {pages} pages; seed "
        f"{result.seed}; {how.events:,} events in {how.seconds:.1f} s ({rate:.2f} M/s, {result.engine}).",
        style="dim",
        markup=False,
    )
    if result.precision is not None:
        aim = result.precision
        if aim.reached:
            words = f"Precision {aim.wanted:.2%} reached; the widest is {aim.worst}, ±{aim.half_width:.2%}."
        else:
            words = (
                f"Precision {aim.wanted:.2%} not reached: {aim.worst} is at ±{number(100 * aim.half_width, 3)}%. "
                f"About {number(aim.more_pages, 3)} more pages, {number(aim.more_seconds, 3)} more seconds are needed."
            )
        screen.print(words, markup=False)
    if result.interrupted:
        screen.print("Interrupted: this is what was known by then.", style="bold", markup=False)
    for warning in result.warnings:
        screen.print(f"Warning: {warning}.", style="bold", markup=False)


def show_coverage(found: Coverage, source: str) -> None:
    """How often the intervals held the truth, the naive ones beside them."""
    rows = [
        (
            share.measure,
            number(share.truth),
            f"{share.share:.1%}",
            f"{share.low:.1%} to {share.high:.1%}",
            "yes" if share.agrees else "NO",
            f"{share.naive:.1%}",
            "yes" if share.naive_agrees else "NO",
        )
        for share in found.shares
    ]
    headings = (
        "measure",
        "truth",
        "covered",
        "binomial interval",
        f"agrees with {found.confidence:.0%}",
        "naive",
        "agrees",
    )
    columns = [(heading, "left" if index == 0 else "right") for index, heading in enumerate(headings)]
    screen = console()
    screen.print(table(f"{found.shares[0].experiments} experiments, truth from the {source}", columns, rows))
    screen.print(
        f"Each experiment: {found.replications} replications of {found.pages:,} pages. Naive: one run from an empty "
        "system, every page taken as independent of the others.",
        style="dim",
        markup=False,
    )
    if found.interrupted:
        screen.print("Interrupted: this is what was known by then.", style="bold", markup=False)


def show_comparison(found: Comparison) -> None:
    """Differences from the first policy."""
    rows = [
        (
            gap.policy,
            gap.measure,
            number(found.measures[found.policies[0]][gap.measure].value),
            number(found.measures[gap.policy][gap.measure].value),
            number(gap.difference.value, 4),
            f"{number(gap.difference.low, 4)} to {number(gap.difference.high, 4)}",
            gap.verdict,
            f"{gap.saved:.0%}",
        )
        for gap in found.differences
    ]
    headings = (
        "policy",
        "measure",
        found.policies[0],
        "this",
        "difference",
        f"{found.confidence:.0%}",
        "verdict",
        "saved",
    )
    columns = [(heading, "left" if index in (0, 1, 6) else "right") for index, heading in enumerate(headings)]
    screen = console()
    screen.print(table(f"compared on common random numbers, {found.units} pairs, seed {found.seed}", columns, rows))
    screen.print(
        "saved: share of the difference's variance that common random numbers took away.", style="dim", markup=False
    )


def show_choice(choice: Selection) -> None:
    """The race and its winner."""
    names = list(choice.means)
    rows = [(name, number(choice.means[name]), str(choice.replications[name])) for name in names]
    columns = (("policy", "left"), (choice.measure, "right"), ("replications", "right"))
    screen = console()
    screen.print(table("ranking and selection (Kim and Nelson)", columns, rows, bold=names.index(choice.best)))
    sure = f"with probability {choice.confidence:.0%} at least" if choice.sure else "so far, not yet at the confidence"
    screen.print(
        f"{choice.best} has the least {choice.measure} {sure}, "
        f"if the others are worse by {choice.indifference:g} or more.",
        markup=False,
    )
