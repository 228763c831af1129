"""The one list of measures: both sides return exactly these names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Kind = Literal["time average", "page average", "ratio", "rate", "composite"]


@dataclass(frozen=True)
class Measure:
    """What a measure is: its name in the API, symbol and equation in the paper, unit and kind.

    `kind` tells how a simulation estimates it: a `time average` over the run, a `rate` of events a unit of time, a
    `page average` over the pages of some fate, a `ratio` of two counts, or `composite` (computed from others).
    """

    name: str
    symbol: str
    unit: str
    equation: str
    kind: Kind
    words: str


_ALL = (
    Measure("arrival_rate", "λ", "pages/time", "(9)", "rate", "pages delivered by the robots a unit of time"),
    Measure("loss_probability", "P_loss", "probability", "(8)", "ratio", "page lost because the buffer is full"),
    Measure(
        "obsolescence_probability", "P_obs", "probability", "(14)", "ratio", "page obsolete before its indexing begins"
    ),
    Measure("success_probability", "P_success", "probability", "(15)", "ratio", "page indexed"),
    Measure("starvation_probability", "P_star", "probability", "(5)", "time average", "indexer idle"),
    Measure("mean_active_robots", "N_act", "robots", "(6)", "time average", "mean number of active robots"),
    Measure("mean_pages", "L", "pages", "", "time average", "mean number of pages in the system"),
    Measure("mean_sojourn", "V", "time", "(22)", "page average", "mean time in the system, lost pages counted as 0"),
    Measure("mean_sojourn_served", "V1", "time", "(23)", "page average", "mean time in the system of indexed pages"),
    Measure("mean_sojourn_obsolete", "V2", "time", "(24)", "page average", "mean time in the system of obsolete pages"),
    Measure("cost", "J", "cost", "(2)", "composite", "cost criterion"),
    Measure("level_distribution", "p_i e", "probability", "(4)", "time average", "probability of each number of pages"),
)

MEASURES: Mapping[str, Measure] = MappingProxyType({measure.name: measure for measure in _ALL})
"""Name to description, in the order of the contract."""

SCALAR_MEASURES: tuple[str, ...] = tuple(name for name in MEASURES if name != "level_distribution")
"""Names of the measures that are single numbers."""
