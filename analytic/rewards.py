r"""What each state earns a unit of time: every measure is a mean of these, or a quotient of two.

Pages delivered, lost, obsolete and served, robots, starvation and pages in the system are read off a state at once.
The response time needs one more: the *sojourn time of pages that will be served*, booked in full at the instant they
arrive. A state at level i earns :math:`\sum_l \lambda_l w^{(1)}_{i+l-1}`, where :math:`\lambda_l` is the rate of
batches whose l-th page enters and :math:`w^{(1)}_j` Corollary 1's mean for j pages ahead. It does not depend on what
the policy does later, because the queue is first come, first served; so the cost (2) is linear in the stationary
vector but for the one quotient :math:`\bar V^{(1)} =` sojourn / served.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from analytic.chain import Chain
from analytic.events import EventChain
from analytic.tagged import TaggedChain
from crawltwin.model import CostWeights, PhaseType
from crawltwin.model.checks import FloatArray

RATES = ("pages", "lost", "obsolete", "served", "robots", "starvation", "sojourn_served", "level")
"""Names of the linear rates, in the order of the columns of every table of rates."""


@dataclass(frozen=True)
class Prospects:
    """What lies ahead of a page with j pages before it, j = 0, 1, ...

    Parameters
    ----------
    chance : list of ndarray, shapes (M, R^j)
        Probability of being served, v^(1)_j(0), by service phase and clocks, its own clock last.
    wait : list of ndarray, shapes (M, R^j)
        Mean sojourn time on the event of being served, w^(1)_j.
    wait_by_service : list of ndarray
        Derivative of `wait` with respect to the logarithm of the service rates. With respect to that of the
        obsolescence rates it is minus `wait` minus this: all rates together only change the unit of time.
    """

    chance: list[FloatArray]
    wait: list[FloatArray]
    wait_by_service: list[FloatArray]

    @classmethod
    def of(cls, chain: Chain, derivative: bool = False) -> Prospects:
        """Solve for all numbers of pages ahead. Cost: one block triangular factorisation and two solves (four)."""
        T, served = _tagged(chain)
        factor = splu(sp.csc_matrix(-T), permc_spec="NATURAL", diag_pivot_thresh=0.0)
        chance = factor.solve(served)
        wait = factor.solve(chance)
        slope = np.zeros_like(wait)
        if derivative:
            # T is linear in both sets of rates: doubling the service rates adds exactly their part.
            service = PhaseType(chain.service.initial, 2 * chain.service.subgenerator)
            doubled, twice = _tagged(replace(chain, service=service))
            part = doubled - T
            slope = factor.solve(part @ wait + factor.solve(part @ chance + (twice - served)))
        M, R = chain.service_phases, chain.obsolescence_phases
        cuts = np.cumsum([M * R**j for j in range(chain.top)])[:-1]

        def split(vector: FloatArray) -> list[FloatArray]:
            return [part.reshape(M, -1) for part in np.split(vector, cuts)]

        return cls(split(chance), split(wait), split(slope))


def _tagged(chain: Chain) -> tuple[sp.csc_array, FloatArray]:
    M, R = chain.service_phases, chain.obsolescence_phases
    tagged = TaggedChain.of(chain, [np.zeros(M * R**j) for j in range(chain.top)])
    return sp.csc_array(tagged.matrix), tagged.served


def booked_at_arrival(events: EventChain, values: list[FloatArray]) -> FloatArray:
    """For each state the mean rate at which arriving pages book `values` (by pages ahead, as in `Prospects`)."""
    chain, starts = events.chain, events.starts
    out = np.zeros(events.states)
    for flow, levels in chain.groups:
        for place, rates in enumerate(flow.place_rates, start=1):
            if levels[0] == 0:
                new = _fresh(chain, place - 1)
                out[: starts[1]] += rates * float(chain.service.initial @ values[place - 1] @ new)
            full = levels[levels > 0]
            if chain.obsolescence_phases == 1 and full.size:
                ahead = np.concatenate([values[level + place - 1] for level in full], axis=1)
                index = starts[full][:, None, None] + np.arange(starts[2] - starts[1]).reshape(1, rates.size, -1)
                out[index] += rates[None, :, None] * ahead.T[:, None, :]
                continue
            for level in full:
                ahead = values[level + place - 1].reshape(-1, chain.obsolescence_phases**place) @ _fresh(chain, place)
                out[starts[level] : starts[level + 1]] += np.kron(rates, ahead)
    return out


def present_pages(events: EventChain, values: list[FloatArray]) -> FloatArray:
    """For each state the sum of `values` over the pages in the system, each by the pages ahead of it."""
    chain, starts = events.chain, events.starts
    out = np.zeros(events.states)
    W, M, R = chain.arrival_phases, chain.service_phases, chain.obsolescence_phases
    total = np.zeros((M, 1))
    for level in range(1, chain.top + 1):
        total = np.repeat(total, R, axis=1) if level > 1 else total
        total = total + values[level - 1]
        out[starts[level] : starts[level + 1]] = np.tile(total.ravel(), W)
    return out


def _fresh(chain: Chain, clocks: int) -> FloatArray:
    """Joint phases of clocks that have just been started."""
    return reduce(np.kron, [chain.gamma] * clocks, np.ones(1))


def state_rewards(events: EventChain, prospects: Prospects) -> FloatArray:
    """The linear rates `RATES` of each state, shape (states, 8)."""
    level = events.levels
    return np.column_stack(
        [
            events.count_rate("pages"),
            events.count_rate("lost"),
            events.count_rate("obsolete"),
            events.count_rate("served"),
            events.chain.robots[level],
            (level == 0).astype(np.float64),
            booked_at_arrival(events, prospects.wait),
            level.astype(np.float64),
        ]
    )


def cost_of_rates(rates: npt.ArrayLike, weights: CostWeights) -> FloatArray:
    """Equation (2) from linear rates (last axis as `RATES`); infinite response where no page is ever served."""
    _, lost, obsolete, served, robots, starvation, sojourn, _ = np.moveaxis(np.asarray(rates, dtype=np.float64), -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        response = np.where(served > 0, sojourn / served, np.inf if weights.response else 0.0)
    return np.asarray(
        weights.loss * lost
        + weights.obsolescence * obsolete
        + weights.response * response
        + weights.robots * robots
        + weights.starvation * starvation
    )


def measures_of_rates(rates: npt.ArrayLike) -> dict[str, FloatArray]:
    """The measures that are linear rates or quotients of two (last axis as `RATES`); NaN where they do not exist."""
    pages, lost, obsolete, served, robots, starvation, sojourn, level = np.moveaxis(
        np.asarray(rates, np.float64), -1, 0
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        return {
            "arrival_rate": pages,
            "loss_rate": lost,
            "loss_probability": lost / pages,
            "obsolescence_probability": obsolete / pages,
            "success_probability": served / pages,
            "starvation_probability": starvation,
            "mean_active_robots": robots,
            "mean_pages": level,
            "mean_sojourn": level / pages,
            "mean_sojourn_served": sojourn / served,
            "mean_sojourn_obsolete": np.where(obsolete > 0, (level - sojourn) / obsolete, np.nan),
        }
