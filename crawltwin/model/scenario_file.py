"""Scenario files: TOML, or JSON of the same shape (the contract of the command line).

Reading collects every fault of a file, each with its place, before it gives up. Writing gives a file that reads back to
the same object, bit for bit: floats are written in their shortest exact form.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from crawltwin.model import checks
from crawltwin.model.errors import Faults, InputError
from crawltwin.model.files import parse, read_text, toml_lines, write_whole
from crawltwin.model.laws.phase_type import PhaseType
from crawltwin.model.policies.cost import CostWeights
from crawltwin.model.scenario import Scenario, check_plain
from crawltwin.model.sections.arrivals import KINDS, arrivals_mapping, read_arrivals
from crawltwin.model.sections.keys import check_keys, needed, table
from crawltwin.model.sections.phase_types import phase_type_mapping, read_phase_type
from crawltwin.model.sections.policy import read_policy

_TOP = ("title", "capacity", "indexers", "admission", "arrivals", "service", "obsolescence", "policy", "cost")
_COST = tuple(field.name for field in fields(CostWeights))


def read(path: str | Path) -> Scenario:
    """Read a scenario from a TOML or JSON file (JSON by its ending, .json).

    Raises
    ------
    InputError
        With every fault of the file.
    """
    text = read_text(path, "the scenario file", way_out="`crawltwin example` writes one.")
    return loads(text, json_text=Path(path).suffix.lower() == ".json", name=str(path))


def loads(text: str, *, json_text: bool = False, name: str = "scenario") -> Scenario:
    """Read a scenario from text."""
    try:
        return from_mapping(parse(text, name, json_text=json_text))
    except RecursionError:
        raise InputError(f"{name} must be a scenario; got brackets nested too deep to read") from None


def from_mapping(data: Mapping[str, Any]) -> Scenario:
    """Build a scenario from parsed TOML or JSON, with all faults at once."""
    if not isinstance(data, Mapping):
        raise InputError(f"the scenario must be a table of keys; got {checks.show(data)}")
    faults = Faults()
    check_keys(data, _TOP, "", faults)
    parts: dict[str, Any] = {"title": data.get("title", ""), "admission": data.get("admission", "partial")}
    parts["indexers"] = data.get("indexers", 1)
    parts["capacity"] = needed(
        data, "capacity", faults, "capacity = 5 holds five pages, the one being indexed included."
    )
    for key, reader, need in (
        ("arrivals", read_arrivals, "Add [arrivals] with its kind: " + ", ".join(KINDS) + "."),
        ("service", read_phase_type, 'For example service = {family = "exponential", mean = 2.0}.'),
        ("obsolescence", read_phase_type, None),
        ("policy", read_policy, None),
        ("cost", _cost, None),
    ):
        section = data.get(key) if need is None else needed(data, key, faults, need)
        parts[key] = None
        if section is not None:
            with faults.under(key):
                parts[key] = reader(table(section))
    if faults and (parts["arrivals"] is None or parts["service"] is None):
        _check_alone(parts, faults)
    else:
        with faults.under(""):
            scenario = Scenario(**parts)
    faults.raise_if_any()
    return scenario


def to_mapping(scenario: Scenario) -> dict[str, Any]:
    """The file's shape of a scenario; families are written as their matrices."""
    data: dict[str, Any] = {"title": scenario.title} if scenario.title else {}
    data["capacity"] = scenario.capacity
    if scenario.indexers > 1:
        data["indexers"] = scenario.indexers
    data["admission"] = scenario.admission
    data["arrivals"] = arrivals_mapping(scenario.arrivals)
    for key in ("service", "obsolescence"):
        law: PhaseType | None = getattr(scenario, key)
        if law is not None:
            data[key] = phase_type_mapping(law)
    if scenario.policy is not None:
        data["policy"] = scenario.policy.to_mapping()
    if scenario.cost is not None:
        data["cost"] = scenario.cost.to_mapping()
    return data


def dumps(scenario: Scenario, *, json_text: bool = False) -> str:
    """A scenario as TOML or JSON text."""
    data = to_mapping(scenario)
    if json_text:
        return json.dumps(data, indent=1, ensure_ascii=False) + "\n"
    return "\n".join(toml_lines(data)).lstrip("\n") + "\n"


def write(scenario: Scenario, path: str | Path) -> None:
    """Write a scenario file, whole or not at all."""
    path = Path(path)
    write_whole(path, dumps(scenario, json_text=path.suffix.lower() == ".json"))


def _cost(data: Mapping[str, Any]) -> CostWeights:
    faults = Faults()
    check_keys(data, _COST, "", faults)
    with faults.under(""):
        weights = CostWeights(**{key: data[key] for key in _COST if key in data})
    faults.raise_if_any()
    return weights


def _check_alone(parts: Mapping[str, Any], faults: Faults) -> None:
    """What can be said of the other fields when the scenario as a whole cannot be built."""
    if parts["capacity"] is None:
        return
    capacity, _ = check_plain(parts["capacity"], parts["indexers"], parts["admission"], parts["title"], faults)
    if capacity is not None and parts["policy"] is not None:
        with faults.under("policy"):
            inner = Faults()
            parts["policy"].check_capacity(capacity, inner)
            inner.raise_if_any()
