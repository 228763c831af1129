"""The chain at scale: phase-type obsolescence, ours beside Storm and scipy's sparse direct solver.

`python -m benchmarks chain` prints the rows; `python -m benchmarks.chain picture FILE` draws the growth with K. Every
contestant runs in a process of its own on one thread. Ours is timed from the scenario to all measures, sojourn times
included; the compiled kernels are loaded by a small case first, as Storm's library is. Memory is what a contestant
needs beyond its libraries and its input. Processor time (unit `s cpu`) is given too: it does not depend on who else
uses the machine.
"""

import json
import os
import subprocess
import sys
import time
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.peers_chain import forget_peak_memory, peak_memory, storm_times
from benchmarks.rows import Row
from crawltwin.model import Scenario, ThresholdPolicy, erlang
from crawltwin.model.examples import load

ROOT = Path(__file__).resolve().parent.parent
MANY = 2_000_000


def scenario_of(case: str, capacity: int) -> Scenario:
    """The paper's first arrivals and service with obsolescence that cannot be lumped to one phase."""
    base = load("hyperexponential").replace(capacity=capacity)
    if case == "overload":
        return base.replace(policy=ThresholdPolicy([4], []))
    if case == "erlang":
        return base.replace(obsolescence=erlang(2, 5.0))
    return base


def ours(case: str, capacity: int, method: str) -> dict[str, Any]:
    """Seconds, megabytes and the solver's report, from a process of its own."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "benchmarks.chain", "ours", case, str(capacity), method]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command[1:])} did not finish: {done.stderr.strip()[-2000:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _child(case: str, capacity: int, method: str) -> None:
    from analytic import solve

    solve(scenario_of(case, 12 if method == "window" else 6), method)
    before = forget_peak_memory()
    began, spent = time.perf_counter(), time.process_time()
    solution = solve(scenario_of(case, capacity), method)
    seconds, cpu = time.perf_counter() - began, time.process_time() - spent
    report = solution.to_json()["solver"]
    shown = {name: report[name] for name in ("states", "residual", "error_estimate")}
    memory = {"memory": peak_memory() - before, "process": peak_memory()}
    print(json.dumps({"seconds": seconds, "cpu": cpu, **memory, **shown, "notes": list(solution.notes)}))


def _our_rows(case: str, capacity: int, method: str, title: str) -> list[Row]:
    found = ours(case, capacity, method)
    proof = f"residual {found['residual']:.0e}" if method != "window" else f"estimate {found['error_estimate']:.0e}"
    note = f"{method}, {found['states']:,} states, {proof}"
    return [
        Row(title, "crawltwin", found["seconds"], "s", note),
        Row(title, "crawltwin", found["cpu"], "s cpu", ""),
        Row(title, "crawltwin", found["memory"], "MB", f"whole process {found['process']:.0f} MB"),
    ]


def _storm_rows(capacity: int, title: str) -> list[Row]:
    from analytic.chain.generator import Generator
    from analytic.chain.primitives import Chain

    matrix = Generator.of(Chain.of(scenario_of("three, then one", capacity)), max_states=MANY).matrix
    storm = storm_times(matrix, precision=1e-10)
    peer = f"Storm {version('stormpy')}"
    parts = f"load {storm.load_seconds:.2g} s + solve {storm.solve_seconds:.2g} s"
    note = f"{parts}, residual {storm.residual:.0e}"
    return [
        Row(title, peer, storm.load_seconds + storm.solve_seconds, "s", note),
        Row(title, peer, storm.cpu_seconds, "s cpu", ""),
        Row(title, peer, storm.peak_memory, "MB", ""),
    ]


def _direct_rows(capacity: int, title: str) -> list[Row]:
    found = ours("three, then one", capacity, "direct")
    note = f"the explicit chain, {found['states']:,} states, sojourn times included"
    peer = "scipy sparse LU"
    return [Row(title, peer, found["seconds"], "s", note), Row(title, peer, found["cpu"], "s cpu", "")]


def run(capacities: tuple[int, ...] = (10, 14, 18, 20)) -> list[Row]:
    """The exact solver beside its peers over growing capacities, and the windows past them."""
    rows: list[Row] = []
    for capacity in capacities:
        title = f"hyperexponential obsolescence, exact, K = {capacity}"
        rows += _our_rows("three, then one", capacity, "matrix-free", title)
        if capacity <= 18 and find_spec("stormpy"):
            rows += _storm_rows(capacity, title)
        if capacity <= 10:
            rows += _direct_rows(capacity, title)
    for case, capacity in (("three, then one", 30), ("three, then one", 100), ("overload", 30), ("erlang", 30)):
        rows += _our_rows(case, capacity, "window", f"{case}, window, K = {capacity}")
    return rows


def picture(file: Path) -> None:
    """Processor seconds against the capacity for every contestant, on logarithmic axes."""
    from matplotlib import pyplot as plt

    plt.switch_backend("svg")
    plt.rcParams["svg.hashsalt"] = "crawltwin"
    lines: dict[str, dict[int, float]] = {
        "scipy sparse LU": {},
        "Storm": {},
        "crawltwin, exact": {},
        "crawltwin, window": {},
    }
    for capacity in (6, 8, 10, 12, 14, 16, 18, 20, 30, 50, 100):
        if capacity <= 20:
            lines["crawltwin, exact"][capacity] = ours("three, then one", capacity, "matrix-free")["cpu"]
        if capacity >= 14:
            lines["crawltwin, window"][capacity] = ours("three, then one", capacity, "window")["cpu"]
        if capacity <= 18 and find_spec("stormpy"):
            lines["Storm"][capacity] = _storm_rows(capacity, "")[1].value
        if capacity <= 10:
            lines["scipy sparse LU"][capacity] = _direct_rows(capacity, "")[1].value
    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for (name, points), style in zip(lines.items(), ("s:", "^--", "o-", "D-"), strict=True):
        axes.plot(list(points), list(points.values()), style, label=name)
    axes.set(xscale="log", yscale="log", xlabel="capacity K", ylabel="processor seconds")
    axes.set_xticks([6, 8, 10, 14, 20, 30, 50, 100], labels=["6", "8", "10", "14", "20", "30", "50", "100"])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    axes.set_title("All measures of one crawler, obsolescence with two phases")
    figure.savefig(file, metadata={"Date": None})


if __name__ == "__main__":
    if sys.argv[1] == "picture":
        picture(Path(sys.argv[2]))
    else:
        _child(sys.argv[2], int(sys.argv[3]), sys.argv[4])
