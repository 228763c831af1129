r"""What each state earns per unit of time: every measure is a mean of these, or a quotient of two.

Pages delivered, lost, obsolete and served, robots, starvation and pages in the system are read off a state at once.
The response time needs one more: the *sojourn time of pages that will be served*, booked in full at the instant they
arrive. A state at level i earns :math:`\sum_l \lambda_l w^{(1)}_{i+l-1}`, where :math:`\lambda_l` is the rate of
batches whose l-th page enters and :math:`w^{(1)}_j` Corollary 1's mean at place j of the queue (behind c indexers the
l-th page comes to place :math:`(i+l-c)^+`). It does not depend on what
the policy does later, because the queue is first come, first served; so the cost (2) is linear in the stationary
vector but for the one quotient :math:`\bar V^{(1)} =` sojourn / served.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from analytic.chain.generator import Generator
from analytic.chain.primitives import Chain
from analytic.chain.tagged import TaggedChain, place_states
from analytic.linear.count_vectors import counts
from crawltwin.model.checks import FloatArray
from crawltwin.model.laws.phase_type import PhaseType
from crawltwin.model.rates import EVERY_RATE, RATES


@dataclass(frozen=True)
class Prospects:
    """What lies ahead of a page at place j of the queue, j = 0, 1, ... (0: it is being indexed).

    Parameters
    ----------
    chance : list of ndarray, shapes (M, 1), then (service states, R^j)
        Probability of being served, v^(1)_j(0), by service state and clocks, its own clock last.
    wait : list of ndarray, of the same shapes
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
        """Solve for all places of the queue. Cost: one block triangular factorisation and two solves (four)."""
        T, served = _tagged(chain)
        factor = splu(sp.csc_matrix(-T), permc_spec="NATURAL", diag_pivot_thresh=0.0)
        chance = factor.solve(served)
        wait = factor.solve(chance)
        slope = np.zeros_like(wait)
        if derivative:
            # T is linear in both sets of rates: doubling the service rates adds exactly their part.
            service = PhaseType(chain.service.initial, 2 * chain.service.subgenerator)
            doubled, twice = _tagged(replace(chain, indexers=replace(chain.indexers, service=service)))
            part = doubled - T
            slope = factor.solve(part @ wait + factor.solve(part @ chance + (twice - served)))
        sizes = [place_states(chain, j) for j in range(_places(chain))]
        rows = [chain.service_phases] + [chain.indexers.states(chain.indexers.number)] * (len(sizes) - 1)

        def split(vector: FloatArray) -> list[FloatArray]:
            parts = np.split(vector, np.cumsum(sizes)[:-1])
            return [part.reshape(row, -1) for row, part in zip(rows, parts, strict=True)]

        return cls(split(chance), split(wait), split(slope))


def _tagged(chain: Chain) -> tuple[sp.csc_array, FloatArray]:
    tagged = TaggedChain.of(chain, [np.zeros(place_states(chain, j)) for j in range(_places(chain))])
    return sp.csc_array(tagged.matrix), tagged.served


def _places(chain: Chain) -> int:
    """Places of the queue, that of a page in service included."""
    return max(chain.indexers.waiting(chain.top) + 1, 1)


def booked_at_arrival(generator: Generator, values: list[FloatArray]) -> FloatArray:
    """For each state the mean rate at which arriving pages book `values` (by place, as in `Prospects`)."""
    chain, starts, indexers = generator.chain, generator.starts, generator.chain.indexers
    out, c = np.zeros(generator.states), indexers.number
    at_once = float(chain.service.initial @ values[0][:, 0])
    for pages, levels in chain.groups:
        for place, rates in enumerate(pages.place_rates, start=1):
            full = levels[levels >= c]
            for level in levels[levels < c].tolist():
                queue = level + place - c
                ahead = np.full(indexers.states(level), at_once)
                if queue > 0:
                    ahead = indexers.begins(level, c - level) @ values[queue] @ _fresh(chain, queue)
                out[starts[level] : starts[level + 1]] += np.kron(rates, ahead)
            if chain.obsolescence_phases == 1 and full.size:
                ahead = np.concatenate([values[level + place - c] for level in full], axis=1)
                index = starts[full][:, None, None] + np.arange(rates.size * len(ahead)).reshape(1, rates.size, -1)
                out[index] += rates[None, :, None] * ahead.T[:, None, :]
                continue
            for level in full.tolist():
                behind = values[level + place - c].reshape(-1, chain.obsolescence_phases**place)
                out[starts[level] : starts[level + 1]] += np.kron(rates, behind @ _fresh(chain, place))
    return out


def present_pages(generator: Generator, values: list[FloatArray]) -> FloatArray:
    """For each state the sum of `values` over the pages in the system, each by its place in the queue."""
    chain, starts, indexers = generator.chain, generator.starts, generator.chain.indexers
    out = np.zeros(generator.states)
    total = np.zeros((1, 1))
    for level in range(1, chain.top + 1):
        waiting = indexers.waiting(level)
        if waiting == 0:
            total = counts(level, chain.service_phases) @ values[0]
        else:
            total = np.repeat(total, chain.obsolescence_phases, axis=1) + values[waiting]
        out[starts[level] : starts[level + 1]] = np.tile(total.ravel(), chain.flows[level].controls.size)
    return out


def _fresh(chain: Chain, clocks: int) -> FloatArray:
    """Joint phases of clocks that have just been started."""
    return reduce(np.kron, [chain.gamma] * clocks, np.ones(1))


def state_rewards(generator: Generator, prospects: Prospects, names: Sequence[str] = RATES) -> FloatArray:
    """The linear rates of each state, shape (states, names)."""
    chain, level = generator.chain, generator.levels

    def reward(name: str) -> FloatArray:
        if name in ("pages", "lost", "obsolete", "served", "switches"):
            return generator.count_rate(name)
        if name == "sojourn_served":
            return booked_at_arrival(generator, prospects.wait)
        if name == "level":
            return level.astype(np.float64)
        if name == "starvation":
            return np.asarray(np.maximum(chain.indexers.number - level, 0) / chain.indexers.number)
        found = [flow.controls.robots if name == "robots" else flow.controls.fetches for flow in chain.flows]
        return generator.over_controls([np.zeros(1) if values is None else values for values in found])

    return np.column_stack([reward(name) for name in names])


def rate_names(chain: Chain) -> tuple[str, ...]:
    """The linear rates that a chain has: those of every chain, its switches and, where robots fetch, its fetches."""
    return EVERY_RATE if chain.flows[0].controls.fetches is not None else EVERY_RATE[:-1]
