"""plan.toml: what the operator said, in a file; read and written.

Settings of the plan stand at its top, weights under ``[cost]``, choices of reading and of fitting under ``[reading]``
and ``[fitting]``, each by the name of its option. A report holds this text, so that its plan can be made again.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Mapping
from dataclasses import Field, dataclass, field
from pathlib import Path
from typing import Any

from crawltwin.model import checks
from crawltwin.model.errors import Faults, InputError
from crawltwin.model.files import parse, read_text, toml_lines
from crawltwin.model.settings import Setting, plain_type, settings_of
from crawltwin.plan.limits import IndexWithin
from crawltwin.plan.settings import NAMES, NamedWeights, PlanSettings
from crawltwin.plan.url_list import UrlList
from fitting.choose.settings import FitOptions
from fitting.readers.settings import ReadOptions
from fitting.robots.robots_of import RobotsOf

_READ = {one.name: found.read for one, found in settings_of(PlanSettings) if found.read is not None}
_OTHERS: dict[str, type[Any]] = {"reading": ReadOptions, "fitting": FitOptions}


@dataclass(frozen=True)
class PlanFile:
    r"""What was said of a plan.

    Parameters
    ----------
    settings : PlanSettings
    reading, fitting : mapping
        Fields of `ReadOptions` and of `FitOptions` that were given.

    Examples
    --------
    >>> said = PlanFile.from_text('robots = 4\n[fitting]\nticks = "spread"\nperiod = "none"\n')
    >>> said.settings.robots, dict(said.fitting)
    (4, {'ticks': 'spread', 'period': None})
    >>> PlanFile.from_text(said.text()) == said
    True
    """

    settings: PlanSettings
    reading: Mapping[str, Any] = field(default_factory=dict)
    fitting: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, path: str | Path | None, **given: Mapping[str, Any]) -> PlanFile:
        """From a file, overruled by what was `given` beside it: `settings`, `reading`, `fitting` (None: not given)."""
        data = {} if path is None else _parsed(read_text(path, "--config"), "--config")
        for part, values in given.items():
            data[part] = data.get(part, {}) | {name: value for name, value in values.items() if value is not None}
        return cls._of(data)

    @classmethod
    def from_text(cls, text: str, source: str = "plan.toml") -> PlanFile:
        """From the text of such a file."""
        return cls._of(_parsed(text, source))

    @classmethod
    def _of(cls, data: Mapping[str, dict[str, Any]]) -> PlanFile:
        settings = data.get("settings", {})
        made = PlanSettings(**settings, given=frozenset(settings))
        for part, kind in _OTHERS.items():
            kind(**data.get(part, {}))  # complains where a value is wrong
        return cls(made, **{part: data.get(part, {}) for part in _OTHERS})

    def text(self) -> str:
        """As the text of such a file; `from_text` reads it back."""
        given = {name: getattr(self.settings, name) for name in NAMES if self.settings.is_given(name)}
        plain = {name: _plain(value) for name, value in given.items() if value is not None}
        for part, kind in _OTHERS.items():
            said = getattr(self, part)
            if said:
                names = {one.name: name for name, (one, _) in _options(kind).items()}
                plain[part] = {names[name]: _plain(value) for name, value in said.items()}
        lines = "\n".join(toml_lines(plain)).lstrip("\n")
        return f"{lines}\n" if lines else ""


def _plain(value: Any) -> Any:
    """A value as TOML can hold it."""
    if value is None:
        return "none"
    if isinstance(value, RobotsOf | IndexWithin | UrlList):
        return str(value)
    if value == math.inf:
        return "never"
    if isinstance(value, NamedWeights):
        return dict(value.weights)
    return value.to_mapping() if hasattr(value, "to_mapping") else value


def _parsed(text: str, source: str) -> dict[str, dict[str, Any]]:
    """The parts of a file, values as the settings take them."""
    data = parse(text, source)
    faults = Faults()
    found: dict[str, dict[str, Any]] = {"settings": {}}
    for part, kind in _OTHERS.items():
        table = data.pop(part, {})
        if not isinstance(table, Mapping):
            faults.add(part, f"{part} must be a table of options; got {table!r}")
            continue
        options, found[part] = _options(kind), {}
        for name, value in _known(table, options, faults, part):
            with faults.under(part):
                found[part][options[name][0].name] = _option(name, *options[name], value)
    for name, value in _known(data, NAMES, faults):
        with faults.under(name):
            found["settings"][name] = _value(name, value)
    faults.raise_if_any()
    return found


def _known(table: Mapping[str, Any], names: Collection[str], faults: Faults, part: str = "") -> list[tuple[str, Any]]:
    """Names and values, written with hyphens or not; a fault for each name that there is not."""
    known = {name.replace("_", "-"): name for name in names} | {name: name for name in names}
    for key in table:
        if key not in known:
            near = difflib.get_close_matches(key, names, n=1)
            faults.add(
                f"{part}.{key}" if part else key,
                f"the key must be one of {', '.join(names)}; got {key!r}",
                f"Did you mean {near[0]!r}?" if near else "",
            )
    return [(known[key], value) for key, value in table.items() if key in known]


def _options(kind: type[Any]) -> dict[str, tuple[Field[Any], Setting]]:
    """Choices of reading or fitting by the names of their options, with underscores; the seed is the plan's."""
    found = {said.option.lstrip("-").replace("-", "_"): (one, said) for one, said in settings_of(kind)}
    return {name: both for name, both in found.items() if name != "seed"}


def _option(name: str, one: Field[Any], said: Setting, value: Any) -> Any:
    """A choice of reading or fitting, of the type that its field has."""
    if said.repeat:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise InputError(f"{name} must be a list of texts; got {value!r}")
        return tuple(value)
    if isinstance(value, str) and said.read is not None:
        return said.read(value)
    faults, kind = Faults(), plain_type(one)
    if kind == "int":
        checks.integer(value, name, faults)
    elif kind == "float":
        checks.number(value, name, faults)
    elif not isinstance(value, str):
        faults.add(name, f"{name} must be a text; got {value!r}")
    faults.raise_if_any()
    return value


def _value(name: str, value: Any) -> Any:
    """A setting of the plan, where it is written in words or as a table."""
    if name == "cost":
        if not isinstance(value, Mapping):
            raise InputError(f"cost must be a table of weights by name; got {value!r}")
        faults = Faults()
        for key, weight in value.items():
            if isinstance(weight, bool) or not isinstance(weight, int | float):
                faults.add(key, f"{key} must be a number; got {weight!r}")
        faults.raise_if_any()
        return NamedWeights.read(dict(value))
    return _READ[name](value) if name in _READ and isinstance(value, str) else value
