"""Policies as tables: robots at each level 0..K, and how many tables are evaluated at once.

A threshold policy is a table that never rises with the level. For a set of n numbers of robots, largest first, its
thresholds run over 0 <= j_1 <= ... <= j_{n-1} <= K - 1: the first number is used at least when the system is empty,
the last at least when it is full, and those between may be skipped where thresholds coincide.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise

import numpy as np

from analytic.policy.banded_table import PolicyTables
from analytic.policy.block_table import MAX_WIDTH, BlockTables
from analytic.policy.modes import IntArray, ModeChains
from analytic.policy.window.tables import WindowTables
from crawltwin.model import CostWeights, Fault, InputError, Scenario
from crawltwin.model.checks import FloatArray
from crawltwin.model.rates import RATES, Rates
from crawltwin.work.progress import ProgressCallback


def monotone_tables(robots: Sequence[int], capacity: int) -> IntArray:
    """Every table that never rises with the level, over the given numbers of robots; high levels change least.

    There are C(capacity + n, n - 1) of them for n numbers of robots.
    """
    numbers = np.sort(np.array(robots, dtype=np.int64))
    # Level i runs number (n - 1 - how many of the n - 1 thresholds lie below i); stars and bars gives the thresholds.
    chosen = list(combinations(range(capacity + len(numbers)), len(numbers) - 1))
    bars = np.array(chosen, dtype=np.int64).reshape(len(chosen), len(numbers) - 1)
    thresholds = bars - np.arange(len(numbers) - 1) - 1
    below = (np.arange(capacity + 1)[None, :, None] > thresholds[:, None, :]).sum(axis=2)
    return sorted_tables(numbers[len(numbers) - 1 - below])


def sorted_tables(tables: IntArray) -> IntArray:
    """The tables, each once, in an order in which the highest levels change least."""
    unique = np.unique(tables, axis=0)
    return np.ascontiguousarray(unique[np.lexsort(unique.T)])


def threshold_vectors(size: int, capacity: int, strict: bool = False) -> Iterable[tuple[int, ...]]:
    """All admissible thresholds for a set of `size` numbers of robots, in lexicographic order."""
    if strict:
        return combinations(range(capacity), size - 1)
    stretched = combinations(range(capacity + size - 2), size - 1) if size > 1 else iter([()])
    return (tuple(value - shift for shift, value in enumerate(chosen)) for chosen in stretched)


def table_of(robots: Sequence[int], thresholds: Sequence[int], capacity: int) -> tuple[int, ...]:
    """Robots by level of a threshold policy.

    Examples
    --------
    >>> table_of([3, 1], [2], 5)
    (3, 3, 3, 1, 1, 1)
    """
    edges = (-1, *thresholds, capacity)
    return tuple(r for r, low, high in zip(robots, edges, edges[1:], strict=False) for _ in range(high - low))


def thresholds_of(table: Sequence[int], robots: Sequence[int]) -> tuple[int, ...]:
    """Thresholds of a table that never rises, for a set of robots that contains its numbers.

    Examples
    --------
    >>> thresholds_of([3, 3, 3, 1, 1, 1], [3, 2, 1])
    (2, 2)
    """
    return tuple(sum(own >= number for own in table) - 1 for number in robots[:-1])


def as_thresholds(table: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Robots and thresholds of a table that never rises."""
    robots = tuple(sorted(set(table), reverse=True))
    return robots, thresholds_of(table, robots)


def neighbours(here: tuple[int, ...], steps: Iterable[int], capacity: int, strict: bool) -> Iterable[tuple[int, ...]]:
    """Thresholds with one of them, or all from one on, moved by one of the steps."""
    gap = 1 if strict else 0
    for k in range(len(here)):
        for step in steps:
            for moved in (
                (*here[:k], here[k] + step, *here[k + 1 :]),
                (*here[:k], *(j + step for j in here[k:])),
            ):
                rising = all(b - a >= gap for a, b in pairwise(moved))
                if moved != here and rising and moved[0] >= 0 and moved[-1] < capacity:
                    yield moved


def spread_out(thresholds: tuple[int, ...], capacity: int) -> tuple[int, ...]:
    """The nearest thresholds that all differ."""
    out: list[int] = []
    for j in thresholds:
        out.append(max(j, out[-1] + 1 if out else 0))
    last = capacity
    for k in range(len(out) - 1, -1, -1):
        out[k] = min(out[k], last - 1)
        last = out[k]
    return tuple(out)


def weights_of(scenario: Scenario, purpose: str) -> CostWeights:
    """The cost weights of a scenario; an error that names the purpose where there are none."""
    if scenario.cost is None:
        way_out = "Add [cost] with loss, obsolescence, response, robots and starvation."
        raise InputError([Fault("cost", f"cost must be given to {purpose}; got nothing", way_out)])
    return scenario.cost


def costs_of_tables(scenario: Scenario, tables: IntArray) -> FloatArray:
    """Equation (2) for each table. Cost: as `rates_of_tables`."""
    weights = weights_of(scenario, "compare policies")
    return Rates.from_table(rates_of_tables(scenario, tables)).cost(weights)


def rates_of_tables(scenario: Scenario, tables: IntArray, progress: ProgressCallback | None = None) -> FloatArray:
    """The linear rates `RATES` of each table, shape (tables, 8); best in the order of `sorted_tables`.

    Cost: with exponential obsolescence a few microseconds for each level of each table; with phase types one
    factorisation of dense blocks for each level of each distinct tail; where these do not fit, sweeps over a window
    chain for each table, whose costs are a little too low (`analytic.policy.window.tables`).
    """
    scenario = scenario.replace(policy=None)
    scenario.check_features(("indexers",), "the comparison of tables")
    if not single_clock(scenario) or scenario.indexers > 1:
        fits = widest_level(scenario) <= MAX_WIDTH
        kind = BlockTables if fits or scenario.indexers > 1 else WindowTables
        return kind(scenario).rates(tables, progress)
    shared = PolicyTables(scenario)
    found: list[FloatArray] = [np.zeros((0, len(RATES)))]
    for piece in np.array_split(tables, max(1, tables.size // 2_000_000)):
        found.append(shared.rates(piece))
        if progress is not None:
            progress(sum(map(len, found)), len(tables))
    return np.concatenate(found)


def single_clock(scenario: Scenario) -> bool:
    """Whether obsolescence times are exponential once lumped, or absent."""
    return scenario.obsolescence is None or scenario.obsolescence.lumped().order == 1


def widest_level(scenario: Scenario) -> int:
    """States of the highest level of the explicit chain."""
    chain = ModeChains(scenario).chain
    return chain.level_states(chain.top)
