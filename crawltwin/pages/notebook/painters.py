"""One function for each picture: a result goes in, a picture with its caption and its words comes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from crawltwin.model import ThresholdPolicy
from crawltwin.model.errors import InputError
from crawltwin.model.measures import MEASURES, SCALAR_MEASURES, unit_of
from crawltwin.pages.plan_pictures import backlog_picture, cost_picture, doubt_picture, levels_picture
from crawltwin.pages.regions import sweep_picture
from crawltwin.report import COLOURS, Figure, draw, style_axes
from crawltwin.report.drawing import FAINT, MARKERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from analytic import AbsorptionTime, Completion, Optimum, ParetoFront, PollingCost, Sensitivity, Solution, Transient
    from crawltwin.plan.result import Plan
    from crawltwin.plan.what_if.sweeps import Sweep
    from simulate import Comparison, Coverage, SimulationResult
    from validate import CrossCheck

FATES: tuple[Literal["served"], Literal["obsolete"]] = ("served", "obsolete")
Bar = tuple[str, float, float, float]
"""A name with a value and its interval."""


def solved_levels(found: Solution) -> Figure:
    """Share of time with each number of pages."""
    masses = list(found.measures["level_distribution"])
    policy = found.scenario.policy_in_force
    if "resume" in policy.features:  # the colours are those of a backlog that grows
        rising = policy.as_thresholds()
        policy = ThresholdPolicy(rising.robots, rising.thresholds)
    return levels_picture(masses, policy.robots_by_level(len(masses) - 1))


def sojourn_tails(found: Solution) -> Figure:
    """How many pages are longer in the system than so long, by fate."""
    law = found.sojourn
    fates = [fate for fate in FATES if law.probability(fate) > 0]
    times = np.linspace(0, max((law.quantile(0.999, fate) or 0.0 for fate in fates), default=1.0), 120)
    tails = {fate: tail for fate in fates if (tail := law.survival(times, fate)) is not None}

    def paint(axes: Axes) -> None:
        for index, (fate, tail) in enumerate(tails.items()):
            axes.plot(times, tail, color=COLOURS[index], marker=MARKERS[index], markevery=12, label=f"{fate} pages")
        axes.set_ylim(0, 1.02)
        style_axes(axes, "time in the system", "share of pages that are longer there")

    words = ", ".join(f"half of the {fate} pages after {law.quantile(0.5, fate):.3g}" for fate in fates)
    caption = "Share of pages that are longer in the system, by fate."
    return draw("sojourn", paint, caption, f"Falling curves; {words or 'no page stays'}.")


def simulated_levels(found: SimulationResult) -> Figure:
    """Simulated shares of time with each number of pages, with intervals."""
    levels = found["level_distribution"]
    values, low, high = (np.array([getattr(one, end) for one in levels]) for end in ("value", "low", "high"))

    def paint(axes: Axes) -> None:
        axes.bar(range(len(levels)), values, color=COLOURS[0], alpha=0.6)
        reach = np.maximum([values - low, high - values], 0)
        axes.errorbar(range(len(levels)), values, yerr=reach, fmt="none", ecolor=COLOURS[1], capsize=3)
        style_axes(axes, "pages in the system", "share of time", whole_x=True)

    likely = int(values.argmax())
    return draw(
        "simulated-levels",
        paint,
        f"Share of time with each number of pages, simulated, with {found.confidence:.0%} intervals.",
        f"Bars for 0 to {len(levels) - 1} pages; the most likely number is {likely} with {values[likely]:.3g}.",
    )


def relative_intervals(found: SimulationResult) -> Figure:
    """How wide the interval of each measure is, relative to its value."""
    rows = [
        (name, 0.0, 100 * (one.low / one.value - 1), 100 * (one.high / one.value - 1))
        for name in SCALAR_MEASURES
        if (one := found.measures.get(name)) is not None and one.value
    ]
    caption = f"The {found.confidence:.0%} interval of each measure, in percent of its value."
    return _bars_across("intervals", rows, "percent of the value", caption)


def differences_in_margins(found: CrossCheck) -> Figure:
    """Simulated less solved with its interval, in margins: inside one margin on both sides is equivalent."""
    rows = [
        (
            own.measure,
            own.difference / own.margin,
            (one.low - own.solved) / own.margin,
            (one.high - own.solved) / own.margin,
        )
        for one in found.verdicts
        if (own := one.comparison).part == "" and own.margin > 0 and np.isfinite([one.low, one.high]).all()
    ]
    caption = f"Simulated less solved, in margins ({found.plan.confidence:.0%} bounds): inside the lines is equivalent."
    return _bars_across("differences", rows, "difference, in margins", caption, marks=(-1.0, 1.0))


def coverage_shares(found: Coverage) -> Figure:
    """How often intervals held the truth, beside what they claim."""
    rows = [(one.measure, one.share, one.low, one.high) for one in found.shares]
    caption = f"Share of intervals that hold the true value; the line is the claim of {found.confidence:.0%}."
    return _bars_across("coverage", rows, "share of experiments", caption, marks=(found.confidence,))


def policies_apart(found: Comparison, measure: str | None = None) -> Figure:
    """One measure under every policy, with intervals."""
    known = list(found.measures[found.policies[0]])
    name = _one_of(known, measure or ("cost" if "cost" in known else known[0]), "measure")
    rows = [(p, one.value, one.low, one.high) for p in found.policies if (one := found.measures[p].get(name))]
    caption = f"{name} under each policy, with {found.confidence:.0%} intervals."
    return _bars_across("policies", rows, _axis(name), caption)


def cost_over_threshold(found: Optimum, robots: Sequence[int] | None = None) -> Figure:
    """Cost over the threshold for one pair of robots, or for every pair (the paper's Figure 1)."""
    pairs = [item.robots for item in found.policies if len(item.robots) == 2]
    if robots is not None:
        pairs = [pair for pair in pairs if set(pair) == set(robots)]
    if not pairs:
        known = ", ".join(f"{a} and {b}" for a, b in (one.robots for one in found.policies if len(one.robots) == 2))
        raise InputError(f"robots must be a pair of those compared ({known or 'there is none'}); got {robots}")
    best = sorted(pairs, key=lambda pair: min(found.curve(pair)["cost"]))[:6]
    curves = {f"{a} or {b}": found.curve((a, b)) for a, b in sorted(best)}

    def paint(axes: Axes) -> None:
        for index, (label, curve) in enumerate(curves.items()):
            axes.plot(curve["j1"], curve["cost"], color=COLOURS[index], marker=MARKERS[index], label=f"{label} robots")
        style_axes(axes, "threshold, pages", "cost", whole_x=True)

    lowest = {label: curve.loc[curve["cost"].idxmin()] for label, curve in curves.items()}
    words = "; ".join(f"{label}: {low['cost']:.4g} at {low['j1']:.0f}" for label, low in lowest.items())
    return draw(
        "cost-over-threshold",
        paint,
        f"Cost over the threshold. The best policy of all is {found.best.policy.short}, cost {found.best.cost:.6g}.",
        f"Curves of the cost, lowest for robots {words}.",
    )


def front_of_two(found: ParetoFront, x: str | None = None, y: str | None = None) -> Figure:
    """The front in two of its criteria."""
    first, second = (found.criteria * 2)[:2]
    across, up = _one_of(found.criteria, x or first, "x"), _one_of(found.criteria, y or second, "y")
    at = {name: found.values[:, found.criteria.index(name)] for name in (across, up)}

    def paint(axes: Axes) -> None:
        axes.plot(at[across], at[up], color=COLOURS[0], marker="o", linestyle="", label="on the front")
        cheapest = [at[across][:1], at[up][:1]]
        axes.plot(*cheapest, color=COLOURS[1], marker="D", markersize=9, linestyle="", label="least cost")
        style_axes(axes, _axis(across), _axis(up))

    return draw(
        "front",
        paint,
        f"{len(found.policies)} policies that none beats in every criterion; the diamond has the least cost.",
        f"Points from {at[across].min():.3g} to {at[across].max():.3g} across and {at[up].min():.3g} to "
        f"{at[up].max():.3g} up.",
    )


def elasticities(found: Sensitivity, measure: str | None = None) -> Figure:
    """Percent of change of one measure, or of the cost, for one percent more of each rate."""
    known = [name for name in found.values if found.elasticity(name) is not None]
    name = _one_of(known, measure or ("cost" if "cost" in known else known[0]), "measure")
    slopes = found.elasticity(name) or {}

    def paint(axes: Axes) -> None:
        axes.barh(range(len(slopes)), list(slopes.values()), color=COLOURS[0])
        axes.set_yticks(range(len(slopes)), [f"{clock} rates" for clock in slopes])
        axes.axvline(0, color=FAINT, linewidth=1, marker="")
        axes.invert_yaxis()
        style_axes(axes, f"change of {name}, percent", "")

    words = ", ".join(f"{clock} {slope:+.3g}%" for clock, slope in slopes.items())
    caption = f"Change of {name} for one percent more of each rate."
    return draw("elasticities", paint, caption, f"Bars: {words}.", height=1.1 + 0.36 * len(slopes))


def approach_over_time(found: Transient, measure: str = "mean_pages") -> Figure:
    """One measure on the way to equilibrium, at each time and averaged up to it."""
    name = _one_of(list(found.at[0]), measure, "measure")
    curves = {
        "at that time": [one[name] for one in found.at],
        "averaged up to it": [one[name] for one in found.averaged],
    }
    return _curves("approach", found.times, curves, "time", _axis(name), f"{name} on the way to equilibrium.")


def cost_over_distance(found: PollingCost) -> Figure:
    """The cost of the best policy over the distance between looks."""
    costs = {"best policy": [one.best.cost for one in found.optima]}
    caption = "Cost of the best policy when the controller looks only every so often."
    return _curves("polling", found.distances, costs, "mean time between looks", "cost", caption)


def time_distribution(found: Completion | AbsorptionTime) -> Figure:
    """The distribution function of a time."""
    shares = np.linspace(0.005, 0.995, 100)
    answers = [found.quantile(float(p)) for p in shares]
    times = [one[0] if isinstance(one, tuple) else one for one in answers]
    caption = f"Probability that it is over by then; the mean is {found.mean:.4g}."
    return _curves("distribution", times, {"over by then": shares.tolist()}, "time", "probability", caption)


def sweep_map(found: Sweep) -> Figure:
    """Costs over one quantity, or the map of best policies over two."""
    return sweep_picture(found, "sweep")


def plan_levels(found: Plan) -> Figure:
    """Backlog under the recommended policy."""
    return solved_levels(found.solution)


def plan_cost(found: Plan) -> Figure:
    """Where the cost comes from."""
    return cost_picture({term.name: term.cost for term in found.terms})


def plan_doubt(found: Plan) -> Figure:
    """How often each policy is the best one when the log is resampled."""
    doubt = _known(found.doubt, "doubt")
    return doubt_picture(found.policy, doubt)


def plan_backlog(found: Plan) -> Figure:
    """How likely the backlog passes each limit."""
    backlog = _known(found.backlog, "backlog")
    return backlog_picture(backlog.curve, backlog.within)


def _known(part: Any, name: str) -> Any:
    if part is None:
        raise InputError(f"picture must be of what the plan knows; got {name!r}, a step that was left out")
    return part


def _one_of(known: Sequence[str], name: str, what: str) -> str:
    if name not in known:
        raise InputError(f"{what} must be one of {', '.join(known)}; got {name!r}")
    return name


def _axis(name: str) -> str:
    """A measure with its unit, for an axis."""
    words = MEASURES[name].words if name in MEASURES else name.replace("_", " ")
    unit = unit_of(name)
    return words if unit in ("", "probability", "robots", "pages", "cost") else f"{words}, {unit}"


def _curves(name: str, x: Sequence[float], curves: Mapping[str, Sequence[float]], *texts: str) -> Figure:
    """Curves over one quantity; the texts label the axes and say what to see."""
    across, up, caption = texts

    def paint(axes: Axes) -> None:
        for index, (label, y) in enumerate(curves.items()):
            every = max(1, len(x) // 12)
            axes.plot(x, y, color=COLOURS[index], marker=MARKERS[index], markevery=every, label=label)
        style_axes(axes, across, up, legend=len(curves) > 1)

    words = "; ".join(f"{label}: from {y[0]:.3g} to {y[-1]:.3g}" for label, y in curves.items())
    return draw(name, paint, caption, f"Over {across} from {x[0]:.3g} to {x[-1]:.3g}, {words}.")


def _bars_across(name: str, rows: Sequence[Bar], label: str, caption: str, marks: Sequence[float] = ()) -> Figure:
    """A point with its interval for each name, the first on top."""

    def paint(axes: Axes) -> None:
        for place, (_, value, low, high) in enumerate(rows):
            axes.plot([low, high], [place, place], color=COLOURS[0], linewidth=3, marker="", alpha=0.7)
            axes.plot([value], [place], color=COLOURS[1], marker="D", linestyle="")
        for mark in marks:
            axes.axvline(mark, color=FAINT, linewidth=1, linestyle="--", marker="")
        axes.set_yticks(range(len(rows)), [row[0] for row in rows])
        axes.invert_yaxis()
        style_axes(axes, label, "")

    words = "; ".join(f"{row[0]} {row[1]:.3g}, {row[2]:.3g} to {row[3]:.3g}" for row in rows)
    return draw(name, paint, caption, f"Intervals: {words}.", height=1.1 + 0.3 * len(rows))
