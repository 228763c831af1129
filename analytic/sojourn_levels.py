r"""Sojourn times at scale: the tagged page's chain as arrays, one descending pass a moment (Theorem 4, Corollary 1).

The tagged page only sees what is ahead of it. With j pages ahead, j - 1 of them waiting, its state is an array
like a level of `analytic.window_levels` whose small block is (service phase, own clock); the diagonal block
:math:`\mathcal A_j = S \oplus \Gamma^{\oplus j}` is solved exactly and a step forward is :math:`\hat{\mathcal
B}_{j-1}`. The chain only moves towards fewer pages ahead, so with start weights :math:`\alpha` the row vectors

.. math:: y_1 = \alpha(-T)^{-1}, \qquad y_{k+1} = y_k (-T)^{-1}

take one pass each, all of them side by side, and :math:`E[V^k; \text{fate}] = k!\, y_{k+1} t` with t the rates of
that fate. The distribution function is a Poisson mixture of the masses absorbed at each step of the uniformised
chain: every term is non-negative, and the terms are kept, so further points cost nothing.

With an ordered window the pages *ahead* of the tagged one are reduced in the same way: the oldest H in order, the
others by counts. Its own clock and its place behind all of them are always exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.special import gammaincc

from analytic import level_kernels as kernels
from analytic.chain import Chain
from analytic.kronecker import AnyArray
from analytic.matrix_free import LevelSolution
from analytic.sojourn import Fate, UniformisedLaw
from analytic.window_levels import LevelTables, WindowLevels
from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import ConvergenceError, Fault, InputError, TooLargeError

MAX_STEPS = 100_000
"""Most steps of the uniformised chain that a distribution function may take."""

NEGLIGIBLE = 1e-30
"""Starts with more pages ahead are dropped when they hold no more than this share of all starts."""


@dataclass(frozen=True, eq=False)
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
    >>> from analytic.matrix_free import solve_matrix_free
    >>> chain = Chain.of(examples.load("hyperexponential"))
    >>> law = LevelSojournTimes(chain, solve_matrix_free(chain))
    >>> 0 < law.moment(1, "obsolete") < law.quantile(0.99, "obsolete")
    True
    """

    chain: Chain
    solution: LevelSolution
    _moments: dict[str, list[float]] = field(default_factory=dict, repr=False)
    _absorbed: dict[str, list[float]] = field(default_factory=dict, repr=False)

    def probability(self, fate: Fate) -> float:
        """P(a page has this fate); for `all`, the probability of being accepted."""
        return self._raw(0, fate)

    def moment(self, k: int, fate: Fate = "all") -> float | None:
        """The k-th raw moment, given the fate; None when no page has it. `all` counts lost pages as 0.

        Cost: one pass over the tagged page's chain a moment, all lower ones included; kept for later calls.
        """
        if k < 1:
            raise InputError(f"k must be at least 1; got {k}")
        weight = self._weight(fate)
        return None if weight is None else self._raw(k, fate) / weight

    def transform(self, u: complex, fate: Fate = "all") -> complex | None:
        """Laplace-Stieltjes transform at u (Re u >= 0), given the fate; lost pages have time 0 among all.

        A page absorbed at step n of the uniformised chain, of rate q, has stayed an Erlang time of n stages, so the
        transform is the sum of absorption probabilities times (q / (q + u))^n.

        Cost: steps until what is not yet absorbed cannot matter, shared with the distribution function.
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
        stage = self._rate / (self._rate + u)
        total, everything, power = 0.0, self.probability(fate), 1.0 + 0.0j
        value = 0.0j
        for step in range(MAX_STEPS):
            if len(self._absorbed.get(fate, ())) <= step:
                self._step()
            term = self._absorbed[fate][step]
            power *= stage
            value += term * power
            total += term
            if abs(power) * (everything - total) <= 1e-13 * everything:
                return value
        raise ConvergenceError(
            f"the transform at {u} must settle within {MAX_STEPS:,} steps; "
            f"got {everything - total:.1e} of the pages left"
        )

    def _raw(self, k: int, fate: Fate) -> float:
        if fate == "all":
            return self._raw(k, "served") + self._raw(k, "obsolete")
        if k >= len(self._moments.get(fate, ())):
            # Two at once: the probabilities are never wanted without the means.
            served, obsolete = self._pass(max(k, 1))
            self._moments["served"], self._moments["obsolete"] = served, obsolete
        return self._moments[fate][k]

    @cached_property
    def _depth(self) -> int:
        """The largest number of pages ahead that is kept."""
        # A chain cut above its likely levels still admits pages beyond its last one.
        masses = np.zeros(self.chain.top + max(len(flow.place_rates) for flow in self.chain.flows) + 1)
        levels = self.solution.summary.arrival_phases
        for level, flow in enumerate(self.chain.flows):
            for place, rates in enumerate(flow.place_rates, start=1):
                masses[level + place - 1] += float(levels[level] @ rates)
        tails = np.cumsum(masses[::-1])[::-1]
        return max(0, int((tails > NEGLIGIBLE * tails[0]).sum()) - 1)

    @cached_property
    def _page_rate(self) -> float:
        levels = self.solution.summary.arrival_phases
        return float(sum(levels[level] @ flow.page_rates for level, flow in enumerate(self.chain.flows)))

    @property
    def _space(self) -> WindowLevels:
        return self.solution.space

    @cached_property
    def _small(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Small block with the own clock: rates inside, rates out, service end, and the last service end."""
        service, R = self.chain.service, self.chain.obsolescence_phases
        S, S0, beta, M = service.subgenerator, service.exit_rates, service.initial, service.order
        rates = np.kron(S, np.eye(R)) + np.kron(np.eye(M), self.chain.Gamma)
        out = np.kron(S0, np.ones(R)) + np.tile(self.chain.Gamma0, M)
        ends = np.kron(np.outer(S0, beta), np.eye(R))
        into_service = np.kron(np.outer(S0, beta), np.ones((R, 1)))
        return rates, out, ends, into_service

    def _tables(self, ahead: int) -> LevelTables:
        rates, out, _, _ = self._small
        return self._space.tables(ahead - 1, rates, out)

    def _starts(self) -> Iterator[tuple[int, AnyArray]]:
        """Start weights with j pages ahead, for j from the largest down to 0; equations (17) to (19).

        The factor k of p_{i,k} and the 1/k of the place in the batch cancel.
        """
        chain, space = self.chain, self._space
        M = chain.service_phases
        deepest = max(len(flow.place_rates) for flow in chain.flows)
        for ahead in range(self._depth, 0, -1):
            found: AnyArray | None = None
            for place in range(deepest, 0, -1):
                level = ahead - place + 1
                if level < 0 or level > chain.top:
                    continue
                waiting = max(level - 1, 0)
                rates = chain.flows[level].place_rates
                if place <= len(rates):
                    if found is None:
                        found = np.zeros((*space.shape(waiting), M), dtype=space.dtype)
                    weights = rates[place - 1] / self._page_rate
                    if level == 0:
                        found[0, 0] += float(self.solution.summary.empty @ weights) * chain.service.initial
                    else:
                        small = np.kron(weights[:, None], np.eye(M))
                        kernels.times_small(self.solution.levels[level], small, found)
                if found is not None and level > 0 and place > 1:
                    found = space.add(found, waiting)
            if found is None:
                found = np.zeros((*space.shape(ahead - 1), M), dtype=space.dtype)
            yield ahead, np.kron(found, chain.gamma[None, None, :])
        first = chain.flows[0].place_rates
        weight = float(self.solution.summary.empty @ first[0]) / self._page_rate if first else 0.0
        yield 0, (weight * chain.service.initial)[None, None, :]

    def _pass(self, highest: int) -> tuple[list[float], list[float]]:
        """E[V^k; served] and E[V^k; obsolete] for k = 0..highest."""
        chain, space = self.chain, self._space
        R, M = chain.obsolescence_phases, chain.service_phases
        _, _, ends, into_service = self._small
        own = np.tile(chain.Gamma0, M)
        count = highest + 1
        carried: list[AnyArray | None] = [None] * count
        obsolete = np.zeros(count)
        served = np.zeros(count)
        for ahead, start in self._starts():
            if ahead == 0:
                inverse = np.linalg.inv(-chain.service.subgenerator)
                right = start[0, 0].real
                for k in range(count):
                    arriving = carried[k]
                    right = (right if arriving is None else right + arriving[0, 0].real) @ inverse
                    served[k] = math.factorial(k) * float(right @ chain.service.exit_rates)
                break
            tables = self._tables(ahead)
            x = start
            for k in range(count):
                arriving = carried[k]
                right = x.copy() if arriving is None else x + arriving
                carried[k] = None
                x = np.zeros_like(right)
                _, total, _ = space.solve(right, ahead - 1, tables, x, np.ones(M * R, dtype=space.dtype))
                obsolete[k] += math.factorial(k) * float(total.real @ own)
                carried[k] = space.down(x, ahead - 1, ends) if ahead > 1 else x @ into_service
        return served.tolist(), obsolete.tolist()

    @cached_property
    def _rate(self) -> float:
        """A rate not slower than any of the tagged page's states."""
        clocks = float(np.abs(np.diag(self.chain.Gamma)).max())
        return float(np.abs(np.diag(self.chain.service.subgenerator)).max()) + self._depth * clocks

    @cached_property
    def _walk(self) -> dict[int, AnyArray]:
        return dict(self._starts())

    @cached_property
    def _walk_tables(self) -> dict[int, LevelTables]:
        return {ahead: self._tables(ahead) for ahead in range(1, self._depth + 1)}

    def _step(self) -> None:
        """One step of the uniformised chain; records what is absorbed in it."""
        chain, space, rate = self.chain, self._space, self._rate
        _, _, ends, into_service = self._small
        own = np.tile(chain.Gamma0, chain.service_phases)
        walk = self._walk
        obsolete = 0.0
        below: AnyArray | None = None
        for ahead in range(self._depth, 0, -1):
            x, tables = walk[ahead], self._walk_tables[ahead]
            weights = tables.sums[tables.pairs][tables.classes]
            obsolete += float(np.tensordot(weights, x, axes=2).real @ own)
            out = np.zeros_like(x) if below is None else below
            below = space.down(x, ahead - 1, ends) if ahead > 1 else x @ into_service
            space.apply(x, ahead - 1, tables, out)
            out /= rate
            out += x
            walk[ahead] = out
        x = walk[0]
        served = float(x[0, 0].real @ chain.service.exit_rates)
        moved = x @ chain.service.subgenerator
        walk[0] = x + (moved if below is None else moved + below) / rate
        self._absorbed.setdefault("served", []).append(served / rate)
        self._absorbed.setdefault("obsolete", []).append(obsolete / rate)

    def _tail(self, x: float, fate: Fate) -> float:
        """P(V > x, fate)."""
        if fate == "all":
            return self._tail(x, "served") + self._tail(x, "obsolete")
        everything = self.probability(fate)
        if x <= 0:
            return everything
        mean = self._rate * x
        steps = int(mean + 10.0 * math.sqrt(mean) + 40.0)
        if steps > MAX_STEPS:
            raise TooLargeError(
                [
                    Fault(
                        "x",
                        f"the distribution function must take at most {MAX_STEPS:,} steps; got {steps:,} for x = {x:g} "
                        f"and a fastest rate of {self._rate:g}",
                        "Use moments, which need no steps, or a smaller x.",
                    )
                ]
            )
        while len(self._absorbed.get(fate, ())) < steps:
            self._step()
        terms = np.array(self._absorbed[fate][:steps])
        # Absorbed at step n + 1; gammaincc(n + 1, mean) is the probability that fewer than n + 1 steps came before x.
        late = float(terms @ gammaincc(np.arange(1, steps + 1), mean))
        return max(late + everything - float(terms.sum()), 0.0)
