"""The import arrows hold, and the contracts that say so catch an arrow that points the wrong way."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

ROOMS = ["crawltwin", *(f"crawltwin/{room}" for room in ("model", "work", "report", "plan", "pages", "cli"))]
ROOMS += ["analytic", "simulate", "fitting", "validate"]


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    program = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    command = [sys.executable, "-P", "-c", program, "--config", str(folder / "pyproject.toml"), "--no-cache"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """Empty rooms under the real contracts."""
    for room in ROOMS:
        (tmp_path / room).mkdir()
        (tmp_path / room / "__init__.py").write_text("")
    shutil.copy(REPOSITORY / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_arrows_of_this_repository_hold():
    done = lint(REPOSITORY)
    assert done.returncode == 0, done.stdout + done.stderr


def test_downward_arrows_are_allowed(house: Path):
    (house / "analytic" / "solver.py").write_text("import crawltwin.model\n")
    (house / "validate" / "check.py").write_text("import analytic\nimport simulate\nimport matplotlib\n")
    (house / "crawltwin" / "cli" / "main.py").write_text("import crawltwin.plan\nimport validate\n")
    done = lint(house)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("file", "line", "importer", "imported"),
    [
        ("simulate/engine.py", "from analytic import anything", "simulate", "analytic"),
        ("analytic/solver.py", "import fitting", "analytic", "fitting"),
        ("fitting/em.py", "def f():\n    import simulate", "fitting", "simulate"),
        ("crawltwin/model/bmap.py", "import analytic", "crawltwin.model", "analytic"),
        ("analytic/solver.py", "import validate", "analytic", "validate"),
        ("validate/report.py", "import crawltwin.plan", "validate", "crawltwin.plan"),
        ("crawltwin/plan/road.py", "import crawltwin.cli", "crawltwin.plan", "crawltwin.cli"),
        ("crawltwin/plan/road.py", "from crawltwin.report import draw", "crawltwin.plan", "crawltwin.report"),
        ("crawltwin/plan/road.py", "def f():\n    import matplotlib", "crawltwin.plan", "matplotlib"),
        ("crawltwin/report/html.py", "import crawltwin.model", "crawltwin.report", "crawltwin.model"),
        ("crawltwin/report/html.py", "import validate", "crawltwin.report", "validate"),
        ("crawltwin/__init__.py", "import analytic", "crawltwin", "analytic"),
        ("analytic/picture.py", "import matplotlib.pyplot", "analytic", "matplotlib"),
        ("simulate/engine.py", "import tests.oracle", "simulate", "tests"),
    ],
)
def test_a_planted_wrong_arrow_is_caught(house: Path, file: str, line: str, importer: str, imported: str):
    (house / file).write_text(line + "\n")
    done = lint(house)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"{importer} is not allowed to import {imported}" in done.stdout
