"""A fresh installation has everything it needs, and every command runs from it."""

from pathlib import Path

import pytest

from crawltwin.cli.main import COMMANDS
from tests.installed.building import build, check_content, install, run
from tests.installed.commands import run_every_command


@pytest.mark.slow
def test_every_command_runs_from_an_empty_environment(tmp_path: Path):
    source, wheel = build(tmp_path / "dist")
    check_content(source, wheel)
    programs = install(wheel, tmp_path / "environment")
    folder = tmp_path / "work"
    folder.mkdir()
    assert run_every_command(programs, folder) == set(COMMANDS)
    told = run(str(programs / "crawltwin"), "solve", "paper.toml", "--help", folder=folder)
    assert "--quantiles" in told
