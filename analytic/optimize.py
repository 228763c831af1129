r"""Best thresholds for every set of robots (the problem of section 2, solved by enumeration as in section 7).

For a set of n numbers of robots, largest first, all threshold vectors
:math:`0 \le j_1 \le \dots \le j_{n-1} \le K-1` are compared: the first number is used at least when the system is
empty, the last at least when it is full, and those between may be skipped where thresholds coincide. `strict` keeps to
the paper's :math:`j_1 < \dots < j_{n-1}`, where every number is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from analytic.policy_table import PolicyTables, monotone_tables
from analytic.solution import versions
from analytic.solve import solve
from crawltwin.model import Fault, InputError, LevelPolicy, Scenario, ThresholdPolicy, TooLargeError
from crawltwin.model.checks import FloatArray

if TYPE_CHECKING:
    import pandas as pd

MAX_TABLES = 2_000_000
"""Most policies that are enumerated."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class PolicyCost:
    """The best policy of one set of robots.

    Parameters
    ----------
    robots, thresholds : tuple of int
    cost : float
        Equation (2).
    strict_thresholds, strict_cost
        The best with every number of robots in use; None when the capacity has too few levels for that.
    """

    robots: tuple[int, ...]
    thresholds: tuple[int, ...]
    cost: float
    strict_thresholds: tuple[int, ...] | None
    strict_cost: float | None

    @property
    def policy(self) -> ThresholdPolicy:
        """As a policy object."""
        return ThresholdPolicy(self.robots, self.thresholds)

    def to_json(self) -> dict[str, Any]:
        """Keys of the contract, and the strict variant."""
        strict = None
        if self.strict_thresholds is not None:
            strict = {"thresholds": list(self.strict_thresholds), "cost": self.strict_cost}
        return {
            "robots": list(self.robots),
            "thresholds": list(self.thresholds),
            "cost": self.cost,
            "strict": strict,
        }


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best threshold policies of a scenario.

    Parameters
    ----------
    scenario : Scenario
    best : PolicyCost
        Over all sets; of equal costs the one with the fewest numbers of robots.
    policies : tuple of PolicyCost
        The best for each set of robots, single numbers first.
    profit : float
        Relative profit R against the best fixed number of robots, percent.
    tables, costs : ndarray
        Every policy that was compared, as robots by level, with its cost.
    """

    scenario: Scenario
    best: PolicyCost
    policies: tuple[PolicyCost, ...]
    profit: float
    tables: npt.NDArray[np.int64] = field(repr=False)
    costs: FloatArray = field(repr=False)

    @property
    def fixed(self) -> Mapping[int, float]:
        """Cost of each fixed number of robots, the paper's C_r."""
        return {item.robots[0]: item.cost for item in self.policies if len(item.robots) == 1}

    def curve(self, robots: Iterable[int]) -> pd.DataFrame:
        """Cost over all thresholds for one set of robots: columns j1, j2, ..., cost (the paper's Figure 1)."""
        import pandas as pd

        used = tuple(sorted(robots, reverse=True))
        rows = [
            (*thresholds, self._cost_of(used, thresholds))
            for thresholds in threshold_vectors(len(used), self.scenario.capacity)
        ]
        return pd.DataFrame(rows, columns=[*(f"j{k}" for k in range(1, len(used))), "cost"])

    def _cost_of(self, robots: tuple[int, ...], thresholds: tuple[int, ...]) -> float:
        return self._lookup[_table(robots, thresholds, self.scenario.capacity)]

    @property
    def _lookup(self) -> Mapping[tuple[int, ...], float]:
        if "_by_table" not in self.__dict__:
            pairs = zip(map(tuple, self.tables.tolist()), self.costs.tolist(), strict=True)
            object.__setattr__(self, "_by_table", dict(pairs))
        found: Mapping[tuple[int, ...], float] = self.__dict__["_by_table"]
        return found

    def to_json(self) -> dict[str, Any]:
        """As `crawltwin optimize --json` prints it."""
        return {
            "title": self.scenario.title,
            "scenario": self.scenario.content_hash,
            "best": {
                "robots": list(self.best.robots),
                "thresholds": list(self.best.thresholds),
                "cost": self.best.cost,
            },
            "policies": [item.to_json() for item in self.policies],
            "profit_percent": self.profit,
            "compared": len(self.tables),
            "curves": [
                {"robots": list(item.robots), "cost": self.curve(item.robots)["cost"].tolist()}
                for item in self.policies
                if len(item.robots) == 2
            ],
            "versions": versions(),
        }

    def to_frame(self) -> pd.DataFrame:
        """One row a set of robots."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "robots": item.robots,
                    "thresholds": item.thresholds,
                    "cost": item.cost,
                    "strict_thresholds": item.strict_thresholds,
                    "strict_cost": item.strict_cost,
                }
                for item in self.policies
            ]
        )


def optimize(scenario: Scenario, progress: Progress | None = None) -> Optimum:
    """Compare every threshold policy of every set of robots.

    Parameters
    ----------
    scenario : Scenario
        With cost weights; its policy is ignored.
    progress : callable, optional
        Called with (policies done, policies in all).

    Notes
    -----
    Cost: with exponential obsolescence a few microseconds a policy and level, tails of the recursion shared; otherwise
    one `solve` a policy. With n numbers of robots there are C(K + n, n - 1) policies.

    Examples
    --------
    >>> from crawltwin.model import examples
    >>> optimize(examples.load("paper")).best.thresholds
    (2,)
    """
    if scenario.cost is None:
        raise InputError(
            [
                Fault(
                    "cost",
                    "cost must be given to optimise; got nothing",
                    "Add [cost] with loss, obsolescence, response, robots and starvation.",
                )
            ]
        )
    robots, K = scenario.arrivals.robot_numbers, scenario.capacity
    count = math.comb(K + len(robots), len(robots) - 1)
    if count > MAX_TABLES:
        raise TooLargeError(
            [
                Fault(
                    "capacity",
                    f"at most {MAX_TABLES:,} threshold policies are compared one by one; got {count:,} for capacity "
                    f"{K} and {len(robots)} numbers of robots",
                    "Use fewer numbers of robots or a smaller capacity.",
                )
            ]
        )
    tables = monotone_tables(robots, K)
    costs = _costs(scenario, tables, progress)
    lookup = dict(zip(map(tuple, tables.tolist()), costs.tolist(), strict=True))
    policies = tuple(
        _best_of(chosen, K, lookup)
        for size in range(1, len(robots) + 1)
        for chosen in combinations(sorted(robots), size)
    )
    best = min(policies, key=lambda item: (round(item.cost, 12 - _digits(item.cost)), len(item.robots)))
    cheapest_fixed = min(item.cost for item in policies if len(item.robots) == 1)
    return Optimum(scenario, best, policies, 100 * (1 - best.cost / cheapest_fixed), tables, costs)


def threshold_vectors(size: int, capacity: int, strict: bool = False) -> Iterable[tuple[int, ...]]:
    """All admissible thresholds for a set of `size` numbers of robots, in lexicographic order."""
    if strict:
        return combinations(range(capacity), size - 1)
    stretched = combinations(range(capacity + size - 2), size - 1) if size > 1 else iter([()])
    return (tuple(value - shift for shift, value in enumerate(chosen)) for chosen in stretched)


def _table(robots: tuple[int, ...], thresholds: tuple[int, ...], capacity: int) -> tuple[int, ...]:
    edges = (-1, *thresholds, capacity)
    return tuple(r for r, low, high in zip(robots, edges, edges[1:], strict=False) for _ in range(high - low))


def _best_of(chosen: tuple[int, ...], capacity: int, lookup: Mapping[tuple[int, ...], float]) -> PolicyCost:
    robots = tuple(sorted(chosen, reverse=True))

    def cost(thresholds: tuple[int, ...]) -> float:
        return lookup[_table(robots, thresholds, capacity)]

    free = min(threshold_vectors(len(robots), capacity), key=cost)
    strict = min(threshold_vectors(len(robots), capacity, strict=True), key=cost, default=None)
    return PolicyCost(robots, free, cost(free), strict, None if strict is None else cost(strict))


def _costs(scenario: Scenario, tables: npt.NDArray[np.int64], progress: Progress | None) -> FloatArray:
    assert scenario.cost is not None
    if scenario.obsolescence is None or scenario.obsolescence.lumped().order == 1:
        shared = PolicyTables(scenario)
        pieces = np.array_split(tables, max(1, tables.size // 2_000_000))
        found = []
        for piece in pieces:
            found.append(shared.costs(piece, scenario.cost))
            if progress is not None:
                progress(sum(map(len, found)), len(tables))
        return np.concatenate(found)
    costs = np.empty(len(tables))
    for index, table in enumerate(tables.tolist()):
        cost = solve(scenario.replace(policy=LevelPolicy(table))).measures["cost"]
        costs[index] = np.inf if cost is None else cost
        if progress is not None:
            progress(index + 1, len(tables))
    return costs


def _digits(value: float) -> int:
    return math.ceil(math.log10(abs(value))) if value and math.isfinite(value) else 0
