"""`crawltwin example NAME`: a ready scenario file."""

from __future__ import annotations

import argparse
import sys

from crawltwin.cli.output import save
from crawltwin.model import InputError, scenario_file
from crawltwin.model.examples import EXAMPLES, load

EPILOG = "examples:\n" + "\n".join(f"  {name:18s} {example.words}" for name, example in EXAMPLES.items())


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="which one; without it they are listed")
    parser.add_argument("--out", metavar="FILE", help="write there (.toml or .json) instead of to standard output")


def run(options: argparse.Namespace) -> int:
    """Write the scenario, with a comment that says what it is."""
    if options.name is None:
        if options.out:
            raise InputError(f"NAME must be given with --out; got none. One of {', '.join(EXAMPLES)}")
        print(EPILOG)
        return 0
    scenario = load(options.name)
    as_json = bool(options.out) and str(options.out).lower().endswith(".json")
    text = scenario_file.dumps(scenario, json_text=as_json)
    if not as_json:
        text = f"# {EXAMPLES[options.name].words}\n# crawltwin solve, optimize: see --help of each\n\n{text}"
    if options.out:
        save(options.out, text)
    else:
        sys.stdout.write(text)
    return 0
