r"""The best policy under constraints, and the Lagrange multipliers that section 2 of the paper mentions.

**One policy.** Of the compared policies that keep every constraint, the cheapest.

**A mixture.** Running policy k for a share :math:`w_k` of the time, in long stretches, mixes all rates linearly. A
bound on a quotient is linear too: loss probability at most b means :math:`\sum_k w_k (\text{lost}_k -
b\,\text{pages}_k) \le 0`. The shares that keep all bounds form a polytope P, and the cost of a mixture is
:math:`c\cdot w + a\,(g\cdot w)/(h\cdot w)`: linear costs, and the response time as the quotient of the mixed rates.
That is minimised as in `decision`: for :math:`V = g\cdot w/h\cdot w` in an interval the cost is at least the
smaller of the linear programs :math:`\min_{w\in P} (c + \mu g - \mu V h)\cdot w + aV` at its two ends, whichever
:math:`\mu`; intervals are halved until the bound meets the best mixture. That lies on an edge of P (at one V the
problem is a linear program with one more row), so mixtures of two vertices are all that needs to be tried. An optimal
mixture uses at most two policies more than there are constraints.

**Multipliers.** At the optimum the gradient of the cost is the objective of a linear program over P that the optimum
solves; its dual values are the Lagrange multipliers. Each is what one more unit of its constraint's bound saves, and
the weight with which a cost criterion without that constraint would choose the same policies.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

from analytic.policy.optimum import Optimum
from analytic.policy.response_interval import SERVED, SOJOURN, EndBound, ResponseInterval, cheapest_share
from analytic.policy.search import as_optimum
from analytic.policy.tables import weights_of
from analytic.stationary.solution import versions
from crawltwin.model import Scenario, ThresholdPolicy
from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import Faults
from crawltwin.model.measures import LINEAR_MEASURES, QUOTIENT_MEASURES, unit_of
from crawltwin.model.rates import EVERY_RATE, Rates
from crawltwin.model.results.display import Shown

if TYPE_CHECKING:
    import pandas as pd

CONSTRAINABLE = (
    *(name for name, rate in LINEAR_MEASURES.items() if rate in EVERY_RATE),
    *(name for name in QUOTIENT_MEASURES if name != "mean_sojourn_obsolete"),
)
"""Measures that a constraint may bound."""

TOLERANCE = 1e-10
"""Relative gap between the best mixture and its lower bound."""

MAX_INTERVALS = 2_000
"""Intervals of the response time at most."""


@dataclass(frozen=True)
class Choice:
    """A policy that was chosen, with what it costs and does.

    Parameters
    ----------
    policy : ThresholdPolicy
    cost : float
    measures : mapping
    share : float
        Of the time; 1 for a policy on its own.
    """

    policy: ThresholdPolicy
    cost: float
    measures: Mapping[str, float]
    share: float = 1.0

    @property
    def robots(self) -> tuple[int, ...]:
        """Numbers of robots, largest first."""
        return self.policy.robots

    @property
    def thresholds(self) -> tuple[int, ...]:
        """Of the policy."""
        return self.policy.thresholds

    def to_json(self) -> dict[str, Any]:
        """Plain numbers."""
        return {
            **self.policy.to_mapping(),
            "share": self.share,
            "cost": self.cost,
            "measures": dict(self.measures),
        }


@dataclass(frozen=True, repr=False)
class Constrained(Shown):
    """The best policy and the best mixture of policies under constraints.

    Parameters
    ----------
    at_most, at_least : mapping
        The constraints.
    best : Choice or None
        The cheapest single policy that keeps them; None when none does.
    mixture : tuple of Choice
        The cheapest mixture, by shares of the time; empty when no mixture keeps them.
    mixture_cost : float or None
    mixture_measures : mapping
    multipliers : mapping
        For each bounded measure what one more unit of room saves: minus the derivative of `mixture_cost` by the bound,
        of two bounds on one measure by the one that binds.
    feasible, compared : int
        Policies that keep the constraints, and all that were compared.
    complete : bool
        Whether every threshold policy was compared.
    attainable : mapping
        Under ``at_most`` and ``at_least`` for each constraint the best value any compared policy reaches.
    """

    at_most: Mapping[str, float]
    at_least: Mapping[str, float]
    best: Choice | None
    mixture: tuple[Choice, ...]
    mixture_cost: float | None
    mixture_measures: Mapping[str, float]
    multipliers: Mapping[str, float]
    feasible: int
    compared: int
    complete: bool
    attainable: Mapping[str, Mapping[str, float]]

    def headline(self) -> str:
        """The cheapest policy that keeps the bounds."""
        bounds = [f"{name} {sign} {bound:g}" for sign, of in (("<=", self.at_most), (">=", self.at_least))
                  for name, bound in of.items()]  # fmt: skip
        under = f"under {' and '.join(bounds) or 'no bound'}, kept by {self.feasible:,} of {self.compared:,} policies"
        if self.best is None:
            return f"no single policy {under}"
        return f"{self.best.policy.short} is the cheapest {under}: cost {self.best.cost:.6g}"

    def to_frame(self) -> pd.DataFrame:
        """One row for each policy of the choice: the best single one, then the mixture with its shares of the time."""
        import pandas as pd

        chosen = [("single policy", one) for one in (self.best,) if one is not None]
        chosen += [("mixture", one) for one in self.mixture]
        bounded = list(dict.fromkeys([*self.at_most, *self.at_least]))
        rows = [
            {"choice": kind, "robots": one.robots, "thresholds": one.thresholds, "share": one.share, "cost": one.cost}
            | {name: one.measures[name] for name in bounded}
            for kind, one in chosen
        ]
        frame = pd.DataFrame(rows, columns=["choice", "robots", "thresholds", "share", "cost", *bounded])
        frame.attrs["units"] = {"thresholds": "pages", "share": "of the time", "cost": "cost"} | {
            name: unit_of(name) for name in bounded
        }
        return frame

    def to_json(self) -> dict[str, Any]:
        """As `crawltwin optimize --at-most ... --json` prints it."""
        return {
            "at_most": dict(self.at_most),
            "at_least": dict(self.at_least),
            "best": None if self.best is None else self.best.to_json(),
            "mixture": None
            if self.mixture_cost is None
            else {
                "policies": [choice.to_json() for choice in self.mixture],
                "cost": self.mixture_cost,
                "measures": dict(self.mixture_measures),
                "multipliers": dict(self.multipliers),
            },
            "feasible": self.feasible,
            "compared": self.compared,
            "complete": self.complete,
            "attainable": {side: dict(reached) for side, reached in self.attainable.items()},
            "versions": versions(),
        }


def constrain(
    optimum: Optimum | Scenario, at_most: Mapping[str, float] | None = None, at_least: Mapping[str, float] | None = None
) -> Constrained:
    """The cheapest policy, and the cheapest mixture of policies, that keeps bounds on measures.

    Parameters
    ----------
    optimum : Optimum or Scenario
        What `optimize` found; a scenario is optimised first.
    at_most, at_least : mapping, optional
        Measure (one of `CONSTRAINABLE`) -> bound.

    Notes
    -----
    Cost: about a hundred linear programs with a column for each policy and a row for each constraint.

    Examples
    --------
    >>> from analytic import optimize
    >>> from crawltwin.model import examples
    >>> found = constrain(optimize(examples.load("paper")), at_most={"loss_probability": 0.15})
    >>> found.best.measures["loss_probability"] <= 0.15 and found.mixture_cost <= found.best.cost
    True
    """
    upper, lower = dict(at_most or {}), dict(at_least or {})
    check_bounds(upper, lower)
    optimum = as_optimum(optimum)
    problem = _Problem(optimum, upper, lower)
    kept = problem.feasible()
    best = None
    if kept.any():
        index = int(np.flatnonzero(kept)[np.argmin(optimum.costs[kept])])
        best = problem.choice(index)
    mixed = problem.mixture()
    shares = np.zeros(0) if mixed is None else mixed.shares
    used = sorted((int(k) for k in np.flatnonzero(shares > 1e-9)), key=lambda k: -shares[k])
    rates = None if mixed is None else shares @ optimum.rates
    return Constrained(
        at_most=upper,
        at_least=lower,
        best=best,
        mixture=tuple(problem.choice(k, float(shares[k])) for k in used),
        mixture_cost=None if rates is None else problem.cost(rates),
        mixture_measures={} if rates is None else _plain(rates),
        multipliers={} if mixed is None else mixed.multipliers,
        feasible=int(kept.sum()),
        compared=len(optimum.tables),
        complete=optimum.method == "enumerated",
        attainable=problem.attainable(),
    )


def check_bounds(upper: Mapping[str, float], lower: Mapping[str, float]) -> None:
    """Refuse bounds that are no numbers, that no crawler at all can keep, or that contradict each other."""
    faults = Faults()
    if not upper and not lower:
        faults.add("at_most", "at least one constraint must be given; got none")
    for side, given in (("at_most", upper), ("at_least", lower)):
        for name, bound in given.items():
            place = f"{side}.{name}"
            if name not in CONSTRAINABLE:
                faults.add(place, f"{side} must bound one of {', '.join(CONSTRAINABLE)}; got {name!r}")
            elif isinstance(bound, bool) or not isinstance(bound, int | float) or not np.isfinite(bound):
                faults.add(place, f"{side} must be a finite number; got {bound!r}")
            elif side == "at_most" and bound < 0:
                faults.add(place, f"{side} must be at least 0; got {bound:g}", f"{name} is never negative.")
            elif side == "at_least" and bound > 1 and unit_of(name) == "probability":
                faults.add(place, f"{side} must be at most 1; got {bound:g}", f"{name} is a probability.")
            elif side == "at_least" and name in upper and bound > upper[name]:
                faults.add(place, f"{side} must not exceed at_most; got {bound:g} and at most {upper[name]:g}")
    faults.raise_if_any()


def _plain(rates: FloatArray) -> dict[str, float]:
    found = Rates.from_table(rates).measures()
    return {name: float(value) for name, value in found.items() if np.isfinite(value)}


@dataclass(frozen=True)
class _Mixture:
    shares: FloatArray
    multipliers: dict[str, float]


class _Problem:
    """Policies as columns of linear programs."""

    def __init__(self, optimum: Optimum, upper: Mapping[str, float], lower: Mapping[str, float]) -> None:
        self.optimum, self.weights = optimum, weights_of(optimum.scenario, "compare policies")
        self.bounds = [(name, bound, 1.0) for name, bound in upper.items()]
        self.bounds += [(name, bound, -1.0) for name, bound in lower.items()]
        self.rates = Rates.from_table(optimum.rates)
        self.linear = self.rates.linear_cost(self.weights)
        self.rows = np.array([self._row(name, bound, sign) for name, bound, sign in self.bounds])

    def _row(self, name: str, bound: float, sign: float) -> FloatArray:
        """Coefficients of one constraint, not positive where it is kept."""
        if name in LINEAR_MEASURES:
            return np.asarray(sign * (self.rates.value(name) - bound))
        above, below = (self.rates.amount(rate) for rate in QUOTIENT_MEASURES[name])
        return np.asarray(sign * (above - bound * below))

    def feasible(self) -> npt.NDArray[np.bool_]:
        return np.asarray((self.rows <= 0).all(axis=0))

    def attainable(self) -> dict[str, dict[str, float]]:
        found: dict[str, dict[str, float]] = {"at_most": {}, "at_least": {}}
        for name, _, sign in self.bounds:
            values = self.rates.value(name)
            found["at_most" if sign > 0 else "at_least"][name] = float(sign * np.nanmin(sign * values))
        return found

    def choice(self, index: int, share: float = 1.0) -> Choice:
        cost, measures = float(self.optimum.costs[index]), _plain(self.optimum.rates[index])
        return Choice(self.optimum.policy_at(index), cost, measures, share)

    def cost(self, rates: FloatArray) -> float:
        """Equation (2) of mixed rates."""
        return float(Rates.from_table(rates).cost(self.weights))

    def _program(self, multiplier: float = 0.0, V: float = 0.0) -> Any:
        """The mixture with the least c + mu (g - V h)."""
        objective = self.linear + multiplier * (self.rates.sojourn_served - V * self.rates.served)
        none = np.zeros(len(self.rows))
        everything = np.ones((1, objective.size))
        return linprog(objective, A_ub=self.rows, b_ub=none, A_eq=everything, b_eq=[1.0], method="highs")

    def mixture(self) -> _Mixture | None:
        """The cheapest mixture, by cutting intervals of the response time."""
        first = self._program()
        if not first.success:
            return None
        a, table = self.weights.response, self.optimum.rates
        if a == 0:
            return self._read(first.x, first)
        served = self.rates.served > 0
        times = self.rates.sojourn_served[served] / self.rates.served[served]
        shares, best = first.x, self.cost(first.x @ table)
        multiplier = a / float((shares @ table)[SERVED])
        heap = [(-np.inf, ResponseInterval(float(times.min()), float(times.max()), multiplier))]
        for _ in range(MAX_INTERVALS):
            if not heap or heap[0][0] >= best - TOLERANCE * abs(best):
                break
            bound, interval = heapq.heappop(heap)
            low, high = (self._program(interval.multiplier, V) for V in (interval.low, interval.high))
            ends = [EndBound(end.fun + a * V, end.x @ table) for end, V in ((low, interval.low), (high, interval.high))]
            found = low.x + cheapest_share(ends[0].rates, ends[1].rates, self.weights) * (high.x - low.x)
            if self.cost(found @ table) < best:
                shares, best = found, self.cost(found @ table)
            bound = max(bound, min(end.total for end in ends))
            if bound >= best - TOLERANCE * abs(best) or interval.is_point:
                continue
            for part in interval.cut(ends):
                heapq.heappush(heap, (bound, part))
        mixed = shares @ table
        return self._read(shares, self._program(a / float(mixed[SERVED]), float(mixed[SOJOURN] / mixed[SERVED])))

    def _read(self, shares: FloatArray, found: Any) -> _Mixture:
        shares = np.where(shares > 1e-9, shares, 0.0)
        shares = shares / shares.sum()
        mixed = Rates.from_table(shares @ self.optimum.rates)
        multipliers: dict[str, float] = {}
        for (name, _, _), dual in zip(self.bounds, found.ineqlin.marginals, strict=True):
            # The bound b enters as -b times the measure's denominator: that is what one more unit of b is worth.
            scale = 1.0 if name in LINEAR_MEASURES else float(mixed.amount(QUOTIENT_MEASURES[name][1]))
            multipliers[name] = max(multipliers.get(name, 0.0), -float(dual) * scale)
        return _Mixture(shares, multipliers)
