"""`policy.json`: what is written is read back, and a file that is wrong is refused with all of its faults."""

import json

import pytest

from crawltwin.live.controller import Controller
from crawltwin.model import ThresholdPolicy, examples
from crawltwin.model.errors import InputError
from crawltwin.model.policies.policy_file import PolicyFile
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
