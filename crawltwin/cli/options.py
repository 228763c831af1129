"""Options: those derived from settings (`crawltwin.model.settings`), and those that several commands share.

The parser itself holds no default: an option that was not given is None in the namespace, and the settings class fills
in its own default. So each default stands once, and what was given is known.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Collection
from dataclasses import Field
from typing import TYPE_CHECKING, Any, TypeVar

from crawltwin.model.errors import Faults, InputError
from crawltwin.model.settings import Setting, plain_type, settings_of

if TYPE_CHECKING:
    from crawltwin.model import Scenario

T = TypeVar("T")


def whole(text: str) -> int:
    """A whole number that was typed."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number; got {text!r}") from None


def real(text: str) -> float:
    """A number that was typed."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number; got {text!r}") from None


_READERS: dict[str, Callable[[str], Any]] = {"int": whole, "float": real, "str": str}


def add_settings(
    parser: argparse.ArgumentParser, kind: type[Any], *, only: Collection[str] = (), without: Collection[str] = ()
) -> None:
    """Declare an option for each setting of `kind` (or only for those named, or without those named)."""
    groups: dict[str, Any] = {group.title or "": group for group in parser._action_groups}
    for field, found in settings_of(kind):
        if field.name in without or (only and field.name not in only):
            continue
        if found.group and found.group not in groups:
            groups[found.group] = parser.add_argument_group(found.group)
        _add(groups[found.group] if found.group else parser, field, found)


def _add(group: Any, field: Field[Any], found: Setting) -> None:
    words = found.help + _default_words(field, found)
    common: dict[str, Any] = {"dest": field.name, "default": None, "help": words.replace("%", "%%")}
    if plain_type(field) == "bool":
        group.add_argument(found.option, action="store_false" if field.default is True else "store_true", **common)
        return
    if found.choices:
        common["choices"] = tuple(found.choices)
    elif found.metavar:
        common["metavar"] = found.metavar
    if found.repeat:
        common["action"] = "append"
    group.add_argument(found.option, type=_READERS["str" if found.read else plain_type(field)], **common)


def _default_words(field: Field[Any], found: Setting) -> str:
    default = field.default
    if found.default_words:
        return f" (default: {found.default_words})"
    if default is None or default == "" or default == () or isinstance(default, bool):
        return ""
    return f" (default: {default:,})" if isinstance(default, int) and default >= 10_000 else f" (default: {default})"


def given(options: argparse.Namespace, kind: type[Any]) -> dict[str, Any]:
    """The settings of `kind` that were given on the command line, by the names of the fields."""
    found, faults = {}, Faults()
    for field, one in settings_of(kind):
        value = getattr(options, field.name, None)
        if value is not None:
            read = one.read or (lambda item: item)
            try:
                found[field.name] = tuple(map(read, value)) if one.repeat else read(value)
            except InputError as error:
                faults.extend(error, "" if one.option in str(error) else one.option)
    faults.raise_if_any()
    return found


def settings(options: argparse.Namespace, kind: type[T], **others: Any) -> T:
    """The settings value: what was given, `others` for what has no option, defaults for the rest."""
    return kind(**(others | given(options, kind)))


HANDED_OUT = ("quiet", "json", "out")
"""Options that `add_output` declares for every question of a command."""


def check_heeded(
    options: argparse.Namespace, declare: Callable[[argparse.ArgumentParser], None], mode: str, heeded: Collection[str]
) -> None:
    """Refuse what was given and the mode would not heed: whoever gives an option believes that the answer follows it.

    `declare` adds the options of the command to a parser; `heeded` are names of them in the namespace. How the answer
    is handed out (`--json`, `--out`, `--quiet`) is a matter of every mode.
    """
    parser = argparse.ArgumentParser(add_help=False)
    declare(parser)
    idle = [
        action.option_strings[-1] if action.option_strings else str(action.metavar)
        for action in parser._actions
        if action.dest not in {*heeded, *HANDED_OUT} and getattr(options, action.dest) != action.default
    ]
    if idle:
        raise InputError(
            f"{mode} must come without {' and '.join(idle)}, which it would not heed; got both. Leave out "
            f"{'that one' if len(idle) == 1 else 'those'}, or leave out {mode}"
        )


def add_scenario(parser: argparse.ArgumentParser) -> None:
    """Declare the scenario file."""
    words = "scenario file, TOML or JSON; - reads TOML from standard input"
    parser.add_argument("scenario", metavar="SCENARIO", help=words)


def add_policy(parser: argparse.ArgumentParser) -> None:
    """Declare a policy that replaces the file's."""
    words = (
        "use this policy instead of the file's: 3,1@2 runs 3 robots up to 2 pages and 1 above, 3,1@4/2 3 again at 2 "
        "pages or fewer, 3,1@2:5 looks every 5 units of time; 3 runs 3 always"
    )
    parser.add_argument("--policy", metavar="ROBOTS[@THRESHOLDS[/RESUME]][:CHECK_EVERY]", help=words)


def add_log(parser: argparse.ArgumentParser) -> None:
    """Declare the files of a log."""
    words = "files of one log, plain or packed; - is standard input"
    parser.add_argument("log", metavar="LOG", nargs="+", help=words)


def add_reading(parser: argparse.ArgumentParser, hidden: Collection[str] = ()) -> None:
    """Declare everything that chooses what is read of a log, the same for every command that reads one.

    `hidden` are those that the command refuses with the way out: the help does not show them.
    """
    from fitting.readers.settings import ReadOptions

    add_settings(parser, ReadOptions)
    for action in parser._actions:
        if action.dest in hidden:
            action.help = argparse.SUPPRESS


def add_workers(parser: argparse.ArgumentParser, cluster: bool = True) -> None:
    """Declare who does the work."""
    parser.add_argument("--workers", type=whole, metavar="N", help="processes (default: one for each core)")
    if cluster:
        words = "use a running Dask scheduler instead, for example tcp://host:8786"
        parser.add_argument("--cluster", metavar="ADDRESS", help=words)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Declare the answer for programs, and that people who want no progress see none."""
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output, nothing else")


def add_output(parser: argparse.ArgumentParser, report: str = "") -> None:
    """Declare the answer for programs, a file that keeps it, and (where there is one) what the report holds."""
    add_json(parser)
    parser.add_argument("--out", metavar="FILE", help="save the JSON answer there as well")
    if report:
        parser.add_argument("--report", metavar="DIR", help=f"write {report} there")


def read_scenario(name: str, policy: str | None = None) -> Scenario:
    """The scenario of that file, with another policy where one is given."""
    from crawltwin.model import Scenario, ThresholdPolicy, scenario_file

    if name == "-":
        scenario = scenario_file.loads(read_standard_input().removeprefix("\ufeff"), name="standard input")
    else:
        scenario = Scenario.read(name)
    return scenario if policy is None else scenario.replace(policy=ThresholdPolicy.from_text(policy, "--policy"))


def read_standard_input() -> str:
    """What stands on standard input."""
    from crawltwin.model.files import LARGEST

    if sys.stdin is None or sys.stdin.closed:
        raise InputError("standard input must be open to read a scenario from it; got none. Name a file instead of -")
    try:
        text = sys.stdin.read(LARGEST + 1)
    except UnicodeDecodeError as error:
        raise InputError(f"standard input must be text in UTF-8; got {error.reason} at byte {error.start}") from None
    except OSError as error:
        raise InputError(f"standard input must be readable; got {error.strerror}. Name a file instead of -") from None
    if len(text) > LARGEST:
        raise InputError(f"standard input must have at most {LARGEST:,} characters here; got more")
    return text


def numbers(text: str, name: str, kind: Callable[[str], T]) -> list[T]:
    """A list of numbers separated by commas."""
    try:
        return [kind(word) for word in text.split(",")]
    except ValueError:
        raise InputError(f"{name} must be numbers separated by commas; got {text!r}") from None


def probabilities(text: str, name: str) -> list[float]:
    """A list of probabilities below one, separated by commas."""
    found = numbers(text, name, float)
    for value in found:
        if not 0 <= value < 1:
            raise InputError(f"{name} must be numbers in [0, 1); got {value!r}")
    return found
