"""The lines of a record before anything is computed from them: every value checked, one start of the crawl at a time.

A crawl that is started again goes on in the same file. Page numbers begin anew then, the time between two starts is no
part of either, and the clock of the machine may have been set; so only the lines from one start to the next belong
together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from crawltwin.model import checks
from crawltwin.model.errors import Faults

COUNTS = ("level", "robots", "in_flight")
AMOUNTS = ("duration", "sojourn", "size")
MOST = 1_000_000_000
"""Largest count of a line: far more pages, robots and fetches than there are."""


def longest_run(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines of the start with most deliveries (of several, the last), checked.

    Raises
    ------
    InputError
        When a line holds a value that no record has, or is from before the line above it.

    Examples
    --------
    >>> lines = [{"time": 1, "event": "opened"}, {"time": 9, "event": "opened"}, {"time": 9, "event": "delivered"}]
    >>> [line["time"] for line in longest_run(lines)]
    [9, 9]
    """
    faults = Faults()
    runs: list[list[dict[str, Any]]] = [[]]
    before = 0.0
    for number, line in enumerate(lines):
        place = f"event {number + 1}"
        if line.get("event") == "opened":
            runs.append([])
        time = _checked(line, place, faults)
        if time is not None:
            if runs[-1] and time < before:
                text = f"time must not be less than that of the event before; got {time!r} after {before!r}"
                faults.add(place, text, "A clock that was set makes such a record: leave its part out.")
            before = time
        runs[-1].append(line)
        if len(list(faults)) > 10:
            break
    faults.raise_if_any()
    return max(reversed(runs), key=lambda run: sum(line["event"] == "delivered" for line in run))


def _checked(line: Mapping[str, Any], place: str, faults: Faults) -> float | None:
    """The time of a line; what is wrong with it is added to the faults."""
    found = Faults()
    time = checks.number(line.get("time"), "time", found, at_least=0, at_most=1e12)
    if not isinstance(line.get("event"), str):
        found.add("event", f"event must be a text; got {checks.show(line.get('event'))}")
    if not isinstance(line.get("page"), int | str | None):
        found.add("page", f"page must be a number or a text; got {checks.show(line.get('page'))}")
    for name in COUNTS:
        if line.get(name) is not None:
            checks.integer(line[name], name, found, at_least=0, at_most=MOST)
    for name in AMOUNTS:
        if line.get(name) is not None:
            checks.number(line[name], name, found, at_least=0)
    for name in ("capacity", "indexers"):
        if line.get(name) is not None:
            checks.integer(line[name], name, found, at_least=1, at_most=MOST)
    for fault in found:
        faults.add(f"{place}, {fault.place}", fault.text, fault.way_out)
    return time
