"""What people see of a simulation: tables of intervals, of coverage, of comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawltwin.cli.output import number, say, show_notes, show_table
from crawltwin.model import MEASURES, SCALAR_MEASURES, Scenario
from crawltwin.model.interval import Interval
from crawltwin.plan.wording import rounded

if TYPE_CHECKING:
    from simulate import Comparison, Coverage, RareLoss, Selection, SimulationResult

INTERRUPTED = "Interrupted: this is what was known by then."


def show_result(scenario: Scenario, result: SimulationResult, levels: bool) -> None:
    """Every measure with its interval, quantiles, and how they came about."""
    say(scenario.title or "scenario", style="bold")
    say("Policy: " + scenario.policy_in_force.in_words(scenario.capacity))
    rows = []
    for name in SCALAR_MEASURES:
        if (interval := result.measures.get(name)) is not None:
            width = interval.relative_half_width
            rows.append(
                (MEASURES[name].words, *_ends(interval), f"±{width:.2%}" if width < 10 else "-", MEASURES[name].unit)
            )
    show_table("", ("measure", ">value", f">{result.confidence:.0%} from", ">to", ">", "unit"), rows)
    if levels:
        found = result.measures["level_distribution"]
        level_rows = [(str(i), *_ends(one)) for i, one in enumerate(found)]
        show_table("number of pages", (">pages", ">probability", ">from", ">to"), level_rows)
    quantile_rows = [
        (fate, f"{p:g}", *_ends(one)) for fate, found in result.quantiles.items() for p, one in found.items()
    ]
    if quantile_rows:
        show_table("time in the system", ("pages", ">quantile", ">value", ">from", ">to"), quantile_rows)
    _diagnostics(result)


def _ends(one: Interval) -> tuple[str, ...]:
    """Value, low and high to the place that the interval allows."""
    return tuple(rounded(value, one.low, one.high) for value in (one.value, one.low, one.high))


def _diagnostics(result: SimulationResult) -> None:
    how = result.diagnostics
    pages = ", ".join(f"{count:,} {fate}" for fate, count in how.pages.items())
    rate = how.events / how.seconds / 1e6 if how.seconds else 0.0
    say(
        f"{how.count} {how.units}; warm-up of {how.warmup_time:.4g} left out of each run; {pages} pages; seed "
        f"{result.seed}; {how.events:,} events in {how.seconds:.1f} s ({rate:.2f} M/s, {result.engine}).",
        style="dim",
    )
    if result.precision is not None:
        aim = result.precision
        if aim.reached:
            say(f"Precision {aim.wanted:.2%} reached; the widest is {aim.worst}, ±{aim.half_width:.2%}.")
        else:
            say(
                f"Precision {aim.wanted:.2%} not reached: {aim.worst} is at ±{number(100 * aim.half_width, 3)}%. "
                f"About {number(aim.more_pages, 3)} more pages, {number(aim.more_seconds, 3)} more seconds are needed."
            )
    if result.interrupted:
        say(INTERRUPTED, style="bold")
    show_notes(result.warnings, "Warning", "bold")


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
    agrees = f">agrees with {found.confidence:.0%}"
    headings = ("measure", ">truth", ">covered", ">binomial interval", agrees, ">naive", ">agrees")
    show_table(f"{found.shares[0].experiments} experiments, truth from the {source}", headings, rows)
    say(
        f"Each experiment: {found.replications} replications of {found.pages:,} pages. Naive: one run from an empty "
        "system, every page taken as independent of the others.",
        style="dim",
    )
    if found.interrupted:
        say(INTERRUPTED, style="bold")


def show_rare_loss(found: RareLoss) -> None:
    """The loss probability and how it was found."""
    loss = found.loss_probability
    rows = [
        ("loss_probability", f"{loss.value:.3g}", f"{loss.low:.3g} to {loss.high:.3g}", f"{found.relative_error:.1%}")
    ]
    headings = ("measure", ">value", f">{loss.confidence:.0%}", ">relative error")
    title = f"splitting on the level, {len(found.by_replication)} replications, seed {found.seed}"
    show_table(title, headings, rows)
    splits = zip(found.splits.levels, found.splits.numbers)
    levels = ", ".join(f"{number} at {level}" for level, number in splits) or "none"
    lost = f"Pages lost in all trials: {found.lost:,} of {found.pages:,}."
    say(f"Trials where the level rises: {levels}. {lost}", style="dim")
    if found.interrupted:
        say("Interrupted: this is what the finished replications say.")
    for warning in found.warnings:
        say(f"warning: {warning}", style="bold")


def show_comparison(found: Comparison) -> None:
    """Differences from the first policy."""
    first = found.policies[0]
    rows = [
        (
            gap.policy,
            gap.measure,
            number(found.measures[first][gap.measure].value),
            number(found.measures[gap.policy][gap.measure].value),
            number(gap.difference.value, 4),
            f"{number(gap.difference.low, 4)} to {number(gap.difference.high, 4)}",
            gap.verdict,
            f"{gap.saved:.0%}",
        )
        for gap in found.differences
    ]
    sure = f">{found.confidence:.0%}"
    headings = ("policy", "measure", f">{first}", ">this", ">difference", sure, "verdict", ">saved")
    show_table(f"compared on common random numbers, {found.units} pairs, seed {found.seed}", headings, rows)
    say("saved: share of the difference's variance that common random numbers took away.", style="dim")


def show_choice(choice: Selection) -> None:
    """The race and its winner."""
    names = list(choice.means)
    rows = [(name, number(choice.means[name]), str(choice.replications[name])) for name in names]
    headings = ("policy", f">{choice.measure}", ">replications")
    show_table("ranking and selection (Kim and Nelson)", headings, rows, bold=names.index(choice.best))
    sure = f"with probability {choice.confidence:.0%} at least" if choice.sure else "so far, not yet at the confidence"
    say(
        f"{choice.best} has the least {choice.measure} {sure}, "
        f"if the others are worse by {choice.indifference:g} or more."
    )
