"""Scenario files: TOML, or JSON of the same shape (the contract of the command line).

Reading collects every fault of a file, each with its place, before it gives up. Writing gives a file that reads back to
the same object, bit for bit: floats are written in their shortest exact form.
"""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from crawltwin.model import arrivals as kinds
from crawltwin.model import checks, families
from crawltwin.model.arrivals import ControlledArrivals
from crawltwin.model.bmap import BMAP
from crawltwin.model.cost import CostWeights
from crawltwin.model.errors import Fault, Faults, InputError
from crawltwin.model.files import write_whole
from crawltwin.model.phase_type import PhaseType
from crawltwin.model.policy import LevelPolicy, Policy, ThresholdPolicy
from crawltwin.model.scenario import ADMISSIONS, Scenario

_TOP = ("title", "capacity", "admission", "arrivals", "service", "obsolescence", "policy", "cost")
_COST = tuple(field.name for field in fields(CostWeights))
_KIND_KEYS = {
    "modes": ("modes",),
    "independent": ("robots",),
    "thinned": ("D", "keep"),
    "marked": ("D0", "robots"),
    "scaled": ("D", "robots"),
}
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


def read(path: str | Path) -> Scenario:
    """Read a scenario from a TOML or JSON file (JSON by its ending, .json).

    Raises
    ------
    InputError
        With every fault of the file.
    """
    path = Path(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"the scenario file must exist; got {str(path)!r}. `crawltwin example` writes one") from None
    except IsADirectoryError:
        raise InputError(f"the scenario must be a file; got the directory {str(path)!r}") from None
    except UnicodeDecodeError as error:
        raise InputError(
            f"the scenario file must be UTF-8 text; got other bytes in {str(path)!r} ({error.reason})"
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"the scenario file must be readable; got {reason} for {str(path)!r}") from None
    return loads(text, json_text=path.suffix.lower() == ".json", name=str(path))


def loads(text: str, *, json_text: bool = False, name: str = "scenario") -> Scenario:
    """Read a scenario from text."""
    try:
        data = json.loads(text, object_pairs_hook=_no_repeats) if json_text else tomllib.loads(text)
        return from_mapping(data)
    except InputError:
        raise
    except ValueError as error:
        # Besides the two decoders' own errors: numbers of thousands of digits.
        kind = "JSON" if json_text else "TOML"
        raise InputError(f"{name} must be valid {kind}; got: {error}") from None
    except RecursionError:
        raise InputError(f"{name} must be a scenario; got brackets nested too deep to read") from None


def from_mapping(data: Mapping[str, Any]) -> Scenario:
    """Build a scenario from parsed TOML or JSON, with all faults at once."""
    if not isinstance(data, Mapping):
        raise InputError(f"the scenario must be a table of keys; got {checks.show(data)}")
    faults = Faults()
    _known_keys(data, _TOP, "", faults)
    parts: dict[str, Any] = {"title": data.get("title", ""), "admission": data.get("admission", "partial")}
    parts["capacity"] = _needed(
        data, "capacity", faults, "capacity = 5 holds five pages, the one being indexed included."
    )
    for key, reader, need in (
        ("arrivals", _arrivals, "Add [arrivals] with its kind: " + ", ".join(_KIND_KEYS) + "."),
        ("service", _phase_type, 'For example service = {family = "exponential", mean = 2.0}.'),
        ("obsolescence", _phase_type, None),
        ("policy", _policy, None),
        ("cost", _cost, None),
    ):
        section = data.get(key) if need is None else _needed(data, key, faults, need)
        parts[key] = None
        if section is not None:
            with faults.under(key):
                parts[key] = reader(_table(section))
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
    data |= {"capacity": scenario.capacity, "admission": scenario.admission}
    data["arrivals"] = {"kind": scenario.arrivals.kind, **_arrivals_mapping(scenario.arrivals)}
    for key in ("service", "obsolescence"):
        law: PhaseType | None = getattr(scenario, key)
        if law is not None:
            data[key] = {"initial": law.initial.tolist(), "subgenerator": law.subgenerator.tolist()}
    if isinstance(scenario.policy, ThresholdPolicy):
        data["policy"] = {"robots": list(scenario.policy.robots), "thresholds": list(scenario.policy.thresholds)}
    elif isinstance(scenario.policy, LevelPolicy):
        data["policy"] = {"table": list(scenario.policy.table)}
    if scenario.cost is not None:
        data["cost"] = {key: getattr(scenario.cost, key) for key in _COST}
    return data


def dumps(scenario: Scenario, *, json_text: bool = False) -> str:
    """A scenario as TOML or JSON text."""
    data = to_mapping(scenario)
    if json_text:
        return json.dumps(data, indent=1, ensure_ascii=False) + "\n"
    return "\n".join(_toml(data)).lstrip("\n") + "\n"


def _toml(data: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Lines of TOML, every matrix on one line so that people can read and edit it."""
    for key, value in data.items():
        if not _is_table(value):
            # JSON's strings, numbers and lists are TOML's too, but for the delete character.
            yield f"{key} = {json.dumps(value, ensure_ascii=False)}".replace("\x7f", "\\u007f")
    for key, value in data.items():
        if isinstance(value, Mapping):
            yield from ("", f"[{prefix}{key}]", *_toml(value, f"{prefix}{key}."))
        elif _is_table(value):
            for row in value:
                yield from ("", f"[[{prefix}{key}]]", *_toml(row, f"{prefix}{key}."))


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, list) and bool(value) and isinstance(value[0], Mapping))


def write(scenario: Scenario, path: str | Path) -> None:
    """Write a scenario file, whole or not at all."""
    path = Path(path)
    write_whole(path, dumps(scenario, json_text=path.suffix.lower() == ".json"))


def _arrivals_mapping(given: ControlledArrivals) -> dict[str, Any]:
    match given:
        case kinds.ModeMatrices():
            return {"modes": [{"robots": robots, "D": _matrices(mode.D)} for robots, mode in given.given.items()]}
        case kinds.IndependentRobots():
            return {"robots": [{"D": _matrices(robot.D)} for robot in given.robots]}
        case kinds.ThinnedStream():
            return {"D": _matrices(given.stream.D), "keep": list(given.keep)}
        case kinds.MarkedStream():
            return {"D0": given.D0.tolist(), "robots": [{"D": _matrices(own)} for own in given.robots]}
        case kinds.ScaledStream():
            return {"D": _matrices(given.stream.D), "robots": given.count}
    raise TypeError(f"{type(given).__name__} has no file form")


def _matrices(blocks: Iterable[checks.FloatArray]) -> list[Any]:
    return [block.tolist() for block in blocks]


def _arrivals(data: Mapping[str, Any]) -> ControlledArrivals:
    faults = Faults()
    kind = _needed(data, "kind", faults, "One of " + ", ".join(_KIND_KEYS) + ".")
    if kind is not None and (not isinstance(kind, str) or kind not in _KIND_KEYS):
        faults.add("kind", f"kind must be one of {', '.join(_KIND_KEYS)}; got {kind!r}", _nearest(kind, _KIND_KEYS))
        kind = None
    if kind is None:
        faults.raise_if_any()
    keys = _KIND_KEYS[str(kind)]
    _known_keys(data, ("kind", *keys), "", faults)
    values = [_needed(data, key, faults, f"The kind {kind!r} has the keys {', '.join(keys)}.") for key in keys]
    faults.raise_if_any()
    make = _KIND_READERS[str(kind)]
    return make(*values)


def _modes(rows: Any) -> ControlledArrivals:
    faults = Faults()
    found: dict[int, BMAP] = {}
    for place, row in _rows(rows, "modes", ("robots", "D"), faults):
        with faults.under(place):
            inner = Faults()
            robots = checks.integer(row.get("robots"), "robots", inner, at_least=1)
            mode = None
            with inner.under(""):
                mode = BMAP(row["D"]) if "D" in row else None
            if robots in found:
                inner.add("robots", f"robots must be named once; got {robots} again")
            inner.raise_if_any()
            if robots is not None and mode is not None:
                found[robots] = mode
    faults.raise_if_any()
    return kinds.ModeMatrices(found)


def _independent(rows: Any) -> ControlledArrivals:
    faults = Faults()
    robots = []
    for place, row in _rows(rows, "robots", ("D",), faults):
        with faults.under(place):
            robots.append(BMAP(row.get("D", [])))
    faults.raise_if_any()
    return kinds.IndependentRobots(tuple(robots))


def _marked(D0: Any, rows: Any) -> ControlledArrivals:
    faults = Faults()
    own = [row.get("D", []) for _, row in _rows(rows, "robots", ("D",), faults)]
    faults.raise_if_any()
    return kinds.MarkedStream(D0, own)


def _thinned(D: Any, keep: Any) -> ControlledArrivals:
    faults = Faults()
    stream = None
    with faults.under(""):
        stream = BMAP(D)
    checks.vector(keep, "keep", faults)
    faults.raise_if_any()
    assert stream is not None
    return kinds.ThinnedStream(stream, tuple(keep))


def _scaled(D: Any, robots: Any) -> ControlledArrivals:
    faults = Faults()
    stream = None
    with faults.under(""):
        stream = BMAP(D)
    checks.integer(robots, "robots", faults, at_least=1)
    faults.raise_if_any()
    assert stream is not None
    return kinds.ScaledStream(stream, robots)


def _phase_type(data: Mapping[str, Any]) -> PhaseType:
    faults = Faults()
    if "family" in data:
        name = data["family"]
        if not isinstance(name, str) or name not in _FAMILIES:
            known = ", ".join(_FAMILIES)
            raise InputError(
                [Fault("family", f"family must be one of {known}; got {name!r}", _nearest(name, _FAMILIES))]
            )
        make, needed, optional = _FAMILIES[name]
        _known_keys(data, ("family", *needed, *optional), "", faults)
        given = {key: _needed(data, key, faults, f"{name} has the keys {', '.join(needed)}.") for key in needed}
        given |= {key: data[key] for key in optional if key in data}
        for key in ("weights", "rates", "stages", "go_on"):
            if key in given and not isinstance(given[key], list) and not (key == "stages" and name != "hyper-erlang"):
                faults.add(key, f"{key} must be a list; got {checks.show(given[key])}")
        faults.raise_if_any()
        return make(**given)
    _known_keys(data, ("initial", "subgenerator", "family"), "", faults)
    hint = 'Give initial and subgenerator, or a family such as {family = "exponential", mean = 2.0}.'
    initial, S = _needed(data, "initial", faults, hint), _needed(data, "subgenerator", faults, hint)
    faults.raise_if_any()
    return PhaseType(initial, S)


def _policy(data: Mapping[str, Any]) -> Policy:
    faults = Faults()
    if "table" in data:
        _known_keys(data, ("table",), "", faults)
        faults.raise_if_any()
        return LevelPolicy(data["table"])
    _known_keys(data, ("robots", "thresholds", "table"), "", faults)
    robots = _needed(data, "robots", faults, "robots = [3, 1] with thresholds = [2], or a table of robots by level.")
    faults.raise_if_any()
    return ThresholdPolicy(robots, data.get("thresholds", []))


def _cost(data: Mapping[str, Any]) -> CostWeights:
    faults = Faults()
    _known_keys(data, _COST, "", faults)
    with faults.under(""):
        weights = CostWeights(**{key: data[key] for key in _COST if key in data})
    faults.raise_if_any()
    return weights


def _check_alone(parts: Mapping[str, Any], faults: Faults) -> None:
    """What can be said of the other fields when the scenario as a whole cannot be built."""
    if parts["capacity"] is not None:
        capacity = checks.integer(parts["capacity"], "capacity", faults, at_least=1)
        if capacity is not None and parts["policy"] is not None:
            with faults.under("policy"):
                inner = Faults()
                parts["policy"].check_capacity(capacity, inner)
                inner.raise_if_any()
    if parts["admission"] not in ADMISSIONS:
        faults.add(
            "admission",
            f"admission must be one of {', '.join(ADMISSIONS)}; got {parts['admission']!r}",
        )


_KIND_READERS: dict[str, Callable[..., ControlledArrivals]] = {
    "modes": _modes,
    "independent": _independent,
    "thinned": _thinned,
    "marked": _marked,
    "scaled": _scaled,
}


def _rows(rows: Any, place: str, keys: tuple[str, ...], faults: Faults) -> list[tuple[str, Mapping[str, Any]]]:
    if not isinstance(rows, list) or not rows or not all(isinstance(row, Mapping) for row in rows):
        faults.add(
            place,
            f"{place} must be a non-empty list of tables; got {checks.show(rows)}",
            f"Write [[arrivals.{place}]].",
        )
        return []
    for index, row in enumerate(rows):
        _known_keys(row, keys, f"{place}[{index}]", faults)
        for key in keys:
            _needed(row, key, faults, f"Each of {place} has the keys {', '.join(keys)}.", f"{place}[{index}]")
    return [(f"{place}[{index}]", row) for index, row in enumerate(rows)]


def _table(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InputError([Fault("", f"the section must be a table of keys; got {checks.show(value)}")])
    return value


def _needed(data: Mapping[str, Any], key: str, faults: Faults, hint: str, prefix: str = "") -> Any:
    if data.get(key) is None:
        faults.add(f"{prefix}.{key}" if prefix else key, f"{key} must be given; got nothing", hint)
        return None
    return data[key]


def _known_keys(data: Mapping[str, Any], known: Iterable[str], prefix: str, faults: Faults) -> None:
    names = tuple(known)
    for key in data:
        if key not in names:
            place = f"{prefix}.{key}" if prefix else key
            faults.add(place, f"the key must be one of {', '.join(names)}; got {key!r}", _nearest(key, names))


def _nearest(word: Any, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(str(word), list(known), n=1, cutoff=0.5)
    return f"Did you mean {close[0]!r}?" if close else ""


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    for key, value in pairs:
        if key in seen:
            raise InputError([Fault(key, f"the key must stand once; got {key!r} again")])
        seen[key] = value
    return seen
