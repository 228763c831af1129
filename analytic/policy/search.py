r"""Best thresholds for every set of robots (the problem of section 2).

For a set of n numbers of robots, largest first, the threshold vectors
:math:`0 \le j_1 \le \dots \le j_{n-1} \le K-1` are compared: the first number is used at least when the system is
empty, the last at least when it is full, and those between may be skipped where thresholds coincide. `strict` keeps to
the paper's :math:`j_1 < \dots < j_{n-1}`, where every number is used.

Three ways, and the result says which:

* *enumerated*: every policy is evaluated, with the tails of the recursion shared. What section 7 does.
* *bounded*: all single numbers and all pairs are evaluated; for larger sets branch and bound (`branch_and_bound`) finds
  the best and proves that no other is better by more than the tolerance.
* *searched*: thresholds are moved one at a time while that helps. No proof of the best of a set, but where clocks
  have several phases one lower bound for all threshold policies, from the decision process on a window of ordered pages
  (`analytic.policy.window`): the gap to it is stated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import combinations

import numpy as np

from analytic.policy.block_table import MAX_WIDTH
from analytic.policy.branch_and_bound import BranchAndBound, SearchSettings
from analytic.policy.decision import DecisionProcess
from analytic.policy.memory.evaluator import MemoryClass, needs_memory
from analytic.policy.memory.search import MemorySearch
from analytic.policy.modes import IntArray
from analytic.policy.optimum import Optimum, PolicyCost, Proof, chosen_best
from analytic.policy.tables import (
    monotone_tables,
    neighbours,
    rates_of_tables,
    single_clock,
    sorted_tables,
    spread_out,
    table_of,
    threshold_vectors,
    thresholds_of,
    weights_of,
    widest_level,
)
from analytic.policy.window.process import SCREEN_STATES, WindowProcess
from analytic.policy.window.search import bound_thresholds, bounding
from crawltwin.model import CostWeights, InputError, Scenario, TooLargeError
from crawltwin.model.checks import FloatArray, count
from crawltwin.model.errors import Faults
from crawltwin.model.rates import Rates
from crawltwin.model.scenario import takes_scenario
from crawltwin.work.progress import ProgressCallback

__all__ = ["METHODS", "Optimum", "PolicyCost", "optimize", "threshold_vectors"]

METHODS = ("auto", "enumerate", "bound", "search")

MAX_ENUMERATED = 4e6
"""Most levels, over all policies, for which enumeration is chosen by itself (exponential obsolescence)."""

MAX_DENSE_WORK = 6e10
"""Most multiplications for which enumeration is chosen by itself (phase-type obsolescence)."""

MAX_CAPACITY = 3_000
"""Largest capacity for which policies are compared."""

MAX_NUMBERS = 10
"""Most numbers of robots: each of their 2^n - 1 sets gets its best policy."""

MAX_NODES = 20_000
"""Nodes of branch and bound for one set of robots; a set that needs more is reported as searched, with its gap."""


@takes_scenario
def optimize(
    scenario: Scenario,
    progress: ProgressCallback | None = None,
    method: str = "auto",
    tolerance: float = 1e-9,
    resume: bool | None = None,
    check_every: float | None = None,
) -> Optimum:
    """Find the best threshold policy of every set of robots.

    Parameters
    ----------
    scenario : Scenario
        With cost weights; of its policy only `resume` and `check_every` matter.
    progress : callable, optional
        Called with (policies or sets done, in all).
    method : {"auto", "enumerate", "bound", "search"}
    tolerance : float
        Relative gap at which a bound counts as a proof.
    resume : bool, optional
        Whether resume points are found together with the thresholds; default: where switches cost, or where the
        scenario's policy has resume points of its own.
    check_every : float, optional
        Mean distance of the controller's looks at the backlog; default: that of the scenario's policy, or 0.

    Notes
    -----
    Where robots finish their fetch, switches cost, resume points are looked for or the controller polls, policies are
    evaluated one by one (`analytic.policy.memory`): some milliseconds each.

    Cost: enumeration takes a few microseconds for each level of each policy with exponential obsolescence; with n
    numbers of robots there are C(K + n, n - 1) policies. Bounds take a few hundred small banded factorisations for each
    set, linear in K.

    Examples
    --------
    >>> from crawltwin.model import examples
    >>> optimize(examples.load("paper")).best.thresholds
    (2,)
    """
    weights = weights_of(scenario, "optimise")
    if method not in METHODS:
        raise InputError(f"method must be one of {', '.join(METHODS)}; got {method!r}")
    _check_size(scenario)
    kind = MemoryClass.of(scenario, resume, check_every)
    if needs_memory(scenario, kind):
        return MemorySearch(scenario, kind, method, progress).run()
    chosen = _choose(scenario) if method == "auto" else method
    search = _Search(scenario, weights, progress, tolerance)
    if chosen == "enumerate":
        search.evaluate(monotone_tables(search.robots, scenario.capacity))
        return search.result("enumerated")
    search.evaluate(search.small_sets())
    return search.result("bounded" if chosen == "bound" else "searched")


def as_optimum(found: Optimum | Scenario) -> Optimum:
    """What `optimize` found, or finds now for a scenario."""
    return optimize(found) if isinstance(found, Scenario) else found


def _check_size(scenario: Scenario) -> None:
    """Refuse what would not end, before anything is built."""
    faults = Faults()
    numbers = len(scenario.arrivals.robot_numbers)
    if scenario.capacity > MAX_CAPACITY:
        faults.add(
            "capacity",
            f"policies are compared up to a capacity of {MAX_CAPACITY:,}; got {count(scenario.capacity)}",
            "Thresholds far above the backlog change nothing: use a smaller capacity.",
        )
    if numbers > MAX_NUMBERS:
        faults.add(
            "arrivals",
            f"every set of at most {MAX_NUMBERS} numbers of robots is compared; got {numbers} numbers",
            "There are 2^n sets: "
            + (
                "let one robot stand for several, or compare a few policies with `crawltwin simulate`."
                if scenario.arrivals.kind == "fetching"
                else "give the modes of fewer numbers of robots, for example 1, 2, 4, 8, 16."
            ),
        )
    if faults:
        raise TooLargeError(faults)


def _choose(scenario: Scenario) -> str:
    K, n = scenario.capacity, len(scenario.arrivals.robot_numbers)
    shared = single_clock(scenario) and scenario.indexers == 1
    width = 0 if shared else widest_level(scenario)
    if width > MAX_WIDTH:
        return "bound"
    if n <= 2:
        return "enumerate"
    if single_clock(scenario):
        return "enumerate" if math.comb(K + n, n - 1) * (K + 1) <= MAX_ENUMERATED else "bound"
    assert scenario.obsolescence is not None
    R = scenario.obsolescence.lumped().order
    # Distinct tails of a level times the cube of its width; each level down is narrower by R.
    work = sum(math.comb(depth + n, n - 1) * (width / R**depth) ** 3 for depth in range(K))
    return "enumerate" if work <= MAX_DENSE_WORK else "bound"


class _Search:
    """Evaluated tables, and the best of each set among them."""

    def __init__(
        self, scenario: Scenario, weights: CostWeights, progress: ProgressCallback | None, tolerance: float
    ) -> None:
        self.scenario, self.weights, self.progress, self.tolerance = scenario, weights, progress, tolerance
        self.robots = tuple(sorted(scenario.arrivals.robot_numbers))
        self.rates: dict[tuple[int, ...], FloatArray] = {}
        self.costs: dict[tuple[int, ...], float] = {}

    def small_sets(self) -> IntArray:
        """All single numbers and all pairs."""
        K = self.scenario.capacity
        found = [table_of([r], [], K) for r in self.robots]
        for low, high in combinations(self.robots, 2):
            found += [table_of([high, low], [j], K) for j in range(K)]
        return sorted_tables(np.array(found, dtype=np.int64))

    def evaluate(self, tables: IntArray, progress: bool = True) -> None:
        """Evaluate what is not known yet."""
        new = [row for row in map(tuple, tables.tolist()) if row not in self.costs]
        if not new:
            return
        wanted = np.array(new, dtype=np.int64)
        rates = rates_of_tables(self.scenario, wanted, self.progress if progress else None)
        costs = Rates.from_table(rates).cost(self.weights)
        self.rates.update(zip(new, rates, strict=True))
        self.costs.update(zip(new, costs.tolist(), strict=True))

    def result(self, method: Proof) -> Optimum:
        """The best of every set of robots."""
        best = best_of_sets(self.robots, self.costs)
        if method != "enumerated":
            best = {chosen: item for chosen, item in best.items() if len(chosen) <= 2}
            larger = [c for size in range(3, len(self.robots) + 1) for c in combinations(self.robots, size)]
            settings = SearchSettings(monotone=True, tolerance=self.tolerance / 2, max_nodes=MAX_NODES)
            process: DecisionProcess | WindowProcess | None = None
            if method == "bounded":
                with suppress(TooLargeError):
                    process, settings = bounding(self.scenario, settings)
            explicit = process if isinstance(process, DecisionProcess) else None
            for done, chosen in enumerate(larger):
                best[chosen] = self._larger_set(chosen, best, explicit)
                if self.progress is not None:
                    self.progress(done + 1, len(larger))
            if isinstance(process, WindowProcess):
                self._bound_by_window(best, process, settings)
        policies = tuple(best[c] for size in range(1, len(self.robots) + 1) for c in combinations(self.robots, size))
        winner = chosen_best(policies)
        tables = np.array(list(self.rates), dtype=np.int64)
        proofs: tuple[Proof, ...] = ("searched", "bounded", "enumerated")
        weakest = min((item.proof for item in policies), key=proofs.index)
        rates = np.array(list(self.rates.values()))
        return Optimum(self.scenario, winner, policies, tables, rates, weakest)

    def _larger_set(
        self, chosen: tuple[int, ...], smaller: Mapping[tuple[int, ...], PolicyCost], process: DecisionProcess | None
    ) -> PolicyCost:
        """The best of three or more numbers, from the best of its subsets with the same ends."""
        K, robots = self.scenario.capacity, tuple(sorted(chosen, reverse=True))
        subsets = (chosen[:k] + chosen[k + 1 :] for k in range(1, len(chosen) - 1))
        seed = min((smaller[subset] for subset in subsets), key=lambda item: item.cost)
        table = self._descend(robots, table_of(seed.robots, seed.thresholds, K), strict=False)
        proof: Proof = "searched"
        bound = None
        if process is not None:
            table, bound = self._bounded(robots, table, process)
            if bound >= self.costs[table] - self.tolerance * abs(self.costs[table]):
                proof = "bounded"
        found = PolicyCost(robots, thresholds_of(table, robots), self.costs[table], proof, bound)
        if len(robots) > K + 1:
            return found
        spread = self._descend(robots, table_of(robots, spread_out(found.thresholds, K), K), strict=True)
        # A free optimum that happens to use every number is the strict optimum too.
        own = proof if spread == table else "searched"
        return found.with_strict(thresholds_of(spread, robots), self.costs[spread], own)

    def _bounded(
        self, robots: tuple[int, ...], table: tuple[int, ...], process: DecisionProcess
    ) -> tuple[tuple[int, ...], float]:
        numbers = np.array(process.robot_numbers)
        allowed = np.tile(np.isin(numbers, robots), (self.scenario.capacity + 1, 1))
        allowed[0], allowed[-1] = numbers == robots[0], numbers == robots[-1]
        settings = SearchSettings(monotone=True, tolerance=self.tolerance / 2, max_nodes=MAX_NODES)
        found = BranchAndBound(process, allowed, settings).run(np.searchsorted(numbers, table))
        assert found.table is not None
        best = tuple(int(r) for r in numbers[found.table])
        self.evaluate(np.array([best], dtype=np.int64), progress=False)
        table = min(table, best, key=lambda row: self.costs[row])
        # The two evaluations differ in the last digits; a bound above a cost that was reached says no more than it.
        return table, min(found.bound, self.costs[table])

    def _bound_by_window(
        self, best: dict[tuple[int, ...], PolicyCost], process: WindowProcess, settings: SearchSettings
    ) -> None:
        """Costs by themselves in place of those that were compared, and one lower bound for all threshold policies."""
        K = self.scenario.capacity
        winner = min(best.values(), key=lambda item: item.cost)
        start, told = table_of(winner.robots, winner.thresholds, K), self.progress
        told_nodes = None if told is None else lambda nodes, _best, _bound: told(nodes, settings.max_nodes)
        bounded = bound_thresholds(process, start, settings, told_nodes)
        assert bounded.table is not None
        found = tuple(process.robot_numbers[mode] for mode in bounded.table)
        if found != start:
            own = tuple(sorted(set(found)))
            thresholds = thresholds_of(found, best[own].robots)
            best[own] = replace(best[own], thresholds=thresholds).with_strict(thresholds, bounded.cost, "searched")

        def solved(robots: tuple[int, ...], thresholds: tuple[int, ...]) -> tuple[float, float]:
            table = table_of(robots, thresholds, K)
            solution = process.solution(table, SCREEN_STATES)
            self.rates[table] = solution.rates.columns()
            self.costs[table] = float(solution.measures["cost"])
            return self.costs[table], float(solution.errors.get("cost", 0.0))

        for chosen, item in best.items():
            cost, error = solved(item.robots, item.thresholds)
            item = replace(item, cost=cost, error=error, lower_bound=min(bounded.bound, cost))
            if item.strict_thresholds is not None:
                item = replace(item, strict_cost=solved(item.robots, item.strict_thresholds)[0])
            best[chosen] = item

    def _descend(self, robots: tuple[int, ...], table: tuple[int, ...], strict: bool) -> tuple[int, ...]:
        """Move one threshold, or all from one on, by powers of two while that helps."""
        K = self.scenario.capacity
        steps = [sign * 2**power for power in range(K.bit_length()) for sign in (-1, 1)]
        while True:
            here = thresholds_of(table, robots)
            near = [table_of(robots, moved, K) for moved in neighbours(here, steps, K, strict)]
            if table not in self.costs:
                near.append(table)
            if near:
                self.evaluate(sorted_tables(np.array(near, dtype=np.int64)), progress=False)
            best = min([table, *near], key=lambda row: self.costs[row])
            if self.costs[best] >= self.costs[table]:
                return table
            table = best


def best_of_sets(robots: tuple[int, ...], costs: Mapping[tuple[int, ...], float]) -> dict[tuple[int, ...], PolicyCost]:
    """The best policy of each set among the evaluated tables, strict and free.

    A table belongs to the set of its own numbers, where it is strict, and to every larger set with the same ends; so
    the free optimum of a set is the best strict optimum of its subsets with the same ends.
    """
    strict: dict[tuple[int, ...], tuple[int, ...]] = {}
    for table, cost in costs.items():
        used = tuple(sorted(set(table)))
        if used not in strict or cost < costs[strict[used]]:
            strict[used] = table
    free: dict[tuple[int, ...], tuple[int, ...]] = {}
    found: dict[tuple[int, ...], PolicyCost] = {}
    for size in range(1, len(robots) + 1):
        for chosen in combinations(robots, size):
            subsets = (chosen[:k] + chosen[k + 1 :] for k in range(1, size - 1))
            options = [free[subset] for subset in subsets if subset in free]
            options += [strict[chosen]] if chosen in strict else []
            if not options:
                continue
            free[chosen] = min(options, key=lambda table: costs[table])
            down, own = tuple(reversed(chosen)), strict.get(chosen)
            cost = costs[free[chosen]]
            item = PolicyCost(down, thresholds_of(free[chosen], down), cost, lower_bound=cost)
            found[chosen] = (
                item if own is None else item.with_strict(thresholds_of(own, down), costs[own], "enumerated")
            )
    return found
