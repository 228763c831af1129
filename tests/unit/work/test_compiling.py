"""Compiled functions and their cache: a damaged or outdated file is compiled again, never shown to the user."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core.errors import TypingError

from crawltwin.work.compiling import njit
from tests.conftest import REPOSITORY

MODULE = """
from typing import NamedTuple
from crawltwin.work.compiling import njit
class {name}(NamedTuple):
    value: float
@njit(cache=True)
def doubled(held):
    return 2 * held.value
print(doubled({name}(21.0)), *doubled.stats.cache_hits.values())
"""


def run(folder: Path, name: str) -> str:
    """What a program of its own prints that compiles a function of a class called `name`, always on the same line."""
    program = folder / "program.py"
    text = MODULE.format(name=name)
    if not program.exists() or program.read_text(encoding="utf-8") != text:  # a new time of change is a new version
        program.write_text(text, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "NUMBA_CACHE_DIR": str(folder / "compiled")}
    command = [sys.executable, "-c", "import program"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_class_renamed_since_the_last_version_is_compiled_again(tmp_path):
    assert run(tmp_path, "Amount") == "42.0"
    assert run(tmp_path, "Quantity") == "42.0"


def test_a_damaged_file_is_compiled_again(tmp_path):
    run(tmp_path, "Amount")
    (index,), (code,) = ((tmp_path / "compiled").rglob(f"*.{suffix}") for suffix in ("nbi", "nbc"))
    whole = code.read_bytes()
    assert run(tmp_path, "Amount") == "42.0 1"  # one hit: the cache works
    for path, damaged in ((index, index.read_bytes()[:40]), (code, whole[: len(whole) // 2]), (code, b"\x80" * 300)):
        path.write_bytes(damaged)
        assert run(tmp_path, "Amount") == "42.0"
        assert len(code.read_bytes()) == len(whole)
    assert run(tmp_path, "Amount") == "42.0 1"


def test_a_function_without_a_file_is_compiled_without_a_cache():
    namespace = {}
    exec("def doubled(value):\n    return 2 * value", namespace)
    assert njit(cache=True)(namespace["doubled"])(21.0) == 42.0


WAITING = """
import sys
from crawltwin.work.compiling import njit
@njit(cache=True)
def inner(value):
    return value + 1
@njit(cache=True)
def outer(value):
    return sum([inner(value + k) for k in range(9)])
print("ready", flush=True)
sys.stdin.readline()
print(outer(1), *(sum(one.stats.cache_misses.values()) for one in (outer, inner)))
"""


def test_of_several_processes_that_begin_together_one_compiles(tmp_path):
    (tmp_path / "program.py").write_text(WAITING, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "NUMBA_CACHE_DIR": str(tmp_path / "compiled")}
    command, pipe = [sys.executable, "-c", "import program"], subprocess.PIPE
    several = [
        subprocess.Popen(command, cwd=tmp_path, env=environment, stdin=pipe, stdout=pipe, text=True) for _ in range(3)
    ]
    assert [one.stdout.readline() for one in several] == ["ready\n"] * 3
    for one in several:
        one.stdin.write("\n")
        one.stdin.flush()
    answers = sorted(one.communicate()[0].strip() for one in several)
    assert answers == ["54 0 0", "54 0 0", "54 1 1"]


def test_a_function_that_cannot_be_compiled_keeps_nobody_waiting():
    @njit(cache=True)
    def wrong(value):
        return value.nothing

    with pytest.raises(TypingError):
        wrong(1.0)
    assert wrong._cache._turn is None


PARTS = """
from enum import IntEnum
from typing import NamedTuple
from crawltwin.work.compiling import njit
{constant}
class Column(IntEnum):
    price = {column}
class Held(NamedTuple):
    {fields[0]}: float
    {fields[1]}: float
@njit({options})
def charged(value):
    return {formula}
"""
CALLER = """
import parts
from crawltwin.work.compiling import njit
from parts import CONSTANT, Column, Held, charged
@njit(cache=True)
def total(held):
    return charged(held.price) + CONSTANT + 100 * Column.price + 1000 * parts.OTHER
def show():
    print(total(Held(2.0, 3.0)), *total.stats.cache_hits.values())
"""
USUAL = {
    "constant": "CONSTANT, OTHER = 0, 0",
    "column": 0,
    "fields": ("price", "size"),
    "options": "cache=True",
    "formula": "10 * value",
}


@pytest.mark.parametrize(
    ("edited", "total"),
    [
        ({"formula": "30 * value"}, "60.0"),
        ({"formula": "30 * value", "options": "inline='always'"}, "60.0"),
        ({"constant": "CONSTANT, OTHER = 7, 0"}, "27.0"),
        ({"constant": "CONSTANT, OTHER = 0, 1"}, "1020.0"),
        ({"column": 1}, "120.0"),
        ({"fields": ("size", "price")}, "30.0"),
    ],
)
def test_what_a_compiled_function_calls_or_names_in_another_file_is_part_of_it(tmp_path, edited, total):
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "NUMBA_CACHE_DIR": str(tmp_path / "compiled")}
    (tmp_path / "caller.py").write_text(CALLER, encoding="utf-8")

    def shown(parts):
        text = PARTS.format(**parts)
        if not (tmp_path / "parts.py").exists() or (tmp_path / "parts.py").read_text(encoding="utf-8") != text:
            (tmp_path / "parts.py").write_text(text, encoding="utf-8")
        command = [sys.executable, "-B", "-c", "import caller; caller.show()"]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True).stdout

    options = {name: value for name, value in edited.items() if name == "options"}
    assert shown(USUAL | options).split() == ["20.0"]
    assert shown(USUAL | options).split() == ["20.0", "1"]
    assert shown(USUAL | edited).split() == [total]
