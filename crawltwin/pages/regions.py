"""Where which policy is best: costs over one varied quantity, or a map over two."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from crawltwin.model import InputError
from crawltwin.model.checks import FloatArray
from crawltwin.plan.what_if.axes import QUANTITIES, AxisValue
from crawltwin.plan.what_if.sweeps import Sweep, short_policy
from crawltwin.plan.wording import in_time
from crawltwin.report import COLOURS, Figure, draw
from crawltwin.report.drawing import FAINT, INK, LINE, legend_above, legend_columns, plain_powers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Rectangle

_NAMED = 24
"""Policies of a map that have a letter and a line in its legend, the most frequent ones."""
_HATCHES = ("", "///", "...", "\\\\\\", "xxx", "---")


def sweep_picture(found: Sweep, name: str, now: Mapping[str, float] | None = None, unit: str = "") -> Figure:
    """Costs over one varied quantity, or a map over two; points that failed are an error here.

    Parameters
    ----------
    now : mapping, optional
        The present value of each varied quantity, to be marked on a map.
    unit : str
        Of times, where it is known.
    """
    if not 1 <= len(found.axes) <= 2 or any(isinstance(v, str) for axis in found.axes for v in axis.values):
        raise InputError("a picture must have one or two numeric quantities; got something else. Use --out FILE")
    if found.failed:
        raise InputError(f"every point must be solved to be drawn; got {len(found.failed)} that are not")
    best = [short_policy(row["best"]) or "" for row in found.rows]
    quantities = [QUANTITIES[axis.name] for axis in found.axes]
    labels = [f"{one.words}, {unit}" if unit and one.duration else one.words for one in quantities]
    first = [_real(value) for value in found.axes[0].values]
    if len(found.axes) == 1:
        costs = {"best policy": [row["best"]["cost"] for row in found.rows]}
        fixed = {key for row in found.rows for key in row["fixed"]}
        for robots in sorted(fixed, key=int):
            if all(robots in row["fixed"] for row in found.rows):
                costs[f"{robots} always"] = [row["fixed"][robots] for row in found.rows]
        return cost_curves(name, labels[0], first, dict(list(costs.items())[:6]), best)
    second = [_real(value) for value in found.axes[1].values]
    # The last axis changes fastest in the rows and goes upwards in the picture.
    grid = [[best[x * len(second) + y] for x in range(len(first))] for y in range(len(second))]
    mark = None if now is None else (now[found.axes[0].name], now[found.axes[1].name])
    return policy_map(name, (labels[0], labels[1]), (first, second), grid, mark)


def sweep_in_words(one: Sweep, policy: str) -> str:
    """What a sweep of a plan says of the recommended policy; times are in seconds."""
    names = " and ".join(QUANTITIES[axis.name].words for axis in one.axes)
    policies = {short_policy(row["best"]) for row in one.rows}
    cheapest = min(one.rows, key=lambda row: row["best"]["cost"])
    if policies == {policy}:
        change = f"`{policy}` stays the best everywhere"
    elif policy in policies:
        share = sum(short_policy(row["best"]) == policy for row in one.rows) / len(one.rows)
        change = f"`{policy}` is the best at {share:.0%} of the points, {len(policies) - 1} other policies elsewhere"
    else:
        change = f"{len(policies)} policies are best somewhere"
    if any(axis.name.startswith("cost.") for axis in one.axes):
        return f"**{names.capitalize()}**: {change}."
    at = " and ".join(
        f"{QUANTITIES[name].words}: {in_time(value) if QUANTITIES[name].duration else f'{value:g}'}"
        for name, value in cheapest["point"].items()
    )
    least = f"The cost is lowest, {cheapest['best']['cost']:.5g}, with {at}."
    return f"**{names.capitalize()}**: {change}. {least}"


def _real(value: AxisValue) -> float:
    assert not isinstance(value, str)
    return float(value)


def cost_curves(
    name: str, label: str, values: Sequence[float], curves: Mapping[str, Sequence[float]], policies: Sequence[str]
) -> Figure:
    """Costs over one quantity; the strip below the curves names the best policy of each stretch.

    Parameters
    ----------
    name, label : str
        Of the picture, and of the varied quantity.
    values : sequence of float
    curves : mapping
        Name of a curve to its costs; the first is the best policy's.
    policies : sequence of str
        The best policy at each value.
    """
    x = np.asarray(values, dtype=np.float64)
    changes = [0, *(k for k in range(1, len(policies)) if policies[k] != policies[k - 1])]

    def paint(axes: Axes) -> None:
        from matplotlib.ticker import MaxNLocator

        for curve, costs in curves.items():
            first = curve == next(iter(curves))
            axes.plot(x, costs, label=curve, linewidth=2.2 if first else 1.2, markersize=4 if x.size < 30 else 0)
        _scale(axes, x, "x")
        axes.set_xlabel(textwrap.fill(label, LINE))
        axes.set_ylabel("cost")
        low, high = axes.get_ylim()
        axes.set_ylim(low - 0.12 * (high - low), high)
        for k in changes:
            if k:
                axes.axvline(_between(x[k - 1], x[k]), color=FAINT, linewidth=1, linestyle=":", marker="")
        for k, end in zip(changes, [*changes[1:], len(policies)], strict=True):
            if len(changes) <= 8:
                axes.text(_between(x[k], x[end - 1]), low - 0.07 * (high - low), policies[k], ha="center", color=INK)
        legend_above(axes)
        if (x == np.round(x)).all():
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))

    words = "; ".join(f"from {x[k]:g} on {policies[k]}" for k in changes)
    return draw(
        name,
        paint,
        f"Cost over {label}; the strip below names the best policy (robots@thresholds).",
        f"Curves of the cost over {label} from {x[0]:g} to {x[-1]:g}. The best policy: {words}.",
        data={
            "values": list(values),
            "curves": {key: list(row) for key, row in curves.items()},
            "best": list(policies),
        },
    )


def policy_map(
    name: str,
    labels: tuple[str, str],
    values: tuple[Sequence[float], Sequence[float]],
    policies: Sequence[Sequence[str]],
    mark: tuple[float, float] | None = None,
) -> Figure:
    """A map of the best policy over two quantities.

    Parameters
    ----------
    labels, values : pairs
        Of the horizontal and of the vertical quantity.
    policies : rows of str
        ``policies[y][x]``: the best policy there.
    mark : pair of float, optional
        Where the present scenario lies.
    """
    x, y = (np.asarray(part, dtype=np.float64) for part in values)
    counts: dict[str, int] = {}
    for row in policies:
        for policy in row:
            counts[policy] = counts.get(policy, 0) + 1
    order = sorted(counts, key=lambda policy: (-counts[policy], policy))
    entries = [f"{_letter(k)}: {policy}" for k, policy in enumerate(order[:_NAMED])]
    if len(order) > _NAMED:
        entries.append(f"no letter: {len(order) - _NAMED} more")

    def paint(axes: Axes) -> None:
        from matplotlib.patches import Patch

        edges_x, edges_y = _edges(x), _edges(y)
        for index, policy in enumerate(order):
            inside = np.array([[1.0 if cell == policy else np.nan for cell in row] for row in policies])
            hatch = _HATCHES[(index // len(COLOURS)) % len(_HATCHES)]
            # Cells as patches: hatches and colours stay apart in every theme.
            for row, column in np.argwhere(~np.isnan(inside)):
                axes.add_patch(_cell(edges_x, edges_y, int(column), int(row), COLOURS[index % len(COLOURS)], hatch))
        _letters(axes, edges_x, edges_y, policies, order)
        axes.set_xlim(edges_x[0], edges_x[-1])
        axes.set_ylim(edges_y[0], edges_y[-1])
        _scale(axes, x, "x")
        _scale(axes, y, "y")
        if mark is not None:
            axes.plot([mark[0]], [mark[1]], linestyle="", marker="x", color=INK, markersize=9, label="now")
        axes.grid(visible=False)
        axes.set_xlabel(textwrap.fill(labels[0], LINE))
        axes.set_ylabel(textwrap.fill(labels[1], LINE))
        shown = [
            Patch(
                facecolor=COLOURS[k % len(COLOURS)], alpha=0.45 if k < _NAMED else 0, label=entry,
                hatch=_HATCHES[(k // len(COLOURS)) % len(_HATCHES)],
            )
            for k, entry in enumerate(entries)
        ]  # fmt: skip
        legend_above(axes, shown)

    total = sum(counts.values())
    shares = "; ".join(
        f"{_letter(k)} is {policy}, best at {counts[policy] / total:.0%}" for k, policy in enumerate(order)
    )
    return draw(
        name,
        paint,
        f"The best policy (robots@thresholds) over {labels[0]} and {labels[1]}."
        + (" The cross is the present crawler." if mark else ""),
        f"A map of {len(order)} policies over {labels[0]} from {x[0]:g} to {x[-1]:g} and {labels[1]} from {y[0]:g} "
        f"to {y[-1]:g}: {shares} of the points.",
        height=3.1 + 0.22 * math.ceil(len(entries) / legend_columns(entries)),
        data={"x": list(values[0]), "y": list(values[1]), "best": [list(row) for row in policies]},
    )


def _cell(edges_x: FloatArray, edges_y: FloatArray, column: int, row: int, colour: str, hatch: str) -> Rectangle:
    from matplotlib.patches import Rectangle as Box

    corner = (float(edges_x[column]), float(edges_y[row]))
    width, height = float(edges_x[column + 1]) - corner[0], float(edges_y[row + 1]) - corner[1]
    return Box(corner, width, height, facecolor=colour, alpha=0.45, hatch=hatch, linewidth=0)


def _letters(
    axes: Axes, edges_x: FloatArray, edges_y: FloatArray, policies: Sequence[Sequence[str]], order: Sequence[str]
) -> None:
    """Each policy's letter at the cell of its region nearest to the region's middle: colour alone tells nothing."""
    for index, policy in enumerate(order[:_NAMED]):
        cells = np.array([(r, c) for r, row in enumerate(policies) for c, own in enumerate(row) if own == policy])
        row, column = cells[np.argmin(((cells - cells.mean(axis=0)) ** 2).sum(axis=1))]
        axes.text(
            _between(edges_x[column], edges_x[column + 1]),
            _between(edges_y[row], edges_y[row + 1]),
            _letter(index),
            ha="center",
            va="center",
            color=INK,
            weight="bold",
        )


def _letter(index: int) -> str:
    return chr(ord("A") + index % 26) + ("" if index < 26 else str(index // 26))


def _geometric(x: FloatArray) -> bool:
    """Whether values are spaced by ratio rather than by difference."""
    if x.size < 3 or x.min() <= 0 or x.max() / x.min() < 5:
        return False
    ratios, steps = np.diff(np.log(x)), np.diff(x)
    return bool(np.ptp(ratios) * steps.mean() < np.ptp(steps) * ratios.mean())


def _scale(axes: Axes, x: FloatArray, which: str) -> None:
    if _geometric(x):
        (axes.set_xscale if which == "x" else axes.set_yscale)("log")
        plain_powers(axes)


def _edges(x: FloatArray) -> FloatArray:
    if x.size == 1:
        return np.array([x[0] * 0.9, x[0] * 1.1])
    if _geometric(x):
        return np.asarray(np.exp(_edges_of(np.log(x))))
    return _edges_of(x)


def _edges_of(x: FloatArray) -> FloatArray:
    middle = (x[1:] + x[:-1]) / 2
    return np.concatenate([[2 * x[0] - middle[0]], middle, [2 * x[-1] - middle[-1]]])


def _between(a: float, b: float) -> float:
    return float(np.sqrt(a * b)) if a > 0 and b > 0 and max(a, b) / min(a, b) > 2 else float((a + b) / 2)
