"""Scenario files: read, written, and refused with all faults at once."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from crawltwin.model import InputError, LevelPolicy, PhaseType, Scenario, ThresholdPolicy, erlang, examples
from crawltwin.model.scenario_file import dumps, loads
from tests.unit.model.wrong_scenarios import FETCHING, GOOD, WRONG, changed


@pytest.mark.parametrize("name", WRONG)
def test_wrong_files_are_refused_with_the_place(name):
    text, place, words = WRONG[name]
    with pytest.raises(InputError) as caught:
        loads(text)
    message = str(caught.value)
    assert place in message, message
    assert words in message, message


def test_there_are_forty_kinds_of_wrong_files():
    assert len(WRONG) >= 40


def test_all_faults_of_a_file_come_in_one_message():
    text = changed("capacity = 5", "capacity = 0").replace("-3.48", "3.48").replace("loss = 5", "lost = 5")
    text = text.replace("thresholds = [2]", "thresholds = [2, 3]").replace("[0.4, 0.6]", "[0.4, 0.5]")
    with pytest.raises(InputError) as caught:
        loads(text)
    places = {fault.place for fault in caught.value.faults}
    assert {"capacity", "arrivals.modes[1].D[0][1][1]", "cost.lost", "policy.thresholds", "service.initial"} <= places


@pytest.mark.parametrize("name", examples.EXAMPLES)
@pytest.mark.parametrize("as_json", [False, True])
def test_examples_read_back_to_the_same_bits(name, as_json):
    scenario = examples.load(name)
    again = loads(dumps(scenario, json_text=as_json), json_text=as_json)
    assert again == scenario
    assert again.content_hash == scenario.content_hash


@pytest.mark.parametrize("section", ["arrivals", "service", "capacity"])
def test_null_sections_are_missing(section):
    data = {**examples.load("paper").to_mapping(), section: None}
    with pytest.raises(InputError, match=f"{section} must be given"):
        Scenario.from_mapping(data)
    del data[section]
    with pytest.raises(InputError, match=f"{section} must be given"):
        Scenario.from_mapping(data)
    kindless = examples.load("paper").to_mapping()
    kindless["arrivals"]["kind"] = None
    with pytest.raises(InputError, match="kind must be given"):
        Scenario.from_mapping(kindless)


def test_scenarios_hold_what_they_say():
    good = examples.load("paper")
    for field, value in (("arrivals", None), ("service", "x"), ("cost", {}), ("policy", [3, 1]), ("title", "\ud800")):
        with pytest.raises(InputError, match=f"{field} must be"):
            good.replace(**{field: value})
    assert good.replace(capacity=np.int64(5)) == good
    assert dumps(good.replace(capacity=np.int64(5))) == dumps(good)


def test_odd_numbers_and_titles_survive():
    scenario = examples.load("mm1k").replace(
        title='quotes " and \\ and \n lines \x7f und Umlaute äöü',
        service=PhaseType([1.0], [[-0.1 - 1e-17]]),
        obsolescence=erlang(3, 1 / 3),
        policy=LevelPolicy([1] * 6),
    )
    for as_json in (False, True):
        assert loads(dumps(scenario, json_text=as_json), json_text=as_json) == scenario
    tiny = scenario.replace(service=PhaseType([1.0], [[-1.0000000000000002e-100]]))
    assert loads(dumps(tiny)) == tiny


def test_good_file_is_what_it_says():
    scenario = loads(GOOD)
    assert scenario.capacity == 5
    assert scenario.policy == ThresholdPolicy([3, 1], [2])
    assert scenario.cost is not None
    assert (scenario.cost.loss, scenario.cost.response, scenario.cost.starvation) == (5, 0, 300)
    assert scenario.admission == "partial"


def test_families_are_read():
    for text, mean, scv in (
        ('{family = "exponential", mean = 2.0}', 2, 1),
        ('{family = "erlang", stages = 3, mean = 2.0}', 2, 1 / 3),
        ('{family = "deterministic-like", mean = 2.0}', 2, 1 / 20),
        ('{family = "deterministic-like", mean = 2.0, stages = 40}', 2, 1 / 40),
        ('{family = "two-moments", mean = 2.0, scv = 4.0}', 2, 4),
        ('{family = "coxian", rates = [1.0, 1.0], go_on = [1.0]}', 2, 0.5),
        ('{family = "hyper-erlang", weights = [1.0], stages = [2], rates = [1.0]}', 2, 0.5),
        ('{family = "three-moments", m1 = 2.0, m2 = 8.0, m3 = 48.0}', 2, 1),
    ):
        text = (
            "service = "
            + text
            + "\n"
            + GOOD.replace("[service]\ninitial = [0.4, 0.6]\nsubgenerator = [[-3, 1], [2, -3]]\n", "")
        )
        service = loads(text).service
        assert service.mean == pytest.approx(mean)
        assert service.scv == pytest.approx(scv, rel=1e-6)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match="must exist"):
        Scenario.read(tmp_path / "none.toml")
    with pytest.raises(InputError, match="directory"):
        Scenario.read(tmp_path)
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="UTF-8"):
        Scenario.read(tmp_path / "bytes.toml")
    (tmp_path / "twice.json").write_text('{"capacity": 1, "capacity": 2}')
    with pytest.raises(InputError, match="once"):
        Scenario.read(tmp_path / "twice.json")
    (tmp_path / "list.json").write_text("[1, 2]")
    with pytest.raises(InputError, match="table of keys"):
        Scenario.read(tmp_path / "list.json")
    (tmp_path / "deep.json").write_text("[" * 100_000)
    with pytest.raises(InputError, match=r"nested too deep|valid JSON"):
        Scenario.read(tmp_path / "deep.json")
    (tmp_path / "nan.json").write_text(json.dumps(examples.load("mm1k").to_mapping()).replace("[[0.8]]", "[[NaN]]"))
    with pytest.raises(InputError, match="finite"):
        Scenario.read(tmp_path / "nan.json")


def test_written_files_are_whole_or_not_there(tmp_path):
    scenario = examples.load("paper")
    scenario.write(tmp_path / "a.toml")
    scenario.write(tmp_path / "a.json")
    assert Scenario.read(tmp_path / "a.toml") == Scenario.read(tmp_path / "a.json") == scenario
    with pytest.raises(InputError, match="must be writable"):
        scenario.write(tmp_path / "no" / "such" / "directory.toml")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "a.toml"]


def test_scenario_knows_its_top_level():
    scenario = examples.load("paper")
    assert scenario.top_level == 5
    assert scenario.replace(admission="overflow").top_level == 5 + 4 - 1
    with pytest.raises(InputError, match="policy must be given"):
        _ = scenario.replace(policy=None).policy_in_force
    assert examples.load("mm1k").replace(policy=None).policy_in_force == ThresholdPolicy([1])
    with pytest.raises(InputError, match="the example must be one of"):
        examples.load("papr")


def test_links_and_devices_are_written_through(tmp_path):
    scenario = examples.load("mm1k")
    real, link = tmp_path / "real.toml", tmp_path / "link.toml"
    real.write_text("")
    link.symlink_to(real)
    scenario.write(link)
    assert link.is_symlink()
    assert Scenario.read(real) == scenario
    scenario.write("/dev/null")
    assert not Path("/dev/null").is_file()


def test_all_faults_of_a_fetching_section_come_at_once():
    text = FETCHING.replace("robots = 4\n", "robots = 0\n").replace("pace = [1.0, 0.35]", "pace = [1.0]")
    text = text.replace("pages = [0.9, 0.1]", "pages = [0.9, 0.2]").replace(
        "[arrivals.fetch]\ninitial = [1.0,", "[arrivals.fetch]\ninitial = [0.5,"
    )
    with pytest.raises(InputError) as caught:
        loads(text)
    places = {fault.place for fault in caught.value.faults}
    assert {"arrivals.robots", "arrivals.pages", "arrivals.fetch.initial", "arrivals.spells.pace"} <= places


def test_what_says_nothing_new_is_not_written_and_keeps_the_identity():
    paper = examples.load("paper")
    assert not {"indexers", "resume", "check_every", "switching"} & set(dumps(paper).replace("[", " ").split())
    assert paper.replace(indexers=1).content_hash == paper.content_hash
    assert paper.replace(indexers=2) != paper
    assert loads(GOOD.replace("thresholds = [2]", "thresholds = [2]\nresume = [2]\ncheck_every = 0")) == loads(GOOD)
