"""The page to explore: every policy's measures inside one file, weights and limits to move, no server.

The page computes the cost (2) of each policy from its measures as the solver does, so that the winner at any weights is
the one that `crawltwin optimize` names among the same policies.
"""

from __future__ import annotations

import json

from markupsafe import Markup

import crawltwin
from crawltwin.plan.what_if.explored import CRITERIA, KEYS, Explored
from crawltwin.plan.wording import unit_of_rate
from crawltwin.report.html import fill_page

_LABELS = {
    "lost": "pages lost",
    "stale": "pages stale",
    "response": "time in the system",
    "robots": "mean active robots",
    "idle": "indexer idle",
    "pages": "mean pages in the system",
    "arrival_rate": "pages delivered",
    "indexed": "pages indexed",
}
_UNITS = {
    "lost": (100.0, "%"),
    "stale": (100.0, "%"),
    "response": (1.0, " s"),
    "idle": (100.0, "%"),
    "indexed": (100.0, "% of today's"),
}
"""What a measure is multiplied by to be shown or typed, and its unit then."""
_COLUMNS = {
    "loss_rate": "lost_pages_per_second",
    "obsolete_rate": "stale_pages_per_second",
    "lost": "lost_share",
    "stale": "stale_share",
    "response": "seconds_in_system",
    "robots": "mean_robots",
    "idle": "idle_share",
    "pages": "mean_pages",
    "arrival_rate": "delivered_pages_per_second",
    "indexed": "indexed_share_of_today",
}
"""Columns of the table that is saved: plain numbers, their units in the names."""
_WEIGHTS = {
    "loss": ("a lost page", "times pages lost per second"),
    "obsolescence": ("a stale page", "times pages stale per second"),
    "response": ("time in the system", "times the mean time in the system of indexed pages, in seconds"),
    "robots": ("an active robot", "times the mean number of active robots"),
    "starvation": ("an idle indexer", "times the share of time that the indexer is idle"),
}


def explore_page(found: Explored) -> str:
    """The page as one self-contained text."""
    scenario, policies, weights = found.scenario, found.policies, found.weights
    factor, unit = unit_of_rate(policies[found.plan].measures[KEYS.index("arrival_rate")] or 0.0)
    units = {**_UNITS, "arrival_rate": (factor, f" {unit}")}
    labels = _LABELS if found.indexed_today else {key: words for key, words in _LABELS.items() if key != "indexed"}
    data = {
        "keys": KEYS,
        "criteria": CRITERIA,
        "labels": list(labels.items()),
        "columns": [(key, _COLUMNS[key]) for key in (*KEYS, *(["indexed"] if found.indexed_today else []))],
        "indexedToday": found.indexed_today,
        "factors": {key: factor for key, (factor, _) in units.items()},
        "units": {key: unit for key, (_, unit) in units.items()},
        "weights": weights,
        "bounds": dict(found.bounds),
        "plan": found.plan,
        "planned": "plan's best single policy" if found.by_part else "plan's policy",
        "share": found.fetches_per_robot,
        "worlds": {f"{world.indexing:g} {world.staleness:g}": world.measures for world in found.worlds},
        "policies": [
            {"n": one.name, "w": one.words, "t": one.table, "m": one.measures, "l": _rounded(one.levels)}
            for one in policies
        ],
    }
    every = f"all {found.evaluated:,}" if len(policies) == found.evaluated else f"the {len(policies):,} cheapest"
    return fill_page(
        "explore.html.j2",
        script="explore.js",
        styles=["style.css", "explore.css"],
        title=f"Explore: {scenario.title or 'a crawler'}",
        count=f"{len(policies):,}",
        notes=[words for words in (found.day, found.unheeded) if words],
        weights=[
            {"key": key, "label": f"Weight of {label}", "hint": hint, "shown": _shown(weights.get(key, 0.0))}
            for key, (label, hint) in _WEIGHTS.items()
        ],
        limits=[
            {
                "key": key,
                "label": f"At {'least' if key == 'indexed' else 'most'}: {_with_unit(key)}",
                "shown": "" if (bound := found.bounds.get(key)) is None else _shown(bound * _UNITS[key][0]),
            }
            for key in (*CRITERIA, *(["indexed"] if found.indexed_today else []))
        ],
        speeds=[
            {
                "key": key,
                "label": label,
                "options": [(f"{factor:g}", _times(factor)) for factor in sorted({1.0, *factors})],
            }
            for key, label, factors in (
                ("indexing", "Indexing is", [world.indexing for world in found.worlds]),
                ("staleness", "Pages go stale", [world.staleness for world in found.worlds]),
            )
        ],
        planned="plan, one policy" if found.by_part else "plan",
        planned_words=data["planned"],
        criteria=[{"key": key, "label": _with_unit(key)} for key in CRITERIA],
        made=f"Solved by crawltwin {crawltwin.__version__}: {every} evaluated threshold policies ({found.method}), "
        f"scenario {scenario.content_hash[:12]}.",
        # "<" cannot end the element early when it is written as an escape.
        data=Markup(json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")),
    )


def _rounded(masses: tuple[float, ...] | None) -> list[float] | None:
    return None if masses is None else [float(f"{mass:.4g}") for mass in masses]


def _with_unit(key: str) -> str:
    """The label of a measure with the unit of its numbers."""
    unit = _UNITS.get(key, (1.0, ""))[1].strip()
    return f"{_LABELS[key]}, {unit}" if unit else _LABELS[key]


def _times(factor: float) -> str:
    if factor == 1:
        return "as fast as in the plan"
    return f"{factor:g} times as fast" if factor > 1 else f"{1 / factor:.2g} times as slow"


def _shown(value: float) -> str:
    """A weight or limit as its box shows it; untouched, the page computes with every bit of the plan's."""
    return repr(int(value)) if float(value).is_integer() and abs(value) < 1e9 else f"{value:.6g}"
