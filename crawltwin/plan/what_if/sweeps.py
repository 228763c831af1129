"""Measures and best policies over a grid, to ask what would be if the buffer, the indexer or the weights were others.

Every point is one scenario. With cost weights its best policy over all thresholds and sets of robots is found
(`search`), with the measures under that policy, beside each fixed number of robots and the scenario's own
policy where it fits; without weights only the own policy is solved. The paper's Tables 2 to 4 are such sweeps.

Points are independent pieces of work (`crawltwin.work.workers`): the same rows come out on one process, on two or on a
cluster. With a `Store` finished points are kept under the content of their scenario, and an interrupted sweep goes on.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import crawltwin
from analytic import Optimum, optimize, solve
from analytic.policy.tables import table_of
from crawltwin.model import SCALAR_MEASURES, ConvergenceError, InputError, Scenario, ThresholdPolicy
from crawltwin.model.errors import Fault, Faults
from crawltwin.model.files import write_whole
from crawltwin.model.measures import unit_of
from crawltwin.model.rates import Rates
from crawltwin.model.results.display import Drawn
from crawltwin.plan.what_if.axes import MAX_POINTS, Axis, AxisValue
from crawltwin.work import workers as crew
from crawltwin.work.progress import ProgressCallback
from crawltwin.work.store import Store, key_of

if TYPE_CHECKING:
    import pandas as pd

ENDINGS = (".parquet", ".csv", ".json")
"""Files that a sweep can be written to."""


@dataclass(frozen=True, repr=False)
class Sweep(Drawn):
    """A grid with its results; ``plot()`` is the map of best policies.

    Parameters
    ----------
    scenario : Scenario
        What the axes change.
    axes : tuple of Axis
        The last one changes fastest in the rows.
    rows : tuple of dict
        One per point, in the order of the grid: ``point`` (the varied values), ``best``, ``fixed``, ``own``,
        ``measures``, ``proof``, ``error``.
    """

    scenario: Scenario
    axes: tuple[Axis, ...]
    rows: tuple[dict[str, Any], ...] = field(repr=False)

    @property
    def failed(self) -> tuple[dict[str, Any], ...]:
        """Points that could not be solved; their rows say why."""
        return tuple(row for row in self.rows if row["error"])

    def headline(self) -> str:
        """What was varied, and over how many points."""
        failed = f", {len(self.failed)} of them not solved" if self.failed else ""
        return f"{' and '.join(axis.name for axis in self.axes)} varied over {len(self.rows):,} points{failed}"

    def to_frame(self) -> pd.DataFrame:
        """One row per point: the varied values, the best policy in its short form, costs, measures."""
        frame = self.frame.copy()
        frame.attrs["units"] = {name: unit for name in map(str, frame) if (unit := unit_of(name))}
        return frame

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row per point, plain columns: the varied values, the best policy in its short form, costs, measures."""
        import pandas as pd

        return pd.DataFrame([_flat(self.axes, row) for row in self.rows])

    def to_json(self) -> dict[str, Any]:
        """As `crawltwin sweep --json` prints it."""
        return {
            "title": self.scenario.title,
            "scenario": self.scenario.content_hash,
            "axes": [{"name": axis.name, "values": list(axis.values)} for axis in self.axes],
            "points": list(self.rows),
            "versions": {"crawltwin": crawltwin.__version__},
        }

    def write(self, path: str | Path) -> None:
        """Write `.parquet`, `.csv` or `.json`: whole or not at all."""
        check_ending(path)
        ending = Path(path).suffix.lower()
        buffer = io.BytesIO()
        if ending == ".parquet":
            self.frame.to_parquet(buffer, index=False)
        elif ending == ".csv":
            self.frame.to_csv(buffer, index=False)
        else:
            self.frame.to_json(buffer, orient="records", indent=1, double_precision=15)
        write_whole(path, buffer.getvalue())


def check_ending(path: str | Path) -> None:
    """Refuse a file that a sweep cannot be written to, before any work is done."""
    if Path(path).suffix.lower() not in ENDINGS:
        raise InputError(f"--out must end in {', '.join(ENDINGS)}; got {str(path)!r}")


def sweep(
    scenario: Scenario,
    axes: Sequence[Axis],
    *,
    method: str = "auto",
    workers: int | None = 1,
    cluster: str | None = None,
    store: Store | None = None,
    progress: ProgressCallback | None = None,
) -> Sweep:
    """Solve every point of the grid.

    Parameters
    ----------
    scenario : Scenario
        Its policy is kept beside the best one where it fits the capacity and the robots of a point.
    axes : sequence of Axis
        What to vary; the grid is their product.
    method : str
        How each point is optimised, see `analytic.optimize`.
    workers, cluster, store
        See `crawltwin.work.workers.run`.
    progress : callable, optional
        Called with (points done, in all).

    Notes
    -----
    Cost: one `optimize` per point: milliseconds at K = 20 with four robots, seconds at K = 100.

    Examples
    --------
    >>> from crawltwin.model import examples
    >>> found = sweep(examples.load("paper"), [Axis("capacity", (1, 5))])
    >>> [row["best"]["thresholds"] for row in found.rows]
    [[0], [2]]
    """
    points = list(_grid(scenario, axes))
    pieces = [(changed, method) for _, changed in points]
    keys = [key_of("sweep", method, piece.replace(title="")) for piece, _ in pieces]
    results = crew.run(evaluate, pieces, workers=workers, cluster=cluster, store=store, keys=keys, progress=progress)
    rows = ({"point": dict(point), **result} for (point, _), result in zip(points, results, strict=True))
    return Sweep(scenario, tuple(axes), tuple(rows))


def _grid(scenario: Scenario, axes: Sequence[Axis]) -> Iterator[tuple[dict[str, AxisValue], Scenario]]:
    """All points, checked together before any is solved."""
    names = [axis.name for axis in axes]
    faults = Faults()
    if not axes:
        faults.add("--vary", "at least one quantity must be varied; got none", "For example --vary capacity=1:20.")
    for name in sorted({name for name in names if names.count(name) > 1}):
        faults.add("--vary", f"a quantity must be varied once; got {name} again")
    size = int(np.prod([len(axis.values) for axis in axes], dtype=float)) if axes else 0
    if size > MAX_POINTS:
        faults.add("--vary", f"the grid must have at most {MAX_POINTS:,} points; got {size:,}", "Use wider steps.")
    # Each value alone first: a fault is then told once, not once for each point of the other axes.
    for axis in axes:
        for value in axis.values:
            with faults.under(f"{axis.name}={value}"):
                axis.change(scenario.replace(policy=None), value)
    faults.raise_if_any()
    for values in product(*[axis.values for axis in axes]):
        changed = scenario.replace(policy=None)
        for axis, value in zip(axes, values, strict=True):
            changed = axis.change(changed, value)
        yield dict(zip(names, values, strict=True)), _with_policy(changed, scenario)


def _with_policy(changed: Scenario, scenario: Scenario) -> Scenario:
    """The own policy where it fits the changed scenario."""
    try:
        return changed.replace(policy=scenario.policy)
    except InputError:
        return changed


def evaluate(piece: tuple[Scenario, str]) -> dict[str, Any]:
    """One point. What cannot be solved is said in `error`; the other points go on."""
    try:
        return _evaluate(*piece)
    except (ConvergenceError, InputError) as error:
        return {"best": None, "fixed": {}, "own": None, "measures": {}, "proof": None, "error": str(error)}


def _evaluate(scenario: Scenario, method: str) -> dict[str, Any]:
    own = None
    if scenario.cost is None:
        if scenario.policy is None and len(scenario.arrivals.robot_numbers) > 1:
            raise InputError(
                [
                    Fault(
                        "cost",
                        "a point must have cost weights, or a policy that fits it; got neither",
                        "Add [cost], or vary less far.",
                    )
                ]
            )
        solved = solve(scenario)
        measures = {name: solved.measures.get(name) for name in SCALAR_MEASURES if name != "cost"}
        return {"best": None, "fixed": {}, "own": None, "measures": measures, "proof": None, "error": ""}
    optimum = optimize(scenario, method=method)
    if scenario.policy is not None:
        own = solve(scenario).measures["cost"]
    best = optimum.best
    return {
        "best": {"robots": list(best.robots), "thresholds": list(best.thresholds), "cost": best.cost} | best.memory,
        "fixed": {str(robots): cost for robots, cost in optimum.fixed.items()},
        "own": own,
        "measures": {**measures_of_best(optimum), "cost": best.cost},
        "proof": best.proof,
        "error": "",
    }


def measures_of_best(optimum: Optimum) -> dict[str, float | None]:
    """Measures under the best policy, from the rates that the optimisation has computed; what these lack is solved."""
    best, scenario = optimum.best, optimum.scenario
    if optimum.listed is not None:
        at = optimum.listed.index(best.policy)
    else:
        table = table_of(best.robots, best.thresholds, scenario.capacity)
        at = int(np.flatnonzero((optimum.tables == np.array(table)).all(axis=1))[0])
    found = Rates.from_table(optimum.rates[at]).measures()
    measures = {name: float(value) if np.isfinite(value) else None for name, value in found.items()}
    lacking = [name for name in SCALAR_MEASURES if name not in measures and name != "cost"]
    if lacking:
        solved = solve(scenario.replace(policy=best.policy)).measures
        measures |= {name: solved[name] for name in lacking}
    return {name: measures[name] for name in SCALAR_MEASURES if name in measures}


def short_policy(best: dict[str, Any] | None) -> str | None:
    """The short form of a row's best policy."""
    if best is None:
        return None
    return ThresholdPolicy(best["robots"], best["thresholds"], best.get("resume"), best.get("check_every", 0.0)).short


def _flat(axes: Sequence[Axis], row: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {axis.name: row["point"][axis.name] for axis in axes}
    flat["policy"] = short_policy(row["best"])
    flat["cost"] = None if row["best"] is None else row["best"]["cost"]
    flat["own_policy_cost"] = row["own"]
    fixed = row["fixed"]
    flat |= {f"cost_{robots}": cost for robots, cost in fixed.items()}
    least = min(fixed.values(), default=None)
    flat["profit_percent"] = 100 * (1 - flat["cost"] / least) if least else None
    flat |= {name: row["measures"].get(name) for name in SCALAR_MEASURES if name != "cost"}
    return {**flat, "proof": row["proof"], "error": row["error"] or None}
