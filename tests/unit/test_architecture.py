"""The documents that tell where things are name files that exist, and every command has its path."""

import re
from pathlib import Path

import pytest

from crawltwin.cli.main import COMMANDS
from tests.conftest import REPOSITORY

PAGES = ("docs/architecture.md", "CONTRIBUTING.md")
FOLDERS = ("crawltwin", "analytic", "simulate", "fitting", "validate", "tests", "benchmarks", "docs")
NAMED = re.compile(r"`((?:\w+/)+(?:\w+(?:\.\w+)+)?)`")


def places() -> list[str]:
    """Every file and folder, each with a slash before it and folders with one after it."""
    found = [path for folder in FOLDERS for path in (REPOSITORY / folder, *(REPOSITORY / folder).rglob("*"))]
    return [f"/{path.relative_to(REPOSITORY).as_posix()}" + ("/" if path.is_dir() else "") for path in found]


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_is_named_exists(page):
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    named = {name for name in NAMED.findall(text) if "<" not in name}
    assert len(named) > 10
    there = places()
    assert [name for name in sorted(named) if not any(place.endswith(f"/{name}") for place in there)] == []


def test_every_command_has_its_path():
    rows = re.findall(r"^\| `([\w-]+)", Path(REPOSITORY / "docs/architecture.md").read_text(), flags=re.MULTILINE)
    assert set(rows) == set(COMMANDS)
