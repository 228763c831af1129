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
    marginals : tuple of ndarray
        Level 0: probabilities of the arrival phases, shape (W,). Level i >= 1: joint with the service phase, (W, M).
    obsolescence_flow : ndarray
        For each level the rate of pages that become obsolete, p_i (I (x) I (x) Gamma_0^{(+)(i-1)}) e.
    """

    marginals: tuple[FloatArray, ...]
    obsolescence_flow: FloatArray

    @property
    def level_distribution(self) -> FloatArray:
        """Probability of each number of pages."""
        return np.array([float(part.sum()) for part in self.marginals])

    def arrival_phases(self, level: int) -> FloatArray:
        """Joint probabilities of a level and the arrival phases."""
        part = self.marginals[level]
        return part if level == 0 else np.asarray(part.sum(axis=1))


def basic_measures(chain: Chain, summary: Summary) -> dict[str, float]:
    """Theorems 1 to 3, equations (5) to (9), (14), (15), and the mean number of pages.

    The loss probability is a sum of losses over a sum of arrivals; the paper's (8), one minus a sum, loses every digit
    of a small probability.
    """
    levels = summary.level_distribution
    arrivals = losses = 0.0
    for level, flow in enumerate(chain.flows):
        phases = summary.arrival_phases(level)
        arrivals += float(phases @ flow.page_rates)
        losses += float(phases @ flow.loss_rates)
    served = sum(float(part.sum(axis=0) @ chain.service.exit_rates) for part in summary.marginals[1:])
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
