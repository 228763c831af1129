"""plan.toml: the operator's answers in a file, read and written."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from crawltwin.model.errors import Faults, InputError
from crawltwin.model.files import parse, read_text
from crawltwin.model.settings import settings_of
from crawltwin.plan.limits import IndexWithin
from crawltwin.plan.settings import NAMES, NamedWeights, PlanSettings

_READ = {field.name: one.read for field, one in settings_of(PlanSettings) if one.read is not None}


def read_settings(path: str | Path | None, given: Mapping[str, Any]) -> PlanSettings:
    """Settings of a file, overruled by what was given beside it (None: not given)."""
    data = {} if path is None else _read_text(read_text(path, "--config"), "--config")
    data |= {name: value for name, value in given.items() if value is not None}
    return PlanSettings(**data, given=frozenset(data))


def settings_from_text(text: str, source: str = "plan.toml") -> PlanSettings:
    """Settings from the text of such a file."""
    data = _read_text(text, source)
    return PlanSettings(**data, given=frozenset(data))


def settings_text(settings: PlanSettings) -> str:
    """The settings that were given, as the text of such a file; `settings_from_text` reads them back."""
    given = {name: getattr(settings, name) for name in NAMES if settings.is_given(name)}
    plain = {name: value for name, value in given.items() if value is not None}
    cost = plain.pop("cost", None)
    lines = [f"{name} = {_toml(value)}" for name, value in plain.items()]
    if cost is not None:
        weights = dict(cost.weights) if isinstance(cost, NamedWeights) else cost.to_mapping()
        lines += ["", "[cost]", *(f"{name} = {_toml(weight)}" for name, weight in weights.items())]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | IndexWithin):
        return f'"{value}"'
    return repr(value)


def _read_text(text: str, source: str) -> dict[str, Any]:
    data = parse(text, source)
    faults = Faults()
    known = {name.replace("_", "-"): name for name in NAMES} | {name: name for name in NAMES}
    found: dict[str, Any] = {}
    for key, value in data.items():
        if key not in known:
            near = difflib.get_close_matches(key, NAMES, n=1)
            faults.add(
                key,
                f"the key must be one of {', '.join(NAMES)}; got {key!r}",
                f"Did you mean {near[0]!r}?" if near else "",
            )
            continue
        with faults.under(key):
            found[known[key]] = _value(known[key], value)
    faults.raise_if_any()
    return found


def _value(name: str, value: Any) -> Any:
    """A value of the file, where it is written in words or as a table."""
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
