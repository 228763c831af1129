"""Several criteria at once: the policies that no other beats in every one of them.

A policy is on the front when no other compared policy is at least as good in all criteria and better in one. The cost
(2) picks one point of the front, whichever the weights; the front is what there is to choose from before weights are
set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from analytic.optimum import Optimum
from analytic.rewards import measures_of_rates
from analytic.solution import versions
from analytic.tables import thresholds_of
from crawltwin.model import InputError
from crawltwin.model.checks import FloatArray

if TYPE_CHECKING:
    import pandas as pd

CRITERIA = (
    "loss_probability",
    "obsolescence_probability",
    "mean_sojourn_served",
    "mean_active_robots",
    "starvation_probability",
)
"""What is made small, unless other criteria are named."""

LESS_IS_BETTER = (*CRITERIA, "mean_pages", "mean_sojourn", "mean_sojourn_obsolete", "arrival_rate", "loss_rate")
MORE_IS_BETTER = ("success_probability",)


@dataclass(frozen=True, eq=False)
class ParetoFront:
    """The policies that no other compared policy beats.

    Parameters
    ----------
    optimum : Optimum
        Where the compared policies come from.
    criteria : tuple of str
    tables : ndarray of int
        Robots by level of each policy on the front, cheapest first.
    values : ndarray, shape (policies, criteria)
    costs : ndarray
    complete : bool
        Whether every threshold policy was compared.
    """

    optimum: Optimum
    criteria: tuple[str, ...]
    tables: npt.NDArray[np.int64] = field(repr=False)
    values: FloatArray = field(repr=False)
    costs: FloatArray = field(repr=False)
    complete: bool

    def to_frame(self) -> pd.DataFrame:
        """One row a policy: robots, thresholds, the criteria, the cost."""
        import pandas as pd

        return pd.DataFrame(self._rows(), columns=["robots", "thresholds", *self.criteria, "cost"])

    def _rows(self) -> list[dict[str, Any]]:
        policies = map(as_thresholds, self.tables.tolist())
        return [
            {"robots": robots, "thresholds": thresholds, **dict(zip(self.criteria, row, strict=True)), "cost": cost}
            for (robots, thresholds), row, cost in zip(policies, self.values.tolist(), self.costs.tolist(), strict=True)
        ]

    def to_json(self) -> dict[str, Any]:
        """As `crawltwin optimize --pareto --json` prints it."""
        return {
            "criteria": list(self.criteria),
            "complete": self.complete,
            "compared": len(self.optimum.tables),
            "policies": [
                {**row, "robots": list(row["robots"]), "thresholds": list(row["thresholds"])} for row in self._rows()
            ],
            "versions": versions(),
        }


def pareto(optimum: Optimum, criteria: Sequence[str] = CRITERIA) -> ParetoFront:
    """The front of the policies that `optimize` evaluated.

    Parameters
    ----------
    optimum : Optimum
    criteria : sequence of str
        Measures; small is good, but for the success probability.

    Notes
    -----
    Cost: (policies) (policies on the front) comparisons.

    Examples
    --------
    >>> from analytic import optimize
    >>> from crawltwin.model import examples
    >>> front = pareto(optimize(examples.load("paper")), ["loss_probability", "mean_active_robots"])
    >>> (3, 1) in set(front.to_frame()["robots"])
    True
    """
    known = (*LESS_IS_BETTER, *MORE_IS_BETTER)
    wrong = [name for name in criteria if name not in known]
    if wrong or not criteria:
        raise InputError(f"criteria must be among {', '.join(known)}; got {', '.join(wrong) or 'none'}")
    measures = measures_of_rates(optimum.rates)
    values = np.column_stack([np.nan_to_num(measures[name], nan=0.0) for name in criteria])
    signs = np.array([-1.0 if name in MORE_IS_BETTER else 1.0 for name in criteria])
    kept = np.flatnonzero(not_dominated(values * signs))
    order = kept[np.argsort(optimum.costs[kept], kind="stable")]
    return ParetoFront(
        optimum,
        tuple(criteria),
        optimum.tables[order],
        values[order],
        optimum.costs[order],
        optimum.method == "enumerated",
    )


def not_dominated(points: FloatArray) -> npt.NDArray[np.bool_]:
    """Which rows no other row beats: nowhere larger and somewhere smaller.

    Rows are taken in the order of their sums, in which a row can only be beaten by an earlier one.
    """
    order = np.argsort(points.sum(axis=1), kind="stable")
    front = np.empty((0, points.shape[1]))
    keep = np.zeros(len(points), dtype=bool)
    for index in order:
        point = points[index]
        beaten = ((front <= point).all(axis=1) & (front < point).any(axis=1)).any()
        if not beaten:
            keep[index] = True
            front = np.vstack([front, point])
    return keep


def as_thresholds(table: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Robots and thresholds of a table that never rises."""
    robots = tuple(sorted(set(table), reverse=True))
    return robots, thresholds_of(table, robots)
