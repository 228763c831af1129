"""The result of solving a scenario: measures, how they were found, and what can be asked further."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

import crawltwin
from analytic.sojourn.law import SojournLaw
from crawltwin.model.measures import MEASURES, SCALAR_MEASURES, unit_of
from crawltwin.model.rates import Rates
from crawltwin.model.results.display import Drawn, measure_of
from crawltwin.model.scenario import Scenario

if TYPE_CHECKING:
    import pandas as pd

Progress = Callable[[str, float], None]
"""Called with a word and the fraction done."""


@dataclass(frozen=True)
class SolverReport:
    """How a solution was found.

    Parameters
    ----------
    method : str
        Name of the method, as in ``--method``.
    states : int
        States of the chain that was solved.
    residual : float
        Largest entry of p Q in absolute value, divided by the fastest rate of the chain.
    error_estimate : float
        For approximations: the largest relative error to expect in a measure (`Solution.errors` has them one by one).
        For exact methods: the largest disagreement among identities that the solver does not use (loss + obsolescence +
        success = 1; Little's law; fates from the tagged page's chain), a check of the whole and no bound for a measure.
    flow_balance : float
        How far loss + obsolescence + success is from 1: what enters must leave.
    seconds : float
        From scenario to measures.
    why : str
        Why this method, in words.
    """

    method: str
    states: int
    residual: float
    error_estimate: float
    flow_balance: float
    seconds: float
    why: str = ""


@dataclass(frozen=True, eq=False)
class Solution(Drawn):
    """Stationary measures of one scenario; ``solution["cost"]`` is one of them.

    Pictures: ``plot()`` or ``plot("levels")`` is the distribution of the backlog, ``plot("sojourn")`` that of the time
    in the system.

    Examples
    --------
    >>> from analytic import solve
    >>> from crawltwin.model import examples
    >>> round(solve(examples.load("paper")).measures["cost"], 2)
    63.54
    """

    scenario: Scenario
    measures: Mapping[str, Any]
    mode_probabilities: Mapping[int, float]
    solver: SolverReport
    sojourn: SojournLaw = field(repr=False)
    errors: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def rates(self) -> Rates:
        """The linear rates behind the measures, those of an equilibrium."""
        return Rates.of_equilibrium(self.measures)

    def __getitem__(self, name: str) -> Any:
        """A measure by its name."""
        return measure_of(self.measures, name)

    def headline(self) -> str:
        """The title, the method and its size."""
        states = "1 state" if self.solver.states == 1 else f"{self.solver.states:,} states"
        return f"{self.scenario.title or 'a scenario'}; solved ({self.solver.method}, {states})"

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries and numbers, as `crawltwin solve --json` prints them."""
        return {
            "title": self.scenario.title,
            "scenario": self.scenario.content_hash,
            "measures": {name: self.measures[name] for name in MEASURES if name in self.measures},
            "mode_probabilities": {str(robots): mass for robots, mass in self.mode_probabilities.items()},
            "solver": {
                "method": self.solver.method,
                "states": self.solver.states,
                "residual": self.solver.residual,
                "error_estimate": self.solver.error_estimate,
                "flow_balance": self.solver.flow_balance,
                "seconds": self.solver.seconds,
                "why": self.solver.why,
                "errors": dict(self.errors),
            },
            "notes": list(self.notes),
            "versions": versions(),
        }

    def to_frame(self) -> pd.DataFrame:
        """Tidy and long: one row per measure, and one per level of the level distribution."""
        import pandas as pd

        rows: list[dict[str, Any]] = [
            {"measure": name, "level": None, "value": self.measures[name], "unit": unit_of(name)}
            for name in SCALAR_MEASURES
            if name in self.measures
        ]
        rows += [
            {"measure": "level_distribution", "level": level, "value": mass, "unit": "probability"}
            for level, mass in enumerate(self.measures["level_distribution"])
        ]
        return pd.DataFrame(rows).astype({"level": "Int64", "value": "float64"})

    def __repr__(self) -> str:
        lines = [super().__repr__()]
        lines += [
            f"  {name:26s} {self.measures[name]:.8g} {MEASURES[name].unit}"
            for name in SCALAR_MEASURES
            if self.measures.get(name) is not None
        ]
        return "\n".join(lines)


def versions() -> dict[str, str]:
    """Versions that a result depends on."""
    return {"crawltwin": crawltwin.__version__, "numpy": np.__version__, "scipy": scipy.__version__}
