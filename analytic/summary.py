"""What a stationary solution must tell, whatever the method: phase marginals by level, and the flow of obsolete pages.

Every measure of Theorems 1 to 3 follows from these; no method needs to hand out its full state vector for them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytic.chain import Chain
from crawltwin.model.checks import FloatArray


@dataclass(frozen=True)
class Summary:
    """Marginals of a stationary (or transient) distribution.

    Parameters
    ----------
    empty : ndarray, shape (W,)
        Probabilities of level 0 and each arrival phase.
    busy : ndarray, shape (top, W, M)
        `busy[i - 1]`: probabilities of level i, jointly with the arrival and service phases.
    obsolescence_flow : ndarray, shape (top + 1,)
        For each level the rate of pages that become obsolete, p_i (I (x) I (x) Gamma_0^{(+)(i-1)}) e.
    """

    empty: FloatArray
    busy: FloatArray
    obsolescence_flow: FloatArray

    @property
    def level_distribution(self) -> FloatArray:
        """Probability of each number of pages."""
        return np.concatenate([[self.empty.sum()], self.busy.sum(axis=(1, 2))])

    @property
    def arrival_phases(self) -> FloatArray:
        """Joint probabilities of the levels and the arrival phases, shape (top + 1, W)."""
        return np.vstack([self.empty[None, :], self.busy.sum(axis=2)])


def basic_measures(chain: Chain, summary: Summary) -> dict[str, float]:
    """Theorems 1 to 3, equations (5) to (9), (14), (15), and the mean number of pages.

    The loss probability is a sum of losses over a sum of arrivals; the paper's (8), one minus a sum, loses every digit
    of a small probability.
    """
    levels, phases = summary.level_distribution, summary.arrival_phases
    arrivals = sum(float(phases[group].sum(axis=0) @ flow.page_rates) for flow, group in chain.groups)
    losses = sum(float(phases[group].sum(axis=0) @ flow.loss_rates) for flow, group in chain.groups)
    served = float(summary.busy.sum(axis=(0, 1)) @ chain.service.exit_rates)
    return {
        "arrival_rate": arrivals,
        "loss_probability": losses / arrivals,
        "obsolescence_probability": float(summary.obsolescence_flow.sum()) / arrivals,
        "success_probability": served / arrivals,
        "starvation_probability": float(levels[0]),
        "mean_active_robots": float(levels @ chain.robots),
        "mean_pages": float(levels @ np.arange(levels.size)),
    }


def mode_probabilities(chain: Chain, summary: Summary) -> dict[int, float]:
    """Probability that each number of robots is active at an arbitrary instant, equation (7)."""
    found: dict[int, float] = {}
    for robots, mass in zip(chain.robots, summary.level_distribution, strict=True):
        found[int(robots)] = found.get(int(robots), 0.0) + float(mass)
    return dict(sorted(found.items()))
