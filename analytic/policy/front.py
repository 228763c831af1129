"""Several criteria at once: the policies that no other beats in every one of them.

A policy is on the front when no other compared policy is at least as good in all criteria and better in one. The cost
(2) picks one point of the front, whichever the weights; the front is what there is to choose from before weights are
set.

**Ties.** Where two policies agree in a criterion (the response time of a system without a buffer, whatever the robots),
their computed values differ by rounding, which would keep a policy on the front that another one beats everywhere else.
So values of one criterion that follow one another within `TIE`, relative to the value, count as equal. Policies that
are equal in every criterion are all listed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from analytic.policy.optimum import Optimum
from analytic.policy.search import as_optimum
from analytic.stationary.solution import versions
from crawltwin.model import InputError, Scenario, ThresholdPolicy
from crawltwin.model.checks import FloatArray
from crawltwin.model.measures import unit_of
from crawltwin.model.rates import Rates
from crawltwin.model.results.display import Drawn

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

LESS_IS_BETTER = (
    *CRITERIA,
    "mean_pages",
    "mean_sojourn",
    "mean_sojourn_obsolete",
    "arrival_rate",
    "loss_rate",
    "switch_rate",
)
MORE_IS_BETTER = ("success_probability",)

TIE = 1e-10
"""Largest relative difference of two values that count as equal: far above rounding, far below what matters."""


@dataclass(frozen=True, eq=False, repr=False)
class ParetoFront(Drawn):
    """The policies that no other compared policy beats; ``plot(x=..., y=...)`` shows two of the criteria.

    Parameters
    ----------
    optimum : Optimum
        Where the compared policies come from.
    criteria : tuple of str
    tables : ndarray of int
        Robots by level of each policy on the front, cheapest first.
    policies : tuple of ThresholdPolicy
    values : ndarray, shape (policies, criteria)
    costs : ndarray
    complete : bool
        Whether every threshold policy was compared.
    """

    optimum: Optimum
    criteria: tuple[str, ...]
    tables: npt.NDArray[np.int64] = field(repr=False)
    policies: tuple[ThresholdPolicy, ...] = field(repr=False)
    values: FloatArray = field(repr=False)
    costs: FloatArray = field(repr=False)
    complete: bool

    def headline(self) -> str:
        """How many policies are on it."""
        every = "every threshold policy" if self.complete else f"{len(self.optimum.tables):,} policies"
        return f"{len(self.policies):,} policies that none beats in {', '.join(self.criteria)}; compared: {every}"

    def to_frame(self) -> pd.DataFrame:
        """One row for each policy: robots, thresholds, the criteria, the cost."""
        import pandas as pd

        frame = pd.DataFrame(self._rows(), columns=["robots", "thresholds", *self.criteria, "cost"])
        frame.attrs["units"] = {"thresholds": "pages", **{name: unit_of(name) for name in (*self.criteria, "cost")}}
        return frame

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "robots": policy.robots,
                "thresholds": policy.thresholds,
                **dict(zip(self.criteria, row, strict=True)),
                "cost": cost,
            }
            for policy, row, cost in zip(self.policies, self.values.tolist(), self.costs.tolist(), strict=True)
        ]

    def to_json(self) -> dict[str, Any]:
        """As `crawltwin optimize --pareto --json` prints it."""
        return {
            "criteria": list(self.criteria),
            "complete": self.complete,
            "compared": len(self.optimum.tables),
            "policies": [
                {**row, **policy.to_mapping()} for row, policy in zip(self._rows(), self.policies, strict=True)
            ],
            "versions": versions(),
        }


def pareto(optimum: Optimum | Scenario, criteria: Sequence[str] = CRITERIA) -> ParetoFront:
    """The front of the policies that `optimize` evaluated.

    Parameters
    ----------
    optimum : Optimum or Scenario
        What `optimize` found; a scenario is optimised first.
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
    optimum = as_optimum(optimum)
    rates = Rates.from_table(optimum.rates)
    values = np.column_stack([np.nan_to_num(rates.value(name), nan=0.0) for name in criteria])
    signs = np.array([-1.0 if name in MORE_IS_BETTER else 1.0 for name in criteria])
    kept = np.flatnonzero(not_dominated(ranks(values * signs)))
    order = kept[np.argsort(optimum.costs[kept], kind="stable")]
    complete = optimum.method == "enumerated"
    policies = tuple(optimum.policy_at(int(index)) for index in order)
    names = tuple(criteria)
    return ParetoFront(optimum, names, optimum.tables[order], policies, values[order], optimum.costs[order], complete)


def ranks(values: FloatArray) -> FloatArray:
    """For each column the place of each value among its different values, 0 the smallest; ties within `TIE` share one.

    Examples
    --------
    >>> ranks(np.array([[0.3], [0.1 + 0.2], [1e-20], [2e-20]])).ravel().tolist()
    [2.0, 2.0, 0.0, 1.0]
    """
    order = np.argsort(values, axis=0, kind="stable")
    rising = np.take_along_axis(values, order, axis=0)
    steps = np.diff(rising, axis=0) > TIE * np.maximum(np.abs(rising[1:]), np.abs(rising[:-1]))
    places = np.vstack([np.zeros((1, values.shape[1])), np.cumsum(steps, axis=0)])
    out = np.empty_like(places)
    np.put_along_axis(out, order, places, axis=0)
    return out


def not_dominated(points: FloatArray) -> npt.NDArray[np.bool_]:
    """Which rows no other row beats: nowhere larger and somewhere smaller.

    Rows are taken in the order of their sums, in which a row can only be beaten by an earlier one; the sums of `ranks`
    are exact.
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
