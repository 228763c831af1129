"""Figures 1 to 4 of the founding paper redrawn from our numbers, and Table 5 with the rounding of its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from crawltwin.report.blocks import Figure
from crawltwin.report.drawing import COLOURS, FAINT, draw, style_axes
from validate.paper.figures.curves import Curve
from validate.paper.reproduction import Reproduction, RoundingInterval

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def pictures(found: Reproduction) -> tuple[Figure, ...]:
    """The four figures, in the order of the paper."""
    curves = found.figures
    lowest = min(curves["1"], key=lambda curve: min(curve.costs))
    return (
        _curves(
            "figure-1",
            curves["1"],
            "Figure 1, redrawn: cost over the threshold for every pair of robots. The lowest point is robots "
            f"{lowest.label} at threshold {lowest.best}: {min(lowest.costs):.2f}.",
        ),
        _curves(
            "figure-2",
            curves["2"],
            "Figure 2, redrawn: robots 3 or 1 while the variance of the service time grows at the same mean. Every "
            "curve rises, and from variance 5.19 on the best threshold is 1 instead of 2.",
        ),
        _curves(
            "figure-3",
            curves["3"],
            "Figure 3, redrawn: the same with the best pair of robots at each variance. The two lower curves are "
            "robots 3 or 1, the three upper ones robots 4 or 1.",
        ),
        _curves(
            "figure-4",
            curves["4"],
            "Figure 4, redrawn: robots 3 or 1 while the variance of the obsolescence time grows at the same mean. "
            f"The best threshold falls: {', '.join(str(curve.best) for curve in curves['4'])}.",
        ),
    )


def rounding_picture(intervals: Sequence[RoundingInterval]) -> Figure:
    """Table 5: what rounding allows, relative to the print."""

    def paint(axes: Axes) -> None:
        for place, item in enumerate(reversed(intervals)):
            low, high = (100 * (value / item.printed - 1) for value in (item.low, item.high))
            axes.plot([low, high], [place, place], color=COLOURS[0], linewidth=4, marker="", alpha=0.55)
            axes.plot([100 * (item.as_printed / item.printed - 1)], [place], color=COLOURS[1], marker="s", linestyle="")
            axes.plot([100 * (item.witness / item.printed - 1)], [place], color=COLOURS[2], marker="o", linestyle="")
        axes.axvline(0, color=FAINT, linewidth=1, marker="")
        axes.set_yticks(range(len(intervals)), [_label(item) for item in reversed(intervals)])
        axes.plot([], [], color=COLOURS[0], linewidth=4, marker="", alpha=0.55, label="allowed by rounding")
        axes.plot([], [], color=COLOURS[1], marker="s", linestyle="", label="A as printed")
        axes.plot([], [], color=COLOURS[2], marker="o", linestyle="", label="inputs that meet the table")
        style_axes(
            axes,
            "difference from the printed cost, percent",
            "robots",
        )

    return draw(
        "table-5-rounding",
        paint,
        "Table 5 and the rounding of its inputs. Every printed cost (0%) lies inside the bar that rounding allows; "
        "with A as printed all costs come out about 0.2% high, and one set of inputs within the rounding meets them "
        "all.",
        "A bar for each policy from about -0.5 to +0.8 percent around the printed cost, squares at about +0.2 "
        "percent, dots at zero.",
        height=4.2,
        data={
            "robots": [_label(item) for item in intervals],
            "low": [i.low for i in intervals],
            "high": [i.high for i in intervals],
        },
    )


def _curves(name: str, curves: Sequence[Curve], caption: str) -> Figure:
    def paint(axes: Axes) -> None:
        for curve in curves:
            axes.plot(range(len(curve.costs)), curve.costs, label=curve.label)
        style_axes(
            axes,
            "threshold",
            "cost",
            whole_x=True,
        )

    words = "; ".join(
        f"{curve.label}: {', '.join(f'{cost:.1f}' for cost in curve.costs)} at thresholds 0 to {len(curve.costs) - 1}"
        for curve in curves
    )
    data = {curve.label: list(curve.costs) for curve in curves}
    return draw(name, paint, caption, f"Curves of the cost. {words}.", height=3.8, data=data)


def _label(item: RoundingInterval) -> str:
    robots = ",".join(map(str, item.robots))
    return robots if not item.thresholds else f"{robots} at {','.join(map(str, item.thresholds))}"
