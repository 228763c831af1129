"""The section [arrivals] of a scenario file, kind by kind: reading and writing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from crawltwin.model import checks
from crawltwin.model.arrivals import kinds
from crawltwin.model.arrivals.fetching import FetchingRobots
from crawltwin.model.arrivals.kinds import ControlledArrivals
from crawltwin.model.arrivals.spells import Spells
from crawltwin.model.bmap import BMAP
from crawltwin.model.errors import Faults
from crawltwin.model.laws.families import exponential
from crawltwin.model.sections.keys import check_keys, nearest, needed, rows_of, table
from crawltwin.model.sections.phase_types import phase_type_mapping, read_phase_type

KINDS: Mapping[str, tuple[str, ...]] = {
    "modes": ("modes",),
    "independent": ("robots",),
    "thinned": ("D", "keep"),
    "marked": ("D0", "robots"),
    "scaled": ("D", "robots"),
    "fetching": ("robots", "fetch"),
}
"""Kind -> the keys that it needs."""

_OPTIONAL = {"fetching": ("pages", "start_up", "spells")}


def arrivals_mapping(given: ControlledArrivals) -> dict[str, Any]:
    """The section [arrivals] of a scenario file."""
    return {"kind": given.kind, **_own_mapping(given)}


def _own_mapping(given: ControlledArrivals) -> dict[str, Any]:
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
        case FetchingRobots():
            found: dict[str, Any] = {"robots": given.count, "fetch": phase_type_mapping(given.fetch)}
            found |= {} if given.pages == (1.0,) else {"pages": list(given.pages)}
            found |= {} if given.start_up is None else {"start_up": phase_type_mapping(given.start_up)}
            return found | ({} if given.spells is None else {"spells": given.spells.to_mapping()})
    raise TypeError(f"{type(given).__name__} has no file form")


def _matrices(blocks: Iterable[checks.FloatArray]) -> list[Any]:
    return [block.tolist() for block in blocks]


def read_arrivals(data: Mapping[str, Any]) -> ControlledArrivals:
    """Read the section [arrivals], with all its faults at once."""
    faults = Faults()
    kind = needed(data, "kind", faults, "One of " + ", ".join(KINDS) + ".")
    if kind is not None and (not isinstance(kind, str) or kind not in KINDS):
        faults.add("kind", f"kind must be one of {', '.join(KINDS)}; got {kind!r}", nearest(kind, KINDS))
        kind = None
    if kind is None:
        faults.raise_if_any()
    keys, more = KINDS[str(kind)], _OPTIONAL.get(str(kind), ())
    check_keys(data, ("kind", *keys, *more), "", faults)
    values = [needed(data, key, faults, f"The kind {kind!r} has the keys {', '.join(keys)}.") for key in keys]
    faults.raise_if_any()
    make = _KIND_READERS[str(kind)]
    return make(*values, **{key: data[key] for key in more if key in data})


def _modes(rows: Any) -> ControlledArrivals:
    faults = Faults()
    found: dict[int, BMAP] = {}
    for place, row in rows_of(rows, "modes", ("robots", "D"), faults):
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
    for place, row in rows_of(rows, "robots", ("D",), faults):
        with faults.under(place):
            robots.append(BMAP(row.get("D", [])))
    faults.raise_if_any()
    return kinds.IndependentRobots(tuple(robots))


def _marked(D0: Any, rows: Any) -> ControlledArrivals:
    faults = Faults()
    own = [row.get("D", []) for _, row in rows_of(rows, "robots", ("D",), faults)]
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


def _fetching(
    robots: Any, fetch: Any, pages: Any = (1.0,), start_up: Any = None, spells: Any = None
) -> ControlledArrivals:
    faults = Faults()
    parts: dict[str, Any] = {"start_up": None, "spells": None}
    for key, section, reader in (
        ("fetch", fetch, read_phase_type),
        ("start_up", start_up, read_phase_type),
        ("spells", spells, _spells),
    ):
        if section is not None:
            with faults.under(key):
                parts[key] = reader(table(section))
    # Faults in the sections above leave the other keys to be checked; a stand-in takes the place of what is missing.
    found = None
    with faults.under(""):
        found = FetchingRobots(robots, pages=pages, **{"fetch": exponential(1.0), **parts})
    faults.raise_if_any()
    assert found is not None
    return found


def _spells(data: Mapping[str, Any]) -> Spells:
    faults = Faults()
    check_keys(data, ("generator", "pace"), "", faults)
    hint = "spells = {generator = [[-0.2, 0.2], [0.5, -0.5]], pace = [1.0, 0.3]}."
    generator, pace = (needed(data, key, faults, hint) for key in ("generator", "pace"))
    faults.raise_if_any()
    return Spells(generator, pace)


_KIND_READERS: dict[str, Callable[..., ControlledArrivals]] = {
    "modes": _modes,
    "independent": _independent,
    "thinned": _thinned,
    "marked": _marked,
    "scaled": _scaled,
    "fetching": _fetching,
}
