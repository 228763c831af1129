"""Every snippet in the documents runs, and every example in a docstring is true.

In Markdown, a ``python`` block runs as it stands (lines that start with ``>>>`` are checked as doctests), a ``console``
block runs each line that starts with ``$ crawltwin``. A line ``$ crawltwin ...  # exit 2`` says what exit code to
expect. Each block works when it is pasted alone: it has a namespace of its own and an empty directory, unless the
paragraph before it says that files come "from above"; then the directory is that of the block before.
"""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from crawltwin.cli.main import main
from crawltwin.model import Scenario, examples

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
PACKAGES = ("crawltwin", "analytic", "simulate", "fitting", "validate")
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def modules() -> list[str]:
    found = []
    for package in PACKAGES:
        paths = importlib.import_module(package).__path__
        found += [package, *(info.name for info in pkgutil.walk_packages(paths, package + "."))]
    return [name for name in found if not name.endswith("__main__")]


@pytest.mark.parametrize("name", modules())
def test_examples_in_docstrings(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_snippets_of_a_page(page, tmp_path, monkeypatch, capsys):
    whole = page.read_text(encoding="utf-8")
    for number, match in enumerate(BLOCK.finditer(whole)):
        kind, text = match.groups()
        namespace: dict[str, object] = {}
        before = whole[: match.start()].rstrip().rpartition("\n\n")[2]
        if "from above" not in " ".join(before.split()) or number == 0:
            (tmp_path / str(number)).mkdir()
            monkeypatch.chdir(tmp_path / str(number))
        if kind == "console":
            for line in text.splitlines():
                if line.startswith("$ crawltwin"):
                    command, _, expected = line[2:].partition("# exit ")
                    code = main(shlex.split(command, comments=True)[1:])
                    assert code == int(expected or 0), f"{page.name}: {line}\n{capsys.readouterr().err}"
        elif ">>>" in text:
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
            parsed = doctest.DocTestParser().get_doctest(text, namespace, f"{page.name}[{number}]", str(page), 0)
            runner.run(parsed)
            assert runner.failures == 0, capsys.readouterr().out
        else:
            exec(compile(text, f"{page.name}[{number}]", "exec"), namespace)


def test_the_page_on_live_crawls_names_every_setting():
    read = re.findall(r'"(CRAWLTWIN_\w+)"', (ROOT / "crawltwin" / "live" / "scrapy.py").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "live.md").read_text(encoding="utf-8")
    assert read
    assert not {name for name in read if not re.search(rf"\b{name}\b", page)}


def test_the_tutorial_writes_down_the_example_of_its_name():
    """Its later blocks begin with `crawltwin example tutorial`, so both must be one scenario."""
    text = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8").partition('text = """')[2].partition('"""')[0]
    assert Scenario.from_mapping(tomllib.loads(text)) == examples.load("tutorial")
