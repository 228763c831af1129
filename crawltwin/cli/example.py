"""`crawltwin example NAME`: a ready scenario file."""

from __future__ import annotations

import argparse
import sys

from crawltwin.cli.options import whole
from crawltwin.cli.output import save
from crawltwin.model.errors import InputError

TRACES = {
    "trace": "no scenario but a log: 65,000 deliveries of a crawler whose true model is known, for crawltwin plan",
    "daily-trace": "a log as well: ten days of a crawler of news, busy by day and quiet at night",
}
TRACE_SEED = 1
TRACE_PAGES = 65_000
FEWEST_PAGES, MOST_PAGES = 100, 10_000_000
EPILOG = """examples:
  crawltwin example                               the list of all
  crawltwin example paper --out paper.toml        the founding paper's first example
  crawltwin example trace --out demo.crawl.log    no scenario but a log, for crawltwin plan
  crawltwin example trace --pages 3000            the same crawler, seen for a shorter time
  crawltwin example daily-trace --out news.log    one whose pace follows the time of day
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="which one; without it they are listed")
    parser.add_argument("--out", metavar="FILE", help="write there (.toml or .json) instead of to standard output")
    parser.add_argument("--seed", type=whole, metavar="N", help=f"seed of a trace (default: {TRACE_SEED})")
    parser.add_argument("--pages", type=whole, metavar="N", help=f"pages of the trace (default: {TRACE_PAGES:,})")


def names() -> tuple[str, ...]:
    """What there is, for those who ask and for shells that complete words."""
    from crawltwin.model.examples import EXAMPLES

    return (*EXAMPLES, *TRACES)


def run(options: argparse.Namespace) -> int:
    """Write the scenario, with a comment that says what it is."""
    from crawltwin.model import scenario_file
    from crawltwin.model.examples import EXAMPLES, load
    from crawltwin.model.sections.keys import nearest

    if options.name is None:
        if options.out:
            raise InputError(f"NAME must be given with --out; got none. One of {', '.join(names())}")
        words = {name: example.words for name, example in EXAMPLES.items()} | TRACES
        print("examples:", *(f"  {name:18s} {text}" for name, text in words.items()), sep="\n")
        return 0
    if options.name in TRACES:
        return _write(options.out, _trace(options.name, _seed(options.seed), _pages(options)))
    if options.name not in EXAMPLES:
        wrong = f"the example must be one of {', '.join(names())}; got {options.name!r}"
        raise InputError.at("", wrong, nearest(options.name, names()))
    _pages(options)
    if options.seed is not None:
        raise InputError(f"--seed must come with one of {', '.join(TRACES)}; got {options.name!r}, which is not random")
    scenario = load(options.name)
    as_json = bool(options.out) and str(options.out).lower().endswith(".json")
    text = scenario_file.dumps(scenario, json_text=as_json)
    if not as_json:
        text = f"# {EXAMPLES[options.name].words}\n# crawltwin solve, optimize: see --help of each\n\n{text}"
    return _write(options.out, text)


def _trace(name: str, seed: int, pages: int) -> str:
    """A made log."""
    if name == "daily-trace":
        from crawltwin.plan.day.demo_day import day_log

        return day_log(seed)
    from crawltwin.plan.demo_trace import demo_log

    return demo_log(seed, pages)


def _pages(options: argparse.Namespace) -> int:
    if options.pages is not None and options.name != "trace":
        raise InputError(f"--pages must come with trace; got {options.name!r}, whose length is its own")
    if options.pages is not None and not FEWEST_PAGES <= options.pages <= MOST_PAGES:
        raise InputError(f"--pages must be from {FEWEST_PAGES} to {MOST_PAGES:,}; got {options.pages:,}")
    return TRACE_PAGES if options.pages is None else int(options.pages)


def _seed(given: int | None) -> int:
    if given is not None and given < 0:
        raise InputError(f"--seed must be at least 0; got {given}")
    return TRACE_SEED if given is None else given


def _write(path: str | None, text: str) -> int:
    if path:
        save(path, text)
    else:
        sys.stdout.write(text)
    return 0
