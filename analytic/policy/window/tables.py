"""Many policies of one scenario with several clock phases: a window chain solved for each, no generator stored.

Policies are compared on one window of ordered pages, as wide as `MAX_STATES` allows, each solution starting from the
last one. The window's error is nearly the same for neighbouring policies; where a cost matters by itself, `solve` gives
it with an estimate of its error.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from analytic.chain.primitives import Chain
from analytic.chain.summary import basic_measures
from analytic.policy.modes import IntArray, ModeChains
from analytic.policy.window.states import widest_window
from analytic.sojourn.levels import LevelSojournTimes
from analytic.stationary.matrix_free import solve_matrix_free
from crawltwin.model import LevelPolicy
from crawltwin.model.checks import FloatArray
from crawltwin.model.rates import RATES, Rates
from crawltwin.work.progress import ProgressCallback

MAX_STATES = 10_000
"""Largest window chain on which policies are compared."""

TOLERANCE = 1e-10
"""Relative error of the solution of each window chain."""


@dataclass(frozen=True, eq=False)
class WindowTables(ModeChains):
    """Evaluates tables of robots by level on a window of ordered pages.

    Parameters
    ----------
    scenario : Scenario
        Its policy is ignored.
    """

    @cached_property
    def window(self) -> int:
        """How many pages are kept in order."""
        return widest_window(self.chain, MAX_STATES)

    def rates(self, tables: IntArray, progress: ProgressCallback | None = None) -> FloatArray:
        """The linear rates `RATES` of each table, shape (tables, 8). Cost: some thirty sweeps for each table."""
        found, start = np.zeros((len(tables), len(RATES))), None
        for index, table in enumerate(tables.tolist()):
            chain = Chain.of(self.scenario.replace(policy=LevelPolicy(table)))
            solution = solve_matrix_free(chain, tolerance=TOLERANCE, window=self.window, start=start)
            start = solution.levels
            sojourn = LevelSojournTimes(chain, solution).moment(1, "served")
            measures = basic_measures(chain, solution.summary) | {"mean_sojourn_served": sojourn}
            found[index] = Rates.of_equilibrium(measures).columns()
            if progress is not None:
                progress(index + 1, len(tables))
        return found
