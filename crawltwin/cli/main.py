"""`crawltwin`: finds the command, runs it, turns errors into words and exit codes.

Exit codes: 0 done, 1 a verdict failed, 2 the input was wrong, 3 a numerical method did not converge.

Only the module of the command that is asked for is imported, so that `crawltwin --help` answers at once.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import crawltwin
from crawltwin.cli.output import complain


class Command(Protocol):
    """What each command's module offers."""

    EPILOG: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""

    def run(self, options: argparse.Namespace) -> int:
        """Do the work; return the exit code."""


@dataclass(frozen=True)
class Entry:
    """A command's line in the help, and where its code is."""

    module: str
    help: str


COMMANDS: dict[str, Entry] = {
    "example": Entry("crawltwin.cli.example", "write a ready scenario file, to have something to run at once"),
    "solve": Entry("crawltwin.cli.solve", "stationary measures of a scenario, solved exactly"),
    "simulate": Entry("crawltwin.cli.simulate", "simulated measures with intervals, event by event"),
    "optimize": Entry("crawltwin.cli.optimize", "the best thresholds for every set of robots"),
    "validate": Entry("crawltwin.cli.validate", "the solved side against the simulated one, a verdict for each number"),
    "plan": Entry("crawltwin.cli.plan", "from a log to a decision: how many robots at which backlog, and how sure"),
    "sweep": Entry("crawltwin.cli.sweep", "measures and best policies over a grid: what if ...?"),
    "reproduce": Entry("crawltwin.cli.reproduce", "every table and figure of the founding paper, against the print"),
    "fit": Entry("crawltwin.cli.fit", "a raw crawler log to a model, with goodness of fit and a scenario"),
}

_EPILOG = """a first walk:
  crawltwin example paper --out paper.toml    the founding paper's first example
  crawltwin solve paper.toml                  every measure, exact
  crawltwin optimize paper.toml               how many robots at which backlog

exit codes: 0 done, 1 a verdict failed, 2 the input was wrong, 3 a method did not converge
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    asked = next((word for word in words if not word.startswith("-")), None)
    parser = argparse.ArgumentParser(
        prog="crawltwin",
        description="One crawler, two models of it: solved as a Markov chain and run as an event simulation, "
        "each the proof of the other.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"crawltwin {crawltwin.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    loaded: Command | None = None
    for name, entry in COMMANDS.items():
        own = commands.add_parser(
            name,
            help=entry.help,
            description=entry.help[0].upper() + entry.help[1:] + ".",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name == asked:
            loaded = cast("Command", importlib.import_module(entry.module))
            own.epilog = loaded.EPILOG
            loaded.add_arguments(own)
    options = parser.parse_args(words)
    assert loaded is not None
    return _guarded(loaded, options)


def _guarded(command: Command, options: argparse.Namespace) -> int:
    from crawltwin.model.errors import ConvergenceError, InputError

    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that knows no Greek gets escapes instead of an error.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        _check_outputs(options)
        code = command.run(options)
        sys.stdout.flush()
        return code
    except InputError as error:
        complain(error.faults)
        return 2
    except ConvergenceError as error:
        complain([error])
        return 3
    except KeyboardInterrupt:
        complain(["interrupted; nothing was written"])
        return 130
    except BrokenPipeError:
        # The reader went away (`| head`): leave without a word, and without a second error at shutdown.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _check_outputs(options: argparse.Namespace) -> None:
    """Refuse output files that cannot be written before the work begins, so that none is written without the others."""
    from crawltwin.model.errors import InputError
    from crawltwin.model.files import check_writable

    files = [path for path in (getattr(options, "out", None), getattr(options, "write", None)) if path]
    for path in files:
        check_writable(path)
    if len({os.path.realpath(path) for path in files}) < len(files):
        raise InputError(f"--out and --write must be two files; got {files[0]!r} for both")


def run() -> None:
    """Console script."""
    sys.exit(main())
