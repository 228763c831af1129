"""What Storm needs for the stationary distribution of a generator: seconds to load, seconds to solve, peak memory.

Storm runs in a process of its own, so that its memory is its own and its precision can be chosen anew. The case is
the example `hyperexponential`: the paper's crawler with an obsolescence time that cannot be lumped to one phase.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.rows import Row


@dataclass(frozen=True)
class StormTimes:
    """What a run of Storm cost and how well it solved; memory in megabytes beyond the libraries and the input."""

    states: int
    load_seconds: float
    solve_seconds: float
    cpu_seconds: float
    peak_memory: float
    residual: float


def storm_times(generator: sp.csr_array, method: str = "iterative", precision: float = 1e-12) -> StormTimes:
    """Solve the generator with Storm in a new process on one thread.

    The residual is the largest entry of p Q in absolute value.
    """
    root = Path(__file__).resolve().parent.parent
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(root)}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "generator.npz"
        sp.save_npz(file, sp.csr_array(generator))
        command = [sys.executable, "-m", "benchmarks.peers_chain", str(file), method, repr(precision)]
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"Storm did not finish: {done.stderr.strip()[-2000:]}")
    return StormTimes(**json.loads(done.stdout.splitlines()[-1]))


def run(capacities: tuple[int, ...] = (8, 10, 12)) -> list[Row]:
    """Ours and Storm's on the same chain, Storm tuned and at a precision of 1e-12, over growing capacities."""
    from analytic import solve
    from analytic.chain.generator import Generator
    from analytic.chain.primitives import Chain
    from crawltwin.model.examples import load

    rows = []
    for capacity in capacities:
        scenario = load("hyperexponential").replace(capacity=capacity)
        solve(scenario)  # compiles
        began = time.perf_counter()
        solution = solve(scenario)
        seconds = time.perf_counter() - began
        case = f"phase-type obsolescence, K = {capacity}"
        note = f"{solution.solver.method}, residual {solution.solver.residual:.0e}; sojourn times included"
        rows.append(Row(case, "crawltwin", seconds, "s", note))
        if find_spec("stormpy"):
            peer = f"Storm {version('stormpy')}"
            storm = storm_times(Generator.of(Chain.of(scenario)).matrix)
            note = f"{storm.states:,} states, load {storm.load_seconds:.2g} s, residual {storm.residual:.0e}"
            rows.append(Row(case, peer, storm.load_seconds + storm.solve_seconds, "s", note))
            rows.append(Row(case, peer, storm.peak_memory, "MB", "beyond the libraries and the generator"))
    return rows


def peak_memory() -> float:
    """Peak resident megabytes of this program; `ru_maxrss` would begin with the peak of the process that started it."""
    status = Path("/proc/self/status")
    if status.exists():
        return next(int(line.split()[1]) / 1024 for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def forget_peak_memory() -> float:
    """Resident megabytes now; where the system allows it, the peak is counted anew from here."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return peak_memory()
    return peak_memory()


def _child() -> None:
    from tests.oracle.storm import storm_run

    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("method", choices=["direct", "iterative"])
    parser.add_argument("precision", type=float)
    options = parser.parse_args()
    storm_run(sp.csr_array(np.array([[-1.0, 1.0], [2.0, -2.0]])), options.method, options.precision)
    Q = sp.load_npz(options.file).tocsr()
    before, spent = forget_peak_memory(), time.process_time()
    solved = storm_run(Q, options.method, options.precision)
    spent = time.process_time() - spent
    memory = peak_memory() - before
    residual = float(np.abs(solved.probabilities @ Q).max())
    times = StormTimes(Q.shape[0], solved.load_seconds, solved.solve_seconds, spent, memory, residual)
    print(json.dumps(vars(times)))


if __name__ == "__main__":
    _child()
