"""Hostile names, files and streams: exit code 2, one line for each fault, nothing written, nothing sent raw."""

import argparse
import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from crawltwin.cli.main import COMMANDS, main
from crawltwin.cli.output import LONGEST_FAULT, MOST_FAULTS, visible
from crawltwin.model import examples
from tests.conftest import REPOSITORY

RED = "\x1b[31mred\x1b[0m"


@pytest.fixture
def paper(tmp_path: Path) -> str:
    path = tmp_path / "paper.toml"
    examples.load("paper").write(path)
    return str(path)


def complaint(arguments: list[str], capsys) -> str:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    return captured.err


# -- outputs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["n" * 300, "a\0b", "none/below", "paper.toml/below"])
@pytest.mark.parametrize(
    "command",
    [
        ["solve", "PAPER", "--out"],
        ["optimize", "PAPER", "--write"],
        ["simulate", "PAPER", "--records"],
        ["sweep", "PAPER", "--vary", "capacity=1:2", "--picture"],
        ["plan", "PAPER", "--policy"],
        ["example", "paper", "--out"],
    ],
)
def test_output_files_are_checked_before_the_work(command, name, paper, tmp_path, capsys):
    words = [paper if word == "PAPER" else word for word in command]
    assert "the output file must" in complaint([*words, str(tmp_path / name)], capsys)
    assert [path.name for path in tmp_path.iterdir()] == ["paper.toml"]


@pytest.mark.parametrize("name", ["n" * 300, "a\0b", "paper.toml", "paper.toml/below", "/proc/none"])
@pytest.mark.parametrize(
    "command",
    [
        ["validate", "PAPER", "--report"],
        ["simulate", "PAPER", "--resume"],
        ["sweep", "PAPER", "--vary", "capacity=1:2", "--resume"],
        ["reproduce", "--keep"],
        ["fit", "PAPER", "--report"],
    ],
)
def test_output_folders_are_checked_before_the_work(command, name, paper, tmp_path, capsys):
    words = [paper if word == "PAPER" else word for word in command]
    assert "the output folder must" in complaint([*words, str(tmp_path / name)], capsys)


def test_two_outputs_at_one_place_are_refused(paper, tmp_path, capsys):
    same = str(tmp_path / "same")
    assert "--out and --write must be two files" in complaint(
        ["optimize", paper, "--out", same, "--write", same], capsys
    )


COMMAND_LINES = {
    "example": ["example", "paper"],
    "solve": ["solve", "PAPER"],
    "simulate": ["simulate", "PAPER"],
    "optimize": ["optimize", "PAPER"],
    "validate": ["validate", "PAPER"],
    "plan": ["plan", "PAPER"],
    "sweep": ["sweep", "PAPER", "--vary", "capacity=1:2"],
    "reproduce": ["reproduce"],
    "live": ["live", "demo"],
    "watch": ["watch", "PAPER", "--once"],
    "fit": ["fit", "PAPER"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_no_option_takes_an_empty_text(name, paper, tmp_path, monkeypatch, capsys):
    """`--out "$OUT"` where the variable is not set: never work that is thrown away."""
    monkeypatch.chdir(tmp_path)
    parser = argparse.ArgumentParser()
    import_module(f"crawltwin.cli.{name}").add_arguments(parser)
    free = [
        action.option_strings[-1]
        for action in parser._actions
        if action.option_strings and action.nargs is None and action.choices is None and action.type in (None, str)
    ]
    words = [paper if word == "PAPER" else word for word in COMMAND_LINES[name]]
    assert free
    for option in free:
        assert f"{option} must not be empty; got ''" in complaint([*words, option, ""], capsys)
    assert [path.name for path in tmp_path.iterdir()] == ["paper.toml"]


@pytest.mark.parametrize("name", ["simulate", "validate", "sweep", "plan", "fit", "reproduce"])
@pytest.mark.parametrize("workers", ["0", "-1", "1025", "9" * 30])
def test_every_command_refuses_a_wrong_number_of_workers_at_once(name, workers, paper, capsys):
    words = [paper if word == "PAPER" else word for word in COMMAND_LINES[name]]
    assert "workers must be" in complaint([*words, "--workers", workers], capsys)


# -- inputs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fit", "PAPER", "--seed", "-1"], "seed must be"),
        (["example", "trace", "--seed", "-1"], "--seed must be at least 0; got -1"),
        (["solve", "/dev/zero"], "must be a regular file"),
        (["solve", "/dev/urandom"], "must be a regular file"),
        (["reproduce", "--check", "/dev/zero"], "--check must be a regular file"),
        (["plan", "PAPER", "--config", "/dev/zero"], "--config must be a regular file"),
        (["plan", "PAPER", "--config", "DIGITS"], "--config must be valid TOML"),
        (["plan", "PAPER", "--config", "DEEP"], "nested too deep"),
        (["plan", "PAPER", "--config", "DOTS"], "keys of at most 50 parts"),
        (["solve", "DIGITS"], "must be valid TOML"),
        (["solve", "DEEP"], "nested too deep"),
        (["solve", "DOTS"], "keys of at most 50 parts"),
    ],
)
def test_hostile_inputs_are_refused_at_once(arguments, words, paper, tmp_path, capsys):
    texts = {"DIGITS": "urls = " + "9" * 5000, "DEEP": "a = " + "[" * 50_000, "DOTS": ".".join("a" * 100_000) + " = 1"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    places = {name: str(tmp_path / name) for name in texts} | {"PAPER": paper}
    assert words in complaint([places.get(word, word) for word in arguments], capsys)


def test_of_very_many_faults_the_first_are_told_and_their_number(tmp_path, capsys):
    path = tmp_path / "many.toml"
    path.write_text("\n".join(f"[a{number}.b]" for number in range(1000)))
    lines = complaint(["solve", str(path)], capsys).splitlines()
    assert len(lines) == MOST_FAULTS + 1
    assert lines[-1] == f"crawltwin: {1000 + 3 - MOST_FAULTS:,} more of the kind"  # three keys are missing


def test_a_value_of_any_length_is_cut(capsys):
    told = complaint(["solve", "no-such-file-" + "x" * 100_000], capsys)
    assert len(told) < 2 * LONGEST_FAULT


def command(*arguments: str, **more) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "crawltwin", *arguments]
    return subprocess.run(words, capture_output=True, text=True, check=False, cwd=REPOSITORY, **more)


def closing(*numbers: int):
    return lambda: [os.close(number) for number in numbers]


def test_closed_standard_input_is_told():
    for arguments in (["solve", "-"], ["fit", "-"]):
        done = command(*arguments, preexec_fn=closing(0))
        assert done.returncode == 2, done.stderr
        assert "standard input must be" in done.stderr
        assert "Traceback" not in done.stderr


def test_closed_outputs_do_no_harm(paper, tmp_path):
    out = tmp_path / "answer.json"
    done = command("solve", paper, "--out", str(out), preexec_fn=closing(1, 2))
    assert done.returncode == 0
    assert json.loads(out.read_text())["measures"]["cost"] > 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_told(paper):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "crawltwin", "example", "paper"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            cwd=REPOSITORY,
        )
    assert done.returncode == 2
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


# -- what comes from input is shown escaped -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["solve", f"{RED}.toml"],
        ["solve", "PAPER", f"--{RED}"],
        ["solve", "PAPER", "--method", RED],
        ["solve", "PAPER", "--quantiles", RED],
        ["solve", "PAPER", "--out", f"{RED}/x"],
        ["solve", "KEYS"],
        ["fit", f"{RED}.log"],
        ["fit", "TABLE", "--time-column", RED],
        ["validate", "PAPER", "--trace", f"{RED}.csv"],
        ["sweep", "PAPER", "--vary", f"{RED}=1:2"],
        ["plan", "PAPER", "--config", "KEYS"],
        ["example", RED],
        [RED],
    ],
)
def test_escape_sequences_never_reach_the_terminal(arguments, paper, tmp_path, capsys):
    keys, table = tmp_path / "keys.toml", tmp_path / "table.csv"
    keys.write_text('"\\u001b[31mred" = 1\n')
    table.write_text(f"{RED},other\n1,2\n2,3\n")
    places = {"PAPER": paper, "KEYS": str(keys), "TABLE": str(table)}
    with pytest.raises(SystemExit) as stopped:
        sys.exit(main([places.get(word, word) for word in arguments]))
    assert stopped.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "\x1b" not in captured.err
    assert "\\x1b" in captured.err or "\N{REPLACEMENT CHARACTER}" in captured.err


def test_a_title_with_escape_sequences_is_shown_escaped(tmp_path, capsys):
    path = tmp_path / "mm1k.toml"
    examples.load("mm1k").replace(title=f"{RED}\nwrote nothing").write(path)
    assert main(["solve", str(path)]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\\x1b[31mred\\x1b[0m\\nwrote nothing" in out


def test_files_with_hostile_names_are_written_and_told_escaped(tmp_path, paper, capsys):
    out = tmp_path / f"{RED}\nforged"
    assert main(["solve", paper, "--json", "--out", str(out)]) == 0
    captured = capsys.readouterr()
    assert json.loads(out.read_text()) == json.loads(captured.out)
    assert captured.err.count("\n") == 1
    assert "\x1b" not in captured.err


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ±1 λ", "plain ±1 λ"),
        ("a\tb\r\n", "a\\tb\\r\\n"),
        ("\u202eright to left", "\\u202eright to left"),
        ("\ud800", "\\ud800"),
        ("\x9b31m", "\\x9b31m"),
    ],
)
def test_visible(text, shown):
    assert visible(text) == shown
