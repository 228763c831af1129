"""Scenario files: read, written, and refused with all faults at once."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from crawltwin.model import InputError, LevelPolicy, PhaseType, Scenario, ThresholdPolicy, erlang, examples
from crawltwin.model.scenario_file import dumps, loads

GOOD = """
capacity = 5
[arrivals]
kind = "modes"
[[arrivals.modes]]
robots = 1
D = [[[-10, 2], [0, -0.5]], [[0.05, 3], [0.29, 0.005]], [[0.05, 4.9], [0.2, 0.005]]]
[[arrivals.modes]]
robots = 3
D = [[[-2.48, 0.48], [0.48, -3.48]], [[1.5, 0], [0, 2.25]], [[0.5, 0], [0, 0.75]]]
[service]
initial = [0.4, 0.6]
subgenerator = [[-3, 1], [2, -3]]
[obsolescence]
initial = [0.3, 0.7]
subgenerator = [[-0.6, 0.4], [0.1, -0.3]]
[policy]
robots = [3, 1]
thresholds = [2]
[cost]
loss = 5
starvation = 300
"""


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


WRONG = {
    # name: (text, place that the message must name, words that it must hold)
    "capacity missing": (changed("capacity = 5", ""), "at capacity", "must be given"),
    "capacity zero": (changed("capacity = 5", "capacity = 0"), "at capacity", "at least 1; got 0"),
    "capacity negative": (changed("capacity = 5", "capacity = -2"), "at capacity", "at least 1"),
    "capacity float": (changed("capacity = 5", "capacity = 5.0"), "at capacity", "whole number"),
    "capacity text": (changed("capacity = 5", 'capacity = "five"'), "at capacity", "whole number"),
    "capacity boolean": (changed("capacity = 5", "capacity = true"), "at capacity", "whole number"),
    "unknown admission": (
        changed("capacity = 5", 'capacity = 5\nadmission = "half"'),
        "at admission",
        "all-or-nothing",
    ),
    "title no text": (changed("capacity = 5", "capacity = 5\ntitle = 3"), "at title", "must be text"),
    "unknown key": (changed("capacity = 5", "capacity = 5\ncapacty = 6"), "at capacty", "Did you mean 'capacity'?"),
    "unknown section": (GOOD + "[polcy]\nrobots = [1]\n", "at polcy", "Did you mean 'policy'?"),
    "arrivals missing": (GOOD[: GOOD.index("[arrivals]")] + GOOD[GOOD.index("[service]") :], "at arrivals", "given"),
    "arrivals no table": (
        "capacity = 1\narrivals = 3\nservice = {family = 'exponential', mean = 1}",
        "at arrivals",
        "table",
    ),
    "kind missing": (changed('kind = "modes"', ""), "at arrivals.kind", "One of modes"),
    "kind unknown": (changed('"modes"', '"mode"'), "at arrivals.kind", "Did you mean 'modes'?"),
    "kind's key wrong": (changed('kind = "modes"', 'kind = "modes"\nkeep = [1]'), "at arrivals.keep", "must be one of"),
    "thinned without keep": (
        'capacity = 1\n[arrivals]\nkind = "thinned"\nD = [[[-1]], [[1]]]',
        "at arrivals.keep",
        "given",
    ),
    "thinned, keep text": (
        'capacity = 1\n[arrivals]\nkind = "thinned"\nD = [[[-1]], [[1]]]\nkeep = "all"',
        "at arrivals.keep",
        "list of numbers",
    ),
    "thinned, keep falling": (
        'capacity = 1\n[arrivals]\nkind = "thinned"\nD = [[[-1]], [[1]]]\nkeep = [1.0, 0.5]',
        "at arrivals.keep",
        "increase",
    ),
    "scaled, no robots": (
        'capacity = 1\n[arrivals]\nkind = "scaled"\nD = [[[-1]], [[1]]]\nrobots = 0',
        "robots",
        "at least 1",
    ),
    "marked, no list": (
        'capacity = 1\n[arrivals]\nkind = "marked"\nD0 = [[-1]]\nrobots = 2',
        "at arrivals.robots",
        "non-empty list of tables",
    ),
    "marked, sums": (
        'capacity = 1\n[arrivals]\nkind = "marked"\nD0 = [[-1]]\n[[arrivals.robots]]\nD = [[[0.5]]]',
        "at arrivals.D0[0][0]",
        "must sum to 0",
    ),
    "independent, no D": (
        'capacity = 1\n[arrivals]\nkind = "independent"\n[[arrivals.robots]]\nd = [[[-1]], [[1]]]',
        "at arrivals.robots[0].D",
        "must be given",
    ),
    "modes empty": ('capacity = 1\n[arrivals]\nkind = "modes"\nmodes = []', "at arrivals.modes", "non-empty list"),
    "mode named twice": (changed("robots = 3\nD", "robots = 1\nD"), "at arrivals.modes[1].robots", "named once"),
    "mode robots zero": (changed("robots = 1\nD", "robots = 0\nD"), "at arrivals.modes[0].robots", "at least 1"),
    "lost minus sign": (changed("-3.48", "3.48"), "at arrivals.modes[1].D[0][1][1]", "lost minus sign"),
    "minus sign too many": (changed("[0.05, 3]", "[-0.05, 3]"), "at arrivals.modes[0].D[1][0][0]", "not negative"),
    "row sum": (changed("[2, -3]", "[2, -3]").replace("-10, 2", "-11, 2"), "at arrivals.modes[0].D[0][0]", "sum to 0"),
    "ragged matrix": (changed("[0.05, 3]", "[0.05]"), "at arrivals.modes[0].D[1]", "equal length"),
    "text in matrix": (changed("[0.05, 3]", '["x", 3]'), "at arrivals.modes[0].D[1]", "plain number"),
    "nan in matrix": (changed("[0.05, 3]", "[nan, 3]"), "at arrivals.modes[0].D[1][0][0]", "finite"),
    "infinity in matrix": (changed("[0.05, 3]", "[inf, 3]"), "at arrivals.modes[0].D[1][0][0]", "finite"),
    "sizes differ": (changed("[[1.5, 0], [0, 2.25]]", "[[1.5]]"), "at arrivals.modes[1].D[1]", "2 x 2"),
    "phases differ": (
        GOOD[: GOOD.index("[[0.5, 0], [0, 0.75]]]")].replace(
            "[[[-2.48, 0.48], [0.48, -3.48]], [[1.5, 0], [0, 2.25]], ", "[[[-1]], [[1]]]"
        )
        + GOOD[GOOD.index("\n[service]") :],
        "at arrivals.modes",
        "same number of phases",
    ),
    "reducible": (
        changed("[[[-2.48, 0.48], [0.48, -3.48]]", "[[[-2, 0], [0, -3]]"),
        "at arrivals.modes[1].D",
        "reducible",
    ),
    "nothing arrives": (
        'capacity = 1\n[arrivals]\nkind = "scaled"\nD = [[[-1]]]\nrobots = 1',
        "at arrivals.D",
        "two matrices",
    ),
    "service missing": (
        changed("[service]\ninitial = [0.4, 0.6]\nsubgenerator = [[-3, 1], [2, -3]]\n", ""),
        "at service",
        "given",
    ),
    "service half": (changed("initial = [0.4, 0.6]\n", ""), "at service.initial", "must be given"),
    "service sum": (changed("[0.4, 0.6]", "[0.4, 0.5]"), "at service.initial", "sum to 1"),
    "service length": (changed("[0.4, 0.6]", "[0.4, 0.3, 0.3]"), "at service.initial", "as long as"),
    "service sign": (changed("[[-3, 1], [2, -3]]", "[[3, 1], [2, -3]]"), "at service.subgenerator[0][0]", "negative"),
    "service never ends": (
        changed("[[-3, 1], [2, -3]]", "[[-1, 1], [2, -2]]"),
        "at service.subgenerator[0]",
        "never does",
    ),
    "service unknown key": (changed("[service]", "[service]\nrate = 2"), "at service.rate", "must be one of"),
    "family unknown": (
        changed("[service]\ninitial = [0.4, 0.6]\nsubgenerator = [[-3, 1], [2, -3]]", '[service]\nfamily = "erlan"'),
        "at service.family",
        "Did you mean 'erlang'?",
    ),
    "family's key missing": (
        changed(
            "[service]\ninitial = [0.4, 0.6]\nsubgenerator = [[-3, 1], [2, -3]]",
            '[service]\nfamily = "erlang"\nmean = 2',
        ),
        "at service.stages",
        "must be given",
    ),
    "family's value": (
        changed(
            "[service]\ninitial = [0.4, 0.6]\nsubgenerator = [[-3, 1], [2, -3]]",
            '[service]\nfamily = "exponential"\nmean = 0',
        ),
        "at service.mean",
        "greater than 0",
    ),
    "family's list": (
        changed(
            "[service]\ninitial = [0.4, 0.6]\nsubgenerator = [[-3, 1], [2, -3]]",
            '[service]\nfamily = "hyperexponential"\nweights = 1\nrates = [1]',
        ),
        "at service.weights",
        "must be a list",
    ),
    "family's lengths": (
        changed(
            "[service]\ninitial = [0.4, 0.6]\nsubgenerator = [[-3, 1], [2, -3]]",
            '[service]\nfamily = "hyperexponential"\nweights = [0.5, 0.5]\nrates = [1]',
        ),
        "at service.weights",
        "of one length",
    ),
    "obsolescence no table": (
        GOOD.replace("[obsolescence]", "[other]") + "\n[obsolescence.x]\n",
        "at obsolescence.x",
        "one of",
    ),
    "threshold too high": (
        changed("thresholds = [2]", "thresholds = [6]"),
        "at policy.thresholds[0]",
        "at most the capacity 5",
    ),
    "threshold below -1": (changed("thresholds = [2]", "thresholds = [-2]"), "at policy.thresholds[0]", "at least -1"),
    "thresholds unordered": (
        changed("robots = [3, 1]\nthresholds = [2]", "robots = [3, 1, 3]\nthresholds = [2, 1]"),
        "at policy.thresholds",
        "rising order",
    ),
    "thresholds too many": (changed("thresholds = [2]", "thresholds = [1, 2]"), "at policy.thresholds", "one fewer"),
    "robots unknown": (changed("robots = [3, 1]", "robots = [2, 1]"), "at policy.robots", "1, 3; got 2"),
    "policy empty": (changed("robots = [3, 1]\nthresholds = [2]", ""), "at policy.robots", "must be given"),
    "table too short": (changed("robots = [3, 1]\nthresholds = [2]", "table = [3, 1]"), "at policy.table", "6 entries"),
    "table and robots": (changed("thresholds = [2]", "table = [1]"), "at policy.robots", "must be one of table"),
    "cost negative": (changed("loss = 5", "loss = -5"), "at cost.loss", "at least 0"),
    "cost unknown": (changed("loss = 5", "lost = 5"), "at cost.lost", "Did you mean 'loss'?"),
    "cost text": (changed("loss = 5", 'loss = "5"'), "at cost.loss", "must be a number"),
    "kind a list": (changed('"modes"', '["modes"]'), "at arrivals.kind", "must be one of modes"),
    "family a list": (
        changed("[service]\ninitial = [0.4, 0.6]\nsubgenerator = [[-3, 1], [2, -3]]", '[service]\nfamily = ["erlang"]'),
        "at service.family",
        "must be one of exponential",
    ),
    "too many stages": (
        changed(
            "[service]\ninitial = [0.4, 0.6]\nsubgenerator = [[-3, 1], [2, -3]]",
            '[service]\nfamily = "erlang"\nmean = 1.0\nstages = 1000000',
        ),
        "at service.stages",
        "at most 2000",
    ),
    "moments out of range": (
        changed(
            "[service]\ninitial = [0.4, 0.6]\nsubgenerator = [[-3, 1], [2, -3]]",
            '[service]\nfamily = "three-moments"\nm1 = 1e200\nm2 = 1e-200\nm3 = 1e200',
        ),
        "at service",
        "within floating point's range",
    ),
    "too many robots": (
        'capacity = 1\n[arrivals]\nkind = "scaled"\nD = [[[-1]], [[1]]]\nrobots = 1000000000',
        "at arrivals.robots",
        "at most 1000",
    ),
    "endless number": (changed("capacity = 5", "capacity = " + "9" * 5000), "5000 digits", "valid TOML"),
    "nested without end": (changed("[0.4, 0.6]", "[" * 300 + "]" * 300), "service.initial", "list of numbers"),
    "not TOML": ("capacity = = 5", "line 1", "valid TOML"),
}


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
    tiny = scenario.replace(service=PhaseType([1.0], [[-5e-324]]))
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
