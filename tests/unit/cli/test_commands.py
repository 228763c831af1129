"""The command line: answers, exit codes, complaints, and nothing half-written."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from crawltwin.cli.main import COMMANDS, main
from crawltwin.cli.output import number, to_json
from crawltwin.cli.tables.fit import show_fit
from crawltwin.model import MEASURES, Scenario, examples
from fitting import FitOptions, fit
from tests.unit.model.wrong_scenarios import WRONG


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    path = tmp_path / "paper.toml"
    examples.load("paper").write(path)
    return path


def answer(capsys) -> dict:
    out = capsys.readouterr().out
    return json.loads(out)


def test_solve_json_is_one_object_with_the_contracts_keys(paper, capsys):
    assert main(["solve", str(paper), "--json"]) == 0
    found = answer(capsys)
    assert list(found["measures"]) == list(MEASURES)
    assert {"method", "states", "residual", "error_estimate", "seconds"} <= found["solver"].keys()
    assert abs(found["measures"]["cost"] - 63.54) < 0.01


def test_measures_that_do_not_exist_are_null(tmp_path, capsys):
    path = tmp_path / "calm.json"
    examples.load("mm1k").replace(obsolescence=None).write(path)
    assert main(["solve", str(path), "--json"]) == 0
    assert answer(capsys)["measures"]["mean_sojourn_obsolete"] is None


def test_solve_for_people_has_words_symbols_and_units(paper, capsys):
    assert main(["solve", str(paper), "--levels", "--quantiles", "0.5,0.9", "--at", "0,5"]) == 0
    out = capsys.readouterr().out
    for words in (
        "P_loss",
        "pages/time",
        "3 robots with 0 to 2 pages in the system",
        "quantile",
        "equilibrium",
        "lumped",
    ):
        assert words in out


def test_policy_can_be_given_on_the_command_line(paper, capsys):
    assert main(["solve", str(paper), "--policy", "4,1@1", "--json"]) == 0
    assert abs(answer(capsys)["measures"]["cost"] - 74.47) < 0.01
    assert main(["solve", str(paper), "--policy", "3", "--json", "--method", "block"]) == 0
    assert abs(answer(capsys)["measures"]["cost"] - 89.40) < 0.01


def test_optimize_json(paper, capsys):
    assert main(["optimize", str(paper), "--json"]) == 0
    found = answer(capsys)
    assert found["best"]["robots"] == [3, 1]
    assert found["best"]["thresholds"] == [2]
    assert len(found["policies"]) == 15
    assert {"robots", "thresholds", "cost"} <= found["policies"][0].keys()


def test_optimize_for_people_and_the_scenario_it_writes(paper, tmp_path, capsys):
    best, saved = tmp_path / "best.toml", tmp_path / "best.json"
    assert main(["optimize", str(paper), "--curves", "--write", str(best), "--out", str(saved)]) == 0
    out = capsys.readouterr().out
    assert "3 or 2 or 1" in out
    assert "28.93% below" in out
    assert Scenario.read(best) == examples.load("paper")
    assert json.loads(saved.read_text())["best"]["thresholds"] == [2]


def test_saved_answers_read_back(paper, tmp_path, capsys):
    saved = tmp_path / "answer.json"
    assert main(["solve", str(paper), "--json", "--out", str(saved)]) == 0
    assert json.loads(saved.read_text()) == answer(capsys)


@pytest.mark.parametrize("name", examples.EXAMPLES)
def test_every_example_can_be_written_and_solved(name, tmp_path, capsys):
    path = tmp_path / "scenario.toml"
    assert main(["example", name, "--out", str(path)]) == 0
    assert Scenario.read(path) == examples.load(name)
    # What the solver does not know yet it refuses; it never ignores it.
    assert main(["solve", str(path), "--json"]) == 0
    capsys.readouterr()


def test_examples_are_listed_and_printed(capsys):
    assert main(["example"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in examples.EXAMPLES)
    assert main(["example", "paper"]) == 0
    assert "capacity = 5" in capsys.readouterr().out
    assert main(["example", "--out", "x.toml"]) == 2
    assert main(["example", "nonsense"]) == 2
    assert "one of paper" in capsys.readouterr().err
    assert main(["example", "papre"]) == 2
    assert "Did you mean 'paper'?" in capsys.readouterr().err


def test_a_trace_is_as_long_as_it_is_asked_for(capsys):
    assert main(["example", "trace", "--pages", "200"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert sum(row[1] == "200" for row in rows) == 200
    assert main(["example", "trace", "--pages", "0"]) == 2
    assert "--pages must be from 100" in capsys.readouterr().err
    for name in ("paper", "daily-trace"):
        assert main(["example", name, "--pages", "200"]) == 2
        assert "--pages must come with trace" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["solve", "optimize"])
@pytest.mark.parametrize("name", WRONG)
def test_wrong_files_end_in_exit_code_2(command, name, tmp_path, capsys):
    path = tmp_path / "wrong.toml"
    text, place, words = WRONG[name]
    path.write_text(text)
    out = tmp_path / "out.json"
    assert main([command, str(path), "--json", "--out", str(out)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert place in captured.err
    assert words in captured.err
    assert "Traceback" not in captured.err
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["solve", "none.toml"], "must exist"),
        (["solve", "PAPER", "--policy", "three"], "--policy must be numbers"),
        (["solve", "PAPER", "--policy", "9"], "got 9"),
        (["solve", "PAPER", "--policy", "3,1@9"], "at most the capacity"),
        (["solve", "PAPER", "--quantiles", "2"], "--quantiles must be numbers in [0, 1)"),
        (["solve", "PAPER", "--quantiles", ""], "--quantiles must not be empty"),
        (["solve", "PAPER", "--out", "/"], "must be a file"),
        (["optimize", "PAPER", "--out", "same.json", "--write", "same.json"], "must be two files"),
        (["solve", "PAPER", "--quantiles", "x"], "--quantiles must be numbers"),
        (["solve", "PAPER", "--at", "-1"], "times must be"),
        (["solve", "PAPER", "--method", "qbd"], "single arrivals"),
        (["solve", "PAPER", "--out", "no/such/dir/x.json"], "must be writable"),
        (["optimize", "PAPER", "--write", "no/such/dir/x.toml"], "must be writable"),
    ],
)
def test_wrong_arguments_end_in_exit_code_2(arguments, words, paper, capsys):
    assert main([str(paper) if word == "PAPER" else word for word in arguments]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["nonsense"], ["solve"], ["solve", "x", "--method", "magic"], ["--wrong"]])
def test_usage_errors_end_in_exit_code_2(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage" in capsys.readouterr().err


def test_the_program_alone_lists_its_commands(capsys):
    with pytest.raises(SystemExit):
        main([])
    told = capsys.readouterr().err
    assert all(f"  {command} " in told for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches(command, capsys):
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0
    assert "examples:" in capsys.readouterr().out


@pytest.mark.parametrize("command", [*COMMANDS, ""])
def test_help_fits_80_columns_and_shows_no_marks_of_markup(command, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main([command, "--help"] if command else ["--help"])
    shown = capsys.readouterr().out
    assert [line for line in shown.splitlines() if len(line) > 80] == []
    assert "`" not in shown and "?." not in shown


def test_an_example_broken_by_the_width_is_still_the_same_command(monkeypatch, capsys):
    def examples(columns):
        monkeypatch.setenv("COLUMNS", columns)
        with pytest.raises(SystemExit):
            main(["sweep", "--help"])
        text = capsys.readouterr().out.partition("examples:\n")[2]
        joined = re.sub(r" \\\n +", " ", text).splitlines()
        return [shlex.split(line.strip().partition("   ")[0]) for line in joined if line.startswith("  crawltwin")]

    assert len(examples("200")) == 5
    assert examples("60") == examples("200")


def test_standard_input_is_a_scenario_too(paper, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", paper.open())
    assert main(["solve", "-", "--json"]) == 0
    assert answer(capsys)["measures"]["cost"] < 64


def test_interrupt_is_no_traceback(paper, monkeypatch, capsys):
    def interrupted(*_arguments, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("analytic.solve", interrupted)
    assert main(["solve", str(paper)]) == 130
    assert "interrupted" in capsys.readouterr().err


def test_an_interrupt_between_compiled_functions_is_no_traceback(paper, monkeypatch, capsys):
    """numba turns an interrupt that meets it into a SystemError."""

    def interrupted(*_arguments, **_options):
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()

    monkeypatch.setattr("analytic.solve", interrupted)
    assert main(["solve", str(paper)]) == 130
    assert "interrupted" in capsys.readouterr().err


def test_no_convergence_is_exit_code_3(paper, monkeypatch, capsys):
    from crawltwin.model import ConvergenceError

    def stuck(*_arguments, **_options):
        raise ConvergenceError("residual 1e-3 after 10 sweeps")

    monkeypatch.setattr("analytic.solve", stuck)
    assert main(["solve", str(paper)]) == 3
    assert "residual 1e-3" in capsys.readouterr().err


def test_the_installed_command_and_a_reader_that_goes_away(paper):
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3])}
    run = subprocess.run(
        f"{sys.executable} -m crawltwin solve {paper} --json | head -c 10",
        shell=True,
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert run.stdout.startswith("{")
    assert "Traceback" not in run.stderr
    version = subprocess.run(
        [sys.executable, "-m", "crawltwin", "--version"], capture_output=True, text=True, env=environment, check=True
    )
    assert version.stdout.startswith("crawltwin ")


def test_json_has_no_nan_and_numbers_read_well():
    assert json.loads(to_json({"a": float("nan"), "b": [float("inf"), 1.0]})) == {"a": None, "b": [None, 1.0]}
    assert number(None) == "-"
    assert number(0.123456789) == "0.123457"


def test_fit_shows_large_batches_and_how_much_was_cut(tmp_path, capsys):
    """One batch in 25 has 11 or 30 pages: the terminal tells their share, and the time of the pause that was cut."""
    rng = np.random.default_rng(9)
    sizes = np.ones(500, dtype=int)
    sizes[::50], sizes[25::50] = 30, 11
    times = 1.46e9 + np.cumsum(rng.exponential(2.0, 500))
    times[200:] += 9 * (times[-1] - times[0])
    path = tmp_path / "batches"
    path.write_text("\n".join(f"{t:.3f}" for t in np.repeat(times, sizes)))
    show_fit(fit(path, options=FitOptions(methods=("poisson",), repetitions=20, refits=0)), None, [])
    shown = " ".join(capsys.readouterr().out.split())
    assert "Batch sizes 1: 0.96, 11 to 30: 0.04;" in shown
    assert "1 cut (90% of the time)" in shown


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("slove a.toml", "Did you mean 'solve'?"),
        ("optimise a.toml", "Did you mean 'optimize'?"),
        ("help", "Did you mean '--help'?"),
        ("--hlep", "Did you mean '--help'?"),
        ("solve a.toml --methd auto", "Did you mean '--method'?"),
        ("solve a.toml --method bandet", "Did you mean 'banded'?"),
        ("live dem", "Did you mean 'demo'?"),
        ("fit a.log --pauze=3", "Did you mean '--pause'?"),
    ],
)
def test_near_names_are_named(typed, words, capsys):
    with pytest.raises(SystemExit) as left:
        main(typed.split())
    assert left.value.code == 2
    assert words in capsys.readouterr().err


def test_an_example_that_is_near_is_named(capsys):
    assert main(["example", "tracee"]) == 2
    assert capsys.readouterr().err.rstrip().endswith("Did you mean 'trace'?")


def test_no_command_at_all_shows_the_help(capsys):
    with pytest.raises(SystemExit) as caught:
        main([])
    assert caught.value.code == 2
    assert "a first walk:" in capsys.readouterr().err
