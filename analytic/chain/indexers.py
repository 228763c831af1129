r"""Equal indexers that serve one queue: the phases of the busy ones as counts.

With b busy indexers and M phases of an indexing time the service part of a state is the vector n of how many are in
each phase: C(b + M - 1, M - 1) of them (`analytic.linear.count_vectors`). One indexer: the phase itself.

- phases move at rates :math:`n_i S_{ij}`, an indexing ends at rate :math:`n_i S_{0,i}`;
- a page that begins chooses its phase by :math:`\beta`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytic.linear.count_vectors import count_states, counts, one_less, one_more
from crawltwin.model.checks import FloatArray
from crawltwin.model.laws.phase_type import PhaseType


@dataclass(frozen=True)
class Indexers:
    """`number` indexers, each with the same law of its indexing time."""

    service: PhaseType
    number: int

    def busy(self, level: int) -> int:
        """Busy indexers with `level` pages in the system."""
        return min(level, self.number)

    def waiting(self, level: int) -> int:
        """Pages that wait."""
        return max(level - self.number, 0)

    def states(self, busy: int) -> int:
        """Number of service states."""
        return count_states(busy, self.service.order)

    def changes(self, busy: int) -> FloatArray:
        """Rates of changes of one phase, off the diagonal."""
        M, n = self.service.order, counts(busy, self.service.order)
        found = np.zeros((len(n), len(n)))
        if not busy:
            return found
        without, put_back = one_less(busy, M), one_more(busy - 1, M)
        for i in range(M):
            has = np.flatnonzero(n[:, i])
            for j in range(M):
                if i != j and self.service.subgenerator[i, j]:
                    found[has, put_back[without[has, i], j]] += n[has, i] * self.service.subgenerator[i, j]
        return found

    def ends(self, busy: int) -> FloatArray:
        """Rates at which one of them ends and nobody follows."""
        M, n = self.service.order, counts(busy, self.service.order)
        found = np.zeros((len(n), self.states(busy - 1)))
        without = one_less(busy, M)
        for i in range(M):
            has = np.flatnonzero(n[:, i])
            found[has, without[has, i]] += n[has, i] * self.service.exit_rates[i]
        return found

    def begins(self, busy: int, pages: int) -> FloatArray:
        """Probabilities of the service state after `pages` more pages have begun."""
        M, found = self.service.order, np.eye(self.states(busy))
        for now in range(busy, busy + pages):
            more = one_more(now, M)
            one = np.zeros((len(more), self.states(now + 1)))
            for i in range(M):
                one[np.arange(len(more)), more[:, i]] += self.service.initial[i]
            found = found @ one
        return found

    def follows(self, busy: int) -> FloatArray:
        """Rates at which one of them ends and the next page begins."""
        return self.ends(busy) @ self.begins(busy - 1, 1)

    def end_rates(self, busy: int) -> FloatArray:
        """Rate at which some indexing ends, by service state."""
        return np.asarray(counts(busy, self.service.order) @ self.service.exit_rates)

    def diagonal(self, busy: int) -> FloatArray:
        """Minus the total rate out of each service state."""
        return np.asarray(counts(busy, self.service.order) @ np.diag(self.service.subgenerator))
