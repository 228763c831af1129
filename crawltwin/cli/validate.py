"""`crawltwin validate`: the solved side against the simulated one, with a verdict for each number."""

from __future__ import annotations

import argparse
import shlex
import sys
from typing import TYPE_CHECKING, Any

from crawltwin.cli import arguments
from crawltwin.cli.output import console, number, print_json, progress, save, table, to_json
from crawltwin.model import InputError, Scenario

if TYPE_CHECKING:
    from rich.table import Table

    from validate import CrossCheck
    from validate.calibration import Calibration
    from validate.verdict import Verdict

EPILOG = """examples:
  crawltwin validate paper.toml                          every number to 0.5% with 99% confidence
  crawltwin validate paper.toml --margin 0.02            a quick look
  crawltwin validate a.toml b.toml --report verdicts     several at once, one family, a page to keep
  crawltwin validate --random 200 --seed 1               calibration on random crawlers; goes on when interrupted
  crawltwin validate fitted.toml --trace batches.csv     a fitted model against the trace it was fitted to

verdicts: equivalent (the difference is below the margin), different (not the same number),
inconclusive (needs more pages). Exit code 1 when anything is different.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("scenarios", metavar="SCENARIO", nargs="*", help="scenario files; - is standard input")
    arguments.add_policy(parser)
    parser.add_argument("--margin", type=float, help="relative margin (default: 0.005; 0.1 with --trace)")
    parser.add_argument(
        "--absolute-margin", type=float, help="margin of small probabilities (default: a tenth of --margin)"
    )
    parser.add_argument("--confidence", type=float, help="of every claim (default: 0.99; 0.95 with --trace)")
    parser.add_argument(
        "--power", type=float, default=0.99, help="chance that a sound number is found equivalent (default: 0.99)"
    )
    parser.add_argument("--budget", type=int, default=2_000_000_000, help="pages at most (default: 2e9)")
    parser.add_argument("--pages", type=int, help="exactly this length, in place of a planned one")
    parser.add_argument("--replications", type=int, help="independent runs (default: 100, 50 with --random)")
    parser.add_argument("--seed", type=int, default=1, help="of everything random (default: 1)")
    parser.add_argument("--engine", choices=("compiled", "simpy"), default="compiled", help="which engine simulates")
    parser.add_argument("--no-approach", action="store_true", help="leave out the approach to equilibrium")
    parser.add_argument(
        "--trace", metavar="FILE", help="the solved side against this recorded trace (CSV or Parquet), replayed"
    )
    parser.add_argument("--recorded-robots", type=int, metavar="N", help="robots that made the trace")
    parser.add_argument("--processing-rate", type=float, metavar="X", help="content a unit of time, for the trace")
    parser.add_argument("--random", type=int, metavar="N", help="calibrate on N random scenarios instead")
    parser.add_argument(
        "--store",
        metavar="DIR",
        help="where finished scenarios of --random are kept, so that the same command goes on "
        "(default: .crawltwin/calibration)",
    )
    parser.add_argument("--workers", type=int, help="processes (default: one a core)")
    parser.add_argument("--cluster", metavar="ADDRESS", help="run on this Dask scheduler instead")
    parser.add_argument("--report", metavar="DIR", help="write report.html, report.md, report.json and pictures there")
    parser.add_argument("--all", action="store_true", help="show every number, not one row a measure")
    arguments.add_output(parser)


def run(options: argparse.Namespace) -> int:
    """Check, show, and say by the exit code whether anything differs."""
    if options.trace is not None:
        return _replay(options)
    if options.random is None:
        return _crosscheck(options)
    if options.scenarios:
        raise InputError("SCENARIO may not be given together with --random; got both")
    return _calibrate(options)


def _crosscheck(options: argparse.Namespace) -> int:
    from validate import ValidationPlan, crosscheck

    if not options.scenarios:
        raise InputError("SCENARIO must be at least one file; got none. `crawltwin example paper` writes one")
    scenarios = [_read(name, options.policy) for name in options.scenarios]
    plan = ValidationPlan(
        margin=0.005 if options.margin is None else options.margin,
        absolute_margin=options.absolute_margin,
        confidence=0.99 if options.confidence is None else options.confidence,
        power=options.power,
        budget=options.budget,
        pages=options.pages,
        seed=options.seed,
        replications=100 if options.replications is None else options.replications,
        engine=options.engine,
    )
    with progress("simulating", quiet=options.json) as update:
        results: tuple[CrossCheck, ...] = crosscheck(
            scenarios,
            plan,
            approach=not options.no_approach,
            workers=options.workers,
            cluster=options.cluster,
            progress=update,
        )
    different = any(result.verdict == "different" for result in results)
    answer = _answer(results)
    if options.report:
        from validate.report import write
        from validate.verdict_report import crosscheck_report

        _wrote(write(crosscheck_report(results, _command()), options.report))
    if options.out:
        save(options.out, to_json(answer))
    if options.json:
        print_json(answer)
    else:
        for result in results:
            _show(result, options.all)
    return 1 if different else 0


def _replay(options: argparse.Namespace) -> int:
    """The fitted model against the trace it was fitted to."""
    from simulate import RecordedTrace
    from validate import ValidationPlan
    from validate.replay import REPLAY_PLAN, replay_check

    if len(options.scenarios) != 1:
        raise InputError(f"--trace must come with exactly one SCENARIO; got {len(options.scenarios)}")
    plan = ValidationPlan(
        margin=REPLAY_PLAN.margin if options.margin is None else options.margin,
        absolute_margin=options.absolute_margin,
        confidence=REPLAY_PLAN.confidence if options.confidence is None else options.confidence,
        power=REPLAY_PLAN.power,
        seed=options.seed,
    )
    found = replay_check(
        _read(options.scenarios[0], options.policy),
        RecordedTrace.read(options.trace),
        plan,
        processing_rate=options.processing_rate,
        recorded_robots=options.recorded_robots,
    )
    answer = found.to_json()
    if options.out:
        save(options.out, to_json(answer))
    if options.json:
        print_json(answer)
    else:
        screen = console()
        screen.print(f"{found.scenario.title or 'untitled'} against its trace: {found.verdict}", style="bold")
        screen.print(_table([_row(one) for one in found.verdicts], "replayed"))
        for note in found.notes:
            screen.print(f"Note: {note}.", style="dim", markup=False)
    return 1 if found.verdict == "different" else 0


def _answer(results: tuple[CrossCheck, ...]) -> dict[str, Any]:
    """One scenario: its object. Several: a list of them, and the verdict over all."""
    if len(results) == 1:
        return results[0].to_json()
    words = {result.verdict for result in results}
    return {
        "verdict": "different" if "different" in words else words.pop() if len(words) == 1 else "inconclusive",
        "scenarios": [result.to_json() for result in results],
    }


def _read(name: str, policy: str | None) -> Scenario:
    return arguments.read_scenario(argparse.Namespace(scenario=name, policy=policy))


def _show(result: CrossCheck, everything: bool) -> None:
    screen = console()
    screen.print(f"{result.scenario.title or 'untitled'}: {result.verdict}", style="bold", markup=False)
    rows = []
    for measure in dict.fromkeys(one.comparison.measure for one in result.verdicts):
        found = result.of(measure)
        rows += [_row(one) for one in found] if everything or len(found) == 1 else [_summary(measure, found)]
    for time in dict.fromkeys(one.comparison.part for one in result.approach):
        found = tuple(one for one in result.approach if one.comparison.part == time)
        if everything:
            rows += [_row(one) for one in found]
        else:
            rows.append(_summary(f"from empty, {time}", found))
    screen.print(_table(rows))
    broken = [identity for identity in result.identities if not identity.holds]
    count = len(result.identities)
    screen.print(
        f"{count - len(broken)} of {count} exact identities hold. {result.pages:,} pages, "
        f"{result.plan.replications} replications, seed {result.plan.seed}, {result.seconds:.1f} s.",
        style="dim" if not broken else "bold",
        markup=False,
    )
    for note in result.notes:
        screen.print(f"Note: {note}.", style="dim", markup=False)


def _row(one: Verdict) -> tuple[str, ...]:
    found = one.comparison
    name = found.measure.replace("_", " ")
    return (
        f"{name}, {found.part}" if found.part else name,
        number(found.solved),
        number(found.simulated),
        number(found.margin, 2),
        one.needs,
    )


def _summary(name: str, verdicts: tuple[Verdict, ...]) -> tuple[str, ...]:
    """Several numbers in one row: how many of each verdict."""
    counts = {word: sum(one.word == word for one in verdicts) for word in ("equivalent", "different", "inconclusive")}
    words = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    missing = [one.more_pages for one in verdicts if one.more_pages is not None]
    if missing:
        words += f" (needs {max(missing):,} more pages)"
    return (f"{name.replace('_', ' ')}", "", "", "", words)


def _table(rows: list[tuple[str, ...]], other: str = "simulated") -> Table:
    columns = (
        ("measure", "left"),
        ("solved", "right"),
        (other, "right"),
        ("margin ±", "right"),
        ("verdict", "left"),
    )
    return table("", columns, rows)


def _calibrate(options: argparse.Namespace) -> int:
    from crawltwin.store import Store
    from validate.calibration import PAGES, REPLICATIONS, calibrate

    if options.replications is not None and options.replications != REPLICATIONS:
        raise InputError(f"--replications must be {REPLICATIONS} with --random; got {options.replications}")
    if options.random < 2:
        raise InputError(f"--random must be at least 2 scenarios; got {options.random}")
    with progress("calibrating", quiet=options.json) as update:
        result = calibrate(
            options.random,
            options.seed,
            pages=PAGES if options.pages is None else options.pages,
            engine=options.engine,
            workers=options.workers,
            cluster=options.cluster,
            store=Store(options.store or ".crawltwin/calibration"),
            progress=update,
        )
    if options.report:
        from validate.report import write
        from validate.verdict_report import calibration_report

        _wrote(write(calibration_report(result, _command()), options.report))
    for path in result.write_outliers(options.report or "."):
        print(f"wrote {path}", file=sys.stderr)
    answer = result.to_json()
    if options.out:
        save(options.out, to_json(answer))
    if options.json:
        print_json(answer)
    else:
        _show_calibration(result)
    return 0 if result.sound else 1


def _show_calibration(result: Calibration) -> None:
    screen = console()
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
    headings = ("scores of", "number", "mean", "sd", "p (A²)", "beyond 95%", "p (binomial)")
    columns = [(heading, "right" if index else "left") for index, heading in enumerate(headings)]
    word = "calibrated" if result.sound else "NOT calibrated"
    screen.print(table(f"{result.count} random scenarios of seed {result.seed}: {word}", columns, rows))
    screen.print(
        f"False alarms: {result.false_alarms} of {result.count}. Smallest p of all tests after Holm's correction: "
        f"{result.adjusted.min():.2g}. {result.pages:,} pages.",
        style="dim",
        markup=False,
    )
    for outlier in result.outliers:
        screen.print(
            f"Stands out: {outlier.measure} of scenario {outlier.index}, score {outlier.score:.2f}. See it again:\n"
            f"  {outlier.command}",
            markup=False,
        )
    for broken in result.broken:
        screen.print(f"Identity broken: {broken}.", style="bold", markup=False)


def _wrote(paths: tuple[Any, ...]) -> None:
    print(f"wrote {paths[-1]}", file=sys.stderr)


def _command() -> str:
    return "crawltwin " + shlex.join(sys.argv[1:])
