"""Error estimates of the ordered windows beside the true errors, on every kind of case whose exact answer is known.

`python -m tests.oracle.accuracy_table FILE` writes the table of the documentation; a slow test holds it to its claim.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from analytic.chain.primitives import Chain
from analytic.chain.summary import basic_measures
from analytic.sojourn.levels import LevelSojournTimes
from analytic.stationary.matrix_free import solve_matrix_free
from analytic.stationary.window import TINY, WindowSolution, solve_window
from crawltwin.model import (
    BMAP,
    ModeMatrices,
    PhaseType,
    Scenario,
    ThresholdPolicy,
    coxian,
    erlang,
    examples,
    exponential,
    hyperexponential,
)
from tests.oracle.closed_forms import hyperexponential_queue

HYPER = examples.load("hyperexponential")
OVERLOAD = HYPER.replace(policy=ThresholdPolicy([4], []))
TWO = hyperexponential([0.9, 0.1], [1.0, 0.1 / 4.1])


@dataclass(frozen=True)
class Case:
    """A crawler whose exact answer is known, from the exact solver or from the product form."""

    words: str
    scenario: Scenario
    poisson: float = 0.0

    @property
    def truth(self) -> Mapping[str, Any]:
        if self.poisson > 0:
            clock = self.scenario.obsolescence
            assert clock is not None
            rates = [self.poisson] * (self.scenario.capacity + 1)
            return hyperexponential_queue(rates, 1.0, clock.initial.tolist(), clock.exit_rates.tolist())
        chain = Chain.of(self.scenario)
        found = solve_matrix_free(chain, tolerance=1e-12)
        law = LevelSojournTimes(chain, found)
        sojourns = {f"mean_sojourn_{fate}": law.moment(1, fate) for fate in ("served", "obsolete")}
        levels = {"level_distribution": found.summary.level_distribution}
        return {**basic_measures(chain, found.summary), **sojourns, **levels}


def poisson(capacity: int, rate: float, weights: list[float], rates: list[float]) -> Case:
    scenario = Scenario(
        capacity, ModeMatrices({1: BMAP.poisson(rate)}), exponential(1.0), hyperexponential(weights, rates)
    )
    return Case(f"Poisson {rate:g}, classes {weights} at {rates}", scenario, rate)


CASES = [
    Case("three robots, then one", HYPER.replace(capacity=14)),
    Case("three robots, then one", HYPER.replace(capacity=20)),
    Case("four robots", OVERLOAD.replace(capacity=14)),
    Case("four robots", OVERLOAD.replace(capacity=18)),
    Case("four robots, all or nothing", OVERLOAD.replace(capacity=14, admission="all-or-nothing")),
    Case("four robots, overflow", OVERLOAD.replace(capacity=13, admission="overflow")),
    Case("Erlang-2, three then one", HYPER.replace(capacity=18, obsolescence=erlang(2, 5.0))),
    Case("Erlang-2, four robots", OVERLOAD.replace(capacity=15, obsolescence=erlang(2, 5.0))),
    Case("Erlang-3, three then one", HYPER.replace(capacity=11, obsolescence=erlang(3, 5.0))),
    Case("three classes", HYPER.replace(capacity=11, obsolescence=hyperexponential([0.7, 0.2, 0.1], [2.0, 0.3, 0.05]))),
    Case(
        "clock with a cycle",
        HYPER.replace(capacity=15, obsolescence=PhaseType([0.9, 0.1], [[-2.0, 0.4], [0.05, -0.1]])),
    ),
    Case("Coxian clock", HYPER.replace(capacity=15, obsolescence=coxian([2.0, 0.2], [0.3]))),
    Case("equal robots (example scaled)", examples.load("scaled").replace(capacity=15)),
    Case("thinned stream", examples.load("thinned").replace(capacity=14, obsolescence=TWO)),
    Case("marked stream", examples.load("marked").replace(capacity=14, obsolescence=erlang(2, 3.0))),
    Case("independent robots", examples.load("independent").replace(capacity=11, obsolescence=TWO)),
    poisson(20, 0.8, [0.5, 0.5], [3.0, 0.05]),
    poisson(30, 3.0, [0.9, 0.1], [1.0, 0.1 / 4.1]),
    poisson(30, 1.5, [0.3, 0.7], [0.5, 0.1]),
    poisson(100, 1.2, [0.9, 0.1], [1.0, 0.1 / 4.1]),
    poisson(100, 2.5, [0.9, 0.1], [1.0, 0.1 / 4.1]),
]
TOLERANCES = (1e-2, 1e-4)
MAX_STATES = 300_000


@dataclass(frozen=True)
class Verdict:
    """One window solution beside the truth."""

    case: Case
    found: WindowSolution
    error: float
    estimate: float
    worst: float
    where: str

    def row(self) -> str:
        source = "product form" if self.case.poisson else "exact solver"
        return (
            f"| {self.case.words} | {self.case.scenario.capacity} | {source} | {self.found.windows[-1]} "
            f"| {self.found.states:,} | {self.error:.1e} | {self.estimate:.1e} | {self.worst:.2f} | {self.where} |"
        )


def judge(case: Case, truth: Mapping[str, Any], tolerance: float) -> Verdict:
    """Largest true error and estimate over all measures, and the largest ratio of a true error to its estimate."""
    found = solve_window(Chain.of(case.scenario), tolerance=tolerance, max_states=MAX_STATES)
    largest = estimate = worst = 0.0
    where = ""
    for name, value in found.measures.items():
        if truth.get(name) is None:
            continue
        exact = np.asarray(truth[name], dtype=float)
        error = np.abs(np.asarray(value) - exact)
        bound = np.asarray(found.errors[name])
        # Rounding of the truth itself is no error of the window.
        ratio = float(np.max(error / (bound + 1e-14 * np.abs(exact) + 1e-18)))
        if ratio > worst:
            worst, where = ratio, name
        seen = np.abs(exact) >= TINY
        largest = max(largest, float(np.max(np.where(seen, error / np.maximum(np.abs(exact), TINY), 0.0))))
        estimate = max(estimate, float(np.max(np.where(seen, bound / np.maximum(np.abs(exact), TINY), 0.0))))
    return Verdict(case, found, largest, estimate, worst, where)


HEAD = """# How accurate the ordered windows are

`crawltwin solve --method window` keeps the order of the oldest waiting pages only and extrapolates. Every measure comes
with an estimate of its error; [the method](explanation.md) says how it is found. Here each estimate stands beside the
true error, on crawlers whose exact answer is known: from the exact solver up to K = 20, from the exact product form of
queues with Poisson arrivals up to K = 100. Errors are relative, the largest over all measures and over all levels of at
least 1e-12. The last two columns tell the worst ratio of a true error to its own estimate, and for which measure: below
one means that no estimate was smaller than its error. Each crawler was solved to two tolerances, 1e-2 and 1e-4, with at
most 300,000 states.

The table is made by `python -m tests.oracle.accuracy_table docs/accuracy.md` and checked by the slow tests.

| crawler | K | truth | H | states | largest error | largest estimate | worst error / estimate | measure |
|---|---:|---|---:|---:|---:|---:|---:|---|
"""


def main(file: Path) -> None:
    rows = []
    for case in CASES:
        truth = case.truth
        for tolerance in TOLERANCES:
            rows.append(judge(case, truth, tolerance).row())
            print(rows[-1], file=sys.stderr, flush=True)
    file.write_text(HEAD + "\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
