"""`crawltwin validate`: the solved side against the simulated one, with a verdict for each number."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crawltwin.cli.options import (
    add_output,
    add_policy,
    add_settings,
    add_workers,
    check_heeded,
    given,
    read_scenario,
    real,
    whole,
)
from crawltwin.cli.output import command_line, hand_out, save_report, visible
from crawltwin.cli.terminal.progress_line import progress
from crawltwin.model.errors import InputError

if TYPE_CHECKING:
    from validate import CrossCheck

EPILOG = """examples:
  crawltwin validate paper.toml                          every number to 0.5% with 99% confidence
  crawltwin validate paper.toml --margin 0.02            a quick look
  crawltwin validate a.toml b.toml --report verdicts     several at once, one family, a page to keep
  crawltwin validate --random 200 --seed 1               calibration on random crawlers; goes on when interrupted
  crawltwin validate --random 200 --family features      the same beyond the paper: indexers, hysteresis, fetching ...
  crawltwin validate fitted.toml --trace batches.csv     a fitted model against the trace it was fitted to

verdicts: equivalent (the difference is below the margin), different (not the same number),
inconclusive (needs more pages). Exit code 1 when anything is different.
"""

OF_TRACE = ("trace", "recorded_robots", "processing_rate")
_OF_TRACE_PLAN = ("margin", "absolute_margin", "confidence", "seed")
_OF_RANDOM = ("random", "family", "store", "report", "workers", "cluster", "replications", "pages", "engine", "seed")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from validate.plan import ValidationPlan

    parser.add_argument("scenarios", metavar="SCENARIO", nargs="*", help="scenario files; - is standard input")
    add_policy(parser)
    add_settings(parser, ValidationPlan)
    parser.add_argument("--no-approach", action="store_true", help="leave out the approach to equilibrium")
    parser.add_argument(
        "--trace", metavar="FILE", help="the solved side against this recorded trace (CSV or Parquet), replayed"
    )
    parser.add_argument("--recorded-robots", type=whole, metavar="N", help="robots that made the trace")
    parser.add_argument(
        "--processing-rate", type=real, metavar="X", help="content indexed per unit of time, for the trace"
    )
    parser.add_argument("--random", type=whole, metavar="N", help="calibrate on N random scenarios instead")
    parser.add_argument(
        "--family",
        choices=("paper", "features"),
        default="paper",
        help="which random scenarios: as in the paper (default), or with several indexers, hysteresis, polling "
        "and robots that finish their fetch",
    )
    parser.add_argument(
        "--store",
        metavar="DIR",
        help="where finished scenarios of --random are kept, so that the same command goes on "
        "(default: .crawltwin/calibration)",
    )
    add_workers(parser)
    parser.add_argument("--all", action="store_true", help="show every number, not one row for each measure")
    add_output(parser, report="report.html, report.md, report.json and pictures")


def run(options: argparse.Namespace) -> int:
    """Check, show, and say by the exit code whether anything differs."""
    if options.trace is not None:
        check_heeded(options, add_arguments, "--trace", ("scenarios", "policy", *OF_TRACE, *_OF_TRACE_PLAN))
        return _replay(options)
    if options.random is None:
        idle = [name for name in OF_TRACE[1:] if getattr(options, name) is not None]
        if idle:
            raise InputError(f"--{idle[0].replace('_', '-')} must come with --trace FILE; got none")
        if options.store or options.family != "paper":
            raise InputError(f"--{'store' if options.store else 'family'} must come with --random N; got none")
        return _crosscheck(options)
    if options.scenarios:
        raise InputError("SCENARIO may not be given together with --random; got both")
    check_heeded(options, add_arguments, "--random", ("scenarios", *_OF_RANDOM))
    return _calibrate(options)


def _crosscheck(options: argparse.Namespace) -> int:
    from validate import ValidationPlan, crosscheck

    if not options.scenarios:
        raise InputError("SCENARIO must be at least one file; got none. `crawltwin example paper` writes one")
    scenarios = [read_scenario(name, options.policy) for name in options.scenarios]
    plan = ValidationPlan(**given(options, ValidationPlan))
    with progress("simulating", options) as update:
        results: tuple[CrossCheck, ...] = crosscheck(
            scenarios,
            plan,
            approach=not options.no_approach,
            workers=options.workers,
            cluster=options.cluster,
            progress=update,
        )
    if options.report:
        from crawltwin.pages.crosscheck import crosscheck_report

        save_report(crosscheck_report(results, command_line()), options.report)

    def show() -> None:
        from crawltwin.cli.tables.validate import show_crosscheck

        for result in results:
            show_crosscheck(result, options.all)

    hand_out(options, _answer(results), show)
    return 1 if any(result.verdict == "different" for result in results) else 0


def _answer(results: tuple[CrossCheck, ...]) -> dict[str, Any]:
    """One scenario: its object. Several: a list of them, and the verdict over all."""
    if len(results) == 1:
        return results[0].to_json()
    words = {result.verdict for result in results}
    return {
        "verdict": "different" if "different" in words else words.pop() if len(words) == 1 else "inconclusive",
        "scenarios": [result.to_json() for result in results],
    }


def _replay(options: argparse.Namespace) -> int:
    """The fitted model against the trace it was fitted to."""
    from simulate import RecordedTrace
    from validate import ValidationPlan
    from validate.logs.agreement import LOG_PLAN, compare_log

    if len(options.scenarios) != 1:
        raise InputError(f"--trace must come with exactly one SCENARIO; got {len(options.scenarios)}")
    chosen = {"absolute_margin": None} | given(options, ValidationPlan)
    found = compare_log(
        read_scenario(options.scenarios[0], options.policy),
        RecordedTrace.read(options.trace),
        replace(LOG_PLAN, **{name: chosen[name] for name in _OF_TRACE_PLAN if name in chosen}),
        processing_rate=options.processing_rate,
        recorded_robots=options.recorded_robots,
    )

    def show() -> None:
        from crawltwin.cli.tables.validate import show_replay

        show_replay(found)

    hand_out(options, found.to_json(), show)
    return 1 if found.verdict == "different" else 0


def _calibrate(options: argparse.Namespace) -> int:
    from crawltwin.work.store import Store
    from validate import ValidationPlan
    from validate.calibration import PAGES, REPLICATIONS, calibrate

    if options.replications is not None and options.replications != REPLICATIONS:
        raise InputError(f"--replications must be {REPLICATIONS} with --random; got {options.replications}")
    if options.random < 2:
        raise InputError(f"--random must be at least 2 scenarios; got {options.random}")
    plan = ValidationPlan(**given(options, ValidationPlan))
    with progress("calibrating", options) as update:
        result = calibrate(
            options.random,
            (plan.seed, options.family),
            pages=PAGES if plan.pages is None else plan.pages,
            engine=plan.engine,
            workers=options.workers,
            cluster=options.cluster,
            store=Store(options.store or ".crawltwin/calibration"),
            progress=update,
        )
    if options.report:
        from crawltwin.pages.calibration import calibration_report

        save_report(calibration_report(result, command_line()), options.report)
    for path in result.write_outliers(options.report or "."):
        print(f"wrote {visible(path)}", file=sys.stderr)

    def show() -> None:
        from crawltwin.cli.tables.validate import show_calibration

        show_calibration(result)

    hand_out(options, result.to_json(), show)
    return 0 if result.sound else 1
