"""`crawltwin example NAME`: a ready scenario file."""

from __future__ import annotations

import argparse
import sys

from crawltwin.cli.output import save
from crawltwin.model import InputError, scenario_file
from crawltwin.model.examples import EXAMPLES, load

TRACE = "trace"
_TRACE_WORDS = "no scenario but a log: 65,000 deliveries of a crawler whose true model is known, for crawltwin plan"
EPILOG = "examples:\n" + "\n".join(
    [f"  {name:18s} {example.words}" for name, example in EXAMPLES.items()] + [f"  {TRACE:18s} {_TRACE_WORDS}"]
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="which one; without it they are listed")
    parser.add_argument("--out", metavar="FILE", help="write there (.toml or .json) instead of to standard output")
    parser.add_argument("--seed", type=int, metavar="N", help="of the trace (default 1)")


def run(options: argparse.Namespace) -> int:
    """Write the scenario, with a comment that says what it is."""
    if options.name is None:
        if options.out:
            raise InputError(f"NAME must be given with --out; got none. One of {', '.join(EXAMPLES)}")
        print(EPILOG)
        return 0
    if options.name == TRACE:
        from crawltwin.plan.demo_trace import demo_log

        return _write(options.out, demo_log(1 if options.seed is None else options.seed))
    if options.seed is not None:
        raise InputError(f"--seed must come with the example {TRACE}; got {options.name!r}, which is not random")
    scenario = load(options.name)
    as_json = bool(options.out) and str(options.out).lower().endswith(".json")
    text = scenario_file.dumps(scenario, json_text=as_json)
    if not as_json:
        text = f"# {EXAMPLES[options.name].words}\n# crawltwin solve, optimize: see --help of each\n\n{text}"
    return _write(options.out, text)


def _write(path: str | None, text: str) -> int:
    if path:
        save(path, text)
    else:
        sys.stdout.write(text)
    return 0
