"""`crawltwin simulate`: one JSON object, tables for people, whole files, words and exit codes for every fault."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from crawltwin.cli.main import main
from crawltwin.model import MEASURES, examples
from tests.conftest import REPOSITORY


@pytest.fixture
def paper(tmp_path: Path) -> str:
    examples.load("paper").write(tmp_path / "paper.toml")
    return str(tmp_path / "paper.toml")


@pytest.fixture
def queue(tmp_path: Path) -> str:
    examples.load("mm1k").write(tmp_path / "mm1k.toml")
    return str(tmp_path / "mm1k.toml")


def test_json_is_one_object_and_nothing_else(paper: str, capsys):
    assert main(["simulate", paper, "--pages", "1000", "--json", "--workers", "1"]) == 0
    out = capsys.readouterr().out
    found = json.loads(out)
    assert list(found["measures"]) == list(MEASURES)
    assert found["measures"]["cost"].keys() == {"value", "low", "high", "confidence"}
    assert found["diagnostics"]["conservation"] == 0


def test_people_get_tables(paper: str, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    assert main(["simulate", paper, "--pages", "1000", "--levels", "--workers", "1"]) == 0
    out = capsys.readouterr().out
    for words in ("95% from", "indexer idle", "number of pages", "quantile", "20 replications", "seed 1"):
        assert words in out


def test_precision_says_whether_it_was_reached(paper: str, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["simulate", paper, "--precision", "0.05", "--workers", "1"]) == 0
    assert "Precision 5.00% reached" in capsys.readouterr().out
    assert main(["simulate", paper, "--precision", "0.000001", "--budget", "0.1", "--workers", "1"]) == 0
    assert "more pages" in " ".join(capsys.readouterr().out.split())  # wherever the terminal breaks the line


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_records_are_written(paper: str, tmp_path: Path, suffix: str, capsys):
    target = tmp_path / f"pages.{suffix}"
    options = ["--pages", "500", "--replications", "2", "--workers", "1", "--records", str(target)]
    assert main(["simulate", paper, *options]) == 0
    table = pd.read_csv(target) if suffix == "csv" else pd.read_parquet(target)
    assert list(table.columns) == ["replication", "batch", "arrival", "level", "robots", "start", "end", "fate"]
    assert set(table["fate"]) <= {"lost", "obsolete", "served", "present"}
    assert len(table) >= 1000


def test_out_saves_the_answer(paper: str, tmp_path: Path, capsys):
    assert main(["simulate", paper, "--pages", "500", "--workers", "1", "--out", str(tmp_path / "a.json")]) == 0
    assert json.loads((tmp_path / "a.json").read_text())["seed"] == 1


def test_a_trace_is_replayed(tmp_path: Path, capsys):
    examples.load("thinned").write(tmp_path / "s.toml")
    sample = examples.load("thinned").arrivals.stream.sample(np.random.default_rng(1), 3000)
    pd.DataFrame({"time": sample.times, "pages": sample.sizes}).to_csv(tmp_path / "t.csv", index=False)
    assert main(["simulate", str(tmp_path / "s.toml"), "--trace", str(tmp_path / "t.csv"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["diagnostics"]["units"] == "batches"


def test_policies_are_compared_and_the_best_named(paper: str, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    assert main(["simulate", paper, "--compare", "4,1@1", "--compare", "4", "--pages", "1000"]) == 0
    assert "common random numbers" in capsys.readouterr().out
    assert main(["simulate", paper, "--compare", "4", "--best", "5", "--pages", "1000", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["best"] == "the scenario's own"


def test_coverage_compares_with_the_closed_form(queue: str, capsys):
    options = ["--coverage", "20", "--replications", "8", "--pages", "500", "--workers", "1", "--json"]
    assert main(["simulate", queue, *options]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["truth"] == "closed form"
    assert found["coverage"]["mean_pages"]["experiments"] == 20


def test_coverage_of_other_scenarios_uses_the_solved_chain(paper: str, capsys):
    options = ["--coverage", "10", "--replications", "8", "--pages", "4000", "--workers", "1", "--json"]
    assert main(["simulate", paper, *options]) == 0
    assert json.loads(capsys.readouterr().out)["truth"] == "solved chain"


def test_a_timeline_is_drawn(paper: str, tmp_path: Path, capsys):
    target = tmp_path / "t.svg"
    assert main(["simulate", paper, "--timeline", str(target), "--between", "10,40"]) == 0
    assert target.read_text().startswith("<svg")
    assert "From 10 to 40" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--pages", "0"], "pages must be at least 250; got 0"),
        (["--precision", "0"], "precision must be greater than 0"),
        (["--precision", "nan"], "precision must be a finite number"),
        (["--seed", "-3"], "seed must be a whole number"),
        (["--time", "-1"], "time must be greater than 0"),
        (["--engine", "fast"], "engine must be one of compiled, simpy"),
        (["--records", "pages.txt"], "--records must end in .parquet or .csv"),
        (["--trace", "nowhere.csv"], "the trace must be a file"),
        (["--trace", "nowhere.csv", "--precision", "0.1"], "--trace must come without --precision"),
        (["--best", "1"], "--best must come with the policies"),
        (["--coverage", "0"], "coverage must be at least 10; got 0"),
        (["--timeline", "t.png"], "--timeline must end in .svg"),
        (["--timeline", "t.svg", "--between", "5"], "--between must be two moments"),
        (["--timeline", "t.svg", "--between", "5,2"], "end must be greater than 5"),
        (["--measure", "price"], "measures must be names among"),
        (["--start", "0.5,x"], "--start must be numbers"),
    ],
)
def test_faults_are_told_with_exit_code_2(paper: str, options: list[str], words: str, capsys):
    assert main(["simulate", paper, *options]) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.out == ""
    assert "Traceback" not in captured.err


@pytest.mark.parametrize("option", [["--seed", "1.5"], ["--pages", "many"]])
def test_words_where_numbers_belong_are_told_with_exit_code_2(paper: str, option: list[str], capsys):
    with pytest.raises(SystemExit) as stop:
        main(["simulate", paper, *option])
    assert stop.value.code == 2
    assert "must be a whole number" in capsys.readouterr().err


def test_a_cluster_that_does_not_answer(paper: str, capsys, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("crawltwin.work.cluster.PATIENCE", 0.5)
    assert main(["simulate", paper, "--cluster", "tcp://127.0.0.1:9"]) == 2
    assert "does not answer" in capsys.readouterr().err


@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_ctrl_c_prints_what_is_known(paper: str, workers: str, tmp_path: Path):
    """Interrupted as from a terminal, once two replications are done: the signal goes to the whole group."""
    program = "import sys; from crawltwin.cli.main import main; sys.exit(main(sys.argv[1:]))"
    options = [
        "--pages",
        "50000",
        "--replications",
        "100000",
        "--json",
        "--workers",
        workers,
        "--resume",
        str(tmp_path),
    ]
    process = subprocess.Popen(
        [sys.executable, "-c", program, "simulate", paper, *options],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while len(list(tmp_path.glob("*/*.json"))) < 2 and process.poll() is None:
        time.sleep(0.1)
    assert process.poll() is None, process.communicate()
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    found = json.loads(out)
    assert found["interrupted"]
    assert found["measures"]["cost"]["low"] < found["measures"]["cost"]["high"]
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("given", "idle"),
    [
        (["--compare", "3", "--records", "pages.csv"], "--compare must come without --records"),
        (["--compare", "3", "--precision", "0.1", "--engine", "reference"], "--engine and --precision"),
        (["--compare", "3", "--trace", "a.csv", "--pages", "1000"], "--compare on a --trace must come without --pages"),
        (["--compare", "3", "--best", "1", "--replications", "5"], "--best must come without --replications"),
        (["--compare", "3", "--best", "1", "--trace", "a.csv"], "--best must come without --trace"),
        (["--compare", "3", "--best", "1", "--measure", "cost", "--measure", "mean_pages"], "--measure must be one"),
        (["--trace", "a.csv", "--workers", "2", "--resume", "kept"], "--workers and --resume"),
        (["--timeline", "a.svg", "--levels"], "--timeline must come without --levels"),
        (["--coverage", "9", "--engine", "reference"], "--coverage must come without --engine"),
        (["--rare", "--levels"], "--rare must come without --levels"),
        (["--recorded-robots", "3"], "--recorded-robots must come with --trace FILE"),
        (["--between", "0,5"], "--between must come with --timeline"),
    ],
)
def test_an_option_that_the_question_would_not_heed_is_refused(paper, given, idle, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert main(["simulate", paper, *given]) == 2
    assert idle in capsys.readouterr().err


@pytest.mark.parametrize(
    "question", [["--compare", "3"], ["--rare"], ["--coverage", "10"], ["--trace", "a.csv"], ["--timeline", "a.svg"]]
)
def test_every_question_can_be_asked_quietly(question, capsys):
    """`--quiet` was refused as an option that the question would not heed, though most of them show progress."""
    assert main(["simulate", "missing.toml", *question, "--quiet"]) == 2
    assert "missing.toml" in (told := capsys.readouterr().err)
    assert "--quiet" not in told
