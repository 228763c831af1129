"""`policy.json`: a policy as a file that a crawler obeys. One schema, versioned by its `format`.

The file is one JSON object. Version 1 has `table` alone; version 2 adds what a table cannot say.

=================== ==================================================================================================
key                 meaning
=================== ==================================================================================================
`format`            "crawltwin policy 1" or "crawltwin policy 2"
`table`             `table[n]` robots run while n pages wait or are being indexed; the last entry holds for more. In
                    version 2 a crawler that knows only the table obeys the thresholds and leaves `resume` out
`robots`            numbers of robots, from the emptiest system to the fullest (version 2)
`thresholds`        more than `thresholds[j]` pages: step down from `robots[j]` to `robots[j + 1]`
`resume`            at most `resume[j]` pages: step up again; missing: `thresholds`
`check_every`       mean seconds between two looks at the backlog, at random times; 0 or missing: at every change
`threads_per_robot` how many fetches under way one robot stands for; missing: 1
`capacity`          pages for which the table was made; where it is given, no level of the table may be missing
=================== ==================================================================================================

`meaning`, `words`, `cost`, `scenario` and `crawltwin` are for people. Unknown keys are ignored: newer files stay
readable. A file is written by `PolicyFile.to_mapping` and read by `PolicyFile.read`, and by nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crawltwin.model import checks
from crawltwin.model.errors import Faults, InputError
from crawltwin.model.files import parse, read_text
from crawltwin.model.policies.levels import LevelPolicy
from crawltwin.model.policies.policy import whole_numbers
from crawltwin.model.policies.thresholds import ThresholdPolicy

FORMATS = ("crawltwin policy 1", "crawltwin policy 2")
MEANING = (
    "table[n] robots run while n pages are in the system (waiting or being indexed); the last entry holds for more"
)
LARGEST = 10_000_000
"""Most bytes of a policy file."""


@dataclass(frozen=True)
class PolicyFile:
    """What a policy file says, checked.

    Parameters
    ----------
    policy : ThresholdPolicy
    threads_per_robot : int
        Fetches under way that one robot stands for.

    Examples
    --------
    >>> PolicyFile.of({"format": "crawltwin policy 1", "table": [4, 4, 1]}).policy.short
    '4,1@1'
    """

    policy: ThresholdPolicy
    threads_per_robot: int = 1

    def __post_init__(self) -> None:
        faults = Faults()
        checks.integer(self.threads_per_robot, "threads_per_robot", faults, at_least=1)
        faults.raise_if_any()

    @classmethod
    def read(cls, path: str | Path) -> PolicyFile:
        """The file at `path`; InputError names all of its faults."""
        what = "the policy file"
        content = parse(read_text(path, what, at_most=LARGEST), what, json_text=True)
        return cls.of(content)

    @classmethod
    def of(cls, content: Any) -> PolicyFile:
        """The content of a file, checked."""
        if not isinstance(content, Mapping):
            raise InputError(f"a policy file must hold one JSON object; got {type(content).__name__}")
        faults = Faults()
        if content.get("format") not in FORMATS:
            faults.add(
                "format", f"format must be one of {', '.join(FORMATS)}; got {checks.show(content.get('format'))}"
            )
        table = whole_numbers(content.get("table"), "table", faults, at_least=1)
        if content.get("capacity") is not None:
            capacity = checks.integer(content["capacity"], "capacity", faults, at_least=1)
            if table is not None and capacity is not None:
                with faults.under(""):
                    LevelPolicy(table or [1]).check_capacity(capacity, faults)
        share = checks.integer(content.get("threads_per_robot", 1), "threads_per_robot", faults, at_least=1)
        policy: ThresholdPolicy | None = None
        with faults.under(""):
            every = content.get("check_every") or 0.0
            if "robots" in content:
                limits, again = content.get("thresholds", []), content.get("resume")
                policy = ThresholdPolicy(content["robots"], limits, again, check_every=every)
                short = table is not None and _tables_differ(policy, table)
                if short:
                    faults.add("table", f"table must say what robots and thresholds say; got {list(table or ())[:20]}")
            elif table is not None:
                policy = LevelPolicy(table, every).as_thresholds()
        faults.raise_if_any()
        assert policy is not None and share is not None
        return cls(policy, share)

    def to_mapping(self, capacity: int) -> dict[str, Any]:
        """The content of a file of version 2 for a system of this capacity, without the remarks for people."""
        return {
            "format": FORMATS[-1],
            "meaning": MEANING,
            "words": self.policy.in_words(capacity),
            "table": list(_without_memory(self.policy).robots_by_level(capacity)),
            **self.policy.to_mapping(),
            "threads_per_robot": self.threads_per_robot,
            "capacity": capacity,
        }


def _without_memory(policy: ThresholdPolicy) -> ThresholdPolicy:
    return ThresholdPolicy(policy.robots, policy.thresholds)


def _tables_differ(policy: ThresholdPolicy, table: tuple[int, ...]) -> bool:
    return _without_memory(policy).robots_by_level(len(table) - 1) != table
