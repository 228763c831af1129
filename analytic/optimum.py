"""The result of an optimisation: the best policy of every set of robots, and how far that is proved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from analytic.rewards import cost_of_rates
from analytic.solution import versions
from analytic.tables import rates_of_tables, sorted_tables, table_of, threshold_vectors
from crawltwin.model import Scenario, ThresholdPolicy
from crawltwin.model.checks import FloatArray

if TYPE_CHECKING:
    import pandas as pd

Proof = Literal["enumerated", "bounded", "searched"]


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
    proof : {"enumerated", "bounded", "searched"}
        Every policy of the set was evaluated; or a lower bound within the tolerance shows that none is better; or the
        best was looked for without proof.
    lower_bound : float or None
        No policy of the set costs less; None where nothing is known.
    strict_proof : str or None
        The same as `proof` for the strict variant.
    """

    robots: tuple[int, ...]
    thresholds: tuple[int, ...]
    cost: float
    strict_thresholds: tuple[int, ...] | None
    strict_cost: float | None
    proof: Proof = "enumerated"
    lower_bound: float | None = None
    strict_proof: Proof | None = None

    @property
    def policy(self) -> ThresholdPolicy:
        """As a policy object."""
        return ThresholdPolicy(self.robots, self.thresholds)

    def to_json(self) -> dict[str, Any]:
        """Keys of the contract, the proof, and the strict variant."""
        strict = None
        if self.strict_thresholds is not None:
            strict = {
                "thresholds": list(self.strict_thresholds),
                "cost": self.strict_cost,
                "proof": self.strict_proof,
            }
        return {
            "robots": list(self.robots),
            "thresholds": list(self.thresholds),
            "cost": self.cost,
            "proof": self.proof,
            "lower_bound": self.lower_bound,
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
    tables, rates : ndarray
        Every policy that was evaluated, as robots by level, with its linear rates (`analytic.rewards.RATES`).
    method : {"enumerated", "bounded", "searched"}
        The weakest proof among the sets.
    """

    scenario: Scenario
    best: PolicyCost
    policies: tuple[PolicyCost, ...]
    profit: float
    tables: npt.NDArray[np.int64] = field(repr=False)
    rates: FloatArray = field(repr=False)
    method: Proof = "enumerated"

    @cached_property
    def costs(self) -> FloatArray:
        """Cost of each table."""
        assert self.scenario.cost is not None
        return cost_of_rates(self.rates, self.scenario.cost)

    @property
    def fixed(self) -> Mapping[int, float]:
        """Cost of each fixed number of robots, the paper's C_r."""
        return {item.robots[0]: item.cost for item in self.policies if len(item.robots) == 1}

    def curve(self, robots: Iterable[int]) -> pd.DataFrame:
        """Cost over all thresholds for one set of robots: columns j1, j2, ..., cost (the paper's Figure 1).

        Cost: nothing where the policies were enumerated; otherwise those not yet evaluated are.
        """
        import pandas as pd

        used = tuple(sorted(robots, reverse=True))
        K = self.scenario.capacity
        vectors = list(threshold_vectors(len(used), K))
        wanted = [table_of(used, thresholds, K) for thresholds in vectors]
        known = dict(self._lookup)
        missing = sorted({table for table in wanted if table not in known})
        if missing:
            assert self.scenario.cost is not None
            tables = sorted_tables(np.array(missing, dtype=np.int64))
            costs = cost_of_rates(rates_of_tables(self.scenario, tables), self.scenario.cost)
            known.update(zip(map(tuple, tables.tolist()), costs.tolist(), strict=True))
        rows = [(*thresholds, known[table]) for thresholds, table in zip(vectors, wanted, strict=True)]
        return pd.DataFrame(rows, columns=[*(f"j{k}" for k in range(1, len(used))), "cost"])

    @cached_property
    def _lookup(self) -> Mapping[tuple[int, ...], float]:
        return dict(zip(map(tuple, self.tables.tolist()), self.costs.tolist(), strict=True))

    def to_json(self) -> dict[str, Any]:
        """As `crawltwin optimize --json` prints it."""
        return {
            "title": self.scenario.title,
            "scenario": self.scenario.content_hash,
            "best": {
                "robots": list(self.best.robots),
                "thresholds": list(self.best.thresholds),
                "cost": self.best.cost,
                "proof": self.best.proof,
            },
            "policies": [item.to_json() for item in self.policies],
            "profit_percent": self.profit,
            "method": self.method,
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
                    "proof": item.proof,
                    "strict_thresholds": item.strict_thresholds,
                    "strict_cost": item.strict_cost,
                }
                for item in self.policies
            ]
        )
