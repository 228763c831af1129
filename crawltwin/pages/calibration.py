"""The report of a calibration: the cross-check on random crawlers, its scores against the normal law."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from crawltwin.report import (
    Block,
    Cell,
    Code,
    Column,
    Figure,
    Points,
    Report,
    Section,
    Table,
    Text,
    draw,
    gather,
    style_axes,
)
from crawltwin.report.drawing import COLOURS, FAINT
from validate.calibration import LEVEL, Calibration
from validate.score_tests import probability_plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SAMPLE = ("scenarios", "mean", "deviation", "A²", "p (A²)", "beyond 95%", "p (binomial)")

_NOT_CALIBRATED = (
    "That the cross-check is calibrated: a test above rejects the normal law, a scenario stands out, an identity fails "
    "or there are too many false alarms."
)


def calibration_report(calibration: Calibration, command: str) -> Report:
    """The calibration with its picture."""
    pooled = calibration.pooled
    word = "calibrated" if calibration.sound else "not calibrated"
    outliers: list[Block] = [
        Points([f"{one.measure} of scenario {one.index}: score {one.score:.2f}" for one in calibration.outliers]),
        *[Code(one.command) for one in calibration.outliers],
    ]
    return Report(
        "Calibration of the cross-check on random crawlers",
        [
            f"{calibration.count} random scenarios, solved and simulated: **{word}**.",
            f"One number per scenario: Anderson-Darling p = {pooled.p_anderson_darling:.3f}.",
            f"{pooled.beyond} of {len(pooled.scores)} scores lie beyond the 95% limits (p = {pooled.p_binomial:.3f}).",
            f"{calibration.false_alarms} false alarms; a share of {1 - calibration.plan.confidence:.0%} is nominal.",
        ],
        [
            Section(
                "Scores against the normal law",
                [
                    calibration_figure(calibration),
                    Table(
                        "Samples of one score per scenario against the standard normal law",
                        ["sample", *[Column(head, "number") for head in _SAMPLE]],
                        [
                            tuple(
                                Cell(value, f"{value:.3g}") if isinstance(value, float) else value
                                for value in one.to_json().values()
                            )
                            for one in (pooled, *calibration.by_measure)
                        ],
                        name="samples",
                    ),
                    Text(
                        "A² is the distance of Anderson and Darling from the normal law, p (A²) the chance of a larger "
                        "one in a sound sample; p (binomial) is that of so many scores beyond the 95% limits."
                    ),
                ],
            ),
            Section(
                "Scenarios that stand out",
                outliers
                if calibration.outliers
                else [Text(f"None at level {LEVEL:g} after Bonferroni's correction over all numbers.")],
            ),
        ],
        gather(
            seeds=[calibration.seed],
            seconds={"all scenarios, summed": calibration.seconds},
            libraries=("simpy",),
        ),
        command,
        [*calibration.broken, *([] if calibration.sound else [_NOT_CALIBRATED])],
        {"calibration": calibration.to_json()},
    )


def calibration_figure(calibration: Calibration) -> Figure:
    """Normal probability plot: one number per scenario, the measures, and a band that 95% of sound samples stay in."""
    scores, normal = probability_plot(calibration.pooled.scores)
    low, high = plot_band(len(scores))

    def paint(axes: Axes) -> None:
        axes.fill_between(normal, low, high, color=FAINT, alpha=0.25, linewidth=0, label="95% of sound samples")
        for index, one in enumerate(calibration.by_measure):
            own, expected = probability_plot(one.scores)
            axes.plot(
                expected,
                own,
                color=COLOURS[1],
                marker="",
                linewidth=0.7,
                alpha=0.45,
                label="each measure by itself" if index == 0 else None,
            )
        axes.plot(normal, normal, color=FAINT, marker="", linewidth=1)
        axes.plot(
            normal, scores, color=COLOURS[0], marker="o", markersize=3, linestyle="", label="one number per scenario"
        )
        style_axes(axes, "standard normal quantile", "difference in standard errors")

    return draw(
        "calibration",
        paint,
        f"Differences between solved and simulated numbers in standard errors, over {calibration.count} random "
        "scenarios, against the normal law.",
        "A normal probability plot. Points, one number of each scenario, against the diagonal and a grey band"
        + ("; thin lines for the single measures." if calibration.by_measure else "."),
        height=3.8,
        data={"scores": scores.tolist(), "normal": normal.tolist()},
    )


def plot_band(count: int, share: float = 0.95) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Limits that a normal sample's ordered scores all stay inside with probability `share` (equal local levels).

    The ordered uniforms are beta variables; the common local level is found on simulated samples.
    """
    ranks = np.arange(1, count + 1)
    sample = np.sort(np.random.default_rng(20_040_229).random((2000, count)), axis=1)
    below = stats.beta.cdf(sample, ranks, count + 1 - ranks)
    extreme = np.minimum(below, 1 - below).min(axis=1)
    local = float(np.quantile(extreme, 1 - share))
    low, high = (stats.norm.ppf(stats.beta.ppf(p, ranks, count + 1 - ranks)) for p in (local, 1 - local))
    return np.asarray(low), np.asarray(high)
