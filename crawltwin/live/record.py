"""A whole record read back: fetches, indexing times, waiting times of stale pages, and the state over time.

`crawltwin fit` needs the deliveries alone; this reads everything that the model speaks about. A record that was cut off
in the middle of a line (the crawl was killed) loses that line only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from crawltwin.live.record_lines import longest_run
from crawltwin.live.recorder import FORMAT
from crawltwin.model.errors import InputError
from crawltwin.model.files import read_bytes
from fitting.readers.input.json_objects import objects

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]

LARGEST = 2_000_000_000
"""Bytes of a record that is read as a whole."""


@dataclass(frozen=True, eq=False)
class Record:
    """What happened between `begin` and `end`, in seconds since `begin`.

    Attributes
    ----------
    begin, end : float
        Seconds since 1970 of the first and of the last line.
    time, level, robots, in_flight : arrays
        The state just after each event: pages in the system, robots wanted, fetches under way.
    delivered, lost : arrays
        When pages were handed over; which of them found the system full.
    fetch : array
        Duration of the fetch of each delivered page, NaN where unknown.
    size : array
        Bytes of each delivered page, NaN where unknown.
    indexed, service, sojourn_served : arrays
        When pages were indexed, how long the indexing took, and the time since their delivery.
    stale, sojourn_stale : arrays
        When waiting pages went stale, and how long they had waited.
    waits : array
        How long the pages that began had waited before.
    switches : array
        When the number of robots wanted changed.
    opened : mapping
        The first line: `capacity`, `indexers`, `policy`.
    failed : int
        Pages whose indexing raised an error; they count as indexed.
    """

    begin: float
    end: float
    time: Float
    level: Int
    robots: Int
    in_flight: Int
    delivered: Float
    lost: Bool
    fetch: Float
    size: Float
    indexed: Float
    service: Float
    sojourn_served: Float
    stale: Float
    sojourn_stale: Float
    waits: Float
    switches: Float
    opened: Mapping[str, Any]
    failed: int

    @property
    def seconds(self) -> float:
        """Length of the record."""
        return self.end - self.begin

    @classmethod
    def read(cls, path: str | Path) -> Record:
        """The record in a file.

        Raises
        ------
        InputError
            When the file is no record, or holds no delivery.
        """
        content = read_bytes(path, "the record", at_most=LARGEST)
        lines = [line for line in content.split(b"\n") if line.strip()]
        found = [entry for entry in objects(lines) if entry is not None and "event" in entry and "time" in entry]
        if not found or found[0].get("format") != FORMAT:
            raise InputError(f"the record must begin with a line of the format {FORMAT!r}; got {str(path)!r}")
        return cls.of(found)

    @classmethod
    def of(cls, events: list[dict[str, Any]]) -> Record:
        """The record of these lines; of a crawl that was started several times, the start with most deliveries."""
        events = longest_run(events)
        begin = float(events[0]["time"])
        kinds: dict[str, list[dict[str, Any]]] = {}
        for event in events:
            kinds.setdefault(event["event"], []).append(event)
        pages, done = kinds.get("delivered", []), [*kinds.get("indexed", []), *kinds.get("failed", [])]
        done.sort(key=lambda event: float(event["time"]))
        if not pages:
            raise InputError("the record must hold at least one delivery; got none")
        arrivals = {event["page"]: float(event["time"]) for event in pages if "page" in event}
        began = [event for event in kinds.get("indexing", []) if event.get("page") in arrivals]
        stale = kinds.get("stale", [])

        def times(rows: list[dict[str, Any]]) -> Float:
            return np.array([float(row["time"]) - begin for row in rows])

        return cls(
            begin=begin,
            end=float(events[-1]["time"]),
            time=times(events),
            level=_whole(events, "level"),
            robots=_whole(events, "robots"),
            in_flight=_whole(events, "in_flight"),
            delivered=times(pages),
            lost=np.array([event.get("fate") == "lost" for event in pages]),
            fetch=_real(pages, "duration"),
            size=_real(pages, "size"),
            indexed=times(done),
            service=_real(done, "duration"),
            sojourn_served=np.array([_sojourn(event, arrivals) for event in done]),
            stale=times(stale),
            sojourn_stale=_real(stale, "sojourn"),
            waits=np.array([float(event["time"]) - arrivals[event["page"]] for event in began]),
            switches=times(kinds.get("robots", [])),
            opened=events[0],
            failed=len(kinds.get("failed", [])),
        )


def _sojourn(event: Mapping[str, Any], arrivals: Mapping[Any, float]) -> float:
    given = event.get("sojourn")
    return float(given) if given is not None else float(event["time"]) - arrivals.get(event.get("page"), np.nan)


def _whole(events: list[dict[str, Any]], name: str) -> Int:
    return np.array([int(event.get(name) or 0) for event in events], dtype=np.int64)


def _real(events: list[dict[str, Any]], name: str) -> Float:
    values = [event.get(name) for event in events]
    return np.array([np.nan if value is None else float(value) for value in values], dtype=np.float64)
