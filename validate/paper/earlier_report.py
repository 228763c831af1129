"""Comparing a reproduction with an earlier one, for referees and for continuous integration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from crawltwin.model.errors import InputError
from crawltwin.model.results.comparing import differences
from crawltwin.model.results.comparing import same_number as _same


def compare(earlier: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What differs in numbers and verdicts, one line per difference; words may differ.

    Examples
    --------
    >>> cell = {"where": "Table 1", "what": "a", "printed": "2", "verdict": "reproduced", "value": 2.0}
    >>> compare({"findings": [cell]}, {"findings": [cell | {"verdict": "misprint"}]})
    ['Table 1, a: verdict was reproduced, is misprint']
    """
    part = "table_5_intervals"
    try:
        return [
            *_findings(earlier, now, "findings"),
            *_findings(earlier, now, "others"),
            *_claims(earlier, now),
            *_curves(earlier, now),
            *(differences(part, earlier[part], now[part]) if part in earlier else ()),
            *_simulated(earlier, now),
        ]
    except (AttributeError, KeyError, TypeError):
        raise InputError(
            "the earlier answer must be one of `crawltwin reproduce`; got parts that are damaged or of another kind"
        ) from None


def _findings(earlier: Mapping[str, Any], now: Mapping[str, Any], part: str) -> Iterator[str]:
    old, new = ({(item["where"], item["what"]): item for item in held.get(part, [])} for held in (earlier, now))
    for name in sorted(old.keys() | new.keys()):
        label = ", ".join(name)
        if name not in new or name not in old:
            yield f"{label}: only in the {'earlier report' if name in old else 'new one'}"
            continue
        for cell in ("verdict", "printed"):
            if old[name][cell] != new[name][cell]:
                yield f"{label}: {cell} was {old[name][cell]}, is {new[name][cell]}"
        if not _same(old[name]["value"], new[name]["value"]):
            yield f"{label}: ours was {old[name]['value']}, is {new[name]['value']}"


def _claims(earlier: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    old, new = ({item["name"]: item["holds"] for item in held.get("claims", [])} for held in (earlier, now))
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            yield f"claim {name!r}: held was {old.get(name)}, is {new.get(name)}"


def _curves(earlier: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for figure in sorted(earlier.get("figures", {}).keys() | now.get("figures", {}).keys()):
        old, new = (
            {item["label"]: item["costs"] for item in held.get("figures", {}).get(figure, [])}
            for held in (earlier, now)
        )
        for label in sorted(old.keys() | new.keys()):
            pair = old.get(label, []), new.get(label, [])
            if len(pair[0]) != len(pair[1]) or not all(map(_same, *pair)):
                yield f"figure {figure}, {label}: the curve differs"


def _simulated(earlier: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Rows simulated in both; a report without simulation is no contradiction."""
    old, new = ({(item["where"], item["what"]): item for item in held.get("simulated", [])} for held in (earlier, now))
    for name in sorted(old.keys() & new.keys()):
        if old[name]["verdict"] != new[name]["verdict"] or not _same(old[name]["value"], new[name]["value"]):
            yield f"{', '.join(name)}, simulated: was {old[name]['value']}, is {new[name]['value']}"
