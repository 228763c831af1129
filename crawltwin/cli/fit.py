"""`crawltwin fit`: a raw log to a model, with every decision on the way."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from crawltwin.cli.options import add_json, add_log, add_reading, add_settings, add_workers, settings
from crawltwin.cli.output import command_line, save, save_report, tell
from crawltwin.cli.terminal.progress_line import step_line

if TYPE_CHECKING:
    from fitting import FitResult
    from fitting.choose.settings import ScenarioOptions

EPILOG = """examples:
  crawltwin fit crawl.log --out scenario.toml
  crawltwin fit crawl.log.2.gz crawl.log.1.gz crawl.log --report report/fit
  crawltwin fit day-*.log.gz --workers 4 --no-replay
  zcat access.log.gz | crawltwin fit - --agent Googlebot --json
  crawltwin fit times.csv --time-column fetched --pause 600 --batch-gap 0.05
  crawltwin fit counts.json --where __name__=crawler_pages_total   a range export of Prometheus
  crawltwin fit odd.log --pattern '^(?P<time>\\S+ \\S+) .* bytes=(?P<size>\\d+)'

The format is found from the content. Times in the scenario are seconds. Without a processing rate or a mean service
time, the service is as fast as keeps the indexer busy for 80% of its time, and the answer says so.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from fitting.choose.settings import FitOptions, ScenarioOptions

    add_log(parser)
    add_reading(parser)
    add_workers(parser)
    for kind in (FitOptions, ScenarioOptions):
        add_settings(parser, kind)
    parser.add_argument("--no-replay", action="store_true", help="do not replay the trace through a buffer")
    add_json(parser)
    parser.add_argument("--out", metavar="FILE", help="write the scenario there, TOML or (by its name) JSON")
    parser.add_argument("--report", metavar="DIR", help="write a report with pictures there")


def run(options: argparse.Namespace) -> int:
    """Fit, write what was asked for, and show."""
    from crawltwin.model import scenario_file
    from crawltwin.plan.steps import Steps
    from fitting import FitOptions, ReadOptions, fit
    from fitting.choose.settings import ScenarioOptions
    from fitting.readers import read_either

    chosen, wanted = settings(options, FitOptions), settings(options, ScenarioOptions)
    reading = settings(options, ReadOptions, workers=options.workers, cluster=options.cluster)
    with step_line(options) as line:
        steps = Steps(2 if options.no_replay else 3, line)
        # Handed over, not kept: `fit` lets go of what it needs no more.
        logs: list[Any] = [options.log]
        if chosen.robots_of is None:
            logs = [steps.run("reading", lambda: read_either(options.log, reading, steps.update))]
        else:
            steps.count -= 1
        result = steps.run("fitting", lambda: fit(logs.pop(), reading=reading, options=chosen, progress=steps.say))
        replayed = None
        if not (options.no_replay or result.counted):
            from validate.logs.losses import compare_losses

            replayed = steps.run(
                "replaying the trace through a buffer",
                lambda: compare_losses(result, capacity=wanted.capacity, seed=chosen.seed + 1),
            )
    scenario = result.scenario(**vars(wanted))
    answer = result.to_json()
    answer["scenario"] = scenario.to_mapping()
    answer["replay"] = None if replayed is None else replayed.to_json()
    assumed = _assumed(wanted, result)
    answer["warnings"] += assumed
    if options.report:
        from crawltwin.pages.fit import fit_report
        from crawltwin.plan.earlier import sources_of

        sources = sources_of(options.log, result.log.format, reading)
        save_report(fit_report(result, command_line(), replayed, sources), options.report)
    if options.out:
        as_json = str(options.out).endswith(".json")
        save(options.out, scenario_file.dumps(scenario, json_text=as_json))

    def show() -> None:
        from crawltwin.cli.tables.fit import show_fit

        show_fit(result, replayed, assumed)

    tell(options, answer, show)
    return 0


def _assumed(wanted: ScenarioOptions, result: FitResult) -> list[str]:
    words = []
    if wanted.processing_rate is None and wanted.service_mean is None:
        words.append(
            "the indexer's speed is not known: the scenario keeps it busy for 80% of its time; give "
            "--processing-rate or --service-mean"
        )
    if wanted.obsolescence_mean is None and result.obsolescence is None:
        words.append("nothing is known of how long pages stay fresh: in the scenario they never go stale")
    return words
