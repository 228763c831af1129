r"""One replayed log against many runs of the model over the same length: the rule of their agreement.

Let r be a number of the replayed log, x_1, ..., x_R the same number in the R runs, m the solved
value and :math:`\delta` the declared margin, a tenth by default: a fitted model is not the truth, so the question is
whether both agree within what matters to a plan.

* **equivalent**: r - x lies between :math:`-\delta` and :math:`\delta` but for a share :math:`\alpha` of the runs on
  either side (two one-sided tests whose law is that of the runs).
* **different**: not equivalent, and r is farther from the centre than the runs ever are: with scores in standard
  deviations of the runs, at most a share :math:`\alpha` of the runs has *any* number as far out as r (Westfall and
  Young's largest score, so that the claim holds for the whole family of numbers).
* **inconclusive**: neither.

All values are plain ratios of sums and all limits are quantiles of runs, so nothing leaves the range that is possible.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analytic import Solution
from crawltwin.model import SCALAR_MEASURES
from crawltwin.model.checks import FloatArray
from crawltwin.model.measures import PROBABILITIES
from simulate import Sample
from validate.comparison import ROUNDING
from validate.parts import Levels, Part
from validate.plan import ValidationPlan
from validate.verdict import Comparison, Verdict, Word, missing_pages


@dataclass(frozen=True)
class Prediction:
    """One number: what the model says of a stretch of the log's length, and what the log gave.

    Parameters
    ----------
    verdict : Verdict
        Its comparison holds the solved and the replayed value; `low` and `high` bound what a longer log would give.
    mean : float
        Of the model's runs.
    low, high : float
        Quantiles of the runs: where 95 of 100 lie, or as many as the confidence says.
    """

    verdict: Verdict
    mean: float
    low: float
    high: float

    @property
    def measure(self) -> str:
        """Name of the measure."""
        return self.verdict.comparison.measure

    @property
    def replayed(self) -> float:
        """What the log gave."""
        return self.verdict.comparison.simulated

    @property
    def inside(self) -> bool:
        """Whether the log gave what most runs of the model give."""
        return self.low <= self.replayed <= self.high

    def to_json(self) -> dict[str, Any]:
        """Plain numbers."""
        return {
            "predicted": self.mean,
            "low": self.low,
            "high": self.high,
            "replayed": self.replayed,
            "inside": self.inside,
            "verdict": self.verdict.word,
        }


@dataclass(frozen=True, eq=False)
class Number:
    """One number on both sides: solved, replayed, and in each run of the model (NaN where a run saw no such page)."""

    measure: str
    part: Part | str
    solved: float
    own_error: float
    margin: float
    replayed: float
    runs: FloatArray

    @property
    def known(self) -> bool:
        """Whether the replayed log and most of the runs have it."""
        return math.isfinite(self.replayed) and bool(np.isfinite(self.runs).mean() > 0.5)

    @property
    def seen(self) -> FloatArray:
        """The runs that have it."""
        return np.asarray(self.runs[np.isfinite(self.runs)])

    def scores(self, values: FloatArray | float, pages: int) -> FloatArray:
        """Distances from the mean of the runs, in standard deviations; a rare share has at least that of its pages."""
        rare = min(self.solved, 1 - self.solved) if self.measure in PROBABILITIES else 0.0
        spread = math.hypot(float(self.seen.std(ddof=1)), math.sqrt(max(rare * (1 - rare), 0.0) / max(pages, 1)))
        distance = np.maximum(np.abs(values - self.seen.mean()) - self.own_error, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(distance > 0, distance / spread, 0.0))

    def p_equivalence(self) -> float:
        """The larger of the two one-sided p-values."""
        room, apart = self.margin - self.own_error, self.replayed - self.seen
        return (1 + max(int((apart >= room).sum()), int((apart <= -room).sum()))) / (self.seen.size + 1)


def numbers_of(solution: Solution, replayed: Sample, runs: Sample, plan: ValidationPlan) -> list[Number]:
    """Every number that the plan lists and that exists on the solved side."""
    relative = max(solution.solver.error_estimate, ROUNDING)

    def number(measure: str, part: Part | str, solved: float, seen: float, in_runs: FloatArray) -> Number:
        margin = plan.margin_of(measure, solved, solution.measures["arrival_rate"])
        return Number(measure, part, solved, relative * abs(solved), margin, float(seen), in_runs)

    found = [
        number(name, "", solved, replayed.plain[name], runs.by_unit[name])
        for name in SCALAR_MEASURES
        if name in plan.measures and name in replayed.plain and (solved := solution.measures.get(name)) is not None
    ]
    if "level_distribution" in plan.measures:
        shares, seen = runs.reading.levels(runs.units.sums), replayed.reading.levels(replayed.total)
        for level, solved in enumerate(solution.measures["level_distribution"]):
            found.append(number("level_distribution", Levels(level, level), solved, seen[level], shares[:, level]))
    return found


def judge_runs(numbers: Sequence[Number], plan: ValidationPlan, pages: int) -> tuple[Prediction, ...]:
    """A prediction with its verdict for each number; what too few runs saw is `inconclusive`."""
    alpha = 1 - plan.confidence
    known = [one for one in numbers if one.known]
    farthest = np.nan_to_num([one.scores(one.runs, pages) for one in known]).max(axis=0) if known else np.zeros(0)
    found = []
    for one in numbers:
        if not one.known:
            found.append(_unknown(one))
            continue
        p_equivalence = one.p_equivalence()
        p_difference = float((1 + (farthest >= one.scores(one.replayed, pages)).sum()) / (farthest.size + 1))
        word: Word = "inconclusive"
        if p_equivalence <= alpha:
            word = "equivalent"
        elif p_difference <= alpha:
            word = "different"
        spread, freedom = float(one.seen.std(ddof=1)), one.seen.size - 1
        comparison = Comparison(
            one.measure, one.part, one.solved, one.replayed, spread, freedom, one.margin, one.own_error
        )
        most = 1.0 if one.measure in PROBABILITIES else math.inf
        above, below = np.quantile(one.seen, [1 - alpha, alpha])
        low, high = (min(max(one.solved + one.replayed - float(x), 0.0), most) for x in (above, below))
        more = missing_pages(comparison, alpha, plan.power, pages, len(known)) if word == "inconclusive" else None
        ends = np.quantile(one.seen, [alpha / 2, 1 - alpha / 2])
        verdict = Verdict(comparison, low, high, word, p_equivalence, p_difference, more)
        found.append(Prediction(verdict, float(one.seen.mean()), float(ends[0]), float(ends[1])))
    return tuple(found)


def _unknown(one: Number) -> Prediction:
    value = one.replayed if math.isfinite(one.replayed) else one.solved
    comparison = Comparison(one.measure, one.part, one.solved, value, math.inf, 1, one.margin, one.own_error)
    verdict = Verdict(comparison, -math.inf, math.inf, "inconclusive", 1.0, 1.0)
    mean, low, high = (float(x) for x in (one.seen.mean(), one.seen.min(), one.seen.max())) if one.seen.size else (
        one.solved, 0.0, math.inf,
    )  # fmt: skip
    return Prediction(verdict, mean, low, high)
