r"""Sojourn times at scale: the tagged page's chain as arrays, one descending pass per moment (Theorem 4, Corollary 1).

The tagged page only sees what is ahead of it. At place j of the queue (`analytic.chain.tagged`), j - 1 pages waiting
ahead, its state is an array like a level of `analytic.stationary.window_levels` whose small block is (service state of
the busy indexers, own clock); the diagonal block
:math:`\mathcal A_j = S \oplus \Gamma^{\oplus j}` is solved exactly and a step forward is :math:`\hat{\mathcal
B}_{j-1}`. The chain only moves towards the front, so with start weights :math:`\alpha` the row vectors

.. math:: y_1 = \alpha(-T)^{-1}, \qquad y_{k+1} = y_k (-T)^{-1}

take one pass each, all of them side by side, and :math:`E[V^k; \text{fate}] = k!\, y_{k+1} t` with t the rates of
that fate; the transform at u is the same with :math:`uI - T`. The distribution function is a Poisson mixture of what is
left after each step of the uniformised chain; the terms are kept, so further points cost nothing. Where rates are so
many orders apart that these are more than `MAX_STEPS`, it is found by inverting the transform, to about 1e-9.

With an ordered window the pages *ahead* of the tagged one are reduced in the same way: the oldest H in order, the
others by counts. Its own clock and its place behind all of them are always exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from analytic.chain.primitives import Chain
from analytic.chain.summary import rates_of
from analytic.linear import level_kernels as kernels
from analytic.linear.kronecker import AnyArray
from analytic.linear.level_kernels import LevelTables
from analytic.sojourn.law import FATES, Fate, UniformisedLaw
from analytic.stationary.matrix_free import LevelSolution
from analytic.stationary.window_levels import WindowLevels
from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import Fault, InputError, TooLargeError
from crawltwin.model.laws.inversion import invert
from crawltwin.model.laws.uniformisation import PoissonMixture

MAX_STEPS = 100_000
"""Most steps of the uniformised chain that a distribution function may take."""

MAX_INVERTED = 100_000
"""Most configurations for which a distribution function of more steps is found by inverting the transform."""

LEAST_INVERTED = 1e-8
"""A tail below this is not told from 0 by an inversion."""

NEGLIGIBLE = 1e-30
"""Starts with more pages ahead are dropped when they hold no more than this share of all starts."""


@dataclass(frozen=True, eq=False, repr=False)
class LevelSojournTimes(UniformisedLaw):
    """Laws of the time in the system, from the level arrays of a stationary solution.

    Parameters
    ----------
    chain : Chain
    solution : LevelSolution
        Its level arrays are kept: they are the start weights.

    Examples
    --------
    >>> from crawltwin.model import examples
    >>> from analytic.stationary.matrix_free import solve_matrix_free
    >>> chain = Chain.of(examples.load("hyperexponential"))
    >>> law = LevelSojournTimes(chain, solve_matrix_free(chain))
    >>> 0 < law.moment(1, "obsolete") < law.quantile(0.99, "obsolete")
    True
    """

    chain: Chain
    solution: LevelSolution
    _moments: dict[str, list[float]] = field(default_factory=dict, repr=False)
    _transforms: dict[complex, tuple[Any, Any]] = field(default_factory=dict, repr=False)

    def probability(self, fate: Fate) -> float:
        """P(a page has this fate); for `all`, the probability of being accepted."""
        return self._raw(0, fate)

    def moment(self, k: int, fate: Fate = "all") -> float | None:
        """The k-th raw moment, given the fate; None when no page has it. `all` counts lost pages as 0.

        Cost: one pass over the tagged page's chain per moment, all lower ones included; kept for later calls.
        """
        if k < 1:
            raise InputError(f"k must be at least 1; got {k}")
        weight = self._weight(fate)
        return None if weight is None else self._raw(k, fate) / weight

    def transform(self, u: complex, fate: Fate = "all") -> complex | None:
        """Laplace-Stieltjes transform at u (Re u >= 0), given the fate; lost pages have time 0 among all.

        It is E[V^0; fate] of the tagged page's chain with the rate u out of every state (-T becomes uI - T).

        Cost: one pass over the tagged page's chain, whatever its rates.
        """
        weight = self._weight(fate)
        if weight is None:
            return None
        if fate == "all":
            parts = [self._part(u, "served"), self._part(u, "obsolete")]
            return sum(parts) + (1.0 - self.probability("all"))
        return self._part(u, fate) / weight

    def _part(self, u: complex, fate: Fate) -> complex:
        """E[exp(-u V); fate]."""
        if u not in self._transforms:
            served, obsolete = self._pass(0, u)
            self._transforms[u] = served[0], obsolete[0]
        return complex(self._transforms[u][FATES.index(fate)])

    def _raw(self, k: int, fate: Fate) -> float:
        if fate == "all":
            return self._raw(k, "served") + self._raw(k, "obsolete")
        if k >= len(self._moments.get(fate, ())):
            # Two at once: the probabilities are never wanted without the means.
            served, obsolete = self._pass(max(k, 1))
            self._moments["served"], self._moments["obsolete"] = served, obsolete
        return self._moments[fate][k]

    @cached_property
    def _masses(self) -> FloatArray:
        """Rate of accepted pages by their number of pages ahead."""
        # A chain cut above its likely levels still admits pages beyond its last one.
        masses = np.zeros(self.chain.top + self._deepest + 1)
        controls = self.solution.summary.controls
        for level, flow in enumerate(self.chain.flows):
            for place, rates in enumerate(flow.pages.place_rates, start=1):
                masses[level + place - 1] += float(controls[level, : rates.size] @ rates)
        return masses

    @property
    def _deepest(self) -> int:
        """The largest number of pages of one batch that enter."""
        return max(len(pages.place_rates) for pages, _ in self.chain.groups)

    @cached_property
    def _depth(self) -> int:
        """The last place of the queue that is kept."""
        tails = np.cumsum(self._masses[::-1])[::-1]
        return max(0, int((tails > NEGLIGIBLE * tails[0]).sum()) - self.chain.indexers.number)

    @cached_property
    def _page_rate(self) -> float:
        return float(rates_of(self.chain, self.solution.summary).pages)

    @property
    def _space(self) -> WindowLevels:
        return self.solution.space

    @cached_property
    def _small(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Small block with the own clock: rates inside, rates out, service end, and the last service end."""
        indexers, R = self.chain.indexers, self.chain.obsolescence_phases
        c, leaves = indexers.number, indexers.end_rates(indexers.number)
        rates = np.kron(indexers.changes(c), np.eye(R)) + np.kron(np.eye(leaves.size), self.chain.Gamma)
        out = np.kron(leaves, np.ones(R)) + self._own
        ends = np.kron(indexers.follows(c), np.eye(R))
        into_service = np.kron(np.outer(leaves, self.chain.service.initial), np.ones((R, 1)))
        return rates, out, ends, into_service

    @cached_property
    def _own(self) -> FloatArray:
        """Rate at which the tagged page itself becomes obsolete, over the small block."""
        return np.tile(self.chain.Gamma0, self.chain.indexers.states(self.chain.indexers.number))

    def _tables(self, queue: int, u: complex = 0.0) -> LevelTables:
        rates, out, _, _ = self._small
        return (
            self._space.complex_valued.tables(queue - 1, rates, out + u)
            if u
            else self._space.tables(queue - 1, rates, out)
        )

    def _starts(self) -> Iterator[tuple[int, AnyArray]]:
        """Start weights at each place of the queue, from the last down to 0; equations (17) to (19).

        The factor k of p_{i,k} and the 1/k of the place in the batch cancel.
        """
        chain, space, summary = self.chain, self._space, self.solution.summary
        indexers, c = chain.indexers, chain.indexers.number
        S = indexers.states(c)
        for queue in range(self._depth, 0, -1):
            found: AnyArray | None = None
            for place in range(self._deepest, 0, -1):
                level = queue + c - place
                if level < 0 or level > chain.top:
                    continue
                waiting, rates = indexers.waiting(level), chain.flows[level].pages.place_rates
                if place <= len(rates):
                    if found is None:
                        found = np.zeros((*space.shape(waiting), S), dtype=space.dtype)
                    weights = rates[place - 1] / self._page_rate
                    if level < c:
                        found[0, 0] += weights @ summary.small_law(chain, level) @ indexers.begins(level, c - level)
                    else:
                        kernels.times_small(self.solution.levels[level], np.kron(weights[:, None], np.eye(S)), found)
                if found is not None and level >= c and place > 1:
                    found = space.add(found, waiting)
            if found is None:
                found = np.zeros((*space.shape(queue - 1), S), dtype=space.dtype)
            yield queue, np.kron(found, chain.gamma[None, None, :])
        at_once = float(self._masses[:c].sum()) / self._page_rate
        yield 0, (at_once * chain.service.initial)[None, None, :]

    def _pass(self, highest: int, u: complex = 0.0) -> tuple[list[Any], list[Any]]:
        """E[V^k exp(-u V); served] and E[V^k exp(-u V); obsolete] for k = 0..highest."""
        chain, own, killed = self.chain, self._own, u != 0
        space, value = (self._space.complex_valued, np.asarray) if killed else (self._space, np.real)
        _, _, ends, into_service = self._small
        count = highest + 1
        carried: list[AnyArray | None] = [None] * count
        obsolete, served = np.zeros((2, count), dtype=complex if killed else float)
        for queue, start in self._starts():
            if queue == 0:
                S = chain.service.subgenerator
                inverse = np.linalg.inv(u * np.eye(len(S)) - S if killed else -S)
                right = value(start[0, 0])
                for k in range(count):
                    arriving = carried[k]
                    right = (right if arriving is None else right + value(arriving[0, 0])) @ inverse
                    served[k] = math.factorial(k) * (right @ chain.service.exit_rates)
                break
            tables = self._tables(queue, u)
            x = start.astype(space.dtype, copy=False)
            for k in range(count):
                arriving = carried[k]
                right = x.copy() if arriving is None else x + arriving
                carried[k] = None
                x = np.zeros_like(right)
                _, total, _ = space.solve(right, queue - 1, tables, x, np.ones(own.size, dtype=space.dtype))
                obsolete[k] += math.factorial(k) * (value(total) @ own)
                carried[k] = space.down(x, queue - 1, ends) if queue > 1 else x @ into_service
        return served.tolist(), obsolete.tolist()

    @cached_property
    def _rate(self) -> float:
        """A rate not slower than any of the tagged page's states."""
        clocks = float(np.abs(np.diag(self.chain.Gamma)).max())
        indexers = self.chain.indexers
        return float(np.abs(indexers.diagonal(indexers.number)).max()) + self._depth * clocks

    @cached_property
    def _mixture(self) -> PoissonMixture:
        """After each step of the uniformised chain: still to be served, to become obsolete; absorbed by the next."""
        return PoissonMixture(self._rate, self._steps())

    def _steps(self) -> Iterator[tuple[float, float, float, float]]:
        chain, space, rate, own = self.chain, self._space, self._rate, self._own
        _, _, ends, into_service = self._small
        tables = {queue: self._tables(queue) for queue in range(1, self._depth + 1)}
        weights = {queue: found.sums[found.pairs][found.classes] for queue, found in tables.items()}
        walk = dict(self._starts())
        to_serve, to_lose = self.probability("served"), self.probability("obsolete")
        while True:
            obsolete = 0.0
            below: AnyArray | None = None
            for queue in range(self._depth, 0, -1):
                x = walk[queue]
                obsolete += float(np.tensordot(weights[queue], x, axes=2).real @ own)
                out = np.zeros_like(x) if below is None else below
                below = space.down(x, queue - 1, ends) if queue > 1 else x @ into_service
                space.apply(x, queue - 1, tables[queue], out)
                out /= rate
                out += x
                walk[queue] = out
            x = walk[0]
            served = float(x[0, 0].real @ chain.service.exit_rates)
            moved = x @ chain.service.subgenerator
            walk[0] = x + (moved if below is None else moved + below) / rate
            yield to_serve, to_lose, served / rate, obsolete / rate
            to_serve, to_lose = to_serve - served / rate, to_lose - obsolete / rate

    def _tail(self, x: float, fate: Fate) -> float:
        """P(V > x, fate)."""
        if fate == "all":
            return self._tail(x, "served") + self._tail(x, "obsolete")
        if x <= 0:
            return self.probability(fate)
        steps = self._mixture.steps(x)
        if steps <= MAX_STEPS:
            return max(self._mixture.at(x, FATES.index(fate)), 0.0)
        if self._depth * self._space.size(self._depth) > MAX_INVERTED:
            raise self._too_many_steps(x)
        weight = self.probability(fate)
        found = invert(lambda s: (weight - self._part(s, fate)) / s, x)
        return 0.0 if found < LEAST_INVERTED * weight else min(found, weight)

    def quantile(self, p: float, fate: Fate = "all") -> float | None:
        """The smallest x with P(V <= x) >= p, given the fate; refused where an inversion would not tell it."""
        found = super().quantile(p, fate)
        if found is not None and 1 - p < 10 * LEAST_INVERTED and self._mixture.steps(found) > MAX_STEPS:
            raise self._too_many_steps(found)
        return found

    def _too_many_steps(self, x: float) -> TooLargeError:
        rule = f"the distribution function must take at most {MAX_STEPS:,} steps"
        got = f"got {self._mixture.steps(x):,} for x = {x:g} and a fastest rate of {self._rate:g}"
        return TooLargeError([Fault("x", f"{rule}; {got}", "Use moments, which need no steps, or a smaller x.")])
