"""A small chain is solved at once: nothing heavy is loaded for it, and the interpreter finds the compiler's bits."""

import subprocess
import sys

import pytest

HEAVY = ("numba", "scipy.optimize", "scipy.stats", "scipy.special", "scipy.ndimage", "pandas")
UNUSED = (
    "analytic.policy",
    "analytic.response",
    "analytic.time",
    "analytic.stationary.window",
    "analytic.linear.anderson",
)


def run(*lines):
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.parametrize("name", ["paper", "mm1k"])
def test_solving_a_small_chain_loads_nothing_that_it_does_not_use(name):
    loaded = run(
        "import sys, analytic",
        "from crawltwin.model import examples",
        f"analytic.solve(examples.load({name!r})).to_json()",
        "print(*sys.modules)",
    ).split()
    assert "analytic.stationary.banded" in loaded
    assert not set(loaded) & {*HEAVY, *UNUSED}


@pytest.mark.parametrize("name", ["paper", "hyperexponential"])
def test_interpreted_and_compiled_loops_give_the_same_bits(name):
    """The banded elimination, and the block elimination of several obsolescence phases."""
    lines = (
        "import sys, analytic",
        "from crawltwin.model import examples",
        f"scenario = examples.load({name!r}).replace(capacity=4)",
        "found = analytic.solve(scenario).measures",
        "print('numba' in sys.modules, [float(p).hex() for p in found['level_distribution']], found['cost'].hex())",
    )
    interpreted, compiled = run(*lines), run("import numba", *lines)
    assert interpreted.startswith("False")
    assert compiled.startswith("True")
    assert interpreted.split(None, 1)[1] == compiled.split(None, 1)[1]
