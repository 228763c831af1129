"""Phase types in a scenario file: initial vector and subgenerator, or a family with its parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from crawltwin.model import checks
from crawltwin.model.errors import Fault, Faults, InputError
from crawltwin.model.laws import families
from crawltwin.model.laws.phase_type import PhaseType
from crawltwin.model.sections.keys import check_keys, nearest, needed

_FAMILIES: dict[str, tuple[Callable[..., PhaseType], tuple[str, ...], tuple[str, ...]]] = {
    # family: (constructor, needed keys, optional keys)
    "exponential": (families.exponential, ("mean",), ()),
    "erlang": (families.erlang, ("stages", "mean"), ()),
    "deterministic-like": (families.deterministic_like, ("mean",), ("stages",)),
    "hyperexponential": (families.hyperexponential, ("weights", "rates"), ()),
    "hyper-erlang": (families.hyper_erlang, ("weights", "stages", "rates"), ()),
    "coxian": (families.coxian, ("rates", "go_on"), ()),
    "two-moments": (families.from_mean_and_scv, ("mean", "scv"), ()),
    "three-moments": (families.from_three_moments, ("m1", "m2", "m3"), ()),
}


def read_phase_type(data: Mapping[str, Any]) -> PhaseType:
    """Read a phase type, with all its faults at once."""
    faults = Faults()
    if "family" in data:
        name = data["family"]
        if not isinstance(name, str) or name not in _FAMILIES:
            known = ", ".join(_FAMILIES)
            raise InputError(
                [Fault("family", f"family must be one of {known}; got {name!r}", nearest(name, _FAMILIES))]
            )
        make, must, may = _FAMILIES[name]
        check_keys(data, ("family", *must, *may), "", faults)
        given = {key: needed(data, key, faults, f"{name} has the keys {', '.join(must)}.") for key in must}
        given |= {key: data[key] for key in may if key in data}
        for key in ("weights", "rates", "stages", "go_on"):
            if key in given and not isinstance(given[key], list) and not (key == "stages" and name != "hyper-erlang"):
                faults.add(key, f"{key} must be a list; got {checks.show(given[key])}")
        faults.raise_if_any()
        return make(**given)
    check_keys(data, ("initial", "subgenerator", "family"), "", faults)
    hint = 'Give initial and subgenerator, or a family such as {family = "exponential", mean = 2.0}.'
    initial, S = needed(data, "initial", faults, hint), needed(data, "subgenerator", faults, hint)
    faults.raise_if_any()
    return PhaseType(initial, S)


def phase_type_mapping(law: PhaseType) -> dict[str, Any]:
    """As a scenario file has it; families are written as their matrices."""
    return {"initial": law.initial.tolist(), "subgenerator": law.subgenerator.tolist()}
