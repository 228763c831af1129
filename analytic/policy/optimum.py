"""The result of an optimisation: the best policy of every set of robots, and how far that is proved."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from analytic.policy.modes import IntArray
from analytic.policy.tables import (
    as_thresholds,
    costs_of_tables,
    sorted_tables,
    table_of,
    threshold_vectors,
    weights_of,
)
from analytic.stationary.solution import versions
from crawltwin.model import Scenario, ThresholdPolicy
from crawltwin.model.checks import FloatArray
from crawltwin.model.rates import Rates
from crawltwin.model.results.display import Drawn

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
    proof : {"enumerated", "bounded", "searched"}
        Every policy of the set was evaluated; or a lower bound within the tolerance shows that none is better; or the
        best was looked for without proof.
    lower_bound : float or None
        No policy of the set costs less; None where nothing is known.
    error : float
        Estimate of the error of `cost`; 0 where it is exact but for rounding.
    strict_thresholds, strict_cost, strict_proof, strict_resume
        The best with every number of robots in use; None when the capacity has too few levels for that.
    resume : tuple of int or None
        Resume points; None where they were not looked for: the thresholds.
    check_every : float
        Mean distance of the controller's looks; 0: it sees every event.
    """

    robots: tuple[int, ...]
    thresholds: tuple[int, ...]
    cost: float
    proof: Proof = "enumerated"
    lower_bound: float | None = None
    error: float = 0.0
    strict_thresholds: tuple[int, ...] | None = None
    strict_cost: float | None = None
    strict_proof: Proof | None = None
    strict_resume: tuple[int, ...] | None = None
    resume: tuple[int, ...] | None = None
    check_every: float = 0.0

    def with_strict(self, thresholds: tuple[int, ...], cost: float, proof: Proof) -> PolicyCost:
        """The same with its strict variant."""
        return replace(self, strict_thresholds=thresholds, strict_cost=cost, strict_proof=proof)

    @property
    def policy(self) -> ThresholdPolicy:
        """As a policy object."""
        return ThresholdPolicy(self.robots, self.thresholds, self.resume, self.check_every)

    @property
    def memory(self) -> dict[str, Any]:
        """Resume points where they were looked for, and the distance of looks where the controller polls, for JSON."""
        found: dict[str, Any] = {} if self.resume is None else {"resume": list(self.resume)}
        return found | ({"check_every": self.check_every} if self.check_every else {})

    def to_json(self) -> dict[str, Any]:
        """Keys of the contract, the proof, and the strict variant."""
        strict = None
        if self.strict_thresholds is not None:
            strict = {
                "thresholds": list(self.strict_thresholds),
                "cost": self.strict_cost,
                "proof": self.strict_proof,
            } | ({} if self.strict_resume is None else {"resume": list(self.strict_resume)})
        return {
            "robots": list(self.robots),
            "thresholds": list(self.thresholds),
            "cost": self.cost,
            "proof": self.proof,
            "lower_bound": self.lower_bound,
            "error": self.error,
            "strict": strict,
            **self.memory,
        }


@dataclass(frozen=True, eq=False, repr=False)
class Optimum(Drawn):
    """The best threshold policies of a scenario; ``plot()`` is the cost over the threshold for each pair of robots.

    Parameters
    ----------
    scenario : Scenario
    best : PolicyCost
        Over all sets; of equal costs the one with the fewest numbers of robots.
    policies : tuple of PolicyCost
        The best for each set of robots, single numbers first.
    tables, rates : ndarray
        Every policy that was evaluated, as robots by level (with hysteresis: while the backlog grows), with its linear
        rates (`crawltwin.model.rates.EVERY_RATE`).
    method : {"enumerated", "bounded", "searched"}
        The weakest proof among the sets.
    listed : tuple of ThresholdPolicy, optional
        The policies of the tables where those do not tell all: controllers with a memory.
    controllers_bound : float, optional
        No controller at all costs less, whatever it sees and remembers (`analytic.policy.memory.bound`).
    """

    scenario: Scenario
    best: PolicyCost
    policies: tuple[PolicyCost, ...]
    tables: IntArray = field(repr=False)
    rates: FloatArray = field(repr=False)
    method: Proof = "enumerated"
    listed: tuple[ThresholdPolicy, ...] | None = field(default=None, repr=False)
    controllers_bound: float | None = None

    @property
    def profit(self) -> float:
        """Relative profit R against the best fixed number of robots, percent."""
        fixed = min(self.fixed.values())
        return 100 * (1 - self.best.cost / fixed) if fixed > 0 else 0.0

    def headline(self) -> str:
        """The best policy, its cost, what it saves, and how many were compared."""
        return (
            f"{self.best.policy.short} is the best of {len(self.tables):,} policies, cost {self.best.cost:.6g}, "
            f"{self.profit:.3g}% below the best fixed number of robots. {self.proof_in_words()}"
        )

    def policy_at(self, index: int) -> ThresholdPolicy:
        """One of the policies that were evaluated."""
        if self.listed is not None:
            return self.listed[index]
        return ThresholdPolicy(*as_thresholds(self.tables[index].tolist()))

    @cached_property
    def costs(self) -> FloatArray:
        """Cost of each table."""
        return Rates.from_table(self.rates).cost(weights_of(self.scenario, "compare policies"))

    @property
    def lower_bound(self) -> float | None:
        """No threshold policy costs less; None where nothing is known. With a memory: no controller at all."""
        if self.listed is not None:
            return self.controllers_bound
        bounds = [item.lower_bound for item in self.policies]
        return None if None in bounds else min(bound for bound in bounds if bound is not None)

    @property
    def gap(self) -> float | None:
        """What a policy (with a memory: any controller) might still save; None where nothing is known."""
        return None if self.lower_bound is None else max(0.0, self.best.cost - self.lower_bound)

    def proof_in_words(self) -> str:
        """How far the best policy is proved, over all sets of robots, as a sentence or two."""
        if self.listed is not None:
            return self._memory_in_words()
        if self.method == "enumerated":
            return "Every threshold policy was evaluated."
        if self.method == "bounded":
            return "Of larger sets no policy is better: lower bounds prove it."
        words = "Larger sets were searched: a better policy of those is possible."
        if self.lower_bound is None or self.gap is None:
            return words
        saved = 100 * self.gap / self.best.cost if self.best.cost else 0.0
        return f"{words} No threshold policy costs less than {self.lower_bound:.6g}: at most {saved:.2g}% can be saved."

    def _memory_in_words(self) -> str:
        resumed = "Every choice of thresholds" + (" and resume points" if self.best.resume is not None else "")
        enumerated = self.method == "enumerated"
        words = f"{resumed} was evaluated." if enumerated else "Points were searched: better ones are possible."
        if self.controllers_bound is None or self.gap is None:
            return words
        saved = 100 * self.gap / self.best.cost if self.best.cost else 0.0
        return (
            f"{words} No controller at all, though it saw every phase, would cost less than "
            f"{self.controllers_bound:.6g}: at most {saved:.2g}% can be saved."
        )

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
        if self.listed is not None:
            return self._memory_curve(used)
        vectors = list(threshold_vectors(len(used), K))
        wanted = [table_of(used, thresholds, K) for thresholds in vectors]
        known = dict(self.cost_by_table)
        missing = sorted({table for table in wanted if table not in known})
        if missing:
            tables = sorted_tables(np.array(missing, dtype=np.int64))
            costs = costs_of_tables(self.scenario, tables)
            known.update(zip(map(tuple, tables.tolist()), costs.tolist(), strict=True))
        rows = [(*thresholds, known[table]) for thresholds, table in zip(vectors, wanted, strict=True)]
        return pd.DataFrame(rows, columns=[*(f"j{k}" for k in range(1, len(used))), "cost"])

    def _memory_curve(self, used: tuple[int, ...]) -> pd.DataFrame:
        """The least cost over the evaluated resume points for each choice of thresholds; those alone."""
        import pandas as pd

        assert self.listed is not None
        least: dict[tuple[int, ...], float] = {}
        for policy, cost in zip(self.listed, self.costs.tolist(), strict=True):
            if policy.robots == used:
                least[policy.thresholds] = min(cost, least.get(policy.thresholds, np.inf))
        rows = [(*thresholds, cost) for thresholds, cost in sorted(least.items())]
        return pd.DataFrame(rows, columns=[*(f"j{k}" for k in range(1, len(used))), "cost"])

    @cached_property
    def cost_by_table(self) -> Mapping[tuple[int, ...], float]:
        """Cost of each table, to look up."""
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
                "error": self.best.error,
                "lower_bound": self.lower_bound,
                **self.best.memory,
            },
            "lower_bound": self.lower_bound,
            "gap": self.gap,
            "policies": [item.to_json() for item in self.policies],
            "profit_percent": self.profit,
            "method": self.method,
            "compared": len(self.tables),
            "curves": [
                {"robots": list(item.robots), "cost": self.curve(item.robots)["cost"].tolist()}
                for item in self.policies
                if len(item.robots) == 2 and (self.listed is None or self.method == "enumerated")
            ],
            "versions": versions(),
        }

    def to_frame(self) -> pd.DataFrame:
        """One row for each set of robots."""
        import pandas as pd

        frame = pd.DataFrame(
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
        frame.attrs["units"] = {"thresholds": "pages", "cost": "cost", "strict_cost": "cost"}
        return frame


def chosen_best(items: Iterable[PolicyCost]) -> PolicyCost:
    """The cheapest; of costs that are equal to twelve digits the one with the fewest robots and resume points."""

    def order(item: PolicyCost) -> tuple[float, int, int]:
        resumed = 0 if item.resume is None else sum(a != b for a, b in zip(item.resume, item.thresholds, strict=True))
        return round(item.cost, 12 - _digits(item.cost)), len(item.robots), resumed

    return min(items, key=order)


def _digits(value: float) -> int:
    return math.ceil(math.log10(abs(value))) if value and math.isfinite(value) else 0
