"""The two sides number by number: solved value, simulated value, standard error, margin."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from analytic import Solution
from crawltwin.model import SCALAR_MEASURES
from crawltwin.model.checks import FloatArray
from crawltwin.model.measures import FATE_SHARES
from simulate import Estimate, Sample
from validate.parts import FATES, ActiveRobots, Levels, Part, SojournPoint, SojournQuantile
from validate.plan import ValidationPlan
from validate.verdict import Comparison

MOST_CLASSES = 40
"""More levels than this are put together in classes of neighbours of about equal probability."""
TOO_FEW = 100
"""Below this number of cases a standard error from replications cannot be trusted."""
ROUNDING = 1e-9
"""Relative differences below this are rounding, of either side."""
NEVER = Estimate(0.0, 0.0)
"""What was never seen."""

_FATE_OF = {"mean_sojourn_served": "served", "mean_sojourn_obsolete": "obsolete"}


@dataclass(frozen=True)
class _Pair:
    """Makes comparisons that share a plan, a solution and a sample."""

    solution: Solution
    sample: Sample
    plan: ValidationPlan

    def make(
        self, measure: str, part: Part | str, solved: float, found: Estimate | None, cases: float = math.inf
    ) -> Comparison:
        """One comparison; `cases` is how many pages the simulated value rests on."""
        value, error = (math.nan, math.inf) if found is None else (found.value, found.error)
        if min(cases, self.sample.pages) < TOO_FEW or not math.isfinite(value + error):
            error = math.inf
        own = max(self.solution.solver.error_estimate, ROUNDING) * abs(solved)
        margin = self.plan.margin_of(measure, solved, self.solution.measures["arrival_rate"])
        return Comparison(measure, part, solved, value, error, self.sample.freedom, margin, own, cases=cases)

    def share(self, measure: str, part: Part | str, solved: float, found: Estimate, among: int) -> Comparison:
        """A probability among so many pages."""
        return self.make(measure, part, solved, Estimate(found.value, share_error(solved, found.error, among)))


def share_error(solved: float, error: float, among: int) -> float:
    """The error of a probability: a rare one has at least that of independent pages, whatever the replications say.

    Where few or no cases were seen, the replications agree for lack of events, not for lack of variance. Among too few
    pages no probability can be told.
    """
    rare = min(solved, 1 - solved)
    if among < TOO_FEW:
        return math.inf
    return max(error, math.sqrt(rare * (1 - rare) / among)) if 0 < rare * among < TOO_FEW else error


def scalar_error(measure: str, solved: float, error: float, sample: Sample) -> float:
    """The error of a scalar measure whose cases may be rare: at least that of independent pages or events."""
    if measure in FATE_SHARES:
        return share_error(solved, error, sample.decided)
    if measure == "starvation_probability":
        return share_error(solved, error, sample.pages)
    if measure == "switch_rate" and 0 < solved * sample.time < TOO_FEW:
        return max(error, math.sqrt(solved / sample.time))
    return error


def compare(solution: Solution, sample: Sample, plan: ValidationPlan) -> tuple[Comparison, ...]:
    """Every number that the plan lists and that exists on the solved side.

    Cost: that of the solved sojourn-time quantiles, a few hundred sparse products for each unit of (fastest rate)
    (longest sojourn time).
    """
    pair = _Pair(solution, sample, plan)
    found = [*_scalars(pair), *_levels(pair), *_modes(pair), *_points(pair), *_quantiles(pair)]
    return tuple(one for one in found if one.measure in plan.measures)


def _scalars(pair: _Pair) -> list[Comparison]:
    found = []
    for name in SCALAR_MEASURES:
        solved = pair.solution.measures.get(name)
        if solved is None or name not in pair.sample.plain:
            continue
        simulated = pair.sample.scalars.get(name)
        if simulated is not None:
            simulated = Estimate(simulated.value, scalar_error(name, solved, simulated.error, pair.sample))
        cases = pair.sample.cases(_FATE_OF[name]) if name in _FATE_OF else math.inf
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
    values, errors = pair.sample.level_shares(member)
    return [
        pair.share(
            "level_distribution",
            Levels(first, last),
            float(solved[first : last + 1].sum()),
            Estimate(float(value), float(error)),
            pair.sample.pages,
        )
        for (first, last), value, error in zip(classes, values, errors, strict=True)
    ]


def _modes(pair: _Pair) -> list[Comparison]:
    seen = pair.sample.robot_estimates()
    # A number of robots that the simulated controller never wants has no time in any run.
    return [
        pair.share("mode_probabilities", ActiveRobots(number), solved, seen.get(number, NEVER), pair.sample.pages)
        for number, solved in pair.solution.mode_probabilities.items()
    ]


def _points(pair: _Pair) -> list[Comparison]:
    found = []
    for fate in FATES:
        cases = pair.sample.cases(fate)
        positions: dict[int, None] = {}
        for order in pair.plan.points:
            solved_at = pair.solution.sojourn.quantile(order, fate)
            if solved_at is not None and cases > 0:
                positions[pair.sample.edge_near(solved_at)] = None
        for position in positions:
            limit = float(pair.sample.edges[position])
            law = pair.solution.sojourn.cdf([limit], fate)
            assert law is not None
            simulated = pair.sample.below(fate, position)
            found.append(pair.share("sojourn_distribution", SojournPoint(fate, limit), float(law[0]), simulated, cases))
    return found


def _quantiles(pair: _Pair) -> list[Comparison]:
    found = []
    for fate in FATES:
        for order in pair.plan.quantiles:
            solved = pair.solution.sojourn.quantile(order, fate)
            if solved is None:
                continue
            simulated = pair.sample.quantile(fate, order)
            few = pair.sample.cases(fate) * min(order, 1 - order)
            found.append(pair.make("sojourn_quantiles", SojournQuantile(fate, order), solved, simulated, few))
    return found
