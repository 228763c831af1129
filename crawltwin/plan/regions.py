"""Pictures of a sweep: where which policy is best."""

from __future__ import annotations

from collections.abc import Mapping

from crawltwin.model import InputError
from crawltwin.plan.sweep import Sweep, short_policy
from crawltwin.plan.vary import QUANTITIES, AxisValue
from validate.report.blocks import Figure
from validate.report.regions import cost_curves, policy_map


def regions(found: Sweep, name: str, now: Mapping[str, float] | None = None) -> Figure:
    """Costs over one varied quantity, or a map over two; points that failed are an error here.

    Parameters
    ----------
    now : mapping, optional
        The present value of each varied quantity, to be marked on a map.
    """
    if not 1 <= len(found.axes) <= 2 or any(isinstance(v, str) for axis in found.axes for v in axis.values):
        raise InputError("a picture must have one or two numeric quantities; got something else. Use --out FILE")
    if found.failed:
        raise InputError(f"every point must be solved to be drawn; got {len(found.failed)} that are not")
    best = [short_policy(row["best"]) or "" for row in found.rows]
    labels = [QUANTITIES[axis.name].words for axis in found.axes]
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


def _real(value: AxisValue) -> float:
    assert not isinstance(value, str)
    return float(value)
