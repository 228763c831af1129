"""Policies as tables: robots at each level 0..K, and how many tables are evaluated at once.

A threshold policy is a table that never rises with the level. For a set of n numbers of robots, largest first, its
thresholds run over 0 <= j_1 <= ... <= j_{n-1} <= K - 1: the first number is used at least when the system is empty,
the last at least when it is full, and those between may be skipped where thresholds coincide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from analytic.block_table import MAX_WIDTH, BlockTables
from analytic.chain import Chain
from analytic.policy_table import PolicyTables
from analytic.rewards import RATES
from analytic.solve import solve
from crawltwin.model import LevelPolicy, Scenario
from crawltwin.model.checks import FloatArray

Tables = npt.NDArray[np.int64]
Progress = Callable[[int, int], None]


def monotone_tables(robots: Sequence[int], capacity: int) -> Tables:
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


def sorted_tables(tables: Tables) -> Tables:
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


def rates_of_tables(scenario: Scenario, tables: Tables, progress: Progress | None = None) -> FloatArray:
    """The linear rates `RATES` of each table, shape (tables, 8); best in the order of `sorted_tables`.

    Cost: with exponential obsolescence a few microseconds a level and table; with phase types one factorisation of
    dense blocks a level of each distinct tail; where these do not fit one `solve` a table.
    """
    width = widest_level(scenario)
    if single_clock(scenario):
        shared = PolicyTables(scenario)
        found: list[FloatArray] = []
        for piece in np.array_split(tables, max(1, tables.size // 2_000_000)):
            found.append(shared.rates(piece))
            if progress is not None:
                progress(sum(map(len, found)), len(tables))
        return np.concatenate(found) if found else np.zeros((0, len(RATES)))
    if width <= MAX_WIDTH:
        return BlockTables(scenario).rates(tables, progress)
    out = np.zeros((len(tables), len(RATES)))
    for index, table in enumerate(tables.tolist()):
        out[index] = _rates_by_solve(scenario.replace(policy=LevelPolicy(table)))
        if progress is not None:
            progress(index + 1, len(tables))
    return out


def single_clock(scenario: Scenario) -> bool:
    """Whether obsolescence times are exponential once lumped, or absent."""
    return scenario.obsolescence is None or scenario.obsolescence.lumped().order == 1


def widest_level(scenario: Scenario) -> int:
    """States of the highest level of the explicit chain."""
    some = LevelPolicy([scenario.arrivals.robot_numbers[0]] * (scenario.capacity + 1))
    chain = Chain.of(scenario.replace(policy=some))
    return chain.level_states(chain.top)


def _rates_by_solve(scenario: Scenario) -> FloatArray:
    m = solve(scenario).measures
    pages = m["arrival_rate"]
    served = pages * m["success_probability"]
    return np.array(
        [
            pages,
            pages * m["loss_probability"],
            pages * m["obsolescence_probability"],
            served,
            m["mean_active_robots"],
            m["starvation_probability"],
            served * (m["mean_sojourn_served"] or 0.0),
            m["mean_pages"],
        ]
    )
