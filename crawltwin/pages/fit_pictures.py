"""Pictures of a fit: the trace over time, and the model beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from crawltwin.plan.wording import in_time, unit_of_time
from crawltwin.report import COLOURS, Figure, draw, style_axes
from crawltwin.report.drawing import FAINT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fitting import FitResult
    from fitting.season.season import Season
    from validate.logs.losses import LossAgreement

POINTS = 3000
"""Points that a picture of the whole trace shows at most."""


def gaps_over_time(result: FitResult) -> Figure:
    """Gaps between pages over time, with the cuts."""
    seconds = result.log.seconds
    gaps = np.diff(seconds)
    floor = max(float(result.log.account()["resolution"]) / 2, 1e-9)
    x, y = _thinned(seconds[1:], np.maximum(gaps, floor))
    factor, unit = unit_of_time(float(seconds[-1]))

    def paint(axes: Axes) -> None:
        axes.plot(x * factor, y, ".", markersize=2, color=COLOURS[0], label="gap")
        if math.isfinite(result.cleaning.limit) and result.cleaning.limit < gaps.max() * 1e3:
            axes.axhline(result.cleaning.limit, color=COLOURS[1], marker="", label="pause limit")
        for stretch in result.cleaning.stretches[1:200]:
            axes.axvline(stretch.begin * factor, color=FAINT, linewidth=0.8, marker="", linestyle="--")
        axes.set_yscale("log")
        style_axes(axes, f"{unit} since the first page", "gap, s")

    return draw(
        "gaps-over-time",
        paint,
        f"Gaps between pages over time; {_cut(result.cleaning.pauses)}.",
        f"Points of gaps from {y.min():.3g} to {y.max():.3g} seconds over {in_time(float(seconds[-1]))}.",
    )


def _cut(pauses: int) -> str:
    """How many pauses were cut out, in words."""
    return (
        "no pause was cut" if not pauses else f"{pauses} {'pause was' if pauses == 1 else 'pauses were'} cut (dashed)"
    )


def counts_over_time(result: FitResult) -> Figure:
    """Pages per second of each interval, with the rates of the model's phases."""
    data = result.batches.segments
    rate = data.sizes / data.gaps
    x, y = _thinned(np.cumsum(data.gaps), rate)
    rates = sum(k * Dk for k, Dk in enumerate(result.process.D)).sum(axis=1)  # type: ignore[union-attr]

    def paint(axes: Axes) -> None:
        axes.plot(x, y, ".", markersize=3, color=COLOURS[0], label="interval")
        for index, one in enumerate(rates):
            axes.axhline(one, color=COLOURS[1], marker="", linewidth=1, label="" if index else "rate in a phase")
        style_axes(axes, "seconds, pauses left out", "pages per second")
        axes.set_ylim(bottom=0)

    return draw(
        "counts-over-time",
        paint,
        f"Pages per second of {len(data)} intervals, and the rate in each phase of the model.",
        f"Points between {y.min():.3g} and {y.max():.3g} pages per second, and a level line for each phase.",
    )


def rate_over_time(result: FitResult) -> Figure:
    """The mean gap along the trace, with its levels."""
    data = result.batches.segments
    windows = max(2, min(120, len(data) // 20))
    width = len(data) // windows
    means = data.gaps[: windows * width].reshape(windows, width).mean(axis=1)
    points = result.stationarity.change_points

    def paint(axes: Axes) -> None:
        axes.plot(np.arange(windows) * width, means, color=COLOURS[0], markersize=2, label=f"mean of {width} gaps")
        borders = [0, *points, len(data)]
        for index, level in enumerate(result.stationarity.levels):
            axes.plot(
                borders[index : index + 2],
                [level, level],
                color=COLOURS[1],
                marker="",
                linewidth=2,
                label="level" if index == 0 else "",
            )
        style_axes(axes, "gap number, pauses left out", "mean gap, s")
        axes.set_ylim(bottom=0)

    found = f"{len(points) or 'no'} change{'s' if len(points) > 1 else ''} of level"
    return draw(
        "mean-gap-over-time",
        paint,
        f"The mean gap along the trace: {found}.",
        f"A curve of the mean of {width} gaps at a time, between {means.min():.3g} and {means.max():.3g} seconds.",
    )


def gap_distribution(result: FitResult) -> Figure:
    """Share of longer gaps, trace and model."""
    gaps = np.sort(result.segments.gaps)
    above = 1 - (np.arange(gaps.size) + 0.5) / gaps.size
    kept = np.unique(
        np.concatenate(
            [
                np.linspace(0, gaps.size - 1, min(400, gaps.size)),
                gaps.size - 1 - np.geomspace(1, gaps.size, 200) + 1,
            ]
        )
        .astype(np.int64)
        .clip(0, gaps.size - 1)
    )
    grid = np.geomspace(gaps[0], gaps[-1], 200)
    survival = np.maximum(result.chosen.model.survival(grid), 1e-12)

    def paint(axes: Axes) -> None:
        axes.plot(gaps[kept], above[kept], ".", markersize=3, color=COLOURS[0], label="trace")
        axes.plot(grid, survival, color=COLOURS[1], marker="", label="model")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_ylim(bottom=0.2 / gaps.size)
        style_axes(axes, "gap, s", "share of longer gaps")

    return draw(
        "gap-distribution",
        paint,
        "Share of gaps that are longer, trace and model.",
        "Two falling curves on logarithmic scales, one of the trace and one of the model.",
    )


def correlations(result: FitResult) -> Figure:
    """Correlations of the gaps, trace and model, with Bartlett's band."""
    good = result.goodness
    n, what = len(result.batches.segments), "counts" if result.counted else "gaps"
    # Bartlett's band for a process with the model's own correlations: 1.96 sqrt((1 + 2 sum rho^2)/n) at each lag.
    before = np.concatenate([[0.0], np.cumsum(good.model_correlations**2)[:-1]])
    band = 1.96 * np.sqrt((1 + 2 * before) / n)

    def paint(axes: Axes) -> None:
        axes.fill_between(
            good.lags,
            good.model_correlations - band,
            good.model_correlations + band,
            color=COLOURS[1],
            alpha=0.2,
            linewidth=0,
            label="95% band of the model",
        )
        axes.plot(good.lags, good.trace_correlations, ".", markersize=4, color=COLOURS[0], label="trace")
        axes.plot(good.lags, good.model_correlations, color=COLOURS[1], marker="", label="model")
        axes.axhline(0, color=FAINT, linewidth=0.8, marker="")
        style_axes(axes, "lag", f"correlation of {what}", whole_x=True)

    first = good.trace_correlations[0]
    return draw(
        "correlations",
        paint,
        f"Correlations of the {what} to lag {int(good.lags[-1])}, trace and model.",
        f"Points of the trace starting at {first:.3g} and a curve of the model starting at "
        f"{good.model_correlations[0]:.3g}.",
        data={"lag": good.lags.tolist(), "model": good.model_correlations.tolist()},
    )


def dispersion(result: FitResult) -> Figure:
    """Indices of dispersion, trace and model."""
    good = result.goodness

    def paint(axes: Axes) -> None:
        axes.plot(good.horizons, good.trace_idc, "o", linestyle="", color=COLOURS[0], label="counts, trace")
        axes.plot(good.horizons, good.model_idc, color=COLOURS[0], marker="", label="counts, model")
        scale = good.horizons[0]
        if good.spans.size:
            axes.plot(good.spans * scale, good.trace_idi, "s", linestyle="", color=COLOURS[1], label="intervals, trace")
            axes.plot(good.spans * scale, good.model_idi, color=COLOURS[1], marker="", label="intervals, model")
        axes.set_xscale("log")
        axes.set_yscale("log")
        style_axes(axes, "seconds (for intervals: number of gaps times their mean)", "index of dispersion")

    return draw(
        "dispersion",
        paint,
        "Burstiness over longer and longer times: indices of dispersion for counts and intervals.",
        "Points of the trace and curves of the model over time on logarithmic scales.",
    )


def _thinned(x: Any, y: Any) -> tuple[Any, Any]:
    """At most `POINTS` points: the largest and the smallest of every bin, so that no pause is lost."""
    if len(x) <= POINTS:
        return x, y
    bins = np.array_split(np.arange(len(x)), POINTS // 2)
    kept = np.unique([index for part in bins for index in (part[np.argmin(y[part])], part[np.argmax(y[part])])])
    return x[kept], y[kept]


def pace_picture(season: Season, policies: Sequence[str] = ()) -> Figure:
    """The pace over the period with its parts, and the policy of each where there is one."""
    pace = season.pace
    assert pace is not None
    unit, words = (86400.0, "days") if season.period > 2 * 86400.0 else (3600.0, "hours")
    edges = np.linspace(0, season.period / unit, pace.cells.size + 1)
    shown = np.where(pace.seen, pace.cells, np.nan)
    # A part that goes on over the end of the period is drawn in two pieces.
    pieces = [
        (part, [(part.begin, part.end)] if part.begin < part.end else [(part.begin, season.period), (0.0, part.end)])
        for part in pace.parts
        if part.share > 0
    ]
    names = list(dict.fromkeys(policies))

    def paint(axes: Axes) -> None:
        axes.stairs(shown, edges, color=COLOURS[0], linewidth=1.4, label="pace", baseline=None)
        for index, (part, ranges) in enumerate(pieces):
            colour = COLOURS[1 + names.index(policies[index]) % (len(COLOURS) - 1)] if policies else COLOURS[1]
            for begin, end in ranges:
                axes.fill_between([begin / unit, end / unit], 0, part.pace, color=colour, alpha=0.25, linewidth=0)
                if policies:
                    axes.text((begin + end) / 2 / unit, 0.03, policies[index], ha="center", va="bottom")
        style_axes(axes, f"{words} of the {season.name}{', UTC' if season.utc else ''}", "rate over its mean")
        axes.set_xlim(0, season.period / unit)
        axes.set_ylim(bottom=0)

    parts = ", ".join(f"{part.pace:.2f} from {pace.time(part.begin)} to {pace.time(part.end)}" for part, _ in pieces)
    return draw(
        "pace-and-policies" if policies else "pace",
        paint,
        f"The rate over the {season.name}, relative to its mean ({pace.form}); shaded: its parts"
        + (" with the policy of each." if policies else "."),
        f"A staircase of the pace; parts: {parts}.",
        data={"pace": [float(x) if math.isfinite(x) else None for x in shown], "policies": list(policies)},
    )


def losses_by_load(check: LossAgreement) -> Figure:
    """Losses of the recorded trace, of the fitted model and of a Poisson stream."""
    loads = [row.load for row in check.rows]

    def paint(axes: Axes) -> None:
        spread = [[row.replayed - row.low for row in check.rows], [row.high - row.replayed for row in check.rows]]
        axes.errorbar(
            loads, [row.replayed for row in check.rows], np.maximum(spread, 0), fmt="o", capsize=4, label="trace"
        )
        axes.plot(loads, [row.solved for row in check.rows], label="model")
        axes.plot(loads, [row.poisson for row in check.rows], label="Poisson stream")
        style_axes(axes, "load of the indexer", "share of pages lost")
        axes.set_ylim(bottom=0)

    return draw(
        "replay",
        paint,
        f"Losses with {check.capacity} places: the recorded trace, the fitted model, a Poisson stream.",
        "Points of the trace with intervals, a curve of the model near them and one of a Poisson stream below.",
    )
