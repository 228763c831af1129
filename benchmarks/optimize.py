"""What it costs to find the best policy, to prove it, and to differentiate and plan; compiled code is warm.

The peer is the plain way: one exact solution per policy, timed on a sample and multiplied by the number of policies.
"""

import time
from collections.abc import Callable
from typing import TypeVar

from benchmarks.rows import Row

T = TypeVar("T")

SAMPLE = 50
"""Policies that the plain way is timed on."""


def run() -> list[Row]:
    """Optimisation, certificates, derivatives and variances."""
    from analytic import asymptotic_variance, certify, optimize, sensitivity
    from crawltwin.model import erlang
    from crawltwin.model.examples import load

    paper, clocks = load("paper"), load("hyperexponential")
    for scenario in (paper, clocks):  # compiles
        certify(scenario, optimize(scenario, method="bound"))
        sensitivity(scenario)
    rows = []
    for name, scenario in (
        ("exponential obsolescence, K = 20", paper.replace(capacity=20)),
        ("exponential obsolescence, K = 200", paper.replace(capacity=200)),
        ("phase-type obsolescence, K = 5", clocks),
        ("phase-type obsolescence, K = 8", clocks.replace(capacity=8)),
    ):
        optimum, seconds = _timed(lambda scenario=scenario: optimize(scenario))
        best = optimum.best
        case = f"optimize, 4 robots, all sets, {name}"
        note = f"{optimum.method}; best {best.robots} at {best.thresholds}, cost {best.cost:.4f}"
        rows.append(Row(case, "crawltwin", seconds, "s", note))
        if scenario.capacity <= 20:
            plain = _one_by_one(scenario, optimum.tables) * len(optimum.tables) / SAMPLE
            rows.append(Row(case, "one solution per policy", plain, "s", f"{SAMPLE} of {len(optimum.tables):,} timed"))
        if "phase-type" in name and scenario.capacity > 5:
            continue
        certificate, seconds = _timed(lambda s=scenario, o=optimum: certify(s, o))
        note = (
            f"threshold best: {certificate.threshold_is_best}, gap {certificate.gap:.0e}; "
            f"all phases seen: {certificate.seen_bound:.4f}; {certificate.nodes} nodes"
        )
        rows.append(Row(f"certificate over all level-based policies, {name}", "crawltwin", seconds, "s", note))
    for name, wide in (
        ("hyperexponential obsolescence, K = 20", clocks.replace(capacity=20)),
        ("Erlang-2 obsolescence, K = 20", clocks.replace(capacity=20, obsolescence=erlang(2, 5.0))),
    ):
        began = time.process_time()
        optimum = optimize(wide)
        rows.append(
            Row(
                f"optimize, 4 robots, all sets, {name} (processor time)",
                "crawltwin",
                time.process_time() - began,
                "s",
                f"best {optimum.best.robots} at {optimum.best.thresholds}, cost {optimum.best.cost:.4f}; no threshold "
                f"policy below {optimum.lower_bound:.4f} (gap {100 * optimum.gap / optimum.best.cost:.3f}%)",
            )
        )
    for capacity in (20, 10_000):
        scenario = paper.replace(capacity=capacity)
        for words, function in (("derivatives", sensitivity), ("asymptotic variances", asymptotic_variance)):
            _, seconds = _timed(lambda f=function, s=scenario: f(s))
            rows.append(Row(f"{words} of all measures, K = {capacity:,}", "crawltwin", seconds, "s"))
    return rows


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    began = time.perf_counter()
    found = work()
    return found, time.perf_counter() - began


def _one_by_one(scenario, tables) -> float:
    from analytic import solve
    from crawltwin.model import LevelPolicy

    chosen = tables[:: max(1, len(tables) // SAMPLE)][:SAMPLE]
    _, seconds = _timed(lambda: [solve(scenario.replace(policy=LevelPolicy(table))) for table in chosen.tolist()])
    return seconds * SAMPLE / len(chosen)
