"""`crawltwin live demo`: a real crawl, predicted, run and judged; `live arena`: a record under several rules."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from crawltwin.cli.options import add_output, add_settings, settings
from crawltwin.cli.output import command_line, hand_out, save_report, visible
from crawltwin.cli.terminal.progress_line import progress
from crawltwin.model.errors import InputError

if TYPE_CHECKING:
    from crawltwin.live.demo.settings import DemoSettings

EPILOG = """examples:
  crawltwin live demo --report live              ten minutes: six crawls of a site on 127.0.0.1, and a page
  crawltwin live demo --minutes 30               longer crawls, narrower intervals
  crawltwin live demo --keep records             keep the records, for crawltwin fit records/crawl-0.jsonl
  crawltwin live arena records/crawl-0.jsonl     the same crawl under other rules of control: who is best, by how much
  crawltwin live arena records/crawl-0.jsonl --report arena    the same with a page

The first crawl runs four robots. A model is fitted to its record, five policies are predicted, then run.
Exit code 1 when a prediction of mean pages, stale share or active robots is different. Needs crawltwin[live].
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from crawltwin.live.demo.settings import DemoSettings

    parser.add_argument("what", choices=("demo", "arena"), help="the demonstration, or a record under several rules")
    parser.add_argument("record", metavar="RECORD", nargs="?", help="arena: the record of a crawl")
    add_settings(parser, DemoSettings)
    parser.add_argument("--keep", metavar="DIR", help="keep the records of the crawls there")
    add_output(parser, report="report.html, report.md, report.json and pictures")


def run(options: argparse.Namespace) -> int:
    """Crawl, show, and say by the exit code whether a prediction was wrong."""
    from crawltwin.live.demo.settings import DemoSettings

    chosen = settings(options, DemoSettings)
    if options.what == "arena":
        return _arena(options, chosen)
    if options.record is not None:
        raise InputError(f"RECORD may not be given with demo; got {options.record!r}")
    return _demo(options, chosen)


def _demo(options: argparse.Namespace, chosen: DemoSettings) -> int:
    from crawltwin.live.demo.demonstration import check_crawler, demonstrate

    check_crawler()

    def tell(words: str) -> None:
        print(visible(words), file=sys.stderr)

    with progress("crawling", options) as update:
        found = demonstrate(chosen, update, tell, keep=options.keep)
    if options.report:
        from crawltwin.pages.live_crawl.demonstration import live_report

        save_report(live_report(found, command_line()), options.report)

    def show() -> None:
        from crawltwin.cli.tables.live import show_demonstration

        show_demonstration(found)

    hand_out(options, found.to_json(), show)
    return 1 if found.verdict == "different" else 0


def _arena(options: argparse.Namespace, chosen: DemoSettings) -> int:
    """One record under several rules, with the same random numbers."""
    from crawltwin.live.arena.standings import contest, contestants
    from crawltwin.live.demo.fitted import fit_record
    from crawltwin.live.demo.predictions import recommend
    from crawltwin.live.demo.settings import WEIGHTS
    from crawltwin.live.record import Record

    if options.record is None:
        raise InputError("RECORD must be given with arena; got none. `crawltwin live demo --keep DIR` writes some")
    record = Record.read(options.record)
    fitted = fit_record(record)
    policy = recommend(fitted, WEIGHTS)
    standings = contest(record, fitted, contestants(fitted, policy), WEIGHTS, chosen.seed, chosen.confidence)
    if options.report:
        from crawltwin.pages.live_crawl.arena import arena_report

        scenario = fitted.scenario(policy, WEIGHTS)
        save_report(arena_report(standings, fitted, scenario, chosen.seed, command_line()), options.report)
    answer = {"policy": policy.to_mapping(), "standings": [one.to_json() for one in standings]}

    def show() -> None:
        from crawltwin.cli.tables.live import show_standings

        show_standings(standings)

    hand_out(options, answer, show)
    return 0
