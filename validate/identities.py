r"""What must hold exactly, on either side, whatever the scenario: no statistics, only rounding.

Simulated, for every replication: pages are conserved to the last one, and the area under the number of pages is the sum
of all times spent in the system (Little's law on the sample path). Both engines, given the same random numbers, leave
the same counts behind.

Solved: probabilities sum to one; what enters leaves (flow balance); the residual of p Q = 0 is small; Little's law ties
the mean number of pages to the mean sojourn time of the tagged page's chain; and the indexers are busy for exactly the
work they do, :math:`c (1 - P_{star}) = \lambda P_{success} b_1` with c of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from analytic import Solution
from crawltwin.model import Scenario
from crawltwin.model.measures import FATE_SHARES
from simulate import Sample
from simulate.engine.length import Length
from simulate.sample.replications import Job, Piece, run_piece

EXACT = 1e-9
"""Largest relative gap that is rounding."""
ENGINE_PAGES = 2000
"""Pages over which the two engines are compared count by count."""


@dataclass(frozen=True)
class Identity:
    """One identity: by how much it fails, how much is allowed, whether it holds."""

    side: str
    name: str
    gap: float
    allowed: float

    @property
    def holds(self) -> bool:
        """Whether the gap is within what is allowed; a gap that is not a number never is."""
        return bool(abs(self.gap) <= self.allowed)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "side": self.side,
            "name": self.name,
            "gap": self.gap,
            "allowed": self.allowed,
            "holds": self.holds,
        }


def simulated_identities(sample: Sample) -> tuple[Identity, ...]:
    """Conservation of pages, and Little's law on the path, at their worst over all replications."""
    return (
        Identity("simulated", "pages are conserved", float(sample.diagnostics.conservation), 0.0),
        Identity("simulated", "Little's law on every path", sample.diagnostics.little, EXACT),
    )


def engines_agree(scenario: Scenario, seed: int) -> Identity:
    """The compiled engine against the reference engine on the same random numbers: largest gap in any count or time.

    Cost: a tenth of a second.
    """
    length = Length(pages=ENGINE_PAGES, bins=10)
    one, other = (run_piece(Piece(Job(scenario, length, seed, engine), 0))[0] for engine in ("compiled", "simpy"))
    gap = float(np.abs(one.counts - other.counts).max())
    for name in ("time_at_level", "sojourns", "control", "time_in_mode"):
        left, right = getattr(one, name), getattr(other, name)
        if not left.size:
            continue
        gap = max(gap, float((np.abs(left - right) / np.maximum(np.abs(left), 1e-6 * one.time)).max()))
    return Identity("simulated", "both engines on the same random numbers", gap, EXACT)


def solved_identities(solution: Solution) -> tuple[Identity, ...]:
    """Flow balance, residual, Little's law and the utilisation law of a solution."""
    measures = solution.measures
    allowed = max(EXACT, solution.solver.error_estimate)
    fates = sum(measures[name] for name in FATE_SHARES)
    levels = np.array(measures["level_distribution"])
    work = measures["arrival_rate"] * measures["success_probability"] * solution.scenario.service.mean
    gaps = {
        "levels sum to one": float(levels.sum()) - 1,
        "modes sum to one": sum(solution.mode_probabilities.values()) - 1,
        "flow balance: lost, obsolete and indexed are all": fates - 1,
        "the indexer is busy for the work it does": work / solution.scenario.indexers
        - (1 - measures["starvation_probability"]),
    }
    everyone = solution.sojourn.moment(1, "all")
    if everyone is not None:
        pages = measures["mean_pages"]
        gaps["Little's law"] = (everyone * measures["arrival_rate"] - pages) / max(pages, 1e-300)
    found = [Identity("solved", name, gap, allowed) for name, gap in gaps.items()]
    return (*found, Identity("solved", "residual of p Q = 0", solution.solver.residual, max(EXACT, allowed)))
