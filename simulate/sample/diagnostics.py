"""How a sample came about, and what to look at before it is believed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Diagnostics:
    """How a result came about, and what to look at before it is believed.

    Parameters
    ----------
    units : str
        What the intervals rest on: ``replications`` or ``batches``.
    count : int
        How many of them.
    warmup_time, warmup_bins, warmup_found
        What was left out at the start of each run, and whether MSER-5 found it before the middle of the run.
    run_time : float
        Simulated time of all runs, warm-up included.
    pages : mapping
        Pages delivered, lost, obsolete, served, and still there, over all runs, warm-up included.
    conservation : int
        Pages unaccounted for; 0, or the engine is wrong.
    little : float
        Largest relative gap of Little's law on the path of a run; rounding only, or the engine is wrong.
    lag_one : mapping
        Correlation of neighbouring batches inside a run, by measure; near 0 when batches are long enough.
    effective_size : mapping
        Number of independent observations that would tell as much, by measure.
    events, seconds : int, float
        Events handled and wall-clock time.
    """

    units: str = "replications"
    count: int = 0
    warmup_time: float = 0.0
    warmup_bins: int = 0
    warmup_found: bool = True
    run_time: float = 0.0
    pages: Mapping[str, int] = field(default_factory=dict)
    conservation: int = 0
    little: float = 0.0
    lag_one: Mapping[str, float] = field(default_factory=dict)
    effective_size: Mapping[str, float] = field(default_factory=dict)
    events: int = 0
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        found = {name: dict(value) if isinstance(value, Mapping) else value for name, value in vars(self).items()}
        return found | {"events_per_second": self.events / self.seconds if self.seconds > 0 else None}
