r"""Phase-type distributions: the time until a finite Markov chain with one absorbing state is absorbed.

A phase type has an initial vector :math:`\beta` and a subgenerator :math:`S`; :math:`S_0 = -S e` are the exit rates.
Its moments are :math:`E X^k = k!\,\beta(-S)^{-k}e`, its distribution function :math:`1 - \beta e^{Sx} e` and its
transform :math:`\beta(uI - S)^{-1} S_0`. Service times and obsolescence times of the paper's section 2 are phase types.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from crawltwin.model import checks
from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import Faults, InputError
from crawltwin.model.laws.lumping import coarsest_partition
from crawltwin.model.laws.quantile_search import quantile_from_tail
from crawltwin.model.laws.uniformisation import PoissonMixture
from crawltwin.model.value import Value

ROUNDING = 1e-14
"""An exit rate below this share of the phase's total rate is what rounding leaves of zero."""


@dataclass(frozen=True, eq=False, repr=False)
class PhaseType(Value):
    """A phase-type distribution in its irreducible representation (initial vector, subgenerator).

    Parameters
    ----------
    initial : array_like
        Probabilities of the first phase; they sum to one, so there is no mass at zero.
    subgenerator : array_like
        Rates between phases off the diagonal, minus the total rates out on it. Every phase can be reached and left.

    Examples
    --------
    >>> service = PhaseType([0.4, 0.6], [[-3, 1], [2, -3]])
    >>> round(service.mean, 3)
    0.657
    """

    initial: FloatArray
    subgenerator: FloatArray

    def __init__(self, initial: npt.ArrayLike | Sequence[Any], subgenerator: npt.ArrayLike | Sequence[Any]) -> None:
        faults = Faults()
        beta = checks.vector(initial, "initial", faults)
        S = checks.square_matrix(subgenerator, "subgenerator", faults)
        if beta is not None:
            checks.probability_vector(beta, "initial", faults)
        if S is not None:
            _check_subgenerator(S, faults)
        if beta is not None and S is not None:
            if beta.size != S.shape[0]:
                faults.add(
                    "initial",
                    f"initial must be as long as the subgenerator has rows ({S.shape[0]}); got {beta.size} entries",
                )
            elif not faults:
                _check_reachable(beta, S, faults)
        faults.raise_if_any()
        object.__setattr__(self, "initial", checks.frozen(beta if beta is not None else ()))
        object.__setattr__(self, "subgenerator", checks.frozen(S if S is not None else ()))

    def __repr__(self) -> str:
        return f"PhaseType({self.order} phases, mean {self.mean:.6g}, scv {self.scv:.6g})"

    @property
    def order(self) -> int:
        """Number of phases."""
        return int(self.initial.size)

    @cached_property
    def exit_rates(self) -> FloatArray:
        """Rates of absorption, S_0 = -S e; what is below zero, or rounding's remainder of it, counts as zero."""
        rates = -self.subgenerator.sum(axis=1)
        scale = np.abs(np.diag(self.subgenerator))
        return checks.frozen(np.where(rates < ROUNDING * scale, 0.0, rates))

    def moment(self, k: int) -> float:
        """The k-th raw moment, k >= 0: k! beta (-S)^-k e. Cost: k solves of the order's size."""
        if k < 0:
            raise InputError(f"k must be at least 0; got {k}")
        power: FloatArray = np.ones(self.order)
        for _ in range(k):
            power = np.linalg.solve(-self.subgenerator, power)
        return math.factorial(k) * float(self.initial @ power)

    @cached_property
    def mean(self) -> float:
        """Expected value (the paper's b_1 and g_1)."""
        return self.moment(1)

    @cached_property
    def variance(self) -> float:
        """Variance."""
        return self.moment(2) - self.mean**2

    @cached_property
    def scv(self) -> float:
        """Squared coefficient of variation, variance / mean^2."""
        return self.variance / self.mean**2

    def cdf(self, x: npt.ArrayLike) -> FloatArray:
        """Distribution function at each x. Cost: one matrix exponential a point."""
        return 1.0 - self.survival(x)

    def survival(self, x: npt.ArrayLike) -> FloatArray:
        """P(X > x) at each x, accurate in the far tail."""
        return self._through_exponential(x, np.ones(self.order), before=1.0)

    def pdf(self, x: npt.ArrayLike) -> FloatArray:
        """Density at each x; zero for negative x."""
        return self._through_exponential(x, self.exit_rates, before=0.0)

    def _through_exponential(self, x: npt.ArrayLike, right: FloatArray, before: float) -> FloatArray:
        points = np.atleast_1d(np.asarray(x, dtype=np.float64))
        values = np.full(points.shape, before)
        inside = points >= 0
        if inside.any():
            values[inside] = self._exponential(points[inside], right)
        return values.reshape(np.shape(x))

    def _exponential(self, points: FloatArray, right: FloatArray) -> FloatArray:
        """Initial vector times exp(S x) times `right` at each x >= 0."""
        rate = float(-np.diag(self.subgenerator).min())
        if points.size <= 8 or rate * float(points.max()) > 5000:
            from scipy.linalg import expm

            return np.asarray(self.initial @ expm(self.subgenerator[None] * points[:, None, None]) @ right)
        # Many points: uniformisation shares the powers of one stochastic matrix.
        step = np.eye(self.order) + self.subgenerator / rate

        def terms() -> Iterator[tuple[float]]:
            state = self.initial
            while True:
                yield (float(state @ right),)
                state = state @ step

        return PoissonMixture(rate, terms()).at_each(points)

    def quantile(self, p: float) -> float:
        """The x with P(X <= x) = p, 0 <= p < 1, by bracketing on the survival function."""
        return quantile_from_tail(lambda x: float(self.survival(x)), p, self.mean)

    def transform(self, u: complex) -> complex:
        """Laplace-Stieltjes transform E exp(-u X)."""
        identity = np.eye(self.order)
        return complex(self.initial @ np.linalg.solve(u * identity - self.subgenerator, self.exit_rates + 0j))

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `size` independent values by walking the phases, all walks side by side."""
        rates = -np.diag(self.subgenerator)
        jumps = np.hstack([self.subgenerator + np.diag(rates), self.exit_rates[:, None]])
        cumulative = np.cumsum(jumps, axis=1) / jumps.sum(axis=1, keepdims=True)
        phase = np.searchsorted(np.cumsum(self.initial), rng.random(size) * self.initial.sum(), side="right")
        phase = np.minimum(phase, self.order - 1)
        total = np.zeros(size)
        walking = np.arange(size)
        while walking.size:
            here = phase[walking]
            total[walking] += rng.exponential(size=walking.size) / rates[here]
            there = (rng.random(walking.size)[:, None] >= cumulative[here]).sum(axis=1)
            phase[walking] = there
            walking = walking[there < self.order]
        return total

    def scaled(self, factor: float) -> PhaseType:
        """The distribution of the time multiplied by 1/`factor`: every rate times `factor` (the paper's s)."""
        if not (math.isfinite(factor) and factor > 0):
            raise InputError(f"factor must be a positive number; got {factor!r}")
        return PhaseType(self.initial, self.subgenerator * factor)

    def lumped(self) -> PhaseType:
        """The same distribution on the coarsest ordinary lumping of its phases.

        Phases are merged when their exit rates agree and their rates into every merged block agree (to 1e-12 of the
        largest rate). The result has the same distribution exactly; `self` comes back when nothing merges.

        Examples
        --------
        >>> PhaseType([0.3, 0.7], [[-0.6, 0.4], [0.1, -0.3]]).lumped().order
        1
        """
        blocks = coarsest_partition(self.subgenerator, self.exit_rates)
        if len(blocks) == self.order:
            return self
        members = np.zeros((self.order, len(blocks)))
        for index, block in enumerate(blocks):
            members[list(block), index] = 1.0
        into = self.subgenerator @ members
        first = [block[0] for block in blocks]
        return PhaseType(self.initial @ members, into[first])


def _check_subgenerator(S: FloatArray, faults: Faults) -> None:
    off = S - np.diag(np.diag(S))
    for row, column in np.argwhere(off < 0)[:3]:
        faults.add(
            f"subgenerator[{row}][{column}]",
            f"subgenerator off its diagonal must be not negative; got {S[row, column]:g}",
        )
    for row in np.flatnonzero(np.diag(S) >= 0)[:3]:
        faults.add(
            f"subgenerator[{row}][{row}]",
            f"subgenerator diagonal must be negative; got {S[row, row]:g}",
            "The diagonal is minus the total rate out of the phase.",
        )
    speeds = -np.diag(S)
    for row in np.flatnonzero((speeds > checks.LARGEST) | ((speeds > 0) & (speeds < checks.SMALLEST)))[:3]:
        faults.add(
            f"subgenerator[{row}][{row}]",
            f"rates must be between {checks.SMALLEST:g} and {checks.LARGEST:g}; got {speeds[row]:g}",
            "Choose another unit of time.",
        )
    scale = np.abs(S).max(axis=1)
    for row in np.flatnonzero((S.sum(axis=1) > checks.ROW_SUM_TOLERANCE * scale) & (np.diag(S) < 0))[:3]:
        faults.add(
            f"subgenerator[{row}]",
            f"subgenerator rows must not sum to more than 0; got the sum {S[row].sum():g} of {checks.show(S[row])}",
            "The rates to other phases are larger than the total rate on the diagonal.",
        )


def _check_reachable(beta: FloatArray, S: FloatArray, faults: Faults) -> None:
    exits = -S.sum(axis=1) >= ROUNDING * np.abs(np.diag(S))
    links = (S - np.diag(np.diag(S))) > 0
    can_exit, reached = exits.copy(), beta > 0
    for _ in range(beta.size):
        can_exit |= links @ can_exit
        reached |= reached @ links
    for phase in np.flatnonzero(~can_exit)[:3]:
        faults.add(
            f"subgenerator[{phase}]",
            f"every phase must lead to the end; got phase {phase}, which never does",
            "Give it, or a phase that it leads to, a row sum below 0.",
        )
    for phase in np.flatnonzero(~reached)[:3]:
        faults.add(
            f"initial[{phase}]",
            f"every phase must be reachable; got phase {phase}, which no path leads to",
            "Remove the phase: it changes nothing but the size of the chain.",
        )
