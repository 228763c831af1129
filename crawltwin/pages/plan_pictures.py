"""Pictures of a plan: the backlog under the policy, who is best on resampled traces, how likely a full buffer is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from crawltwin.plan.wording import in_time
from crawltwin.report import COLOURS, Figure, draw, style_axes
from crawltwin.report.drawing import FAINT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from crawltwin.plan.evidence.resampling import Uncertainty


def levels_picture(masses: Sequence[float], robots: Sequence[int] | None) -> Figure:
    """Share of time with each number of pages, coloured by the number of robots that run there.

    Without `robots` their number is no function of the pages: it differs by part of the day.
    """
    wide = min(masses) < max(masses) / 50
    at = [] if robots is None else [robots[min(level, len(robots) - 1)] for level in range(len(masses))]

    def paint(axes: Axes) -> None:
        if not at:
            axes.bar(range(len(masses)), masses, color=COLOURS[0])
        for index, number in enumerate(sorted(set(at), reverse=True)):
            levels = [level for level, own in enumerate(at) if own == number]
            axes.bar(
                levels,
                [masses[level] for level in levels],
                color=COLOURS[index % len(COLOURS)],
                label=f"{number} robot{'s' if number > 1 else ''}",
            )
        axes.set_yscale("log" if wide else "linear")
        style_axes(axes, "pages in the system", "share of time", whole_x=True)

    scale = " (logarithmic)" if wide else ""
    likely = max(range(len(masses)), key=lambda level: masses[level])
    return draw(
        "levels",
        paint,
        f"How much of the time so many pages are in the system{scale}{', and how many robots run then' if at else ''}.",
        f"Bars for 0 to {len(masses) - 1} pages; the most likely number is {likely} with {masses[likely]:.3g} of the "
        f"time, a full system has {masses[-1]:.3g}.",
        data={"share": list(masses), **({"robots": at} if at else {})},
    )


def cost_picture(costs: Mapping[str, float]) -> Figure:
    """The terms of the cost as bars."""
    total = sum(costs.values())
    words = ", ".join(f"{name} {cost / total:.1%}" for name, cost in costs.items())
    caption = "Where the cost comes from under the recommended policy."
    return draw(
        "cost",
        _bars(costs, "cost"),
        caption,
        f"Bars, the largest first: {words}.",
        height=1.0 + 0.32 * len(costs),
        data={"cost": dict(costs)},
    )


def doubt_picture(policy: str, doubt: Uncertainty) -> Figure:
    """How often each policy is the best one over resampled traces, or keeps the limits where these decide."""
    shares = {policy: doubt.share} | {rival.policy: rival.share for rival in doubt.rivals}
    shown = dict(list(shares.items())[:12])
    is_so = "is the best one" if doubt.limits is None else "keeps the limits on numbers of pages"
    bars = _bars(shown, f"share of resampled traces on which it {is_so}")

    def paint(axes: Axes) -> None:
        bars(axes)
        axes.set_xlim(0, 1)
        axes.axvline(0.95, color=FAINT, linewidth=1, linestyle="--", marker="")

    words = ", ".join(f"{name} on {share:.0%}" for name, share in shown.items())
    return draw(
        "doubt",
        paint,
        f"How often {'each' if doubt.limits is None else 'the'} policy {is_so} when the log is resampled; dashed: 95%.",
        f"Bars: {words}.",
        height=1.2 + 0.32 * len(shown),
        data={"best": dict(shares)},
    )


def _bars(values: Mapping[str, float], label: str) -> Callable[[Axes], None]:
    """Horizontal bars, the first on top."""

    def paint(axes: Axes) -> None:
        axes.barh(range(len(values)), list(values.values()), color=COLOURS[0])
        axes.set_yticks(range(len(values)), list(values))
        axes.invert_yaxis()
        style_axes(axes, label, "")

    return paint


def backlog_picture(curve: Sequence[tuple[int, float]], within: float) -> Figure:
    """Probability that the backlog passes each limit within a time."""
    limits, chances = zip(*curve, strict=True)

    def paint(axes: Axes) -> None:
        axes.plot(limits, chances, color=COLOURS[0], marker="o")
        axes.set_ylim(0, 1.02)
        style_axes(axes, "more pages in the system than", "probability", whole_x=True)

    pairs = ", ".join(f"{limit}: {chance:.2g}" for limit, chance in curve)
    return draw(
        "backlog",
        paint,
        f"Probability that the backlog passes a limit within {in_time(within)}, from an empty system.",
        f"A falling curve over the limit: {pairs}.",
        data={"limits": list(limits), "probability": list(chances), "within": within},
    )
