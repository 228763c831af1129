"""`crawltwin plan`: from a log to a decision."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from crawltwin.cli.output import complain, console, number, print_json, save, table

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawltwin.plan.decide import Plan
    from crawltwin.plan.settings import PlanSettings
    from crawltwin.plan.unsuitable import Unsuitable
    from fitting import RawLog

EPILOG = """examples:
  crawltwin plan crawl.log --robots 4 --capacity 20
  crawltwin plan crawl.log --robots 4 --capacity 20 --processing-rate 6000 --obsolescence-mean 2000 \\
      --cost loss=200,obsolescence=250,response=3,robots=20,starvation=600 --report report/plan
  crawltwin plan crawl.log --config plan.toml --json
  crawltwin plan crawl.log --robots 4 --urls 100000 --timeout 300 --backlog-limit 15 --backlog-time 3600
  crawltwin example trace --out demo.crawl.log          a log whose true model is known

Times are seconds. What is not given is asked of the log or assumed, and the answer lists it. --report DIR writes
report.html, explore.html (move the weights and see which policy wins), policy.json and snippets for crawlers.
Exit code 1: the log allows no plan, or the checks speak against the model.
"""

_OPTIONS: tuple[tuple[str, type, str, str], ...] = (
    ("robots", int, "N", "robots that wrote the log, and the most that may run (default 1)"),
    ("robots-in-log", int, "N", "if another number of robots wrote the log"),
    ("capacity", int, "K", "pages that the system holds, the one being indexed included (default 20)"),
    ("processing-rate", float, "BYTES", "bytes indexed a second: content sizes become indexing times"),
    ("service-mean", float, "SECONDS", "mean indexing time, instead of a processing rate"),
    ("obsolescence-mean", float, "SECONDS", "mean time until a waiting page is stale"),
    ("urls", int, "N", "a finite list of URLs: how long until it is done?"),
    ("timeout", float, "SECONDS", "how many pages spend longer than this in the system?"),
    ("backlog-limit", int, "PAGES", "how likely are more pages than this in the system (default: a full system)"),
    ("backlog-time", float, "SECONDS", "... within this time (default 3600)?"),
    ("redraws", int, "N", "resampled traces behind the statements of uncertainty (default 60; 0: none)"),
    ("margin", float, "SHARE", "of the cross-check by simulation (default 0.05)"),
    ("budget", int, "PAGES", "that it may simulate (default 10,000,000)"),
    ("seed", int, "N", "seed of everything random (default 1)"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from crawltwin.model import ADMISSIONS
    from crawltwin.plan.settings import CONTROLS
    from fitting import NAMES

    parser.add_argument("log", metavar="LOG", nargs="+", help="files of one log, plain or packed; - is standard input")
    parser.add_argument("--config", metavar="FILE", help="plan.toml with the same names as these options")
    for name, kind, metavar, words in _OPTIONS:
        parser.add_argument(f"--{name}", type=kind, metavar=metavar, help=words)
    parser.add_argument(
        "--cost", metavar="NAME=W,...", help="weights of loss, obsolescence, response, robots, starvation"
    )
    parser.add_argument("--admission", choices=ADMISSIONS, help="what happens to a batch that does not fit")
    parser.add_argument("--control", choices=CONTROLS, help="what fewer robots bring (default: thinned)")
    parser.add_argument("--no-what-if", dest="what_if", action="store_false", default=None, help="skip the sweeps")
    parser.add_argument("--workers", type=int, metavar="N", help="processes (default: every core)")
    parser.add_argument("--format", choices=NAMES, help="the log's format, if it should not be found")
    parser.add_argument("--timezone", metavar="NAME", help="zone of times that name none, for example Europe/Paris")
    parser.add_argument("--pause", type=float, metavar="SECONDS", help="longer gaps are pauses (default: found)")
    parser.add_argument("--batch-gap", type=float, metavar="SECONDS", help="shorter gaps join pages (default: found)")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output, nothing else")
    parser.add_argument("--out", metavar="FILE", help="write the scenario with the recommended policy there")
    parser.add_argument("--policy", metavar="FILE", help="write the policy as a JSON table for a crawler there")
    parser.add_argument("--report", metavar="DIR", help="write the report, the page to explore and the policy there")


def run(options: argparse.Namespace) -> int:
    """Plan and show."""
    from crawltwin.model import scenario_file
    from crawltwin.plan.decide import Plan, plan
    from fitting import FitOptions

    settings = _settings(options)
    tell = _telling(options)
    raw = _read(options)
    found = plan(
        raw,
        settings,
        options=FitOptions(pause=options.pause, batch_gap=options.batch_gap),
        workers=options.workers,
        tell=tell,
    )
    if options.report:
        _write_report(options.report, found)
    if isinstance(found, Plan):
        if options.out:
            as_json = str(options.out).lower().endswith(".json")
            save(options.out, scenario_file.dumps(found.scenario, json_text=as_json))
        if options.policy:
            from crawltwin.plan.export import exports

            save(
                options.policy,
                exports(found.scenario, found.optimum.best.policy, found.optimum.best.cost)["policy.json"],
            )
    if options.json:
        print_json(found.to_json())
    elif isinstance(found, Plan):
        _show(found)
    else:
        _show_unsuitable(found)
    return 0 if isinstance(found, Plan) and found.trusted else 1


def _settings(options: argparse.Namespace) -> PlanSettings:
    from crawltwin.plan.settings import read_cost, read_settings

    given = {name.replace("-", "_"): getattr(options, name.replace("-", "_")) for name, *_ in _OPTIONS}
    given |= {name: getattr(options, name) for name in ("admission", "control", "what_if")}
    given["cost"] = None if options.cost is None else read_cost(options.cost)
    return read_settings(options.config, given)


def _read(options: argparse.Namespace) -> RawLog:
    from fitting import read_log

    return read_log(options.log, log_format=options.format, timezone=options.timezone)


def _telling(options: argparse.Namespace) -> Callable[[str], None]:
    screen = console(error=True)

    def tell(words: str) -> None:
        if not options.json and screen.is_terminal:
            screen.print(words, style="dim", markup=False)

    return tell


def _write_report(directory: str, found: Plan | Unsuitable) -> None:
    from crawltwin.model.files import write_whole
    from crawltwin.plan.decide import Plan
    from crawltwin.plan.report import plan_report, unsuitable_report
    from validate.report import write

    command = "crawltwin " + shlex.join(sys.argv[1:]) if len(sys.argv) > 1 else "crawltwin plan"
    if isinstance(found, Plan):
        from crawltwin.plan.explore import explore_page
        from crawltwin.plan.export import exports

        files = exports(found.scenario, found.optimum.best.policy, found.optimum.best.cost)
        files["explore.html"] = explore_page(found.optimum)
        paths = write(plan_report(found, command), directory)
        for name, text in files.items():
            write_whole(Path(directory) / name, text)
    else:
        paths = write(unsuitable_report(found, command), directory)
    complain([f"wrote {paths[-1]}"])


def _show(found: Plan) -> None:
    screen, best = console(), found.optimum.best
    screen.print(best.policy.in_words(found.scenario.capacity), style="bold", markup=False)
    measures = found.solution.measures
    screen.print(
        f"Cost {number(best.cost)}, {found.optimum.profit:.1f}% below the best fixed number of robots. Lost "
        f"{measures['loss_probability']:.3%}, stale {measures['obsolescence_probability']:.3%}, "
        f"{number(measures['mean_sojourn_served'], 4)} s in the system, indexer idle "
        f"{measures['starvation_probability']:.1%}.",
        markup=False,
    )
    if found.certificate is not None:
        screen.print(found.certificate.in_words(), markup=False)
    if found.doubt is not None:
        for sentence in found.doubt.in_words(found.policy):
            screen.print(sentence.replace("**", "").replace("`", ""), markup=False)
        spread = found.doubt.cost
        screen.print(f"Cost, 95%: {number(spread.low, 5)} to {number(spread.high, 5)}.", markup=False)
    if found.check is not None:
        screen.print(f"Solved against simulated: {found.check.verdict}.", markup=False)
    if found.replay is not None:
        rows = [
            (
                one.measure,
                number(one.mean, 4),
                f"{number(one.low, 4)} to {number(one.high, 4)}",
                number(one.replayed, 4),
                "yes" if one.inside else "NO",
            )
            for one in found.replay.predictions
        ]
        heads = (
            ("measure", "left"),
            ("predicted", "right"),
            ("95%", "right"),
            ("replayed", "right"),
            ("inside", "left"),
        )
        screen.print(table("the log replayed under this policy", heads, rows))
    rows2 = [(one.name, one.value, one.source, one.words) for one in found.inputs]
    columns = (("input", "left"), ("value", "left"), ("origin", "left"), ("", "left"))
    screen.print(table("what this rests on", columns, rows2))
    for words in found.remarks:
        screen.print(words, style="bold", markup=False)
    for words in found.missing:
        screen.print(f"Left out: {words}", style="bold", markup=False)
    for words in found.fit.warnings:
        screen.print(f"Warning: {words}.", style="bold", markup=False)


def _show_unsuitable(found: Unsuitable) -> None:
    screen = console()
    screen.print("This log allows no plan.", style="bold", markup=False)
    screen.print(found.reason, markup=False)
    for heading, sentences in (
        ("What can be concluded", found.can),
        ("What cannot", found.cannot),
        ("What would help", found.instead),
    ):
        screen.print(heading, style="bold", markup=False)
        for sentence in sentences:
            screen.print(f"- {sentence}", markup=False)
