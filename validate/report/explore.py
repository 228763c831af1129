"""The page to explore: every policy's measures inside one file, weights and limits to move, no server.

The page computes the cost (2) of each policy from its measures as `analytic.rewards.cost_of_rates` does, so that the
winner at any weights is the one that `crawltwin optimize` names among the same policies.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

import jinja2
from markupsafe import Markup

from validate.report.draw import theme_variables

KEYS = ("loss_rate", "obsolete_rate", "lost", "stale", "response", "robots", "idle", "pages", "arrival_rate")
"""What is embedded for each policy."""
CRITERIA = ("lost", "stale", "response", "robots", "idle")
"""What a policy on the front must not be beaten in all at once."""

_LABELS = {
    "lost": "share of pages lost",
    "stale": "share of pages stale",
    "response": "time in the system",
    "robots": "mean active robots",
    "idle": "indexer idle, share of time",
    "pages": "mean pages in the system",
    "arrival_rate": "pages delivered a unit of time",
}
_WEIGHTS = {
    "loss": ("a lost page", "times pages lost a unit of time"),
    "obsolescence": ("a stale page", "times pages stale a unit of time"),
    "response": ("time in the system", "times the mean time in the system of indexed pages"),
    "robots": ("an active robot", "times the mean number of active robots"),
    "starvation": ("an idle indexer", "times the share of time that the indexer is idle"),
}


@dataclass(frozen=True)
class ExploredPolicy:
    """One policy of the page.

    Parameters
    ----------
    name, words : str
        Its short form, and a sentence.
    table : sequence of int
        Robots by level.
    measures : sequence of float or None
        In the order of `KEYS`.
    levels : sequence of float or None
        Probabilities of each number of pages.
    """

    name: str
    words: str
    table: Sequence[int]
    measures: Sequence[float | None]
    levels: Sequence[float] | None


def explore_html(
    title: str, policies: Sequence[ExploredPolicy], weights: Mapping[str, float], plan: int, made: str
) -> str:
    """The page.

    Parameters
    ----------
    policies : sequence of ExploredPolicy
        All that can win.
    weights : mapping
        Of the plan, by the names of `CostWeights`.
    plan : int
        Index of the plan's policy.
    made : str
        A sentence on where the numbers come from.
    """
    data = {
        "keys": KEYS,
        "criteria": CRITERIA,
        "labels": list(_LABELS.items()),
        "weights": dict(weights),
        "plan": plan,
        "policies": [
            {
                "n": one.name,
                "w": one.words,
                "t": list(one.table),
                "m": [None if value is None else float(value) for value in one.measures],
                "l": None if one.levels is None else [float(f"{mass:.4g}") for mass in one.levels],
            }
            for one in policies
        ],
    }
    script = _read("explore.js")
    style = _read("style.css").replace("/*light*/", theme_variables(dark=False))
    style = style.replace("/*dark*/", theme_variables(dark=True)) + _read("explore.css")
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_read), autoescape=True, trim_blocks=True, undefined=jinja2.StrictUndefined
    )
    return environment.get_template("explore.html.j2").render(
        title=title,
        count=f"{len(policies):,}",
        weights=[
            {"key": key, "label": f"Weight of {label}", "hint": hint, "shown": _shown(weights.get(key, 0.0))}
            for key, (label, hint) in _WEIGHTS.items()
        ],
        limits=[{"key": key, "label": f"At most: {_LABELS[key]}", "hint": _range(policies, key)} for key in CRITERIA],
        criteria=[{"key": key, "label": _LABELS[key]} for key in CRITERIA],
        made=made,
        # "<" cannot end the element early when it is written as an escape.
        data=Markup(json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")),
        style=Markup(style),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _range(policies: Sequence[ExploredPolicy], key: str) -> str:
    values = [one.measures[KEYS.index(key)] for one in policies]
    known = [value for value in values if value is not None]
    return f"policies have {min(known):.3g} to {max(known):.3g}" if known else ""


def _shown(value: float) -> str:
    """The weight to its last bit, so that the page begins where the plan is."""
    return repr(int(value)) if float(value).is_integer() else repr(float(value))


def _read(name: str) -> str:
    return files("validate.report").joinpath("templates", name).read_text(encoding="utf-8")
