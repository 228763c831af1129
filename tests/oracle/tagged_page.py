"""The time of one page in the system, followed state by state from the words of the model.

A page that has entered sees (service phase, obsolescence phases of those waiting before it, its own); once it is in
service itself, (service phase,). Nothing here is a Kronecker product, and nothing is shared with the product.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from tests.oracle.brute_force import FullChain, level_of

Place = tuple[int, ...]


@dataclass(frozen=True)
class TaggedPage:
    """Rates between places, rates of the two ends, and where an arbitrary delivered page starts."""

    matrix: np.ndarray
    served: np.ndarray
    obsolete: np.ndarray
    start: np.ndarray

    def moment(self, k: int, ends: np.ndarray) -> float:
        """k! alpha (-T)^-(k+1) t over the probability of that end."""
        value = np.linalg.solve(-self.matrix, ends)
        chance = self.start @ value
        for j in range(1, k + 1):
            value = j * np.linalg.solve(-self.matrix, value)
        return float(self.start @ value / chance)

    def transform(self, u: float) -> float:
        """Of all pages, the lost ones with time 0."""
        identity = np.eye(len(self.start))
        inside = self.start @ np.linalg.solve(u * identity - self.matrix, self.served + self.obsolete)
        return float(inside + 1 - self.start.sum())


def tagged_page(chain: FullChain, p, arrivals, service, obsolescence, admitted) -> TaggedPage:
    """Follow a page through the chain of stationary vector `p`; `admitted(level, batch)` pages of a batch enter."""
    beta, S = (np.asarray(part, float) for part in service)
    gamma, G = (np.asarray(part, float) for part in obsolescence or ([1.0], [[0.0]]))
    S0, G0 = -S.sum(axis=1), -G.sum(axis=1)
    deepest = int(chain.levels.max())
    places = [place for j in range(deepest) for place in product(range(len(beta)), *[range(len(gamma))] * j)]
    index = {place: number for number, place in enumerate(places)}
    T, served, obsolete = np.zeros((len(places),) * 2), np.zeros(len(places)), np.zeros(len(places))
    for place, row in index.items():
        m, clocks = place[0], place[1:]
        T[row, row] = S[m, m] + sum(G[r, r] for r in clocks)
        for other in range(len(beta)):
            if other != m:
                T[row, index[(other, *clocks)]] += S[m, other]
            if clocks:
                T[row, index[(other, *clocks[1:])]] += S0[m] * beta[other]
        if not clocks:
            served[row] = S0[m]
        for j, r in enumerate(clocks):
            for other in range(len(gamma)):
                if other != r:
                    T[row, index[(m, *clocks[:j], other, *clocks[j + 1 :])]] += G[r, other]
            if j == len(clocks) - 1:
                obsolete[row] += G0[r]
            else:
                T[row, index[(m, *clocks[:j], *clocks[j + 1 :])]] += G0[r]
    start = np.zeros(len(places))
    for state, mass in zip(chain.states, p, strict=True):
        level, (phase, in_service, waiting) = level_of(state), state
        for batch, D in enumerate(arrivals(level)):
            for order in range(1, admitted(level, batch) + 1 if batch else 1):
                fresh = order if level else order - 1
                for m in range(len(beta)) if level == 0 else [in_service]:
                    for new in product(range(len(gamma)), repeat=fresh):
                        weight = np.prod(gamma[list(new)]) * (beta[m] if level == 0 else 1.0)
                        start[index[(m, *waiting, *new)]] += mass * D[phase].sum() * weight
    return TaggedPage(T, served, obsolete, start / (p @ chain.arrival_rates))
