"""`crawltwin`: finds the command, runs it, turns errors into words and exit codes.

Exit codes: 0 done, 1 a verdict failed, 2 the input was wrong, 3 a numerical method did not converge, 130 interrupted.

Only the module of the command that is asked for is imported, so that `crawltwin --help` answers at once. A command is a
module of this package with ``EPILOG``, ``add_arguments(parser)`` and ``run(options)``, which returns the exit code.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from contextlib import contextmanager
from importlib import import_module

import crawltwin
from crawltwin.cli.output import complain, visible
from crawltwin.cli.terminal.help_layout import HelpLayout

TYPE_CHECKING = False  # what `typing` would say: help is shown without loading it
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import ModuleType
    from typing import NoReturn

COMMANDS = {
    "example": "write a ready scenario file, to have something to run at once",
    "solve": "stationary measures of a scenario, solved exactly",
    "simulate": "simulated measures with intervals, event by event",
    "optimize": "the best thresholds for every set of robots",
    "validate": "the solved side against the simulated one, a verdict for each number",
    "plan": "from a log to a decision: how many robots at which backlog, and how sure",
    "sweep": "measures and best policies over a grid: what changes if this or that does",
    "reproduce": "every table and figure of the founding paper, against the print",
    "live": "a real crawl on this machine, predicted, run and judged",
    "watch": "a growing log: predicted against seen, alarms, a new policy when it is worth it",
    "fit": "a raw crawler log to a model, with goodness of fit and a scenario",
}
"""Each command with its line in the help; `crawltwin.cli.NAME` is its module."""

OUTPUT_FILES = ("out", "write", "records", "timeline", "picture", "policy_file")
OUTPUT_FOLDERS = ("report", "resume", "store", "keep")
"""Options of any command that name what is written."""

_WORDS = (
    "One crawler, two models of it: solved as a Markov chain and run as an event simulation, each the proof of the "
    "other."
)
_EPILOG = """a first walk:
  crawltwin example paper --out paper.toml    the founding paper's first example
  crawltwin solve paper.toml                  every measure, exact
  crawltwin optimize paper.toml               how many robots at which backlog

exit codes: 0 done, 1 a verdict failed, 2 the input was wrong, 3 a method did not converge, 130 interrupted
"""


class Parser(argparse.ArgumentParser):
    """A parser whose complaints name what was meant, and show control characters instead of sending them."""

    asked: argparse.ArgumentParser | None = None
    """The parser of the command that was asked for."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and what was meant where a name is near, and leave with exit code 2."""
        from crawltwin.cli.terminal.near_names import meant

        options = [word for parser in (self, self.asked) if parser for word in parser._option_string_actions]
        super().error(visible(message + meant(message, options)))


class _Completion(argparse.Action):
    """Print the script with which a shell completes words, and leave."""

    def __call__(self, parser: argparse.ArgumentParser, *words: object, **_: object) -> None:
        """The shell's name is the second of the words."""
        from crawltwin.cli.terminal.completion import completion_script

        sys.stdout.write(completion_script(str(words[1]), COMMANDS))
        parser.exit()


def _layout(prog: str) -> argparse.HelpFormatter:
    """The layout of help; the width is found without the library that argparse would load for it."""
    try:
        columns = int(os.environ.get("COLUMNS") or os.get_terminal_size(1).columns)
    except (OSError, ValueError):
        columns = 80
    return HelpLayout(prog, width=max(columns, 40) - 2)


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    with _terminated_like_interrupted():
        return _guarded(lambda: _run(words))


def _run(words: list[str]) -> int:
    asked = next((word for word in words if not word.startswith("-")), None)
    parser = Parser(prog="crawltwin", description=_WORDS, epilog=_EPILOG, formatter_class=_layout)
    parser.add_argument("--version", action="version", version=f"crawltwin {crawltwin.__version__}")
    parser.add_argument(
        "--completion",
        action=_Completion,
        choices=("bash", "zsh", "fish"),
        help="print a script with which this shell completes commands and options",
    )
    if asked is None:
        unknown = [word for word in words if not any(known.startswith(word) for known in parser._option_string_actions)]
        if unknown:
            parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    loaded: ModuleType | None = None
    chosen: argparse.ArgumentParser = parser
    for name, line in COMMANDS.items():
        own = commands.add_parser(name, help=line, description=f"{line[0].upper()}{line[1:]}.", formatter_class=_layout)
        if name == asked:
            loaded, chosen, parser.asked = import_module(f"crawltwin.cli.{name}"), own, own
            own.epilog = loaded.EPILOG
            loaded.add_arguments(own)
    if not words:
        parser.print_help(sys.stderr)
        parser.exit(2)
    options = parser.parse_args(words)
    assert loaded is not None
    import warnings

    from crawltwin.work.caches import find_cache_folders

    _check_given(options, chosen)
    _check_outputs(options)
    find_cache_folders()
    with warnings.catch_warnings():
        warnings.showwarning = _told(warnings.showwarning)
        code: int = loaded.run(options)
    sys.stdout.flush()
    return code


def _told(usual: Callable[..., None]) -> Callable[..., None]:
    """Show a warning of ours as one line, and every other one as usual."""

    def told(message: Warning | str, category: type[Warning], *place: object, **more: object) -> None:
        if category.__module__.startswith("crawltwin."):
            complain([message])
        else:
            usual(message, category, *place, **more)

    return told


def _check_given(options: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """Refuse an empty text (a shell's variable that is not set) and a wrong number of workers, whatever asks for them.

    An output without a name would not be written, and nobody would be told.
    """
    from crawltwin.model.errors import Faults

    faults = Faults()
    for action in parser._actions:
        given = getattr(options, action.dest, None)
        if "" in (given if isinstance(given, list) else [given]):
            name = action.option_strings[-1] if action.option_strings else str(action.metavar)
            faults.add("", f"{name} must not be empty; got ''", "Leave it out, or write what it shall be.")
    if getattr(options, "workers", None) is not None:
        from crawltwin.work.workers import check_workers

        with faults.under(""):
            check_workers(options.workers)
    faults.raise_if_any()


def _check_outputs(options: argparse.Namespace) -> None:
    """Refuse outputs that cannot be written before the work begins, so that none is written without the others."""
    from crawltwin.model.errors import Faults
    from crawltwin.model.files import check_folder, check_writable

    faults = Faults()
    places: dict[str, str] = {}
    for name in (*OUTPUT_FILES, *OUTPUT_FOLDERS):
        path = getattr(options, name, None)
        if isinstance(path, str):  # `optimize --resume` names nothing
            with faults.under(""):
                if path == "-":
                    option = f"--{name.removesuffix('_file')}"
                    faults.add("", f"{option} must name what is written; got '-'", "Write ./- for that very name.")
                    continue
                (check_folder if name in OUTPUT_FOLDERS else check_writable)(path)
                other = places.setdefault(os.path.realpath(path), name)
                if other != name and name in OUTPUT_FILES:
                    both = f"--{other} and --{name.removesuffix('_file')}"
                    faults.add("", f"{both} must be two files; got {path!r} for both")
    faults.raise_if_any()


def _guarded(work: Callable[[], int]) -> int:
    """The exit code of the work, with errors turned into words."""
    _open_streams()
    try:
        return work()
    except KeyboardInterrupt:
        return _interrupted()
    except BrokenPipeError:
        # The reader went away (`| head`): leave without a word, and without a second error at shutdown.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if isinstance(error, SystemError) and _began_as_interrupt(error):
            return _interrupted()
        faults, code = _explained(error)
        if not faults:
            raise
        complain(faults)
        return code


def _interrupted() -> int:
    # Whoever is impatient and presses again shall not see how the work is put away.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Python remembers an interrupt inside `exec` (numba uses it) and would end by the signal; this makes it forget.
    exec("")
    # What the compiler had half made complains when it is put away; nobody can do anything about it.
    sys.unraisablehook = lambda _what: None
    complain(["interrupted; nothing was written"])
    return 130


def _began_as_interrupt(error: BaseException | None) -> bool:
    """Whether an interrupt lies beneath: numba makes a SystemError of one that meets it between compiled functions."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _explained(error: Exception) -> tuple[Sequence[object], int]:
    """What to say of an error, and the exit code; nothing to say of a mistake in the program itself."""
    from crawltwin.model.errors import ConvergenceError, CrawltwinError, InputError
    from crawltwin.model.lazy import foreign_room

    if isinstance(error, InputError):
        return error.faults, 2
    if isinstance(error, CrawltwinError):
        return [error], 3 if isinstance(error, ConvergenceError) else 2
    if isinstance(error, MemoryError):
        return ["the work must fit into the memory of this machine; got none left. Use a smaller model"], 2
    if isinstance(error, OSError):
        about = "" if error.filename is None else f" for {str(error.filename)!r}"
        return [f"the system must allow what the work needs; got {error.strerror or error}{about}"], 2
    if isinstance(error, ImportError):
        words = foreign_room((error.name or "").partition(".")[0])
        return [] if words is None else [words], 2
    return [], 1


def _open_streams() -> None:
    """Standard output and error that can be written to, whatever they were connected with."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - stays open
    if hasattr(sys.stdout, "reconfigure"):
        # A terminal that knows no Greek gets escapes instead of an error.
        sys.stdout.reconfigure(errors="backslashreplace")


@contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """While this lasts, SIGTERM does what Ctrl-C does: the work is put away and the exit code is 130."""
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    try:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    except ValueError:
        # Not the main thread: signals are another's business.
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before[0])
        signal.signal(signal.SIGINT, before[1])


def run() -> None:
    """Console script."""
    sys.exit(main())
