"""What polling costs: the best policy for each mean distance between looks at the backlog."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from analytic.policy.optimum import Optimum
from analytic.policy.search import optimize
from analytic.stationary.solution import versions
from crawltwin.model import Scenario
from crawltwin.model.checks import number
from crawltwin.model.errors import Faults
from crawltwin.model.results.display import Drawn
from crawltwin.model.scenario import takes_scenario
from crawltwin.work.progress import ProgressCallback

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class PollingCost(Drawn):
    """The best policy for each distance between looks; ``plot()`` is its cost over the distance.

    Parameters
    ----------
    optima : tuple of Optimum
        One for each distance, in the order asked for; the scenario of each polls at its distance.
    distances : tuple of float
        Mean distances; 0: the controller sees every event.
    """

    optima: tuple[Optimum, ...]
    distances: tuple[float, ...]

    def headline(self) -> str:
        """What the longest distance costs more."""
        row = max(self._rows(), key=lambda row: float(row["check_every"]))
        return f"looks {row['check_every']:g} of time apart cost {row['extra_percent']:.3g}% more than the shortest"

    def _rows(self) -> list[dict[str, Any]]:
        least = min(zip(self.distances, self.optima, strict=True), key=lambda pair: pair[0])[1].best.cost
        return [
            {
                "check_every": distance,
                "best": {**optimum.best.policy.to_mapping(), "cost": optimum.best.cost, "proof": optimum.best.proof},
                "lower_bound": optimum.lower_bound,
                "gap": optimum.gap,
                "extra_cost": optimum.best.cost - least,
                "extra_percent": 100 * (optimum.best.cost / least - 1) if least > 0 else 0.0,
            }
            for distance, optimum in zip(self.distances, self.optima, strict=True)
        ]

    def to_json(self) -> dict[str, Any]:
        """As `crawltwin optimize --check-every ... --json` prints it."""
        return {"distances": self._rows(), "versions": versions()}

    def to_frame(self) -> pd.DataFrame:
        """One row for each distance: the policy, its cost, what it costs more than the shortest distance."""
        import pandas as pd

        rows = [
            {
                "check_every": row["check_every"],
                "policy": optimum.best.policy.short,
                "cost": row["best"]["cost"],
                "extra_cost": row["extra_cost"],
                "extra_percent": row["extra_percent"],
                "lower_bound": row["lower_bound"],
            }
            for row, optimum in zip(self._rows(), self.optima, strict=True)
        ]
        frame = pd.DataFrame(rows)
        costs = ("cost", "extra_cost", "lower_bound")
        frame.attrs["units"] = {"check_every": "time", "extra_percent": "%"} | dict.fromkeys(costs, "cost")
        return frame


@takes_scenario
def polling_cost(
    scenario: Scenario,
    distances: Sequence[float],
    resume: bool | None = None,
    progress: ProgressCallback | None = None,
    method: str = "auto",
) -> PollingCost:
    """What a controller loses that looks at the backlog only every so often.

    Parameters
    ----------
    scenario : Scenario
        With cost weights.
    distances : sequence of float
        Mean distances between looks (points of a Poisson process); 0: it sees every event.
    resume, method
        As in `optimize`.
    progress : callable, optional
        Called with (policies evaluated, in all) for each distance anew.

    Notes
    -----
    Cost: one optimisation for each distance. What is compared are the best policies of each distance, not one policy
    at all distances: with long distances another policy is the best.

    Examples
    --------
    >>> from crawltwin.model import examples
    >>> found = polling_cost(examples.load("paper"), [0, 1.0])
    >>> [optimum.best.thresholds for optimum in found.optima], found.optima[1].best.cost > found.optima[0].best.cost
    ([(2,), (3,)], True)
    """
    faults = Faults()
    checked = [number(value, f"check_every[{index}]", faults, at_least=0) for index, value in enumerate(distances)]
    if not checked:
        faults.add("check_every", "check_every must be at least one distance; got none")
    faults.raise_if_any()
    given = tuple(value for value in checked if value is not None)
    found = tuple(optimize(scenario, progress, method, resume=resume, check_every=distance) for distance in given)
    return PollingCost(found, given)
