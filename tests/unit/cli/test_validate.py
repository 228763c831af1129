"""`crawltwin validate`: one JSON object, a table for people, a report, exit codes, and words for every fault."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analytic import solve
from crawltwin.cli.main import main
from crawltwin.model import MEASURES, Scenario, examples
from tests.cross.planted_defects import DEFECTS

QUICK = ["--margin", "0.2", "--pages", "30000", "--replications", "20", "--workers", "1", "--no-approach"]


@pytest.fixture
def queue(tmp_path: Path) -> str:
    examples.load("mm1k").write(tmp_path / "mm1k.toml")
    return str(tmp_path / "mm1k.toml")


def test_json_is_one_object_with_the_contracts_keys(queue: str, capsys):
    assert main(["validate", queue, *QUICK, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert list(answer["measures"]) == list(MEASURES)
    assert answer["measures"].pop("mean_fetches") is None
    for found in answer["measures"].values():
        assert {"solved", "simulated", "low", "high", "margin", "verdict"} <= found.keys()
    assert answer["plan"]["seed"] == 1


def test_a_table_for_people(queue: str, capsys):
    assert main(["validate", queue, *QUICK]) == 0
    out = capsys.readouterr().out
    assert "loss probability" in out
    assert "exact identities hold" in out
    assert main(["validate", queue, *QUICK, "--all"]) == 0
    assert capsys.readouterr().out.count("level distribution") == 6


def test_several_files_are_one_answer(queue: str, tmp_path: Path, capsys):
    examples.load("marked").write(tmp_path / "marked.toml")
    assert main(["validate", queue, str(tmp_path / "marked.toml"), *QUICK, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert len(answer["scenarios"]) == 2
    assert answer["verdict"] in ("equivalent", "inconclusive")


def test_a_wrong_solved_side_gives_exit_code_1(queue: str, capsys, monkeypatch):
    def wrong(scenario: Scenario):
        return solve(DEFECTS["service"].apply(scenario, 0.1))

    # The package's attribute of that name is the function, so the module is named through sys.modules.
    monkeypatch.setattr(sys.modules["validate.evidence"], "solve", wrong)
    assert main(["validate", queue, *QUICK[2:], "--margin", "0.01", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["verdict"] == "different"


def test_the_report(queue: str, tmp_path: Path, capsys):
    assert main(["validate", queue, *QUICK, "--report", str(tmp_path / "report")]) == 0
    assert {path.name for path in (tmp_path / "report").iterdir()} >= {"report.html", "report.md", "report.json"}
    text = (tmp_path / "report" / "report.md").read_text()
    assert "equivalent" in text
    assert "Little's law" in text
    data = json.loads((tmp_path / "report" / "report.json").read_text())
    assert "results" in data["data"]


def test_a_trace_against_its_model(queue: str, tmp_path: Path, capsys):
    times = np.cumsum(np.random.default_rng(1).exponential(1 / 0.8, 40_000))
    pd.DataFrame({"time": times}).to_csv(tmp_path / "trace.csv", index=False)
    arguments = ["validate", queue, "--trace", str(tmp_path / "trace.csv"), "--margin", "0.2"]
    assert main([*arguments, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["measures"]["arrival_rate"]["verdict"] == "equivalent"
    assert main(arguments) == 0
    assert "arrival rate" in capsys.readouterr().out


def test_random_scenarios_are_kept_and_reported(tmp_path: Path, capsys):
    arguments = ["validate", "--random", "3", "--seed", "3", "--pages", "20000", "--workers", "1"]
    arguments += ["--store", str(tmp_path / "store"), "--report", str(tmp_path / "report")]
    main([*arguments, "--json"])
    first = json.loads(capsys.readouterr().out)
    assert first["scenarios"] == 3
    assert (tmp_path / "report" / "figures" / "calibration.svg").is_file()
    assert len(list((tmp_path / "store").rglob("*.json"))) == 3
    main(arguments)
    assert "random scenarios of seed 3" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "SCENARIO must be at least one file; got none"),
        (["FILE", "--random", "3"], "SCENARIO may not be given together with --random"),
        (["--random", "1"], "--random must be at least 2 scenarios; got 1"),
        (["--random", "5", "--replications", "7"], "--replications must be 50 with --random; got 7"),
        (["FILE", "--margin", "-1"], "margin must be greater than 0; got -1.0"),
        (["FILE", "--confidence", "1.5"], "confidence must be less than 1; got 1.5"),
        (["FILE", "--seed", "-2"], "seed must be a whole number, 0 or more; got -2"),
        (["FILE", "FILE", "--trace", "x.csv"], "--trace must come with exactly one SCENARIO; got 2"),
        (["FILE", "--trace", "nowhere.csv"], "nowhere.csv"),
        (["missing.toml"], "missing.toml"),
    ],
)
def test_wrong_input_is_told_in_words_with_exit_code_2(queue: str, arguments, words, capsys):
    assert main(["validate", *[queue if word == "FILE" else word for word in arguments]]) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert not captured.out
    assert "Traceback" not in captured.err


@pytest.mark.parametrize(
    ("given", "idle"),
    [
        (["--trace", "a.csv", "--budget", "5000"], "--trace must come without --budget"),
        (["--trace", "a.csv", "--report", "there"], "--trace must come without --report"),
        (["--recorded-robots", "3"], "--recorded-robots must come with --trace FILE"),
        (["--family", "features"], "--family must come with --random N"),
    ],
)
def test_an_option_that_the_question_would_not_heed_is_refused(given, idle, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    examples.load("paper").write(tmp_path / "paper.toml")
    assert main(["validate", "paper.toml", *given]) == 2
    assert idle in capsys.readouterr().err


def test_a_calibration_takes_no_margin(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert main(["validate", "--random", "2", "--margin", "0.1"]) == 2
    assert "--random must come without --margin" in capsys.readouterr().err


def test_a_trace_can_be_judged_quietly(capsys):
    assert main(["validate", "missing.toml", "--trace", "a.csv", "--quiet"]) == 2
    assert "--quiet" not in capsys.readouterr().err
