"""The two sides number by number: solved value, simulated value, standard error, margin."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from analytic import Solution
from crawltwin.model import SCALAR_MEASURES
from crawltwin.model.checks import FloatArray
from validate.estimates import FATES, TOO_FEW, Estimate, Estimates
from validate.plan import ValidationPlan
from validate.verdict import Comparison

MOST_CLASSES = 40
"""More levels than this are put together in classes of neighbours of about equal probability."""
ROUNDING = 1e-9
"""Relative differences below this are rounding, of either side."""

_FATE_OF = {"mean_sojourn_served": "served", "mean_sojourn_obsolete": "obsolete"}
_PAGE_SHARES = ("loss_probability", "obsolescence_probability", "success_probability")


@dataclass(frozen=True)
class _Pair:
    """Makes comparisons that share a plan, a solution and a sample."""

    solution: Solution
    estimates: Estimates
    plan: ValidationPlan

    def make(
        self, measure: str, part: str, solved: float, found: Estimate | None, cases: float = math.inf
    ) -> Comparison:
        """One comparison; `cases` is how many pages the simulated value rests on."""
        value, error = (math.nan, math.inf) if found is None else (found.value, found.error)
        if cases < TOO_FEW or not math.isfinite(value + error):
            value, error = solved if not math.isfinite(value) else value, math.inf
        own = max(self.solution.solver.error_estimate, ROUNDING) * abs(solved)
        margin = self.plan.margin_of(measure, solved)
        return Comparison(measure, part, solved, value, error, self.estimates.freedom, margin, own)

    def share(self, measure: str, part: str, solved: float, found: Estimate, among: int) -> Comparison:
        """A probability: a rare one has at least the error of independent pages, whatever the replications say.

        Where few or no cases were seen, the replications agree for lack of events, not for lack of variance.
        """
        error, rare = found.error, min(solved, 1 - solved)
        if rare > 0 and rare * among < TOO_FEW:
            error = max(error, math.sqrt(rare * (1 - rare) / among))
        return self.make(measure, part, solved, Estimate(found.value, error))


def compare(solution: Solution, estimates: Estimates, plan: ValidationPlan) -> tuple[Comparison, ...]:
    """Every number that the plan lists and that exists on the solved side.

    Cost: that of the solved sojourn-time quantiles, a few hundred sparse products for each unit of (fastest rate)
    (longest sojourn time).
    """
    pair = _Pair(solution, estimates, plan)
    found = [*_scalars(pair), *_levels(pair), *_modes(pair), *_points(pair), *_quantiles(pair)]
    return tuple(one for one in found if one.measure in plan.measures)


def _scalars(pair: _Pair) -> list[Comparison]:
    found = []
    for name in SCALAR_MEASURES:
        solved = pair.solution.measures.get(name)
        if solved is None:
            continue
        simulated = pair.estimates.scalars.get(name)
        if name in _PAGE_SHARES and simulated is not None:
            found.append(pair.share(name, "", solved, simulated, pair.estimates.decided))
        elif name == "starvation_probability" and simulated is not None:
            found.append(pair.share(name, "", solved, simulated, pair.estimates.pages))
        else:
            cases = pair.estimates.cases(_FATE_OF[name]) if name in _FATE_OF else math.inf
            found.append(pair.make(name, "", solved, simulated, cases))
    return found


def level_classes(probabilities: FloatArray) -> tuple[tuple[int, int], ...]:
    """First and last level of each class: single levels, or neighbours of about equal weight where there are many.

    Examples
    --------
    >>> level_classes(np.array([0.5, 0.25, 0.25]))
    ((0, 0), (1, 1), (2, 2))
    """
    if probabilities.size <= MOST_CLASSES:
        return tuple((level, level) for level in range(probabilities.size))
    below = np.cumsum(probabilities) - probabilities / 2
    label = np.minimum((below / probabilities.sum() * MOST_CLASSES).astype(int), MOST_CLASSES - 1)
    return tuple(
        (int(np.flatnonzero(label == one)[0]), int(np.flatnonzero(label == one)[-1])) for one in np.unique(label)
    )


def _levels(pair: _Pair) -> list[Comparison]:
    solved = np.array(pair.solution.measures["level_distribution"])
    classes = level_classes(solved)
    member = np.zeros((solved.size, len(classes)))
    for column, (first, last) in enumerate(classes):
        member[first : last + 1, column] = 1.0
    values, errors = pair.estimates.level_shares(member)
    return [
        pair.share(
            "level_distribution",
            str(first) if first == last else f"{first}-{last}",
            float(solved[first : last + 1].sum()),
            Estimate(float(value), float(error)),
            pair.estimates.pages,
        )
        for (first, last), value, error in zip(classes, values, errors, strict=True)
    ]


def _modes(pair: _Pair) -> list[Comparison]:
    modes = pair.solution.mode_probabilities
    robots = pair.estimates.reading.robots
    member = np.stack([robots == number for number in modes], axis=1).astype(np.float64)
    values, errors = pair.estimates.level_shares(member)
    return [
        pair.share(
            "mode_probabilities", str(number), solved, Estimate(float(value), float(error)), pair.estimates.pages
        )
        for (number, solved), value, error in zip(modes.items(), values, errors, strict=True)
    ]


def _points(pair: _Pair) -> list[Comparison]:
    found = []
    for fate in FATES:
        cases = pair.estimates.cases(fate)
        positions: dict[int, None] = {}
        for order in pair.plan.points:
            solved_at = pair.solution.sojourn.quantile(order, fate)
            if solved_at is not None and cases > 0:
                positions[pair.estimates.edge_near(solved_at)] = None
        for position in positions:
            limit = float(pair.estimates.edges[position])
            law = pair.solution.sojourn.cdf([limit], fate)
            assert law is not None
            simulated = pair.estimates.below(fate, position)
            found.append(pair.share("sojourn_distribution", f"{fate}, {limit:.6g}", float(law[0]), simulated, cases))
    return found


def _quantiles(pair: _Pair) -> list[Comparison]:
    found = []
    for fate in FATES:
        for order in pair.plan.quantiles:
            solved = pair.solution.sojourn.quantile(order, fate)
            if solved is None:
                continue
            simulated = pair.estimates.quantile(fate, order)
            few = pair.estimates.cases(fate) * min(order, 1 - order)
            found.append(pair.make("sojourn_quantiles", f"{fate}, {order:g}", solved, simulated, few))
    return found
