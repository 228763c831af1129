"""`policy.json`: what is written is read back, and a file that is wrong is refused with all of its faults."""

import json
import time

import pytest

from crawltwin.live.controller import Controller
from crawltwin.model import ThresholdPolicy, examples
from crawltwin.model.errors import InputError
from crawltwin.model.policies.policy_file import PolicyFile
from crawltwin.model.policies.schedule import Schedule, SchedulePart
from crawltwin.plan.export import exports


@pytest.mark.parametrize("short", ["3", "3,1@2", "4,3,1@1,3", "4,1@5/2", "4,1@5:2.5", "4,2,1@3,6/1,4:0.5"])
def test_what_is_written_is_read_back(short):
    policy = ThresholdPolicy.from_text(short)
    content = json.loads(json.dumps(PolicyFile(policy, 2).to_mapping(8)))
    assert PolicyFile.of(content) == PolicyFile(policy, 2)


def test_the_plan_writes_the_same_format(tmp_path):
    policy = ThresholdPolicy([3, 1], [4], resume=[2])
    (tmp_path / "policy.json").write_text(exports(examples.load("paper"), policy, 63.5, 2)["policy.json"])
    assert PolicyFile.read(tmp_path / "policy.json") == PolicyFile(policy, 2)


def test_version_one_has_the_table_alone():
    assert PolicyFile.of({"format": "crawltwin policy 1", "table": [4, 4, 1]}).policy.short == "4,1@1"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"table": [4, None, 1]}, r"table\[1\]"),
        ({"table": [4, 4, 1], "capacity": 5}, "table must have 6 entries, one for each level 0..5; got 3"),
        ({"table": {"0": 4, "2": 1}}, "table"),
        ({"table": []}, "empty list"),
        ({"table": [4, 0]}, "at least 1"),
        ({"format": "crawltwin policy 9"}, "format must be one of"),
        ({"robots": [4, 1], "thresholds": [1], "resume": [2]}, "resume must be at most its threshold 1; got 2"),
        ({"robots": [4, 1], "thresholds": [0]}, "table must say what robots and thresholds say"),
        ({"robots": [4, 1], "thresholds": []}, "thresholds must be one fewer than robots"),
        ({"check_every": -1}, "check_every must be"),
        ({"threads_per_robot": 0}, "threads_per_robot must be"),
    ],
)
def test_a_wrong_file_is_refused(change, words):
    with pytest.raises(InputError, match=words):
        PolicyFile.of({"format": "crawltwin policy 2", "table": [4, 4, 1]} | change)


def test_all_faults_are_told_at_once():
    with pytest.raises(InputError) as caught:
        PolicyFile.of({"format": "?", "table": [4, "x"], "threads_per_robot": -1, "robots": [], "check_every": "y"})
    assert len(caught.value.faults) >= 5


@pytest.mark.parametrize("text", ["", "[1, 2]", "{", "null", "[" * 5000, '{"a": 1'])
def test_a_file_that_is_no_object(tmp_path, text):
    (tmp_path / "policy.json").write_text(text)
    with pytest.raises(InputError):
        PolicyFile.read(tmp_path / "policy.json")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="must exist"):
        PolicyFile.read(tmp_path / "policy.json")


def test_the_controller_keeps_its_memory_when_the_policy_changes():
    controller = Controller(PolicyFile(ThresholdPolicy([4, 2, 1], [2, 4], resume=[1, 3])))
    assert [controller.robots(level) for level in (0, 3, 2, 5, 4, 3, 1)] == [4, 2, 2, 1, 1, 2, 4]
    controller.robots(9)
    controller.follow(PolicyFile(ThresholdPolicy([3, 1], [4], resume=[0])))
    assert controller.robots(3) == 1
    controller.follow(PolicyFile(ThresholdPolicy([2])))
    assert controller.robots(9) == 2


MIDNIGHT = 1_714_521_600.0  # 2024-05-01 00:00 in universal time, a Wednesday
HOUR = 3600.0
NIGHT, DAYTIME = ThresholdPolicy([1]), ThresholdPolicy([4, 1], [2], resume=[0], check_every=0.5)
BY_DAY = Schedule([SchedulePart(7 * HOUR, 19 * HOUR, DAYTIME), SchedulePart(19 * HOUR, 7 * HOUR, NIGHT)])


@pytest.mark.parametrize(
    "schedule",
    [
        BY_DAY,
        Schedule(BY_DAY.parts, utc_offset=None),
        Schedule([SchedulePart(0.1, 1 / 3, NIGHT), SchedulePart(0.5, 0.1, DAYTIME)], 0.7, -19800.0),
    ],
)
def test_a_schedule_is_written_and_read_back(schedule):
    file = PolicyFile(ThresholdPolicy([2]), 3, schedule)
    content = json.loads(json.dumps(file.to_mapping(8)))
    assert content["format"] == "crawltwin policy 3"
    assert content["table"] == [2] * 9  # what a crawler obeys that knows no schedule
    assert PolicyFile.of(content) == file
    assert PolicyFile.of(content).to_mapping(8) == content


@pytest.mark.parametrize(
    ("hour", "offset", "expected"),
    [(6.999, 0, NIGHT), (7, 0, DAYTIME), (18.99, 0, DAYTIME), (19, 0, NIGHT), (0, 0, NIGHT), (6, 3600, DAYTIME),
     (18, 3600, NIGHT), (13, -6 * 3600, DAYTIME), (12.9, -6 * 3600, NIGHT)],
)  # fmt: skip
def test_the_part_in_force_follows_the_clock_of_its_zone(hour, offset, expected):
    file = PolicyFile(ThresholdPolicy([2]), 1, Schedule(BY_DAY.parts, utc_offset=offset))
    assert file.policy_at(MIDNIGHT + hour * HOUR) == expected


def test_a_week_begins_on_monday_and_gaps_have_the_policy_of_the_file():
    monday = Schedule([SchedulePart(0.0, 86400.0, NIGHT)], 7 * 86400.0)
    file = PolicyFile(DAYTIME, 1, monday)
    days = [file.policy_at(MIDNIGHT + day * 86400.0) == NIGHT for day in range(7)]  # from Wednesday on
    assert days == [False, False, False, False, False, True, False]
    assert monday.until_change(MIDNIGHT) == 5 * 86400.0


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone of a process cannot be set here")
def test_the_clock_of_the_machine_knows_summer_time(monkeypatch):
    file = PolicyFile(ThresholdPolicy([2]), 1, Schedule(BY_DAY.parts, utc_offset=None))
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    try:
        in_may = [file.policy_at(MIDNIGHT + hour * HOUR) for hour in (4.99, 5.0)]
        in_january = [file.policy_at(MIDNIGHT - 121 * 86400 + hour * HOUR) for hour in (5.99, 6.0)]
    finally:
        monkeypatch.undo()
        time.tzset()
    assert in_may == in_january == [NIGHT, DAYTIME]


def part(begin=0, end=43200, **other):
    return {"from": begin, "to": end, "table": [4, 4, 1]} | other


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        ([], "schedule must be an object with a list of parts"),
        ({"parts": []}, "at least one part of the period; got none"),
        ({"parts": [3]}, r"a part must be an object with from, to and a table; got 3"),
        ({"parts": [part(table=[4, "x"])]}, r"schedule.parts\[0\].*table\[1\]"),
        ({"parts": [part(table=None)]}, r"schedule.parts\[0\].*table"),
        ({"parts": [part(begin=None)]}, r"parts\[0\].from must be a number; got None"),
        ({"parts": [part(end=90000)]}, r"parts\[0\].to must be at most 86400; got 90000"),
        ({"parts": [part(begin=float("nan"))]}, r"parts\[0\].from must be a finite number"),
        ({"parts": [part(begin=5, end=5)]}, "differ from to; got 5 to 5"),
        ({"parts": [part(), part(40000, 86400)]}, "parts must not overlap; got 40000 to 86400 and 0 to 43200"),
        ({"parts": [part(), part()]}, "parts must not overlap"),
        ({"parts": [part(80000, 10), part(0, 43200)]}, "parts must not overlap"),
        ({"parts": [part()], "period": -1}, "period must be greater than 0; got -1"),
        ({"parts": [part()], "utc_offset": "UTC"}, "utc_offset must be a number; got 'UTC'"),
        ({"parts": [part()], "utc_offset": 1e6}, "utc_offset must be at most 86400"),
        ({"parts": [part(robots=[4, 1], thresholds=[0])]}, "table must say what robots and thresholds say"),
    ],
)
def test_a_wrong_schedule_is_refused(schedule, words):
    with pytest.raises(InputError, match=words):
        PolicyFile.of({"format": "crawltwin policy 3", "table": [4, 4, 1], "schedule": schedule})


def test_a_schedule_must_have_its_format():
    """Readers of the older formats would overlook it."""
    with pytest.raises(InputError, match="format must be 'crawltwin policy 3' where there is a schedule"):
        PolicyFile.of({"format": "crawltwin policy 2", "table": [4, 4, 1], "schedule": {"parts": [part()]}})


def test_the_controller_follows_the_schedule_and_keeps_its_memory():
    now = [MIDNIGHT + 6.5 * HOUR]
    controller = Controller(PolicyFile(ThresholdPolicy([2]), 1, BY_DAY), lambda: now[0])
    assert (controller.robots(9), controller.check_every, controller.until_change) == (1, 0.0, HOUR / 2)
    now[0] += HOUR / 2
    assert controller.robots(9) == 1  # until somebody looks at the clock, the part is the one that was told
    assert (controller.look_at_clock(), controller.look_at_clock()) == (True, False)
    assert [controller.robots(level) for level in (0, 2, 3, 1, 0)] == [4, 4, 1, 1, 4]
    assert (controller.check_every, controller.until_change) == (0.5, 12 * HOUR)
    controller.robots(5)
    now[0] += 24 * HOUR
    assert not controller.look_at_clock()
    assert controller.robots(1) == 1  # resume is at 0: the memory went on over the night
    controller.follow(PolicyFile(ThresholdPolicy([2])))
    assert (controller.robots(1), controller.until_change) == (2, None)
