r"""The approach to equilibrium: the distribution and the measures at time t, and averaged over [0, t].

Uniformisation: with q the fastest rate and :math:`P = I + Q/q`, :math:`p(t) = \sum_k \mathrm{Poi}(qt; k)\, p(0) P^k`
and :math:`\frac1t\int_0^t p = \frac1{qt} \sum_k P(\mathrm{Poi}(qt) > k)\, p(0) P^k`: mixtures of non-negative terms,
without cancellation. The distance in total variation to the stationary distribution never grows, so the settling
time is found by doubling and bisection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import expm
from scipy.special import gammainc

from analytic.block import MAX_BLOCK, stationary_block
from analytic.chain import Chain
from analytic.direct import stationary_direct
from analytic.generator import MAX_STATES, Generator
from analytic.poisson import poisson_weights
from analytic.summary import basic_measures
from crawltwin.model import Fault, InputError, Scenario, TooLargeError
from crawltwin.model.checks import FloatArray, count
from crawltwin.model.errors import ConvergenceError

if TYPE_CHECKING:
    import pandas as pd

MAX_STEPS = 1_000_000
"""Most steps of the uniformised chain that are walked one by one."""

DENSE_STATES = 400
"""Chains up to this size take dense powers over long times instead of steps."""


@dataclass(frozen=True, eq=False)
class Transient:
    """Measures on the way to equilibrium.

    Parameters
    ----------
    scenario : Scenario
    times : tuple of float
    at : tuple of dict
        Measures at each time; probabilities of fates are ratios of the rates at that instant.
    averaged : tuple of dict
        The same over [0, t].
    distance : tuple of float
        Total variation distance of p(t) to the stationary distribution.
    """

    scenario: Scenario
    times: tuple[float, ...]
    at: tuple[dict[str, Any], ...]
    averaged: tuple[dict[str, Any], ...]
    distance: tuple[float, ...]
    levels: tuple[FloatArray, ...] = field(repr=False)

    def to_json(self) -> list[dict[str, Any]]:
        """One object a time."""
        return [
            {
                "time": time,
                "distance": gap,
                "measures": {**here, "level_distribution": mass.tolist()},
                "averaged": mean,
            }
            for time, gap, here, mean, mass in zip(
                self.times, self.distance, self.at, self.averaged, self.levels, strict=True
            )
        ]

    def to_frame(self) -> pd.DataFrame:
        """Tidy and long: time, measure, at, averaged."""
        import pandas as pd

        return pd.DataFrame(
            [
                {"time": time, "measure": name, "at": here[name], "averaged": mean[name]}
                for time, here, mean in zip(self.times, self.at, self.averaged, strict=True)
                for name in here
            ]
        )


def transient(scenario: Scenario, times: Sequence[float], start: int | FloatArray = 0) -> Transient:
    """Measures at the given times.

    Parameters
    ----------
    scenario : Scenario
    times : sequence of float
        Not negative.
    start : int or ndarray
        Number of pages at time 0 (they have just arrived; the arrival phase is in equilibrium under that level's
        robots), or probabilities of all states of `analytic.generator.Generator`.

    Notes
    -----
    Cost: (fastest rate) (largest time) sparse products.
    """
    points = np.array(times, dtype=np.float64)
    if points.ndim != 1 or not points.size or not np.isfinite(points).all() or (points < 0).any():
        raise InputError(f"times must be a non-empty list of numbers not below 0; got {list(times)!r}")
    generator = _explicit(scenario)
    chain, walk = generator.chain, _Walk.of(generator)
    walk.check(float(points.max()))
    p0 = _start(generator, start)
    stationary = _equilibrium(generator)
    found = {float(t): walk.both(p0, float(t)) for t in points}
    order = [float(t) for t in points]
    return Transient(
        scenario,
        tuple(order),
        tuple(basic_measures(chain, generator.summarise(found[t][0])) for t in order),
        tuple(basic_measures(chain, generator.summarise(found[t][1])) for t in order),
        tuple(_distance(found[t][0], stationary) for t in order),
        tuple(generator.summarise(found[t][0]).level_distribution for t in order),
    )


def settling_time(scenario: Scenario, tolerance: float = 0.01, start: int | FloatArray = 0) -> float:
    """How long until the crawler settles: the first t with total variation distance at most `tolerance`.

    Cost: up to 400 states about 20 dense products; above that about four times (fastest rate) (settling time)
    sparse products.

    Raises
    ------
    ConvergenceError
        When it has not settled within a million steps (1e15 for small chains): the chain is nearly decomposable.
    """
    if not 0 < tolerance < 1:
        raise InputError(f"tolerance must be between 0 and 1; got {tolerance!r}")
    generator = _explicit(scenario)
    walk = _Walk.of(generator)
    stationary = _equilibrium(generator)
    p, low = _start(generator, start), 0.0
    if _distance(p, stationary) <= tolerance:
        return 0.0
    # Strides of 1, 2, 4, ... until one would settle; then the same strides backwards, from the largest to the finest.
    strides = [walk.stride(1.0 / walk.rate)]
    while _distance(strides[-1].forward(p), stationary) > tolerance:
        if strides[-1].time * walk.rate > walk.longest:
            raise ConvergenceError(
                f"the chain had not settled to {tolerance:g} at time {strides[-1].time:g}: some of its states hardly "
                "communicate. Look at the slowest rates of the arrivals"
            )
        strides.append(strides[-1].doubled())
    finest = strides[-1].time * 1e-3
    while strides and strides[-1].time > finest:
        stride = strides.pop()
        further = stride.forward(p)
        if _distance(further, stationary) > tolerance:
            p, low = further, low + stride.time
    return low + stride.time


@dataclass(frozen=True)
class _Stride:
    """One fixed step of time: a dense power for small chains, uniformisation for large ones."""

    walk: _Walk
    time: float
    power: FloatArray | None

    def forward(self, p: FloatArray) -> FloatArray:
        if self.power is None:
            return self.walk.both(p, self.time)[0]
        further = np.maximum(p @ self.power, 0.0)
        return np.asarray(further / further.sum())

    def doubled(self) -> _Stride:
        return _Stride(self.walk, 2 * self.time, None if self.power is None else self.power @ self.power)


@dataclass(frozen=True)
class _Walk:
    """The uniformised chain, and its generator for small chains over long times."""

    rate: float
    step: Any
    generator: Any

    @classmethod
    def of(cls, generator: Generator) -> _Walk:
        rate = float(np.abs(generator.matrix.diagonal()).max())
        size = generator.matrix.shape[0]
        return cls(rate, sp.csr_array((generator.matrix / rate + sp.eye_array(size)).T), generator.matrix)

    @property
    def dense(self) -> bool:
        return bool(self.generator.shape[0] <= DENSE_STATES)

    @property
    def longest(self) -> float:
        """Most steps of the uniformised chain that are still walked, or jumped over by a dense power."""
        return 1e15 if self.dense else MAX_STEPS

    def stride(self, time: float) -> _Stride:
        return _Stride(self, time, expm(self.generator.toarray() * time) if self.dense else None)

    def check(self, time: float) -> None:
        if self.rate * time > self.longest:
            raise InputError(
                [
                    Fault(
                        "times",
                        f"times must be at most {self.longest / self.rate:g} for rates as fast as {self.rate:g}; "
                        f"got {time:g}",
                        "Ask for earlier times, or for the stationary measures.",
                    )
                ]
            )

    def both(self, p: FloatArray, time: float) -> tuple[FloatArray, FloatArray]:
        """p(t), and its average over [0, t]."""
        if time == 0:
            return p, p
        if self.dense and self.rate * time > 10 * DENSE_STATES:
            return self._both_dense(p, time)
        first, weights = poisson_weights(self.rate * time)
        beyond = gammainc(np.arange(first, first + weights.size) + 1.0, self.rate * time)  # P(Poisson count > k)
        here, mean, state = np.zeros_like(p), np.zeros_like(p), p
        for k in range(first + weights.size):
            mean += state * (1.0 if k < first else beyond[k - first])
            if k >= first:
                here += weights[k - first] * state
            state = self.step @ state
        return here / here.sum(), mean / mean.sum()

    def _both_dense(self, p: FloatArray, time: float) -> tuple[FloatArray, FloatArray]:
        """Many steps of a small chain: p(t) and its integral are blocks of one larger exponential."""
        n = p.size
        big = np.zeros((2 * n, 2 * n))
        big[:n, :n], big[:n, n:] = self.generator.toarray(), np.eye(n)
        power = expm(big * time)
        here, mean = np.maximum(p @ power[:n, :n], 0.0), np.maximum(p @ power[:n, n:], 0.0)
        return here / here.sum(), mean / mean.sum()


def _explicit(scenario: Scenario) -> Generator:
    """The explicit chain, or a word that this question needs it."""
    chain = Chain.of(scenario)
    if chain.states > MAX_STATES:
        raise TooLargeError(
            [
                Fault(
                    "capacity",
                    f"measures at a time must have an explicit chain of at most {MAX_STATES:,} states; "
                    f"got {count(chain.states)}",
                    "Use a smaller capacity, or simulate.",
                )
            ]
        )
    return Generator.of(chain)


def _equilibrium(generator: Generator) -> FloatArray:
    """The stationary vector; by the method that never subtracts where its blocks are small enough."""
    small = generator.chain.level_states(generator.chain.top) <= MAX_BLOCK // 4
    return stationary_block(generator) if small else stationary_direct(generator)


def _start(generator: Generator, start: int | FloatArray) -> FloatArray:
    chain = generator.chain
    if isinstance(start, np.ndarray):
        if start.shape != (generator.starts[-1],) or (start < 0).any() or abs(start.sum() - 1) > 1e-8:
            raise InputError(
                f"start must be {generator.starts[-1]} probabilities that sum to 1; got an array {start.shape}"
            )
        return start
    if isinstance(start, bool) or not isinstance(start, int | np.integer) or not 0 <= start <= chain.top:
        raise InputError(f"start must be a number of pages from 0 to {chain.top}; got {start!r}")
    robots = int(chain.robots[start])
    law = chain.scenario.arrivals.mode(robots).phase_distribution
    if start:
        law = np.kron(law, chain.service.initial)
        for _ in range(int(start) - 1):
            law = np.kron(law, chain.gamma)
    p = np.zeros(generator.starts[-1])
    p[generator.starts[start] : generator.starts[start + 1]] = law
    return p


def _distance(p: FloatArray, q: FloatArray) -> float:
    return 0.5 * float(np.abs(p - q).sum())
