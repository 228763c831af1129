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


def alone(seed: int) -> Case:
    """A random crawler whose pages come in batches of 4 to 8 only, under light load or overload."""
    rng = np.random.default_rng(seed)
    batch, rule = int(rng.integers(4, 9)), str(rng.choice(["partial", "all-or-nothing", "overflow"]))
    lowest, highest = {"partial": (11, 14), "all-or-nothing": (batch + 6, 16), "overflow": (8, 17 - batch)}[rule]
    capacity = int(rng.integers(min(lowest, highest), highest + 1))
    rate, mean = float(rng.uniform(1.0, 8.0)) / batch, float(np.exp(rng.uniform(np.log(0.7), np.log(60.0))))
    weight, spread = float(rng.uniform(0.05, 0.95)), float(np.exp(rng.uniform(np.log(1.5), np.log(60.0))))
    fast = (weight + (1 - weight) * spread) / mean
    clocks = [hyperexponential([weight, 1 - weight], [fast, fast / spread]), erlang(2, mean)]
    clocks.append(coxian([2.0 / mean, 2.0 * spread / mean], [weight]))
    services = [exponential(1.0), erlang(2, 1.0), hyperexponential([0.8, 0.2], [1.6, 0.4])]
    clock, service = clocks[int(rng.choice(3, p=[0.6, 0.25, 0.15]))], services[int(rng.integers(3))]
    D = [[[-rate]], *[[[0.0]]] * (batch - 1), [[rate]]]
    if rng.random() < 0.4:  # a busy and a calm spell
        swing, often = rate * 0.8, float(np.exp(rng.uniform(-3.0, 1.0)))
        fade = [[-rate - swing - often, often], [often, -rate + swing - often]]
        D = [fade, *[[[0.0, 0.0], [0.0, 0.0]]] * (batch - 1), [[rate + swing, 0.0], [0.0, rate - swing]]]
        capacity = min(capacity, 14)
    words = f"batches of {batch} alone, {rule}, load {rate * batch:.2g}"
    return Case(words, Scenario(capacity, ModeMatrices({1: BMAP(D)}), service, clock, admission=rule))


TOLERANCES = (1e-2, 1e-4)
ALONE, ALONE_TOLERANCES = 60, (0.1, 0.03, 0.01, 1e-3, 1e-4)
"""How many random crawlers with batches that come alone, and to which tolerances each is solved."""

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
    judged: int
    missed: int

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
    judged = missed = 0
    where = ""
    for name, value in found.measures.items():
        if truth.get(name) is None:
            continue
        exact = np.asarray(truth[name], dtype=float)
        error = np.abs(np.asarray(value) - exact)
        bound = np.asarray(found.errors[name])
        # Rounding of the truth itself is no error of the window.
        ratios = error / (bound + 1e-14 * np.abs(exact) + 1e-18)
        judged, missed, ratio = judged + ratios.size, missed + int((ratios > 1).sum()), float(np.max(ratios))
        if ratio > worst:
            worst, where = ratio, name
        seen = np.abs(exact) >= TINY
        largest = max(largest, float(np.max(np.where(seen, error / np.maximum(np.abs(exact), TINY), 0.0))))
        estimate = max(estimate, float(np.max(np.where(seen, bound / np.maximum(np.abs(exact), TINY), 0.0))))
    return Verdict(case, found, largest, estimate, worst, where, judged, missed)


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


BATCHES = """
## Batches that come alone

Pages of one batch are exchangeable, so a window forgets something only when pages of *several* batches stand behind it.
Where all pages come in batches of b, the error therefore falls in steps of b, and it ends earlier than at H = K - 2: at
K - b - 1 when batches are taken whole or not at all. An extrapolation that does not know this adds steps that never
come. {crawlers} random crawlers with batches of 4 to 8 pages and nothing smaller (loads of 1 to 8, all admission rules,
exponential, Erlang and hyperexponential service, hyperexponential, Erlang and Coxian clocks, Poisson and two-phase
streams) were solved to the tolerances {tolerances}: {judged:,} answers, {entries:,} estimates, of which {missed} were
smaller than the true error. The worst ratio of a true error to its estimate was {worst:.2f} ({where}; {words}).
"""


def main(file: Path) -> None:
    rows = []
    for case in CASES:
        truth = case.truth
        for tolerance in TOLERANCES:
            rows.append(judge(case, truth, tolerance).row())
            print(rows[-1], file=sys.stderr, flush=True)
    verdicts = []
    for case in map(alone, range(ALONE)):
        truth = case.truth
        verdicts += [judge(case, truth, tolerance) for tolerance in ALONE_TOLERANCES]
        print(verdicts[-1].row(), file=sys.stderr, flush=True)
    worst = max(verdicts, key=lambda verdict: verdict.worst)
    batches = BATCHES.format(
        crawlers=ALONE,
        tolerances=", ".join(f"{tolerance:g}" for tolerance in ALONE_TOLERANCES),
        judged=len(verdicts),
        entries=sum(verdict.judged for verdict in verdicts),
        missed=sum(verdict.missed for verdict in verdicts),
        worst=worst.worst,
        where=worst.where,
        words=worst.case.words,
    )
    file.write_text(HEAD + "\n".join(rows) + "\n" + batches, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
