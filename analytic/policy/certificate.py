r"""Is the best threshold policy the best of all? The question that the paper leaves as a belief (section 2).

Three classes of controllers, each containing the one before:

1. threshold policies: the number of robots never rises with the number of pages;
2. level-based policies: any number of robots at any number of pages, :math:`N^{K+1}` tables;
3. controllers that see the phases too (with phase-type obsolescence also the clocks of all waiting pages), with memory
   and randomisation if they wish.

`certify` finds the best of the first two by branch and bound and a lower bound for the third, all with the response
time as the quotient that it is (`decision` has the proof). A gap of zero between 1 and 2 settles the paper's
belief for that example; the gap between 2 and 3 is what a controller that could see the phases would save at most.

A level-based policy here is deterministic. Switching now and then between two of them can do better where the cost is
not linear or under constraints: that is `analytic.pareto`'s mixture.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from analytic.policy.branch_and_bound import MOST_WORK, Bounded, BranchAndBound, Progress, SearchSettings
from analytic.policy.decision import MAX_WORK
from analytic.policy.optimum import Optimum, PolicyCost
from analytic.policy.search import optimize
from analytic.policy.tables import table_of
from analytic.policy.window.search import bounding
from analytic.stationary.solution import versions
from crawltwin.model import InputError, LevelPolicy, Scenario
from crawltwin.model.results.display import Shown
from crawltwin.model.scenario import takes_scenario

if TYPE_CHECKING:
    import pandas as pd

SEEN_TOLERANCE = 1e-8
"""Relative gap at which the bound for a controller that sees the phases is good enough."""


@dataclass(frozen=True, repr=False)
class Certificate(Shown):
    """How good the best threshold policy is among wider classes.

    Parameters
    ----------
    scenario : Scenario
    threshold : PolicyCost
        The best threshold policy over all sets of robots.
    level_table : tuple of int
        The best level-based policy found, robots by level.
    level_cost : float
    level_bound : float
        No level-based policy costs less.
    seen_cost : float
        The least cost found for a controller that sees the phases.
    seen_bound : float
        No controller at all costs less.
    proven : bool
        Whether `level_bound` is within the tolerance of `level_cost`.
    tolerance : float
    nodes : int
        Nodes of branch and bound.
    seconds : float
    reason : str
        Why it is not proved; empty where it is.
    """

    scenario: Scenario
    threshold: PolicyCost
    level_table: tuple[int, ...]
    level_cost: float
    level_bound: float
    seen_cost: float
    seen_bound: float
    proven: bool
    tolerance: float
    nodes: int
    seconds: float
    reason: str = ""

    @property
    def advantage(self) -> float:
        """What the best level-based policy found saves over the best threshold policy; 0 when that is the best."""
        return max(0.0, self.threshold.cost - self.level_cost)

    @property
    def gap(self) -> float:
        """What some level-based policy might still save over the best threshold policy."""
        return max(0.0, self.threshold.cost - self.level_bound)

    @property
    def threshold_is_best(self) -> bool | None:
        """Whether no level-based policy beats the best threshold policy; None when that stayed open."""
        if self.advantage > self.tolerance * abs(self.threshold.cost):
            return False
        return True if self.proven else None

    @property
    def policy(self) -> LevelPolicy:
        """The best level-based policy found."""
        return LevelPolicy(self.level_table)

    def in_words(self) -> str:
        """The verdict as a sentence or two."""
        K, cost = self.scenario.capacity, self.threshold.cost
        if self.threshold_is_best:
            first = (
                "No level-based policy, threshold or not, beats the best threshold policy "
                f"(proved to within {self.gap:.2g})."
            )
        elif self.threshold_is_best is None:
            first = (
                f"Not proved: no better level-based policy was found, but one might cost up to {self.gap:.4g} less "
                f"({100 * self.gap / abs(cost) if cost else 0.0:.2g}% of the cost): {self.reason}."
            )
        else:
            first = (
                f"A level-based policy beats every threshold policy by {self.advantage:.6g}: "
                f"{self.policy.in_words(K)} Cost {self.level_cost:.6g}."
            )
        saved = max(0.0, cost - self.seen_bound)
        return (
            f"{first} A controller that also saw every phase could cost {self.seen_bound:.6g} at the least, "
            f"{100 * saved / cost:.2f}% less."
            if cost
            else first
        )

    def headline(self) -> str:
        """The verdict."""
        return self.in_words()

    def to_frame(self) -> pd.DataFrame:
        """One row for each class of controllers: the least cost found, and what none can beat."""
        import pandas as pd

        rows = [
            ("threshold policies", self.threshold.policy.short, self.threshold.cost, self.threshold.lower_bound),
            ("level-based policies", self.policy.short, self.level_cost, self.level_bound),
            ("controllers that see the phases", None, self.seen_cost, self.seen_bound),
        ]
        frame = pd.DataFrame(rows, columns=["controllers", "best", "cost", "lower_bound"])
        frame.attrs["units"] = {"cost": "cost", "lower_bound": "cost"}
        return frame

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries and numbers, as `crawltwin optimize --certify --json` prints them."""
        return {
            "threshold": self.threshold.to_json(),
            "level": {"table": list(self.level_table), "cost": self.level_cost, "lower_bound": self.level_bound},
            "phase_aware": {"cost": self.seen_cost, "lower_bound": self.seen_bound},
            "threshold_is_best": self.threshold_is_best,
            "advantage": self.advantage,
            "gap": self.gap,
            "proven": self.proven,
            "reason": self.reason,
            "tolerance": self.tolerance,
            "nodes": self.nodes,
            "seconds": self.seconds,
            "words": self.in_words(),
            "versions": versions(),
        }


def check_certifiable(scenario: Scenario, optimum: Optimum | None = None) -> None:
    """Refuse what a certificate would ignore: it compares controllers of the paper's model, with several indexers."""
    scenario.check_features(("indexers",), "the certificate")
    if optimum is not None and optimum.listed is not None:
        raise InputError(
            "optimum must be one of controllers without a memory; got one with resume points or polling. "
            "Its own lower_bound holds for all controllers"
        )


@takes_scenario
def certify(
    scenario: Scenario,
    optimum: Optimum | None = None,
    tolerance: float = 1e-9,
    max_nodes: int = 50_000,
    progress: Progress | None = None,
) -> Certificate:
    """Compare the best threshold policy with all level-based policies and with controllers that see the phases.

    Parameters
    ----------
    scenario : Scenario
        With cost weights; its policy is ignored. Several indexers are known; robots that finish their fetch, resume
        points, polling and costs of switching are refused: `optimize` gives a bound for all controllers there.
    optimum : Optimum, optional
        What `optimize` found, if it was run already.
    tolerance : float
        Relative gap that counts as none.
    max_nodes : int
        Nodes of branch and bound at most; what is left open is reported as a gap.
    progress : callable, optional
        Called with (nodes, best cost, lower bound) after each node; a true answer ends the search, and the bounds
        found by then are reported.

    Raises
    ------
    TooLargeError
        When not even a window of one ordered page fits.

    Notes
    -----
    Cost: a few hundred nodes in the paper's examples, each a few banded factorisations of the controlled chain. With
    several obsolescence phases its states grow as R^K: where it does not fit, the bounds are those of a window of
    ordered pages (`analytic.policy.window`), which leave a gap, and costs are those of `solve`.

    Examples
    --------
    >>> from crawltwin.model import examples
    >>> certify(examples.load("paper")).threshold_is_best
    True
    """
    began = time.perf_counter()
    check_certifiable(scenario, optimum)
    process, settings = bounding(
        scenario, SearchSettings(tolerance=tolerance / 2, max_nodes=max_nodes, max_work=MOST_WORK), MAX_WORK
    )
    best = (optimize(scenario) if optimum is None else optimum).best
    numbers, K = np.array(process.robot_numbers), scenario.capacity
    start = np.searchsorted(numbers, table_of(best.robots, best.thresholds, K))
    free = np.ones((K + 1, numbers.size), dtype=bool)
    level = BranchAndBound(process, free, settings, progress).run(start)
    apart = replace(settings, by_level=False, tolerance=SEEN_TOLERANCE if process.exact else settings.tolerance)
    seen = BranchAndBound(process, free, apart, progress).run(start)
    assert level.table is not None
    found = level.table if level.cost < best.cost * (1 - tolerance) else start
    proven = best.cost - level.bound <= tolerance * abs(best.cost) or level.cost - level.bound <= tolerance * abs(
        level.cost
    )
    return Certificate(
        scenario=scenario,
        threshold=best,
        level_table=tuple(int(r) for r in numbers[found]),
        level_cost=min(level.cost, best.cost),
        level_bound=min(level.bound, best.cost),
        seen_cost=min(seen.cost, best.cost),
        seen_bound=min(seen.bound, level.bound),
        proven=proven,
        tolerance=tolerance,
        nodes=level.nodes + seen.nodes,
        seconds=time.perf_counter() - began,
        reason="" if proven else _why_open(level, process.exact),
    )


def _why_open(search: Bounded, exact: bool) -> str:
    """Why a search left a gap."""
    after = f"after {search.nodes:,} {'node' if search.nodes == 1 else 'nodes'}"
    if search.ending == "stopped":
        return f"the search was interrupted {after}"
    if search.ending in ("nodes", "work"):
        return f"the search reached its limit {after}"
    if not exact:
        return "the clocks of only some waiting pages are followed, and the bounds get no closer"
    return "rates so far apart leave bounds that rounding keeps from coming closer"
