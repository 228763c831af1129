"""Reports of cross-checks and of calibrations: from results to blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from validate.calibration import LEVEL, Calibration, probability_plot
from validate.crosscheck import CrossCheck
from validate.report import (
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
from validate.report.draw import COLOURS, FAINT
from validate.verdict import Verdict, overall

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TONES: dict[str, Any] = {"equivalent": "good", "different": "bad", "inconclusive": "warn"}


def crosscheck_report(results: Sequence[CrossCheck], command: str) -> Report:
    """Everything that `crawltwin validate` found, for one or several scenarios."""
    plan = results[0].plan
    verdicts = [verdict for result in results for verdict in (*result.verdicts, *result.approach)]
    counts = {word: sum(one.word == word for one in verdicts) for word in _TONES}
    word = overall(verdicts) if all(i.holds for result in results for i in result.identities) else "different"
    found = ", ".join(f"{count} {word}" for word, count in counts.items())
    margins = f"a relative margin of {plan.margin:g} (probabilities: at least {plan.absolute_margin:g})"
    summary = [
        f"Solved against simulated, {len(results)} scenario{'s' if len(results) > 1 else ''}: **{word}**.",
        f"Of {len(verdicts)} numbers: {found}, at {margins} with {plan.confidence:.0%} confidence.",
        f"{sum(result.pages for result in results):,} pages were simulated for it.",
    ]
    sections = [_scenario_section(result, index, len(results)) for index, result in enumerate(results)]
    return Report(
        "Cross-check of the solved and the simulated side",
        summary,
        [_how(), *sections],
        gather(
            {f"{index + 1}: {result.scenario.title}": result.scenario for index, result in enumerate(results)},
            seeds=[plan.seed],
            seconds={"cross-check": sum(result.seconds for result in results)},
            libraries=("simpy", "statsmodels"),
        ),
        command,
        [
            f"{result.scenario.title or 'scenario'}: {one.comparison.name}: {one.needs}"
            for result in results
            for one in (*result.verdicts, *result.approach)
            if one.word == "inconclusive"
        ],
        {"results": [result.to_json() for result in results]},
    )


def _how() -> Section:
    return Section(
        "How to read this",
        [
            Points(
                [
                    "**equivalent**: the difference is below the margin, by two one-sided tests at the confidence.",
                    "Low and high are one-sided bounds at that confidence: both lie inside solved +- margin.",
                    "**different**: not the same number, at the confidence over all numbers together (Holm).",
                    "**inconclusive**: neither can be said yet; the pages that are missing are estimated.",
                    "That *all* numbers are equivalent holds at the confidence of a single one (intersection-union).",
                ]
            )
        ],
    )


def _scenario_section(result: CrossCheck, index: int, count: int) -> Section:
    label = f"Scenario {index + 1}: " if count > 1 else ""
    title = f"{label}{result.scenario.title or 'untitled'}"
    key = f"s{index + 1}"
    blocks: list[Any] = [
        Text(
            f"Verdict: **{result.verdict}**, from {result.pages:,} pages in {result.plan.replications} independent "
            f"replications ({result.plan.engine} engine). Length set by {result.length.limiting}."
        ),
        _table("Measures, levels, modes and sojourn times", result.verdicts, f"{key}-numbers"),
    ]
    if result.approach:
        blocks.append(
            _table("Approach to equilibrium: averages over [0, t] from empty", result.approach, f"{key}-approach")
        )
    blocks.append(
        Table(
            "What must hold exactly",
            ["side", "identity", Column("gap", "number"), Column("allowed", "number"), "holds"],
            [
                (i.side, i.name, i.gap, i.allowed, Cell("yes" if i.holds else "no", tone="good" if i.holds else "bad"))
                for i in result.identities
            ],
            name=f"{key}-identities",
        )
    )
    if result.notes:
        blocks.append(Points(result.notes))
    return Section(title, blocks)


def _table(caption: str, verdicts: Sequence[Verdict], name: str) -> Table:
    numbers = ("solved", "simulated", "low", "high", "margin", "score")
    return Table(
        caption,
        ["measure", "part", *[Column(head, "number") for head in numbers], "verdict"],
        [
            (
                one.comparison.measure,
                one.comparison.part,
                one.comparison.solved,
                *[_finite(value) for value in (one.comparison.simulated, one.low, one.high)],
                one.comparison.margin,
                _finite(one.comparison.score),
                Cell(one.word, one.needs, _TONES[one.word]),
            )
            for one in verdicts
        ],
        name=name,
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
            f"One number a scenario: Anderson-Darling p = {pooled.p_anderson_darling:.3f}.",
            f"{pooled.beyond} of {len(pooled.scores)} scores lie beyond the 95% limits (p = {pooled.p_binomial:.3f}).",
            f"{calibration.false_alarms} false alarms; a share of {1 - calibration.plan.confidence:.0%} is nominal.",
        ],
        [
            Section(
                "Scores against the normal law",
                [
                    calibration_figure(calibration),
                    Table(
                        "Samples of one score a scenario against the standard normal law",
                        [
                            "sample",
                            *[
                                Column(head, "number")
                                for head in (
                                    "scenarios",
                                    "mean",
                                    "standard deviation",
                                    "A²",
                                    "p (A²)",
                                    "beyond 95%",
                                    "p (binomial)",
                                )
                            ],
                        ],
                        [tuple(one.to_json().values()) for one in (pooled, *calibration.by_measure)],
                        name="samples",
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
            libraries=("simpy", "statsmodels"),
        ),
        command,
        calibration.broken,
        {"calibration": calibration.to_json()},
    )


def calibration_figure(calibration: Calibration) -> Figure:
    """Normal probability plot: one number a scenario, the measures, and a band that 95% of sound samples stay in."""
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
            normal, scores, color=COLOURS[0], marker="o", markersize=3, linestyle="", label="one number a scenario"
        )
        style_axes(axes, "standard normal quantile", "difference in standard errors")

    return draw(
        "calibration",
        paint,
        f"Differences between solved and simulated numbers in standard errors, over {calibration.count} random "
        "scenarios, against the normal law.",
        "A normal probability plot. Points, one number of each scenario, against the diagonal and a grey band; "
        "thin lines for the single measures.",
        size=(6.4, 4.6),
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


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
