"""`optimize` with certificates, constraints and fronts; `solve` with derivatives and variances."""

from __future__ import annotations

import json
import signal
from contextlib import contextmanager

import pytest

from crawltwin.cli.main import main
from crawltwin.model import SCALAR_MEASURES, Scenario, ThresholdPolicy, examples


@pytest.fixture
def paper(tmp_path):
    path = tmp_path / "paper.toml"
    examples.load("paper").write(path)
    return str(path)


def answer(capsys):
    return json.loads(capsys.readouterr().out)


def test_certify(paper, capsys):
    assert main(["optimize", paper, "--certify", "--json"]) == 0
    found = answer(capsys)["certificate"]
    assert found["threshold_is_best"] is True
    assert found["phase_aware"]["lower_bound"] < found["level"]["lower_bound"] <= found["threshold"]["cost"]


def test_certify_for_people(paper, capsys):
    assert main(["optimize", paper, "--certify"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "No level-based policy, threshold or not, beats the best threshold policy" in out
    assert "Every threshold policy was evaluated" in out


def test_an_impatient_user_gets_the_policy_and_the_bounds_found_by_then(tmp_path, monkeypatch, capsys):
    scenario, out = tmp_path / "thinned.toml", tmp_path / "best.json"
    examples.load("thinned").replace(policy=None, capacity=8).write(scenario)
    told = []

    @contextmanager
    def pressed(words, options):
        def update(done, total, now=""):
            told.append((words, done, total, now))
            if words.startswith("looking") and done == 2:
                signal.raise_signal(signal.SIGINT)

        yield update

    monkeypatch.setattr("crawltwin.cli.optimize.progress", pressed)
    before = signal.getsignal(signal.SIGINT)
    assert main(["optimize", str(scenario), "--certify", "--json", "--out", str(out)]) == 130
    assert signal.getsignal(signal.SIGINT) is before
    found = answer(capsys)
    assert found == json.loads(out.read_text())
    assert found["certificate"]["reason"] == "the search was interrupted after 2 nodes"
    assert found["certificate"]["level"]["lower_bound"] <= found["certificate"]["level"]["cost"]
    # Progress was told for the proof too, with what is still open.
    proof = [one for one in told if one[0].startswith("looking")]
    assert all("open; Ctrl-C ends the search" in now for _, _, _, now in proof)


def test_pressed_twice_it_is_an_interrupt(paper, monkeypatch, capsys):
    @contextmanager
    def pressed(words, options):
        def update(done, total, now=""):
            if words.startswith("looking"):
                signal.raise_signal(signal.SIGINT)
                signal.raise_signal(signal.SIGINT)

        yield update

    monkeypatch.setattr("crawltwin.cli.optimize.progress", pressed)
    before = signal.getsignal(signal.SIGINT)
    try:
        assert main(["optimize", paper, "--certify", "--json"]) == 130
    finally:
        signal.signal(signal.SIGINT, before)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == "crawltwin: interrupted; nothing was written\n"


def test_constraints(paper, tmp_path, capsys):
    best = tmp_path / "best.toml"
    arguments = ["--at-most", "mean_active_robots=1.5", "--at-least", "success_probability=0.6", "--write", str(best)]
    assert main(["optimize", paper, "--json", *arguments]) == 0
    found = answer(capsys)["constrained"]
    assert found["at_most"] == {"mean_active_robots": 1.5}
    assert found["at_least"] == {"success_probability": 0.6}
    assert found["best"]["measures"]["mean_active_robots"] <= 1.5
    policy = ThresholdPolicy(found["best"]["robots"], found["best"]["thresholds"])
    assert Scenario.read(best).policy == policy


def test_constraints_for_people(paper, capsys):
    assert main(["optimize", paper, "--at-most", "mean_active_robots=1.5"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "mean_active_robots <= 1.5" in out
    assert "Lagrange multipliers" in out


def test_constraints_that_nothing_keeps_fail_and_write_nothing(paper, tmp_path, capsys):
    best = tmp_path / "best.toml"
    assert main(["optimize", paper, "--at-most", "loss_probability=0.001", "--write", str(best)]) == 1
    assert "No threshold policy keeps loss_probability <= 0.001" in capsys.readouterr().out
    assert not best.exists()


def test_impossible_bounds_are_wrong_input_and_are_told_before_the_work(paper, capsys, monkeypatch):
    monkeypatch.setattr("analytic.optimize", None)
    for bounds, words in (
        (["--at-most", "loss_probability=-1"], "at_most must be at least 0; got -1"),
        (["--at-least", "success_probability=2"], "at_least must be at most 1; got 2"),
        (["--at-most", "mean_pages=1", "--at-least", "mean_pages=2"], "at_least must not exceed at_most"),
        (["--at-most", "mean_pages=1", "--at-most", "mean_pages=2"], "--at-most must bound each measure once"),
    ):
        assert main(["optimize", paper, *bounds]) == 2
        assert words in capsys.readouterr().err


def test_resume_points_need_no_folder(paper, capsys, monkeypatch):
    monkeypatch.chdir("/proc")
    assert main(["optimize", paper, "--resume", "--json"]) == 0


@pytest.mark.parametrize("text", ["loss_probability", "loss_probability=much", "=", "loss_probability="])
def test_constraints_that_cannot_be_read(paper, text, capsys):
    assert main(["optimize", paper, "--at-most", text]) == 2
    assert f"--at-most must be NAME=VALUE, for example loss_probability=0.01; got {text!r}" in capsys.readouterr().err


def test_constraint_on_an_unknown_measure(paper, capsys):
    assert main(["optimize", paper, "--at-least", "speed=3"]) == 2
    assert "at_least must bound one of" in capsys.readouterr().err


def test_pareto(paper, capsys):
    assert main(["optimize", paper, "--pareto", "--json"]) == 0
    found = answer(capsys)["pareto"]
    assert found["complete"]
    assert found["policies"][0]["robots"] == [3, 1]
    assert main(["optimize", paper, "--pareto"]) == 0
    assert "no other beats" in capsys.readouterr().out


def test_method_is_told(paper, capsys):
    assert main(["optimize", paper, "--method", "bound", "--pareto", "--at-most", "mean_pages=3"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "lower bounds prove it" in out
    assert "among those evaluated" in out
    assert "--method enumerate compares all" in out


def test_sensitivity_and_variance(paper, capsys):
    assert main(["solve", paper, "--sensitivity", "--variance", "--json"]) == 0
    found = answer(capsys)
    assert set(found["sensitivity"]["derivatives"]) == set(SCALAR_MEASURES) - {"mean_fetches"}
    assert found["sensitivity"]["parameters"] == ["arrival", "service", "obsolescence"]
    assert found["variance"]["run_length"]["mean_pages"] > 0
    assert main(["solve", paper, "--sensitivity", "--variance"]) == 0
    out = capsys.readouterr().out
    assert "planning a simulation" in out
    assert "obsolescence rates" in out
