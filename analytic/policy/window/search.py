"""Lower bounds by windows: how wide a window is taken, and the bound for all threshold policies at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from analytic.policy.branch_and_bound import Bounded, BranchAndBound, Progress, SearchSettings
from analytic.policy.decision import DecisionProcess, explicit_work
from analytic.policy.modes import ModeChains
from analytic.policy.tables import weights_of
from analytic.policy.window.process import WindowProcess
from analytic.policy.window.states import widest_window
from crawltwin.model import Scenario

MAX_STATES = 30_000
"""Largest window chain of a decision process: about a second for each bound."""

MAX_EXPLICIT_WORK = 1e8
"""Most operations for one factorisation of the explicit controlled chain where clocks have several phases."""

TOLERANCE = 1e-4
"""Relative gap at which branch and bound closes a node; the window often leaves more."""

MAX_NODES = 200
"""Nodes of branch and bound with a window; what is left open is part of the gap."""


def bounding(
    scenario: Scenario, settings: SearchSettings, most_work: float = MAX_EXPLICIT_WORK
) -> tuple[DecisionProcess | WindowProcess, SearchSettings]:
    """The decision process of the explicit chain where one factorisation is quick enough; else on the widest window.

    With several clock phases the explicit chain takes R^K states. A window leaves a gap, so the settings then ask for
    no more than `TOLERANCE` and `MAX_NODES`.
    """
    weights_of(scenario, "compare policies")
    chain = ModeChains(scenario).chain
    if chain.obsolescence_phases == 1 or explicit_work(chain) <= most_work:
        return DecisionProcess(scenario), settings
    wide = replace(settings, tolerance=max(TOLERANCE, settings.tolerance), max_nodes=min(MAX_NODES, settings.max_nodes))
    return WindowProcess(scenario, widest_window(chain, MAX_STATES)), wide


def bound_thresholds(
    process: WindowProcess,
    table: tuple[int, ...],
    settings: SearchSettings = SearchSettings(tolerance=TOLERANCE, max_nodes=MAX_NODES),  # noqa: B008 - frozen
    progress: Progress | None = None,
) -> Bounded:
    """The best threshold policy, from a good one, and a lower bound for all of them, over all sets of robots.

    Cost: a few dozen bounds.
    """
    numbers = np.array(process.robot_numbers)
    everything = np.ones((process.scenario.capacity + 1, numbers.size), dtype=bool)
    search = BranchAndBound(process, everything, replace(settings, monotone=True), progress)
    return search.run(np.searchsorted(numbers, table))
