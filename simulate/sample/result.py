"""What a simulation returns: intervals for every measure, and how they were got."""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from crawltwin.model import SCALAR_MEASURES, Interval
from crawltwin.model.measures import unit_of
from crawltwin.model.results.display import Drawn, measure_of
from simulate.sample.diagnostics import Diagnostics


@dataclass(frozen=True)
class Precision:
    """What was asked for, whether it was reached, and what is missing.

    Parameters
    ----------
    wanted : float
        Relative half-width.
    reached : bool
        Whether every measure has it.
    worst : str
        The measure that is farthest from it.
    half_width : float
        Its relative half-width.
    more_pages, more_seconds : float
        Estimate of what is still missing; infinite where the measure's value is 0 so far.
    """

    wanted: float
    reached: bool
    worst: str
    half_width: float
    more_pages: float
    more_seconds: float

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return dict(vars(self))


@dataclass(frozen=True, eq=False)
class SimulationResult(Drawn):
    """Simulated measures with intervals; ``result["cost"]`` is one of them.

    Pictures: ``plot()`` is the distribution of the backlog, ``plot("intervals")`` how wide the intervals are.

    Parameters
    ----------
    measures : mapping
        For each name of `MEASURES` an `Interval` (for `level_distribution` a tuple of them), None where the measure
        does not exist or was never seen.
    quantiles : mapping
        For `served` and `obsolete` pages: probability to `Interval` of the sojourn time.
    robots : mapping
        Share of time with each number of active robots.
    seed, bit_generator, engine, versions, scenario
        What is needed to get the same bits again; `scenario` is its content hash.
    interrupted : bool
        Whether the run was stopped before its end.
    """

    measures: Mapping[str, Any]
    quantiles: Mapping[str, Mapping[float, Interval]]
    robots: Mapping[int, float]
    confidence: float
    seed: int
    bit_generator: str
    engine: str
    versions: Mapping[str, str]
    scenario: str
    diagnostics: Diagnostics
    precision: Precision | None = None
    interrupted: bool = False
    warnings: tuple[str, ...] = ()
    records: pd.DataFrame | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in ("measures", "quantiles", "robots", "versions"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def __getitem__(self, name: str) -> Any:
        """The interval of a measure."""
        return measure_of(self.measures, name)

    def headline(self) -> str:
        """What the intervals rest on."""
        units = f"{self.diagnostics.count} {self.diagnostics.units}"
        return f"{self.confidence:.0%} intervals from {units}, seed {self.seed}"

    def to_json(self) -> dict[str, Any]:
        """The contract's object: plain dictionaries, lists and numbers, without the records."""
        measures: dict[str, Any] = {}
        for name, interval in self.measures.items():
            if isinstance(interval, tuple):
                measures[name] = [one.to_json() for one in interval]
            else:
                measures[name] = None if interval is None else interval.to_json()
        return {
            "measures": measures,
            "quantiles": {
                fate: [{"p": p, **interval.to_json()} for p, interval in found.items()]
                for fate, found in self.quantiles.items()
            },
            "active_robots": [{"robots": r, "share": share} for r, share in self.robots.items()],
            "precision": None if self.precision is None else self.precision.to_json(),
            "interrupted": self.interrupted,
            "warnings": list(self.warnings),
            "diagnostics": self.diagnostics.to_json(),
            "seed": self.seed,
            "bit_generator": self.bit_generator,
            "engine": self.engine,
            "versions": dict(self.versions),
            "scenario": self.scenario,
        }

    def to_frame(self) -> pd.DataFrame:
        """Tidy and long: one row per measure, levels as `level_distribution` with their level."""
        rows: list[dict[str, Any]] = []
        for name, interval in self.measures.items():
            several = interval if isinstance(interval, tuple) else (interval,)
            for level, one in enumerate(several):
                numbers = (math.nan, math.nan, math.nan) if one is None else (one.value, one.low, one.high)
                rows.append(
                    {
                        "measure": name,
                        "level": level if isinstance(interval, tuple) else None,
                        **dict(zip(("value", "low", "high"), numbers)),
                        "confidence": self.confidence,
                        "unit": unit_of(name),
                    }
                )
        return pd.DataFrame(rows).astype({"level": "Int64"})

    def __repr__(self) -> str:
        lines = [super().__repr__()]
        for name in SCALAR_MEASURES:
            interval = self.measures.get(name)
            if interval is not None:
                lines.append(f"  {name:<26}{rounded(interval)}")
        return "\n".join([*lines, *[f"  warning: {warning}" for warning in self.warnings]])


def rounded(interval: Interval) -> str:
    """An interval rounded to two digits of its own error.

    Examples
    --------
    >>> rounded(Interval(0.36234, 0.36101, 0.36367, 0.95))
    '0.3623 [0.3610, 0.3637]'
    """
    width = max(interval.high - interval.value, interval.value - interval.low)
    if not (math.isfinite(width) and width > 0):
        return f"{interval.value:.6g} [{interval.low:.6g}, {interval.high:.6g}]"
    digits = max(0, 1 - math.floor(math.log10(width)))
    return " ".join([f"{interval.value:.{digits}f}", f"[{interval.low:.{digits}f},", f"{interval.high:.{digits}f}]"])


@cache
def versions() -> dict[str, str]:
    """Software that the bits depend on."""
    from importlib.metadata import version

    import crawltwin

    names = ("numpy", "numba", "simpy", "scipy")
    return {
        "crawltwin": crawltwin.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        **{name: version(name) for name in names if name != "numpy"},
    }
