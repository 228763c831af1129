"""Settings: frozen, self-checking dataclasses whose fields carry their own help.

A field made by `setting` tells what a command line has to know of it: its words of help, the name of its option, the
values that it may have. The default stands in the field alone. `crawltwin.cli.options` makes options of such a class
and a value of the class from the options that were given.

A module of settings is imported whenever help is shown, so it imports nothing heavy.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import Field, dataclass, field, fields
from typing import Any

from crawltwin.model.errors import InputError

_KEY = "crawltwin.setting"
_UNITS = {
    0.001: ("ms",),
    1.0: ("s", "sec", "second"),
    60.0: ("min", "m", "minute"),
    3_600.0: ("h", "hr", "hour"),
    86_400.0: ("d", "day"),
    604_800.0: ("w", "week"),
}
_SECONDS = {name: size for size, names in _UNITS.items() for name in names}
_SECONDS |= {f"{name}s": size for name, size in _SECONDS.items() if len(name) > 1}
"""Seconds in each unit of time that may be typed."""
_TIME = re.compile(r"\s*([0-9.eE+-]+)\s*([a-zA-Z]*)\s*")


@dataclass(frozen=True)
class Setting:
    """What is known of one field beside its type and its default.

    Parameters
    ----------
    help : str
        One line without a full stop. The command line adds the default where there is one.
    option : str
        Name on the command line, for example ``--batch-gap``; empty: derived from the name of the field. A truth value
        that is true by default has an option that denies it: ``--no-`` and the name.
    metavar : str
        What stands for the value in the help, for example ``SECONDS``.
    choices : sequence of str
        The values that it may have; empty: any.
    group : str
        Heading in the help; empty: among the general options.
    read : callable, optional
        Makes the value from the text that was typed, where the type alone (int, float, str, bool) does not tell how.
    repeat : bool
        Whether the option may be given several times; the value is a tuple.
    default_words : str
        What the help says of the default where the value itself (None, for example) does not tell, such as
        ``found from the log``.
    """

    help: str
    option: str = ""
    metavar: str = ""
    choices: Sequence[str] = ()
    group: str = ""
    read: Callable[[str], Any] | None = None
    repeat: bool = False
    default_words: str = ""


def setting(default: Any, *, help: str, **more: Any) -> Any:  # noqa: A002 - the word that argparse uses
    """A field of a settings class that carries its help; `more` is the rest of `Setting`.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Reading:
    ...     clock: float = setting(1.0, help="resolution of the clock", metavar="SECONDS")
    ...     zone: str | None = setting(None, help="zone of times that name none", option="--timezone")
    >>> Reading().clock, [one.option for _, one in settings_of(Reading)]
    (1.0, ['--clock', '--timezone'])
    """
    return field(default=default, metadata={_KEY: Setting(help, **more)})


def settings_of(kind: type[Any]) -> Iterator[tuple[Field[Any], Setting]]:
    """The fields of a class that were made by `setting`, each with what it carries and the name of its option."""
    for one in fields(kind):
        found = one.metadata.get(_KEY)
        if found is not None:
            denied = "no-" if one.type in ("bool", bool) and one.default is True else ""
            name = found.option or f"--{denied}{one.name.replace('_', '-')}"
            yield one, Setting(**{**vars(found), "option": name})


def plain_type(one: Field[Any]) -> str:
    """The type's name without `None`: annotations are text in modules that begin with the future import."""
    written = one.type if isinstance(one.type, str) else getattr(one.type, "__name__", str(one.type))
    kinds = [part.strip() for part in written.split("|")]
    return next((kind for kind in kinds if kind in ("bool", "int", "float", "str")), "")


def read_time(text: Any) -> float:
    """Seconds from a number, or from words such as ``90``, ``500ms``, ``90s``, ``5min``, ``1h``, ``2 days``.

    Examples
    --------
    >>> read_time("1.5h"), read_time("2 weeks")
    (5400.0, 1209600.0)
    """
    found = _TIME.fullmatch(str(text))
    try:
        value = math.nan if found is None else float(found[1]) * _SECONDS.get(found[2].lower() or "s", math.nan)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(
            "a time must be a number of seconds, or one with a unit (ms, s, min, h, d, w) such as 90s or 1h; got "
            f"{text!r}"
        )
    return value
