"""Build the two distributions, install one into an empty environment, look at what is in them.

`python -m tests.installed.building DIST` builds into that folder and checks both: what `make release` does.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

import crawltwin
from tests.conftest import REPOSITORY
from tests.installed.commands import run_every_command

PACKAGES = ("crawltwin", "analytic", "simulate", "fitting", "validate")


def run(*words: str, folder: Path = REPOSITORY, **variables: str) -> str:
    """Standard output of a program; its complaints where it fails."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | variables
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def build(target: Path) -> tuple[Path, Path]:
    """The source distribution and the wheel made of it."""
    run(sys.executable, "-m", "build", "--outdir", str(target), str(REPOSITORY))
    (source,), (wheel,) = target.glob("*.tar.gz"), target.glob("*.whl")
    return source, wheel


def check_content(source: Path, wheel: Path) -> None:
    """Everything that is not Python but belongs to the product is in both distributions."""
    wanted = {
        path.relative_to(REPOSITORY).as_posix()
        for package in PACKAGES
        for path in (REPOSITORY / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    assert wanted <= held, sorted(wanted - held)
    assert not [name for name in held if name.split("/")[0] in ("tests", "benchmarks", "docs")]
    with tarfile.open(source) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    assert wanted <= held, sorted(wanted - held)


def install(wheel: Path, folder: Path) -> Path:
    """An empty environment with the wheel and what it needs to run, no more; the folder of its programs."""
    venv.create(folder, with_pip=True)
    programs = folder / "bin"
    pinned = ("-c", str(REPOSITORY / "constraints.txt"))
    run(str(programs / "python"), "-m", "pip", "install", "--quiet", "--no-compile", *pinned, str(wheel))
    return programs


def main(target: Path) -> None:
    """Build and check everything; what is left in the folder may be published."""
    source, wheel = build(target)
    check_content(source, wheel)
    with tempfile.TemporaryDirectory() as folder:
        programs = install(wheel, Path(folder) / "environment")
        assert (
            run(str(programs / "crawltwin"), "--version", folder=Path(folder)).strip()
            == f"crawltwin {crawltwin.__version__}"
        )
        run_every_command(programs, Path(folder))
    print(f"{source.name} and {wheel.name}: every command runs from an empty environment")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
