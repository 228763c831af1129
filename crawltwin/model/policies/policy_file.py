"""`policy.json`: a policy as a file that a crawler obeys. One schema, versioned by its `format`.

The file is one JSON object. Version 1 has `table` alone; version 2 adds what a table cannot say; version 3 adds
policies by part of the day. A file without a schedule is written in version 2.

=================== ==================================================================================================
key                 meaning
=================== ==================================================================================================
`format`            "crawltwin policy 1", "crawltwin policy 2" or "crawltwin policy 3"
`table`             `table[n]` robots run while n pages wait or are being indexed; the last entry holds for more. In
                    version 2 a crawler that knows only the table obeys the thresholds and leaves `resume` out
`robots`            numbers of robots, from the emptiest system to the fullest (version 2)
`thresholds`        more than `thresholds[j]` pages: step down from `robots[j]` to `robots[j + 1]`
`resume`            at most `resume[j]` pages: step up again; missing: `thresholds`
`check_every`       mean seconds between two looks at the backlog, at random times; 0 or missing: at every change
`threads_per_robot` how many fetches under way one robot stands for; missing: 1
`capacity`          pages for which the table was made; where it is given, no level of the table may be missing
`schedule`          policies by part of a period (version 3): `parts`, each with `from` and `to` (seconds after the
                    beginning of the period; a part over its end has `to` below `from`) and with `table`, `robots`,
                    `thresholds`, `resume` and `check_every` as above; `period` in seconds, missing: a day; and
                    `utc_offset`, seconds ahead of universal time, null: the machine's own clock; missing: 0. A day
                    begins at midnight, a week on Monday. Outside all parts, and for a crawler that knows no schedule,
                    the policy above holds
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
from crawltwin.model.policies.schedule import DAY, Schedule, SchedulePart
from crawltwin.model.policies.thresholds import ThresholdPolicy

FORMATS = ("crawltwin policy 1", "crawltwin policy 2", "crawltwin policy 3")
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
        In force always, or outside all parts of the schedule.
    threads_per_robot : int
        Fetches under way that one robot stands for.
    schedule : Schedule, optional
        Policies by part of the day.

    Examples
    --------
    >>> PolicyFile.of({"format": "crawltwin policy 1", "table": [4, 4, 1]}).policy.short
    '4,1@1'
    """

    policy: ThresholdPolicy
    threads_per_robot: int = 1
    schedule: Schedule | None = None

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
        capacity: int | None = None
        if content.get("capacity") is not None:
            capacity = checks.integer(content["capacity"], "capacity", faults, at_least=1)
        share = checks.integer(content.get("threads_per_robot", 1), "threads_per_robot", faults, at_least=1)
        policy: ThresholdPolicy | None = None
        schedule: Schedule | None = None
        with faults.under(""):
            policy = _policy_of(content, capacity)
        if content.get("schedule") is not None:
            if content.get("format") in FORMATS[:-1]:
                faults.add("schedule", f"format must be {FORMATS[-1]!r} where there is a schedule; "
                           f"got {checks.show(content['format'])}")  # fmt: skip
            with faults.under("schedule"):
                schedule = _schedule_of(content["schedule"], capacity)
        faults.raise_if_any()
        assert policy is not None and share is not None
        return cls(policy, share, schedule)

    def policy_at(self, now: float) -> ThresholdPolicy:
        """The policy in force at a time in seconds since 1970."""
        own = None if self.schedule is None else self.schedule.policy_at(now)
        return self.policy if own is None else own

    def to_mapping(self, capacity: int) -> dict[str, Any]:
        """The content of a file for a system of this capacity, without the remarks for people."""
        return {
            "format": FORMATS[-2 if self.schedule is None else -1],
            "meaning": MEANING,
            **_policy_mapping(self.policy, capacity),
            "threads_per_robot": self.threads_per_robot,
            "capacity": capacity,
            **({} if self.schedule is None else {"schedule": _schedule_mapping(self.schedule, capacity)}),
        }


def _policy_of(content: Mapping[str, Any], capacity: int | None) -> ThresholdPolicy:
    """A policy by `table`, or by `robots` and `thresholds` that the table must repeat."""
    faults = Faults()
    table = whole_numbers(content.get("table"), "table", faults, at_least=1)
    if table is not None and capacity is not None:
        with faults.under(""):
            LevelPolicy(table or [1]).check_capacity(capacity, faults)
    policy: ThresholdPolicy | None = None
    with faults.under(""):
        every = content.get("check_every") or 0.0
        if "robots" in content:
            limits, again = content.get("thresholds", []), content.get("resume")
            policy = ThresholdPolicy(content["robots"], limits, again, check_every=every)
            if table is not None and _without_memory(policy).robots_by_level(len(table) - 1) != table:
                faults.add("table", f"table must say what robots and thresholds say; got {list(table)[:20]}")
        elif table is not None:
            policy = LevelPolicy(table, every).as_thresholds()
    faults.raise_if_any()
    assert policy is not None
    return policy


def _policy_mapping(policy: ThresholdPolicy, capacity: int) -> dict[str, Any]:
    return {
        "words": policy.in_words(capacity),
        "table": list(_without_memory(policy).robots_by_level(capacity)),
        **policy.to_mapping(),
    }


def _schedule_of(content: Any, capacity: int | None) -> Schedule:
    """`parts`, `period` and `utc_offset`."""
    if not isinstance(content, Mapping) or not isinstance(content.get("parts"), list):
        raise InputError.at("", f"schedule must be an object with a list of parts; got {checks.show(content)}")
    faults, parts = Faults(), []
    for number, one in enumerate(content["parts"]):
        place = f"parts[{number}]"
        if not isinstance(one, Mapping):
            faults.add(place, f"a part must be an object with from, to and a table; got {checks.show(one)}")
            continue
        begin, end = (checks.number(one.get(name), f"{place}.{name}", faults) for name in ("from", "to"))
        with faults.under(place):
            policy = _policy_of(one, capacity)
            if begin is not None and end is not None:
                parts.append(SchedulePart(begin, end, policy))
    # Where a part is missing the others are not numbered as in the file: how they lie is not looked at.
    faults.raise_if_any()
    return Schedule(parts, content.get("period", DAY), content.get("utc_offset", 0.0))


def _schedule_mapping(schedule: Schedule, capacity: int) -> dict[str, Any]:
    parts = [{"from": part.begin, "to": part.end, **_policy_mapping(part.policy, capacity)} for part in schedule.parts]
    return {"period": schedule.period, "utc_offset": schedule.utc_offset, "parts": parts}


def _without_memory(policy: ThresholdPolicy) -> ThresholdPolicy:
    return ThresholdPolicy(policy.robots, policy.thresholds)
