"""Progress of long work: soon, counted, with the time left, and only where a person looks on."""

import argparse
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time

import pytest

from crawltwin.cli.main import COMMANDS, main
from crawltwin.cli.options import add_json
from crawltwin.cli.terminal import progress_line as shown
from crawltwin.model import examples


class Screen:
    """Stands in for a terminal of 80 columns that keeps what is written."""

    def __init__(self, monkeypatch):
        from io import StringIO

        from rich.console import Console

        self.file = StringIO()
        terminal = Console(file=self.file, force_terminal=True, width=80)
        monkeypatch.setattr(shown, "console", lambda error: terminal)

    @property
    def text(self) -> str:
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.file.getvalue())


def options(**changed):
    return argparse.Namespace(**{"json": False, "quiet": False} | changed)


def wait_for(condition):
    for _ in range(500):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it never came")


def test_work_whose_first_piece_takes_long_shows_that_it_runs(monkeypatch):
    screen = Screen(monkeypatch)
    with shown.progress("working", options(), after=0.01):
        wait_for(lambda: "so far" in screen.text)
    assert "working" in screen.text


def test_pieces_are_counted_and_the_time_left_is_told(monkeypatch):
    screen = Screen(monkeypatch)
    with shown.progress("sweeping", options(), after=0.0) as update:
        update(3, 55)
        wait_for(lambda: "sweeping, 4 of 55" in screen.text)
        wait_for(lambda: re.search(r"about \d:\d\d:\d\d left", screen.text))
        update(55, 55)
        wait_for(lambda: "sweeping, 55 of 55" in screen.text)
    assert max(map(len, re.split(r"[\r\n]", screen.text))) <= 80


@pytest.mark.parametrize("silenced", [{"json": True}, {"quiet": True}])
def test_programs_and_those_who_want_none_see_no_progress(monkeypatch, silenced):
    screen = Screen(monkeypatch)
    with shown.progress("working", options(**silenced), after=0.0) as update:
        update(1, 2)
        time.sleep(0.05)
    with shown.step_line(options(**silenced)) as line:
        assert line is None
    assert screen.text == ""


def test_work_that_is_done_in_time_shows_nothing(monkeypatch):
    screen = Screen(monkeypatch)
    with shown.progress("working", options(), after=60.0) as update:
        update(1, 2)
    assert screen.text == ""


def test_a_slow_last_piece_makes_the_time_left_longer_not_shorter():
    """Three of four pieces in 30 s; after 90 s more without a piece the rest is no longer a matter of 10 s."""
    assert shown.time_left(3, 4, 30.0) == "about 0:00:10 left"
    assert shown.time_left(3, 4, 120.0) == "about 0:00:40 left"


@pytest.mark.parametrize("command", ["solve", "optimize", "simulate", "validate", "fit", "plan", "sweep", "reproduce"])
def test_every_long_command_can_be_quiet(command, capsys):
    assert command in COMMANDS
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert "--quiet" in capsys.readouterr().out


def test_quiet_is_declared_with_the_answer_for_programs():
    parser = argparse.ArgumentParser()
    add_json(parser)
    assert parser.parse_args(["--quiet"]).quiet


def test_in_a_terminal_nothing_of_it_reaches_standard_output(tmp_path):
    """Standard error is a terminal, standard output a pipe: the pipe gets one JSON object, the terminal nothing."""
    examples.load("paper").write(tmp_path / "paper.toml")
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    command = [sys.executable, "-m", "crawltwin", "optimize", str(tmp_path / "paper.toml"), "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, check=True, timeout=120)
    os.set_blocking(ours, False)
    with pytest.raises(BlockingIOError):
        os.read(ours, 1)
    os.close(ours)
    os.close(theirs)
    assert json.loads(done.stdout)["best"]
