"""Kept pieces belong to the code that made them: edited code does not find them."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from crawltwin.work import digest, store, workers
from crawltwin.work.store import Store, key_of

ROOT = Path(digest.__file__).parents[2]


def test_the_digest_sees_every_package_that_computes():
    assert {folder.name for folder in digest._folders()} == set(digest.PACKAGES)
    assert digest.code_digest() == digest.digest_of(digest._folders(), _versions())


def _versions():
    from importlib import metadata

    names = digest.LIBRARIES
    return [f"python {sys.version.split()[0]}", *(f"{name} {metadata.version(name)}" for name in names)]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("crawltwin/model/cost.py", "# edited\n"),
        ("validate/paper/printed/data/table1.csv", "4,1,1.0\n"),
        ("simulate/engine/new_module.py", ""),
    ],
)
def test_an_edited_file_gives_another_digest(tmp_path: Path, file: str, text: str):
    for name in ("crawltwin", "simulate", "validate"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    folders = [tmp_path / name for name in ("crawltwin", "simulate", "validate")]
    before = digest.digest_of(folders)
    assert digest.digest_of(folders) == before
    (tmp_path / "crawltwin" / "cli" / "main.py").write_text("# only shows results\n")
    assert digest.digest_of(folders) == before
    with (tmp_path / file).open("a") as stream:
        stream.write(text)
    assert digest.digest_of(folders) != before


def test_the_digest_knows_every_library_that_numbers_come_from():
    """An upgrade of SimPy changes what its engine gives, so it must not find what the old one left."""
    carry = {"dask", "distributed", "isal", "joblib", "pandas", "pyarrow", "zstandard"}  # files, work, tables
    named = set()
    for folder in digest._folders():
        for path in folder.rglob("*.py"):
            if not (folder.name == "crawltwin" and path.relative_to(folder).parts[0] in digest.SHOWING):
                for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                    if isinstance(node, ast.Import):
                        named |= {one.name.partition(".")[0] for one in node.names}
                    elif isinstance(node, ast.ImportFrom) and node.module:
                        named.add(node.module.partition(".")[0])
    foreign = named - sys.stdlib_module_names - set(digest.PACKAGES)
    assert foreign - carry == set(digest.LIBRARIES)


def test_other_libraries_give_another_digest():
    assert digest.digest_of([], ["numpy 1"]) != digest.digest_of([], ["numpy 2"])


def test_edited_code_does_not_find_what_the_old_code_kept(tmp_path: Path, monkeypatch):
    old = Store(tmp_path)
    assert list(workers.run(abs, [-1], store=old, keys=[key_of("piece", 1)])) == [1]
    monkeypatch.setattr(store, "code_digest", lambda: "digest of edited code")
    broken = workers.run(lambda _: "broken", [-1], store=old, keys=[key_of("piece", 1)])
    assert list(broken) == ["broken"]


@pytest.mark.slow
def test_a_fault_planted_in_the_source_is_seen_by_a_sweep_that_goes_on(tmp_path: Path):
    """The whole way: a sweep is kept, the source of the cost is edited, and the same command computes anew."""
    house = tmp_path / "house"
    for name in digest.PACKAGES:
        shutil.copytree(ROOT / name, house / name, ignore=shutil.ignore_patterns("__pycache__"))
    program = (
        "from crawltwin.model import examples\n"
        "from crawltwin.plan.what_if.sweeps import sweep\n"
        "from crawltwin.plan.what_if.axes import Axis\n"
        "from crawltwin.work.store import Store\n"
        "found = sweep(examples.load('paper'), [Axis('capacity', (2, 3))], workers=1, store=Store('kept'))\n"
        "print([row['best']['cost'] for row in found.rows])\n"
    )

    def costs() -> str:
        done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env={"PYTHONPATH": str(house)},
                              capture_output=True, text=True, check=True)  # fmt: skip
        return done.stdout

    sound = costs()
    assert costs() == sound
    file = house / "crawltwin" / "model" / "examples.py"
    file.write_text(file.read_text() + "\n_planted = load\n\n\ndef load(name):\n    return _planted(name)\n")
    kept = len(list((tmp_path / "kept").rglob("*.json")))
    assert costs() == sound
    assert len(list((tmp_path / "kept").rglob("*.json"))) == 2 * kept
