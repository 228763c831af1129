"""What people see of a cross-check, of a replay and of a calibration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from crawltwin.cli.output import number, say, show_notes, show_table

if TYPE_CHECKING:
    from validate import CrossCheck
    from validate.calibration import Calibration
    from validate.logs.agreement import LogAgreement
    from validate.verdict import Verdict


def show_crosscheck(result: CrossCheck, everything: bool) -> None:
    """One row for each measure, or every number; then the exact identities and the effort."""
    say(f"{result.scenario.title or 'untitled'}: {result.verdict}", style="bold")
    rows = []
    for measure in dict.fromkeys(one.comparison.measure for one in result.verdicts):
        found = result.of(measure)
        rows += [_row(one) for one in found] if everything or len(found) == 1 else [_summary(measure, found)]
    for time in dict.fromkeys(one.comparison.part for one in result.approach):
        found = tuple(one for one in result.approach if one.comparison.part == time)
        rows += [_row(one) for one in found] if everything else [_summary(f"from empty, {time}", found)]
    _show_rows(rows, "simulated")
    broken = [identity for identity in result.identities if not identity.holds]
    count = len(result.identities)
    say(
        f"{count - len(broken)} of {count} exact identities hold. {result.pages:,} pages, "
        f"{result.replications} replications, seed {result.plan.seed}, {result.seconds:.1f} s.",
        style="dim" if not broken else "bold",
    )
    show_notes(result.notes)


def show_replay(found: LogAgreement) -> None:
    """The solved side against a replayed trace."""
    say(f"{found.scenario.title or 'untitled'} against its trace: {found.verdict}", style="bold")
    _show_rows([_row(one) for one in found.verdicts], "replayed")
    show_notes(found.notes)


def show_calibration(result: Calibration) -> None:
    """Scores over random scenarios, and which of them stand out."""
    rows = []
    for one in (result.pooled, *result.by_measure):
        found = one.to_json()
        rows.append(
            (
                one.name.replace("_", " "),
                str(found["scenarios"]),
                number(found["mean"], 2),
                number(found["standard_deviation"], 3),
                number(one.p_anderson_darling, 2),
                f"{one.beyond / len(one.scores):.1%}",
                number(one.p_binomial, 2),
            )
        )
    headings = ("scores of", ">number", ">mean", ">sd", ">p (A²)", ">beyond 95%", ">p (binomial)")
    word = "calibrated" if result.sound else "NOT calibrated"
    show_table(f"{result.count} random scenarios of seed {result.seed}: {word}", headings, rows)
    say(
        f"False alarms: {result.false_alarms} of {result.count}. Smallest p of all tests after Holm's correction: "
        f"{result.adjusted.min():.2g}. {result.pages:,} pages.",
        style="dim",
    )
    for outlier in result.outliers:
        where = f"{outlier.measure} of scenario {outlier.index}, score {outlier.score:.2f}"
        say(f"Stands out: {where}. See it again:", f"  {outlier.command}")
    say(*(f"Identity broken: {broken}." for broken in result.broken), style="bold")


def _show_rows(rows: Sequence[Sequence[str]], other: str) -> None:
    show_table("", ("measure", ">solved", f">{other}", ">margin ±", "verdict"), rows)


def _row(one: Verdict) -> tuple[str, ...]:
    found = one.comparison
    name = found.measure.replace("_", " ")
    values = (number(found.solved), number(found.seen), number(found.margin, 2))
    name = f"{name}, {found.part}" if found.part else name
    return (f"{name} (by splitting)" if found.split_pages else name, *values, one.needs)


def _summary(name: str, verdicts: tuple[Verdict, ...]) -> tuple[str, ...]:
    """Several numbers in one row: how many of each verdict."""
    counts = {word: sum(one.word == word for one in verdicts) for word in ("equivalent", "different", "inconclusive")}
    words = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    missing = [one.more_pages for one in verdicts if one.more_pages is not None]
    if missing:
        from validate.verdict import pages_needed

        words += f" (needs {pages_needed(max(missing))})"
    return (name.replace("_", " "), "", "", "", words)
