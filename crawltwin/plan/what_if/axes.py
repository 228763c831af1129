"""What a sweep may vary, and how a range is written.

A range is a list ``a,b,c``, or ``a:b`` with an optional third part:

=============  ===========================================================================
written        means
=============  ===========================================================================
``1:100``      every whole number; for a real quantity ten values, evenly spaced in ratio
``1:9:2``      from 1 in steps of 2, the end included where a step meets it
``1:9:5lin``   five values, evenly spaced
``1:9:5log``   five values, evenly spaced in ratio
``1,3,9``      these
=============  ===========================================================================
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np

from crawltwin.model import (
    ADMISSIONS,
    BMAP,
    ControlledArrivals,
    CostWeights,
    FetchingRobots,
    InputError,
    ModeMatrices,
    ScaledStream,
    Scenario,
)
from crawltwin.model.errors import Fault

Kind = Literal["whole", "real", "word"]
AxisValue = int | float | str

POINTS = 10
"""Values of a real range of which nothing more is said."""
MAX_POINTS = 100_000
"""Most values of one range, and most points of a grid."""


@dataclass(frozen=True)
class Quantity:
    """Something that a sweep may vary.

    Parameters
    ----------
    kind : {"whole", "real", "word"}
    words : str
        For people.
    change : callable
        Scenario and value to the changed scenario.
    duration : bool
        Whether its values are times.
    """

    kind: Kind
    words: str
    change: Callable[[Scenario, Any], Scenario]
    duration: bool = False


def _robots(arrivals: ControlledArrivals, most: int) -> ControlledArrivals:
    """At most so many robots; more than are known only where a further robot is like the others."""
    if isinstance(arrivals, ScaledStream | FetchingRobots):
        return replace(arrivals, count=most)
    kept: dict[int, BMAP] = {robots: mode for robots, mode in arrivals.modes.items() if robots <= most}
    if not kept or most > max(arrivals.robot_numbers):
        known = ", ".join(map(str, arrivals.robot_numbers))
        raise InputError(
            [
                Fault(
                    "",
                    f"robots must be among those that the arrivals know ({known}); got {most}",
                    "Only arrivals of kind scaled or fetching tell what more robots would bring.",
                )
            ]
        )
    return ModeMatrices(kept)


def _weights(name: str) -> Callable[[Scenario, float], Scenario]:
    def change(scenario: Scenario, value: float) -> Scenario:
        own = scenario.cost or CostWeights()
        held = {field.name: getattr(own, field.name) for field in fields(own)}
        return scenario.replace(cost=CostWeights(**{**held, name: value}))

    return change


def _stale(scenario: Scenario, factor: float, to_mean: bool) -> Scenario:
    law = scenario.obsolescence
    if law is None:
        raise InputError("obsolescence must be given to be varied; got pages that never become obsolete")
    return scenario.replace(obsolescence=law.scaled(law.mean / factor if to_mean else factor))


QUANTITIES: Mapping[str, Quantity] = {
    "capacity": Quantity("whole", "pages in the system at most", lambda s, v: s.replace(capacity=v)),
    "robots": Quantity("whole", "robots at most", lambda s, v: s.replace(arrivals=_robots(s.arrivals, v))),
    "service.scale": Quantity(
        "real", "indexing speed, times the present one", lambda s, v: s.replace(service=s.service.scaled(v))
    ),
    "service.mean": Quantity(
        "real", "mean indexing time", lambda s, v: s.replace(service=s.service.scaled(s.service.mean / v)), True
    ),
    "arrivals.scale": Quantity(
        "real",
        "delivery rates, times the present ones",
        lambda s, v: s.replace(arrivals=s.arrivals.scaled(v)),
    ),
    "obsolescence.scale": Quantity("real", "speed of becoming obsolete", lambda s, v: _stale(s, v, to_mean=False)),
    "obsolescence.mean": Quantity("real", "mean time until obsolete", lambda s, v: _stale(s, v, to_mean=True), True),
    "admission": Quantity("word", "what happens to a batch that does not fit", lambda s, v: s.replace(admission=v)),
    **{
        f"cost.{field.name}": Quantity("real", f"weight of {field.name} in the cost", _weights(field.name))
        for field in fields(CostWeights)
    },
}
"""Everything that can be varied, by its name."""


@dataclass(frozen=True)
class Axis:
    """One varied quantity and its values.

    Examples
    --------
    >>> read_axis("capacity=1:4").values
    (1, 2, 3, 4)
    >>> read_axis("service.scale=0.1:10:3log").values
    (0.1, 1.0, 10.0)
    """

    name: str
    values: tuple[AxisValue, ...]

    def __post_init__(self) -> None:
        if self.name not in QUANTITIES:
            raise InputError([_unknown(self.name)])
        if not self.values:
            raise InputError([Fault(self.name, f"{self.name} must have at least one value; got none")])
        object.__setattr__(self, "values", tuple(self.values))

    def change(self, scenario: Scenario, value: AxisValue) -> Scenario:
        """The scenario with this quantity at `value`."""
        return QUANTITIES[self.name].change(scenario, value)


def _unknown(name: str) -> Fault:
    close = difflib.get_close_matches(name, QUANTITIES, n=1, cutoff=0.4)
    return Fault(
        "--vary",
        f"the quantity must be one of {', '.join(QUANTITIES)}; got {name!r}",
        f"Did you mean {close[0]!r}?" if close else "",
    )


def read_axis(text: str) -> Axis:
    """An axis as it is written on the command line, ``NAME=RANGE``."""
    name, equals, spec = text.partition("=")
    name, spec = name.strip(), spec.strip()
    if name not in QUANTITIES:
        raise InputError([_unknown(name)])
    if not equals or not spec:
        raise InputError(f"--vary must be NAME=RANGE; got {text!r}. For example {name}=1:10")
    kind = QUANTITIES[name].kind
    if kind == "word":
        return Axis(name, _words(name, spec))
    values = _stretch(name, spec, kind) if ":" in spec else [_number(name, word, kind) for word in spec.split(",")]
    return Axis(name, tuple(values))


def _words(name: str, spec: str) -> tuple[str, ...]:
    words = tuple(word.strip() for word in spec.split(","))
    for word in words:
        if word not in ADMISSIONS:
            raise InputError(f"{name} must be among {', '.join(ADMISSIONS)}; got {word!r}")
    return words


def _number(name: str, word: str, kind: Kind) -> int | float:
    try:
        value = int(word) if kind == "whole" else float(word)
    except ValueError:
        needed = "whole numbers" if kind == "whole" else "numbers"
        raise InputError(f"{name} must be {needed}, as a:b, a:b:step, a:b:NlogNlin or a,b,c; got {word!r}") from None
    if not math.isfinite(value):
        raise InputError(f"{name} must be finite; got {word!r}")
    return value


def _stretch(name: str, spec: str, kind: Kind) -> list[int | float]:
    parts = spec.split(":")
    if len(parts) not in (2, 3):
        raise InputError(f"{name} must be a:b or a:b:step; got {spec!r}")
    low, high = (_number(name, part, kind) for part in parts[:2])
    if low > high:
        raise InputError(f"{name} must run upwards; got {spec!r}. Write {parts[1]}:{parts[0]}")
    third = parts[2].strip() if len(parts) == 3 else ""
    if third.endswith(("lin", "log")):
        return _spaced(name, low, high, third, kind)
    if third:
        step = _number(name, third, kind)
        if step <= 0:
            raise InputError(f"the step of {name} must be greater than 0; got {third}")
    elif kind == "whole":
        step = 1
    else:
        return _spaced(name, low, high, f"{POINTS}{'log' if low > 0 else 'lin'}", kind)
    count = math.floor((high - low) / step * (1 + 1e-12) + 1e-9) + 1
    _check_count(name, count)
    return [low + k * step for k in range(count)]


def _spaced(name: str, low: float, high: float, third: str, kind: Kind) -> list[int | float]:
    count = _number(name, third[:-3], "whole")
    _check_count(name, int(count))
    if third.endswith("log"):
        if low <= 0:
            raise InputError(f"{name} must begin above 0 to be spaced by ratio; got {low:g}. Use {count}lin")
        values = np.geomspace(low, high, int(count))
    else:
        values = np.linspace(low, high, int(count))
    if kind == "whole":
        return sorted({round(value) for value in values.tolist()})
    # Ends as they were written; between them twelve digits, so that 0.1:10 meets 1 and not 0.9999999999999999.
    inner = [float(f"{value:.12g}") for value in values.tolist()]
    return [low, *inner[1:-1], high][: int(count)] if count > 1 else [low]


def _check_count(name: str, count: int) -> None:
    if not 1 <= count <= MAX_POINTS:
        raise InputError(f"{name} must have 1 to {MAX_POINTS:,} values; got {count:,}")
