r"""Marginals of a stationary distribution, and the basic measures of Theorems 1 to 3.

A `Summary` is what every solver can deliver whatever its state space: probabilities of the level jointly with the
control state and the service state, and for each level the rate at which pages become obsolete there. Every
measure of Theorems 1 to 3 follows from these; no method needs to hand out its full state vector for them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytic.chain.primitives import Chain, Levels
from crawltwin.model.checks import FloatArray
from crawltwin.model.rates import Rates

BASIC_MEASURES = (
    "arrival_rate",
    "loss_probability",
    "obsolescence_probability",
    "success_probability",
    "starvation_probability",
    "mean_active_robots",
    "mean_pages",
    "switch_rate",
    "mean_fetches",
)
"""Measures that follow from the marginals alone."""


@dataclass(frozen=True)
class Summary:
    """Marginals of a stationary (or transient) distribution.

    Parameters
    ----------
    empty : ndarray, shape (C_0,)
        Probabilities of level 0 and each control state.
    busy : ndarray, shape (top, C, S)
        `busy[i - 1]`: probabilities of level i, jointly with the control and service states; levels with fewer of them
        leave the last entries at zero.
    obsolescence_flow : ndarray, shape (top + 1, C)
        For each level and control state the rate of pages that become obsolete.
    """

    empty: FloatArray
    busy: FloatArray
    obsolescence_flow: FloatArray

    @classmethod
    def of(cls, chain: Chain, laws: FloatArray, clocks: FloatArray) -> Summary:
        """From the law of the small states and the rates at which some page becomes obsolete in them.

        Parameters
        ----------
        laws, clocks : ndarray, shape (top + 1, n)
            By level and small state; levels with fewer leave the last entries unused.
        """
        shapes: dict[tuple[int, int], list[int]] = {}
        for levels in chain.alike:
            shapes.setdefault(chain.small_shape(int(levels[0])), []).extend(levels.tolist())
        C, S = (max(shape[axis] for shape in shapes) for axis in (0, 1))
        law, flow = np.zeros((chain.top + 1, C, S)), np.zeros((chain.top + 1, C))
        for (c, s), own in shapes.items():
            here = laws[own, : c * s].reshape(-1, c, s)
            law[own, :c, :s] = here
            flow[own, :c] = (here * clocks[own, : c * s].reshape(-1, c, s)).sum(axis=2)
        return cls(law[0, : chain.small_states(0), 0], law[1:], flow)

    @property
    def level_distribution(self) -> FloatArray:
        """Probability of each number of pages."""
        return np.concatenate([[self.empty.sum()], self.busy.sum(axis=(1, 2))])

    @property
    def controls(self) -> FloatArray:
        """Joint probabilities of the levels and the control states, shape (top + 1, C)."""
        found = np.zeros(self.obsolescence_flow.shape)
        found[0, : self.empty.size], found[1:] = self.empty, self.busy.sum(axis=2)
        return found

    def small_law(self, chain: Chain, level: int) -> FloatArray:
        """Probabilities of one level by control and service state."""
        control, service = chain.small_shape(level)
        return self.empty[:, None] if level == 0 else self.busy[level - 1, :control, :service]


def rates_of(chain: Chain, summary: Summary) -> Rates:
    """The linear rates behind Theorems 1 to 3; the sojourn time of served pages is not among them.

    The rate of lost pages is a sum of losses; the paper's (8), one minus a sum, loses every digit of a small
    probability.
    """
    levels, controls = summary.level_distribution, summary.controls
    c = chain.indexers.number
    idle = (c - np.arange(min(c, levels.size))) / c
    return Rates(
        pages=sum(_mass(controls, group, pages.page_rates) for pages, group in chain.groups),
        lost=sum(_mass(controls, group, pages.loss_rates) for pages, group in chain.groups),
        obsolete=float(summary.obsolescence_flow.sum(axis=1).sum()),
        served=sum(
            float(law.sum(axis=(0, 1))[: rates.size] @ rates)
            for law, rates in (
                (summary.busy[first - 1 : last], chain.indexers.end_rates(first))
                for first, last in _by_busy(c, chain.top)
            )
        ),
        robots=float(sum(robots * mass for robots, mass in mode_probabilities(chain, summary).items())),
        starvation=float(levels[: idle.size] @ idle),
        level=float(levels @ np.arange(levels.size)),
        sojourn_served=np.nan,
        switches=_switches(chain, summary, controls),
        fetches=_fetches(chain, controls),
    )


def _mass(controls: FloatArray, levels: Levels, rates: FloatArray) -> float:
    """Sum over levels of their control states' probabilities times rates."""
    return float(controls[levels, : rates.size].sum(axis=0) @ rates)


def _by_busy(number: int, top: int) -> list[tuple[int, int]]:
    """Stretches of levels with the same number of busy indexers: first and last."""
    return [(level, level) for level in range(1, min(number, top + 1))] + ([(number, top)] if number <= top else [])


def _switches(chain: Chain, summary: Summary, controls: FloatArray) -> float:
    """Changes of the number of robots per unit of time."""
    total = 0.0
    for levels in chain.alike:
        flow, first = chain.flows[levels[0]], int(levels[0])
        here = controls[levels].sum(axis=0)[: flow.controls.size]
        for move in (*(outcome.move for outcome in flow.outcomes), *flow.polls):
            if move.switches:
                total += float(here @ move.rates.sum(axis=1))
        changing = [move for move in flow.leaving if move.switches]
        if changing:
            served = chain.indexers.end_rates(chain.indexers.busy(first))
            ends = summary.busy[levels - 1].sum(axis=0)[: here.size, : served.size] @ served
            ends = ends + summary.obsolescence_flow[levels, : here.size].sum(axis=0)
            total += sum(float(ends @ move.rates.sum(axis=1)) for move in changing)
    return total


def _fetches(chain: Chain, controls: FloatArray) -> float | None:
    """Mean number of fetches in flight."""
    if chain.flows[0].controls.fetches is None:
        return None
    total = 0.0
    for levels in chain.alike:
        fetches = chain.flows[levels[0]].controls.fetches
        assert fetches is not None
        total += _mass(controls, levels, fetches)
    return total


def basic_measures(chain: Chain, summary: Summary) -> dict[str, float]:
    """Theorems 1 to 3, equations (5) to (9), (14), (15), pages and switches; fetches where robots fetch."""
    rates = rates_of(chain, summary)
    return {name: float(rates.value(name)) for name in BASIC_MEASURES if name in rates.known_measures}


def mode_probabilities(chain: Chain, summary: Summary) -> dict[int, float]:
    """Probability that each number of robots is wanted at an arbitrary instant, equation (7)."""
    found: dict[int, float] = {}
    controls = summary.controls
    for levels in chain.alike:
        robots = chain.flows[levels[0]].controls.robots
        mass = controls[levels].sum(axis=0)
        for number in np.unique(robots).astype(int).tolist():
            found[number] = found.get(number, 0.0) + float(mass[: robots.size][robots == number].sum())
    return dict(sorted(found.items()))
