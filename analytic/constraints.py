r"""The best policy under constraints, and the Lagrange multipliers that section 2 of the paper mentions.

**One policy.** Of the compared policies that keep every constraint, the cheapest.

**A mixture.** Running policy k for a share :math:`w_k` of the time, in long stretches, mixes all rates linearly. A
bound on a quotient is linear too: loss probability at most b means :math:`\sum_k w_k (\text{lost}_k -
b\,\text{pages}_k) \le 0`. The shares that keep all bounds form a polytope P, and the cost of a mixture is
:math:`c\cdot w + a\,(g\cdot w)/(h\cdot w)`: linear costs, and the response time as the quotient of the mixed rates.
That is minimised as in `analytic.decision`: for :math:`V = g\cdot w/h\cdot w` in an interval the cost is at least the
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
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

from analytic.optimum import Optimum
from analytic.pareto import as_thresholds
from analytic.rewards import RATES, cost_of_rates, measures_of_rates
from analytic.sensitivity import QUOTIENTS
from analytic.solution import versions
from crawltwin.model import Fault, InputError
from crawltwin.model.checks import FloatArray

LINEAR: Mapping[str, str] = {
    "arrival_rate": "pages",
    "loss_rate": "lost",
    "starvation_probability": "starvation",
    "mean_active_robots": "robots",
    "mean_pages": "level",
}
"""Measures that are linear rates themselves."""

CONSTRAINABLE = (*LINEAR, *(name for name in QUOTIENTS if name != "mean_sojourn_obsolete"))
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
    robots, thresholds : tuple of int
    cost : float
    measures : mapping
    share : float
        Of the time; 1 for a policy on its own.
    """

    robots: tuple[int, ...]
    thresholds: tuple[int, ...]
    cost: float
    measures: Mapping[str, float]
    share: float = 1.0

    def to_json(self) -> dict[str, Any]:
        """Plain numbers."""
        return {
            "robots": list(self.robots),
            "thresholds": list(self.thresholds),
            "share": self.share,
            "cost": self.cost,
            "measures": dict(self.measures),
        }


@dataclass(frozen=True)
class Constrained:
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
        For each constraint what one more unit of its bound saves: minus the derivative of `mixture_cost`.
    feasible, compared : int
        Policies that keep the constraints, and all that were compared.
    complete : bool
        Whether every threshold policy was compared.
    attainable : mapping
        For each constraint the best value any compared policy reaches.
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
    attainable: Mapping[str, float]

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
            "attainable": dict(self.attainable),
            "versions": versions(),
        }


def constrain(
    optimum: Optimum, at_most: Mapping[str, float] | None = None, at_least: Mapping[str, float] | None = None
) -> Constrained:
    """The cheapest policy, and the cheapest mixture of policies, that keeps bounds on measures.

    Parameters
    ----------
    optimum : Optimum
        What `optimize` evaluated.
    at_most, at_least : mapping, optional
        Measure (one of `CONSTRAINABLE`) -> bound.

    Notes
    -----
    Cost: about a hundred linear programs with a column a policy and a row a constraint.

    Examples
    --------
    >>> from analytic import optimize
    >>> from crawltwin.model import examples
    >>> found = constrain(optimize(examples.load("paper")), at_most={"loss_probability": 0.15})
    >>> found.best.measures["loss_probability"] <= 0.15 and found.mixture_cost <= found.best.cost
    True
    """
    upper, lower = dict(at_most or {}), dict(at_least or {})
    _check(upper, lower)
    problem = _Problem(optimum, upper, lower)
    kept = problem.feasible()
    best = None
    if kept.any():
        index = int(np.flatnonzero(kept)[np.argmin(optimum.costs[kept])])
        best = problem.choice(index)
    mixed = problem.mixture()
    shares = np.zeros(0) if mixed is None else mixed.shares
    used = [int(k) for k in np.flatnonzero(shares > 1e-9)]
    rates = shares @ optimum.rates if mixed is not None else None
    assert optimum.scenario.cost is not None
    return Constrained(
        upper,
        lower,
        best,
        tuple(problem.choice(k, float(shares[k])) for k in sorted(used, key=lambda k: -shares[k])),
        None if rates is None else float(cost_of_rates(rates, optimum.scenario.cost)),
        {} if rates is None else _plain(rates),
        {} if mixed is None else mixed.multipliers,
        int(kept.sum()),
        len(optimum.tables),
        optimum.method == "enumerated",
        problem.attainable(),
    )


def _check(upper: Mapping[str, float], lower: Mapping[str, float]) -> None:
    faults = []
    if not upper and not lower:
        faults.append(Fault("at_most", "at least one constraint must be given; got none"))
    for place, given in (("at_most", upper), ("at_least", lower)):
        for name, bound in given.items():
            if name not in CONSTRAINABLE:
                faults.append(
                    Fault(f"{place}.{name}", f"{place} must bound one of {', '.join(CONSTRAINABLE)}; got {name!r}")
                )
            elif isinstance(bound, bool) or not isinstance(bound, int | float) or not np.isfinite(bound):
                faults.append(Fault(f"{place}.{name}", f"{place} must be a finite number; got {bound!r}"))
    if faults:
        raise InputError(faults)


def _plain(rates: FloatArray) -> dict[str, float]:
    return {name: float(value) for name, value in measures_of_rates(rates).items() if np.isfinite(value)}


@dataclass(frozen=True)
class _Mixture:
    shares: FloatArray
    multipliers: dict[str, float]


class _Problem:
    """Policies as columns of linear programs."""

    def __init__(self, optimum: Optimum, upper: Mapping[str, float], lower: Mapping[str, float]) -> None:
        assert optimum.scenario.cost is not None
        self.optimum, self.weights = optimum, optimum.scenario.cost
        self.bounds = [(name, bound, 1.0) for name, bound in upper.items()]
        self.bounds += [(name, bound, -1.0) for name, bound in lower.items()]
        self.column = dict(zip(RATES, optimum.rates.T, strict=True))
        self.measures = measures_of_rates(optimum.rates)
        w = self.weights
        self.linear: FloatArray = (
            w.loss * self.column["lost"]
            + w.obsolescence * self.column["obsolete"]
            + w.robots * self.column["robots"]
            + w.starvation * self.column["starvation"]
        )
        self.rows = np.array([self._row(name, bound, sign) for name, bound, sign in self.bounds])

    def _row(self, name: str, bound: float, sign: float) -> FloatArray:
        """Coefficients of one constraint, not positive where it is kept."""
        if name in LINEAR:
            return np.asarray(sign * (self.column[LINEAR[name]] - bound))
        above, below = QUOTIENTS[name]
        return np.asarray(sign * (self.column[above] - bound * self.column[below]))

    def feasible(self) -> npt.NDArray[np.bool_]:
        return np.asarray((self.rows <= 0).all(axis=0))

    def attainable(self) -> dict[str, float]:
        return {
            name: float(np.nanmin(self.measures[name]) if sign > 0 else np.nanmax(self.measures[name]))
            for name, _, sign in self.bounds
        }

    def choice(self, index: int, share: float = 1.0) -> Choice:
        robots, thresholds = as_thresholds(self.optimum.tables[index].tolist())
        return Choice(robots, thresholds, float(self.optimum.costs[index]), _plain(self.optimum.rates[index]), share)

    def _program(self, objective: FloatArray) -> Any:
        count = objective.size
        return linprog(
            objective,
            A_ub=self.rows,
            b_ub=np.zeros(len(self.rows)),
            A_eq=np.ones((1, count)),
            b_eq=[1.0],
            method="highs",
        )

    def _tangent(self, multiplier: float, V: float) -> FloatArray:
        g, h = self.column["sojourn_served"], self.column["served"]
        return np.asarray(self.linear + multiplier * (g - V * h))

    def mixture(self) -> _Mixture | None:
        """The cheapest mixture, by halving intervals of the response time."""
        first = self._program(self.linear)
        if not first.success:
            return None
        a, g, h = self.weights.response, self.column["sojourn_served"], self.column["served"]
        if a == 0:
            return self._read(first.x, first)
        served = h > 0
        times = g[served] / h[served]
        shares, best = first.x, self._cost(first.x)
        heap = [(-np.inf, float(times.min()), float(times.max()), a / float(h @ shares))]
        for _ in range(MAX_INTERVALS):
            if not heap or heap[0][0] >= best - TOLERANCE * abs(best):
                break
            bound, low, high, multiplier = heapq.heappop(heap)
            ends = [self._program(self._tangent(multiplier, V)) for V in (low, high)]
            found = self._along(ends[0].x, ends[1].x)
            if self._cost(found) < best:
                shares, best = found, self._cost(found)
            totals = [end.fun + a * V for end, V in zip(ends, (low, high), strict=True)]
            bound = max(bound, min(totals))
            if bound >= best - TOLERANCE * abs(best) or high - low <= 1e-12 * high:
                continue
            worse = ends[int(totals[1] < totals[0])].x
            own = float(g @ worse / (h @ worse))
            margin = 0.1 * (high - low)
            middle = own if low + margin < own < high - margin else (low + high) / 2
            slopes = [float((g - V * h) @ end.x) for end, V in zip(ends, (low, high), strict=True)]
            if slopes[0] - slopes[1] > 1e-14:
                multiplier = max(0.0, multiplier + (totals[1] - totals[0]) / (slopes[0] - slopes[1]))
            heapq.heappush(heap, (bound, low, middle, multiplier))
            heapq.heappush(heap, (bound, middle, high, multiplier))
        multiplier, V = a / float(h @ shares), float(g @ shares / (h @ shares))
        return self._read(shares, self._program(self._tangent(multiplier, V)))

    def _cost(self, shares: FloatArray) -> float:
        return float(cost_of_rates(shares @ self.optimum.rates, self.weights))

    def _along(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """The cheapest mixture of two vertices: an end, or where the derivative vanishes."""
        g, h, c = self.column["sojourn_served"], self.column["served"], self.linear
        step = other - one
        g0, h0, dg, dh, dc = g @ one, h @ one, g @ step, h @ step, c @ step
        options = [one, other]
        square = -self.weights.response * (dg * h0 - g0 * dh) / dc if dc else -1.0
        if square > 0 and dh:
            t = (float(np.sqrt(square)) - h0) / dh
            if 0 < t < 1:
                options.append(one + t * step)
        return min(options, key=self._cost)

    def _read(self, shares: FloatArray, found: Any) -> _Mixture:
        shares = np.where(shares > 1e-9, shares, 0.0)
        shares = shares / shares.sum()
        mixed = dict(zip(RATES, shares @ self.optimum.rates, strict=True))
        multipliers = {}
        for (name, _, _), dual in zip(self.bounds, found.ineqlin.marginals, strict=True):
            # The bound b enters as -b times the measure's denominator: that is what one more unit of b is worth.
            scale = 1.0 if name in LINEAR else float(mixed[QUOTIENTS[name][1]])
            multipliers[name] = max(0.0, -float(dual) * scale)
        return _Mixture(shares, multipliers)
