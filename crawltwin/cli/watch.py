"""`crawltwin watch`: follows a growing log: predicted against seen, alarms, a new policy when it is worth it."""

from __future__ import annotations

import argparse
import sys
import time

from crawltwin.cli.options import add_reading, add_settings, given, read_scenario, settings
from crawltwin.cli.output import number, visible

EPILOG = """examples:
  crawltwin watch crawl.log                                    the pace, a page on 127.0.0.1, alarms
  crawltwin watch crawl.log --metrics                          the same with gauges for Prometheus
  crawltwin watch crawl.log --scenario s.toml --policy p.json  writes a better policy when the pace has changed
  crawltwin watch crawl.log --once                             reads what is there and ends

The state is kept in LOG.watch (--state): killed at any moment, the watch goes on and counts nothing twice.
At most one false alarm in 30 days of stationary data, on average. Exit code 1 with --once after an alarm.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from crawltwin.live.watch.settings import UNHEEDED, WatchSettings

    parser.add_argument("log", metavar="LOG", nargs="+", help="files of one log that grow, with rotated predecessors")
    add_settings(parser, WatchSettings)
    parser.add_argument(
        "--scenario", metavar="FILE", help="the model, with policy and cost, as crawltwin fit writes it"
    )
    words = "where a better policy is written, whole, for a crawler that obeys it"
    parser.add_argument("--policy", dest="policy_file", metavar="FILE", help=words)
    parser.add_argument("--metrics", action="store_true", help="serve gauges at /metrics beside the page")
    parser.add_argument("--state", metavar="FILE", help="where the watch keeps its state (default: LOG.watch)")
    parser.add_argument("--once", action="store_true", help="read what is there and end, without a page")
    parser.add_argument("--json", action="store_true", help="with --once: one JSON object on standard output")
    add_reading(parser, hidden=UNHEEDED)


def run(options: argparse.Namespace) -> int:
    """Watch until interrupted, or once."""
    from crawltwin.live.watch.settings import WatchSettings, check_heeded
    from crawltwin.live.watch.watcher import Watcher
    from fitting.readers.settings import ReadOptions

    check_heeded(given(options, ReadOptions))

    def tell(words: str) -> None:
        print(visible(words), file=sys.stderr)

    scenario = read_scenario(options.scenario) if options.scenario else None
    watcher = Watcher(
        options.log,
        settings(options, WatchSettings),
        options.state or f"{options.log[0]}.watch",
        scenario,
        options.policy_file,
        settings(options, ReadOptions),
        tell,
    )
    if options.once:
        watcher.look(final=True)
        _show(watcher.summary(), options.json)
        return 1 if watcher.monitor.alarms else 0
    from crawltwin.live.watch.server import Server

    # The page shows what the last look found: the account changes while a look lasts.
    shown = watcher.summary()
    with Server(lambda: shown, watcher.settings.port, options.metrics) as server:
        tell(f"the page is at {server.address}")
        while True:
            watcher.look()
            shown = watcher.summary()
            _line(shown)
            time.sleep(watcher.settings.poll)


def _line(summary: dict[str, object]) -> None:
    """One line for the terminal, written over the last one."""
    if not sys.stderr.isatty():
        return
    pace, expected = (number(summary[key]) for key in ("pace", "expected_pace"))  # type: ignore[arg-type]
    text = f"{summary['deliveries']} pages, {pace} per second (model {expected}), backlog {summary['level']}"
    print(f"\r\x1b[K{visible(text)}", end="", file=sys.stderr)


def _show(summary: dict[str, object], as_json: bool) -> None:
    from crawltwin.cli.output import say, to_json

    if as_json:
        sys.stdout.write(to_json(summary))
        return
    for name, value in summary.items():
        say(f"{name.replace('_', ' ')}: {value}")
