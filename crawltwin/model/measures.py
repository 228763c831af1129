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

    `kind` tells how a simulation estimates it: a `time average` over the run, a `rate` of events per unit of time, a
    `page average` over the pages of some fate, a `ratio` of two counts, or `composite` (computed from others).
    """

    name: str
    symbol: str
    unit: str
    equation: str
    kind: Kind
    words: str


_ALL = (
    Measure("arrival_rate", "λ", "pages/time", "(9)", "rate", "pages delivered by the robots per unit of time"),
    Measure("loss_probability", "P_loss", "probability", "(8)", "ratio", "page lost because the buffer is full"),
    Measure(
        "obsolescence_probability", "P_obs", "probability", "(14)", "ratio", "page obsolete before its indexing begins"
    ),
    Measure("success_probability", "P_success", "probability", "(15)", "ratio", "page indexed"),
    Measure(
        "starvation_probability",
        "P_star",
        "probability",
        "(5)",
        "time average",
        "indexer idle (of several: mean share of idle ones)",
    ),
    Measure("mean_active_robots", "N_act", "robots", "(6)", "time average", "mean number of active robots"),
    Measure("mean_pages", "L", "pages", "", "time average", "mean number of pages in the system"),
    Measure("mean_sojourn", "V", "time", "(22)", "page average", "mean time in the system, lost pages counted as 0"),
    Measure("mean_sojourn_served", "V1", "time", "(23)", "page average", "mean time in the system of indexed pages"),
    Measure("mean_sojourn_obsolete", "V2", "time", "(24)", "page average", "mean time in the system of obsolete pages"),
    Measure("switch_rate", "", "1/time", "", "rate", "changes of the number of robots per unit of time"),
    Measure("mean_fetches", "", "fetches", "", "time average", "mean number of fetches in flight"),
    Measure("cost", "J", "cost", "(2)", "composite", "cost criterion"),
    Measure("level_distribution", "p_i e", "probability", "(4)", "time average", "probability of each number of pages"),
)

MEASURES: Mapping[str, Measure] = MappingProxyType({measure.name: measure for measure in _ALL})
"""Name to description, in the order of the contract."""

SCALAR_MEASURES: tuple[str, ...] = tuple(name for name in MEASURES if name != "level_distribution")
"""Names of the measures that are single numbers."""

FATE_SHARES: tuple[str, ...] = tuple(measure.name for measure in _ALL if measure.kind == "ratio")
"""Shares of the pages that are lost, become obsolete and are indexed: their sum is one."""

_PARTS = {"mode_probabilities": "probability", "sojourn_distribution": "probability", "sojourn_quantiles": "time"}

PROBABILITIES = frozenset(
    name for name, unit in ({measure.name: measure.unit for measure in _ALL} | _PARTS).items() if unit == "probability"
)
"""Names of the measures and of the parts of measures that are probabilities."""


def unit_of(name: str) -> str:
    """The unit of a measure, or of one of its parts; empty where it is not known.

    Examples
    --------
    >>> unit_of("mean_pages"), unit_of("sojourn_quantiles")
    ('pages', 'time')
    """
    return MEASURES[name].unit if name in MEASURES else _PARTS.get(name, "")


LINEAR_MEASURES: Mapping[str, str] = MappingProxyType(
    {
        "arrival_rate": "pages",
        "loss_rate": "lost",
        "starvation_probability": "starvation",
        "mean_active_robots": "robots",
        "mean_pages": "level",
        "switch_rate": "switches",
        "mean_fetches": "fetches",
    }
)
"""Measures that are linear rates: measure -> rate. `loss_rate` is no measure of the contract, but may be bounded."""

QUOTIENT_MEASURES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "loss_probability": ("lost", "decided"),
        "obsolescence_probability": ("obsolete", "decided"),
        "success_probability": ("served", "decided"),
        "mean_sojourn": ("sojourn", "decided"),
        "mean_sojourn_served": ("sojourn_served", "served"),
        "mean_sojourn_obsolete": ("sojourn_obsolete", "obsolete"),
    }
)
"""Measures that are quotients of two rates: measure -> (numerator, denominator). `sojourn` is that of all pages."""
