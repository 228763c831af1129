"""`crawltwin plan`: from a log to a decision."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from crawltwin.cli.options import add_json, add_log, add_reading, add_settings, add_workers, given
from crawltwin.cli.output import command_line, complain, plain_json, save, save_report, say, tell
from crawltwin.cli.terminal.progress_line import progress, step_line

if TYPE_CHECKING:
    from crawltwin.plan.config import PlanFile
    from crawltwin.plan.evidence.unsuitable import Unsuitable
    from crawltwin.plan.result import Plan
    from crawltwin.report import Report

EPILOG = """examples:
  crawltwin plan crawl.log --robots 4 --lose-at-most 1% --index-within 1h:95%
  crawltwin plan crawl.log --robots 4 --capacity 20 --service-mean 2s --obsolescence-mean 30min --report report/plan
  crawltwin plan crawl.log --ask                        asks for what is missing and writes plan.toml
  crawltwin plan crawl.log --config plan.toml --json
  crawltwin plan crawl.log --check report/plan          makes the report's plan again and compares everything
  crawltwin plan crawl.log --robots 4 --cost loss=500   weights instead of limits
  crawltwin plan one.log two.log four.log --robots-of one.log=1,two.log=2,four.log=4
  crawltwin plan crawl.log --robots 4 --urls 100000 --timeout 5min --backlog-limit 15
  crawltwin plan counts.json --robots 4 --service-mean 2s   counts per minute, from Prometheus for example
  crawltwin example trace --out demo.crawl.log          a log whose true model is known

Times are seconds, or have a unit: 100ms, 90s, 5min, 1h, 2d. What is not given is asked of the log or assumed, and the
answer lists it. --report DIR writes report.html, explore.html (move the weights and see which policy wins),
policy.json and snippets for crawlers. The first line is the verdict: TRUSTED, PROVISIONAL (numbers are missing) or NOT
TRUSTED (why); only the last has exit code 1.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from crawltwin.plan.settings import PlanSettings
    from fitting.choose.settings import FitOptions

    add_log(parser)
    parser.add_argument("--config", metavar="FILE", help="plan.toml with the same names as these options")
    add_settings(parser, PlanSettings)
    add_workers(parser, cluster=False)
    words = "read the files of the log on a running Dask scheduler, for example tcp://host:8786"
    parser.add_argument("--cluster", metavar="ADDRESS", help=words)
    add_reading(parser)
    add_settings(parser, FitOptions, without=("seed",))
    add_json(parser)
    parser.add_argument("--ask", action="store_true", help="ask for what is missing, write it to --config or plan.toml")
    words = "make an earlier report's plan again; compare every number, word and picture"
    parser.add_argument("--check", metavar="DIR", help=words)
    parser.add_argument("--out", metavar="FILE", help="write the scenario with the recommended policy there")
    parser.add_argument(
        "--policy", dest="policy_file", metavar="FILE", help="write the policy as a JSON table for a crawler there"
    )
    parser.add_argument("--report", metavar="DIR", help="write the report, the page to explore and the policy there")


def run(options: argparse.Namespace) -> int:
    """Plan and show."""
    from crawltwin.model import InputError, scenario_file
    from crawltwin.plan.config import PlanFile
    from crawltwin.plan.decide import Plan, plan
    from crawltwin.plan.earlier import POLICY, EarlierPlan, sources_of
    from crawltwin.plan.settings import PlanSettings
    from fitting import FitOptions, ReadOptions
    from fitting.robots.several import check_files, read_by_robots

    typed = {
        "settings": given(options, PlanSettings),
        "reading": given(options, ReadOptions),
        "fitting": {name: value for name, value in given(options, FitOptions).items() if name != "seed"},
    }
    if options.ask:
        from crawltwin.cli.terminal.plan_dialogue import ask

        unwritten = [name for name in ("check", "json", "out", "policy_file", "report") if getattr(options, name)]
        if unwritten:
            raise InputError(
                f"--ask must come without --{unwritten[0].removesuffix('_file')}: it writes the answers and makes no "
                "plan; got both. Answer first, then run the plan with --config"
            )
        path = options.config or "plan.toml"
        ask(PlanFile.read(path if Path(path).exists() else None, **typed), path, options.log)
        return 0
    earlier = pages = None
    if options.check is not None:
        from crawltwin.pages.checking.earlier_report import EarlierReport

        pages, earlier = EarlierReport.read(options.check), EarlierPlan.read(options.check)
    chosen_here = [name for values in typed.values() for name in values if name != "progress"]
    chosen_here += ["config"] if options.config else []
    if earlier is not None and chosen_here:
        raise InputError(
            f"--check must stand without settings and options of the plan; got {', '.join(chosen_here)}. They are "
            "those of the report"
        )
    said = PlanFile.read(options.config, **typed) if earlier is None else earlier.said
    # Where the progress log lies is no choice: whoever checks a report may keep it elsewhere.
    by_whom = {"workers": options.workers, "cluster": options.cluster}
    reading, chosen = ReadOptions(**{**said.reading, **typed["reading"], **by_whom}), dict(said.fitting)
    robots_of = chosen.pop("robots_of", None)
    with step_line(options) as steps:
        fitted = FitOptions(**chosen) if chosen else None
        log = options.log if robots_of is None else read_by_robots(check_files(options.log), robots_of, reading)
        found = plan(log, said.settings, reading=reading, options=fitted, workers=options.workers, tell=steps)
    read = found.fit.log if isinstance(found, Plan) else found.log
    sources = sources_of(options.log, read.format, reading, said.settings.urls)
    if options.report:
        with progress("writing the report", options):
            report, beside = _report(found, sources, said)
            save_report(report, options.report, beside)
    if isinstance(found, Plan):
        if options.out:
            as_json = str(options.out).lower().endswith(".json")
            save(options.out, scenario_file.dumps(found.scenario, json_text=as_json))
        if options.policy_file:
            save(options.policy_file, _exports(found)[POLICY])

    def show() -> None:
        from crawltwin.cli.tables.plan import show_plan, show_unsuitable

        show_plan(found) if isinstance(found, Plan) else show_unsuitable(found)
        if earlier is None and found.verdict.exit_code:
            say(f"Exit code {found.verdict.exit_code}: the plan is not trusted, for the reasons of the first line.")

    answer = found.to_json()
    differences = None
    if earlier is not None and pages is not None:
        policy = json.loads(_exports(found)[POLICY]) if isinstance(found, Plan) else None
        differences = earlier.differences(sources, plain_json(answer), policy)
        report, beside = _report(found, sources, said)
        if earlier.policy is not None:
            beside.pop(POLICY, None)
        differences += pages.differences(report, beside)
    if differences is not None:
        answer["differences"] = differences
    tell(options, answer, show)
    if differences is None:
        return found.verdict.exit_code
    complain(differences or ["the same plan as in the earlier report"])
    return 1 if differences else 0


def _exports(found: Plan) -> dict[str, str]:
    from crawltwin.plan.export import exports

    best = found.optimum.best
    schedule = None if found.day is None else found.day.by_part
    return exports(found.scenario, best.policy, best.cost, found.settings.fetches_per_robot, schedule)


def _report(found: Plan | Unsuitable, sources: dict[str, str], said: PlanFile) -> tuple[Report, dict[str, str]]:
    """The report, and the files beside it by their names."""
    from crawltwin.pages.plan import plan_report, unsuitable_report
    from crawltwin.plan.result import Plan

    if not isinstance(found, Plan):
        return unsuitable_report(found, command_line(), sources, said), {}
    from crawltwin.pages.explore import explore_page
    from crawltwin.plan.what_if.explored import explored_policies

    explored = explored_policies(
        found.optimum,
        found.settings,
        found.day,
        indexed_today=found.today.measures["arrival_rate"] * found.today.measures["success_probability"],
        two_readings=found.clock is not None and found.clock.both,
    )
    beside = _exports(found) | {"explore.html": explore_page(explored)}
    return plan_report(found, command_line(), sources, said), beside
