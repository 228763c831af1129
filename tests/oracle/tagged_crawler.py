"""Sojourn times of the whole crawler: one page is marked as it enters and followed, later arrivals included.

The chain is explored state by state like `tests.oracle.whole_crawler`; it knows nothing of the theorem that later pages
do not matter. It ends when the marked page is served or becomes obsolete.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import expm

from tests.oracle.whole_crawler import TAG, Explored, State


def is_marked(state: State) -> bool:
    return any(phase >= TAG for phase in (*state[2], *state[3]))


@dataclass(frozen=True)
class TaggedCrawler:
    """Start weights per delivered page, rates among the states with the marked page, and rates of its two ends."""

    start: np.ndarray
    rates: np.ndarray
    served: np.ndarray
    obsolete: np.ndarray

    @classmethod
    def of(cls, scenario: Any) -> TaggedCrawler:
        explored = Explored.of(scenario)
        crawler, p = explored.crawler, explored.stationary()
        pages = float(p @ explored.counts["pages"])
        weights: dict[State, float] = defaultdict(float)
        for state, place in explored.states.items():
            for number in range(scenario.arrivals.max_batch):
                for event in crawler.events(state, tagged=number):
                    if is_marked(event.state):
                        weights[event.state] += p[place] * event.rate / pages
        index = {state: place for place, state in enumerate(weights)}
        todo, rates, ends = list(index), defaultdict(float), defaultdict(float)
        for state in todo:  # grows while it is walked
            for event in crawler.events(state):
                if not is_marked(event.state):
                    ends["served" if event.served else "obsolete", index[state]] += event.rate
                    continue
                if event.state not in index:
                    index[event.state] = len(index)
                    todo.append(event.state)
                rates[index[state], index[event.state]] += event.rate
        n = len(index)
        T = np.zeros((n, n))
        for (a, b), rate in rates.items():
            T[a, b] += rate
        served, obsolete = (np.array([ends[fate, k] for k in range(n)]) for fate in ("served", "obsolete"))
        T -= np.diag(T.sum(axis=1) + served + obsolete)
        return cls(np.array([weights[state] for state in index]), T, served, obsolete)

    def exits(self, fate: str) -> np.ndarray:
        return {"served": self.served, "obsolete": self.obsolete, "all": self.served + self.obsolete}[fate]

    def probability(self, fate: str) -> float:
        return float(self.start @ np.linalg.solve(-self.rates, self.exits(fate)))

    def moment(self, k: int, fate: str) -> float:
        """Given the fate; among all pages the lost ones count as 0."""
        vector, value = np.linalg.solve(-self.rates, self.exits(fate)), 1.0
        for j in range(1, k + 1):
            vector = np.linalg.solve(-self.rates, vector)
            value *= j
        return value * float(self.start @ vector) / (1.0 if fate == "all" else self.probability(fate))

    def survival(self, x: float, fate: str) -> float:
        left = self.start @ expm(self.rates * x) @ np.linalg.solve(-self.rates, self.exits(fate))
        return float(left) / (1.0 if fate == "all" else self.probability(fate))
