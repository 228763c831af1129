"""How fast the command line starts, as ratios of processor time: the limits are 3 and 1.5 in one run on one core.

Each program runs several times, the caches warm, and the least time counts: what other programs on the machine do can
only add to it. The work of `solve` on the paper's first example is included.
"""

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.rows import Row

REPETITIONS = 7
LIMITS = {"--help": 3.0, "solve": 1.5}
"""Processor time at most, as a multiple of an empty program and of the libraries that a solver stands on."""
HEAVY = "import numba, scipy.sparse.linalg"
COMMANDS = ("example", "solve", "simulate", "optimize", "validate", "plan", "sweep", "reproduce", "fit")


def run() -> list[Row]:
    """The two ratios with their limits, and the help of every command beside an empty program."""
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "paper.toml"
        _crawltwin("example", "paper", "--out", str(scenario))
        empty, heavy = processor_time("-c", "pass"), processor_time("-c", HEAVY)
        shown, solved = processor_time(*_words("--help")), processor_time(*_words("solve", str(scenario)))
        rows = [
            Row("start: crawltwin --help", "crawltwin", shown, "s", _against(shown / empty, LIMITS["--help"])),
            Row("start: crawltwin --help", "python -c pass", empty, "s"),
            Row(
                "start: crawltwin solve paper.toml", "crawltwin", solved, "s", _against(solved / heavy, LIMITS["solve"])
            ),
            Row("start: crawltwin solve paper.toml", f'python -c "{HEAVY}"', heavy, "s"),
        ]
        for command in COMMANDS:
            seconds = processor_time(*_words(command, "--help"))
            note = f"{seconds / empty:.1f} times python -c pass"
            rows.append(Row(f"start: crawltwin {command} --help", "crawltwin", seconds, "s", note))
    return rows


def processor_time(*words: str) -> float:
    """The least processor time, user and system, of a Python program over some runs on one core."""
    return min(_once(words) for _ in range(REPETITIONS))


def _once(words: tuple[str, ...]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL, env=_environment())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def _words(*words: str) -> tuple[str, ...]:
    return ("-m", "crawltwin", *words)


def _crawltwin(*words: str) -> None:
    subprocess.run([sys.executable, *_words(*words)], check=True, stderr=subprocess.DEVNULL, env=_environment())


def _environment() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def _against(ratio: float, limit: float) -> str:
    return f"ratio {ratio:.2f}, at most {limit:g}: {'kept' if ratio <= limit else 'MISSED'}"
