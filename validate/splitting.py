"""A loss that is too rare to be counted, judged by splitting on the level.

The simulation finds its thresholds and its length by itself (`simulate.rare_loss`). All that the solved side decides is
beforehand: whether the loss is too rare, and the margin, which sets the precision that is asked for.
"""

from __future__ import annotations

import math

from scipy import stats

from analytic import Solution
from crawltwin.model.checks import count
from crawltwin.work.progress import ProgressCallback
from simulate import RareLoss, RareSettings, rare_loss
from validate.plan import ValidationPlan
from validate.verdict import Comparison, reach

RARE = "loss_probability"
"""The measure that splitting on the level can find."""
NEVER = 1e-12
"""A smaller loss is counted with the absolute margin, as 0 is: nobody will ever see one."""


def too_rare_to_count(plan: ValidationPlan, solved: float) -> bool:
    """Whether counting would prove nothing about a solved loss: 0 would do as well, or the budget ends first."""
    if RARE not in plan.measures or plan.rare_margin == 0 or plan.pages is not None or plan.engine != "compiled":
        return False
    if plan.absolute_margin:
        return NEVER < solved < plan.absolute_margin
    # Independent pages: a burst of losses asks for even more.
    return solved > NEVER and (reach(plan.confidence, plan.power) / plan.margin) ** 2 * (1 / solved - 1) > plan.budget


def relative_margin(plan: ValidationPlan) -> float:
    """The margin of a rare loss, as a share of its value."""
    return max(plan.margin, plan.rare_margin) if plan.absolute_margin else plan.margin


def compare_by_splitting(
    solution: Solution,
    plan: ValidationPlan,
    seed: int,
    workers: int | None = 1,
    cluster: str | None = None,
    progress: ProgressCallback | None = None,
) -> tuple[Comparison, str]:
    """The loss of both sides, and a note on how the simulated one was found.

    Cost: some seconds to some minutes for a margin of 5%, and with the inverse of its square.
    """
    solved, margin = float(solution.measures[RARE]), relative_margin(plan)
    own = max(solution.solver.error_estimate, 1e-9)
    freedom = RareSettings().replications - 1
    factor = stats.t.ppf(plan.confidence, freedom) + stats.t.ppf((1 + plan.power) / 2, freedom)
    wanted = max(margin - own, 1e-6) / float(factor)
    half_width = wanted * float(stats.t.ppf((1 + plan.confidence) / 2, freedom))
    settings = RareSettings(
        precision=half_width,
        most_pages=plan.budget,
        confidence=plan.confidence,
        seed=seed,
        workers=workers,
        cluster=cluster,
    )
    found = rare_loss(solution.scenario, settings, progress=progress)
    if found.interrupted:
        raise KeyboardInterrupt
    value = found.loss_probability.value
    comparison = Comparison(
        RARE, "", solved, value, standard_error(found, solved), freedom, margin * solved, own * solved, found.pages
    )
    levels = ", ".join(map(str, found.splits.levels)) or "none"
    note = (
        f"{RARE} is {solved:.2g}, too rare to be counted: it was found by splitting on the level ({count(found.pages)} "
        f"pages in all trials, thresholds {levels}) and judged to {margin:.2g} of its value"
    )
    return comparison, note


def standard_error(found: RareLoss, solved: float) -> float:
    """The error for which a difference has the score that Student's t gives its logarithm.

    The estimate is positive and skewed, so its logarithm is nearer to the normal law. The relative error times the
    logarithmic mean of both values turns one score into the other. Where no loss was seen, it is that of counting.
    """
    value = found.loss_probability.value
    if value == 0.0:
        pages = -math.log1p(-found.loss_probability.confidence) / found.loss_probability.high
        return math.sqrt(solved * (1 - solved) / pages)
    mean = solved if math.isclose(value, solved, rel_tol=1e-9) else (value - solved) / math.log(value / solved)
    return found.relative_error * mean
