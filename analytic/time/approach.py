r"""The approach to equilibrium: the distribution and the measures at time t, and averaged over [0, t].

Both are found by uniformisation (`analytic.linear.uniformisation`), without cancellation. The distance in total
variation to the stationary distribution never grows, so the settling time is found by doubling and bisection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import expm

from analytic.chain.generator import Generator
from analytic.chain.primitives import Chain
from analytic.chain.sizes import MAX_STATES, refuse_above
from analytic.chain.summary import basic_measures
from analytic.linear.uniformisation import UniformisedChain
from analytic.stationary.explicit import stationary_vector
from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import ConvergenceError, Fault, InputError
from crawltwin.model.measures import unit_of
from crawltwin.model.results.display import Drawn
from crawltwin.model.scenario import Scenario, takes_scenario

if TYPE_CHECKING:
    import pandas as pd

MAX_STEPS = 1_000_000
"""Most steps of the uniformised chain that are walked one by one."""

DENSE_STATES = 400
"""Chains up to this size take dense powers over long times instead of steps."""


@dataclass(frozen=True, eq=False, repr=False)
class Transient(Drawn):
    """Measures on the way to equilibrium; ``plot(measure=...)`` shows one of them over time.

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
        """One object per time."""
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

    def headline(self) -> str:
        """How near to equilibrium the last time is."""
        return (
            f"{len(self.times)} times up to {max(self.times):g}; the distribution is then {self.distance[-1]:.3g} from "
            "equilibrium in total variation"
        )

    def to_frame(self) -> pd.DataFrame:
        """Tidy and long: time, measure, at, averaged, unit."""
        import pandas as pd

        return pd.DataFrame(
            [
                {"time": time, "measure": name, "at": here[name], "averaged": mean[name], "unit": unit_of(name)}
                for time, here, mean in zip(self.times, self.at, self.averaged, strict=True)
                for name in here
            ]
        )


@takes_scenario
def transient(scenario: Scenario, times: Sequence[float], start: int | FloatArray = 0) -> Transient:
    """Measures at the given times.

    Parameters
    ----------
    scenario : Scenario
    times : sequence of float
        Not negative.
    start : int or ndarray
        Number of pages at time 0 (they have just arrived; the arrival phase is in equilibrium under that level's
        robots), or probabilities of all states of `analytic.chain.generator.Generator`.

    Notes
    -----
    Cost: (fastest rate) (largest time) sparse products.
    """
    points = np.array(times, dtype=np.float64)
    if points.ndim != 1 or not points.size or not np.isfinite(points).all() or (points < 0).any():
        raise InputError(f"times must be a non-empty list of numbers not below 0; got {list(times)!r}")
    generator = explicit_generator(scenario)
    chain, walk = generator.chain, Walk.of(generator)
    if points.max() > walk.longest:
        rule = f"times must be at most {walk.longest:g} for rates as fast as {walk.chain.rate:g}; got {points.max():g}"
        raise InputError([Fault("times", rule, "Ask for earlier times, or for the stationary measures.")])
    p0 = _start(generator, start)
    stationary = stationary_vector(generator)
    found = [walk.both(p0, t) for t in points.tolist()]
    here = [generator.summarise(p) for p, _ in found]
    return Transient(
        scenario,
        tuple(points.tolist()),
        tuple(basic_measures(chain, summary) for summary in here),
        tuple(basic_measures(chain, generator.summarise(mean)) for _, mean in found),
        tuple(total_variation(p, stationary) for p, _ in found),
        tuple(summary.level_distribution for summary in here),
    )


@takes_scenario
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
    generator = explicit_generator(scenario)
    walk = Walk.of(generator)
    stationary = stationary_vector(generator)
    p, low = _start(generator, start), 0.0
    if total_variation(p, stationary) <= tolerance:
        return 0.0
    # Strides of 1, 2, 4, ... until one would settle; then the same strides backwards, from the largest to the finest.
    strides = [_Stride.of(walk, 1.0 / walk.chain.rate)]
    while total_variation(strides[-1].forward(p), stationary) > tolerance:
        if strides[-1].time > walk.longest:
            raise ConvergenceError(
                f"the chain had not settled to {tolerance:g} at time {strides[-1].time:g}: some of its states hardly "
                "communicate. Look at the slowest rates of the arrivals"
            )
        strides.append(strides[-1].doubled())
    finest = strides[-1].time * 1e-3
    while strides and strides[-1].time > finest:
        stride = strides.pop()
        further = stride.forward(p)
        if total_variation(further, stationary) > tolerance:
            p, low = further, low + stride.time
    return low + stride.time


@dataclass(frozen=True)
class Walk:
    """The uniformised chain, and its generator for small chains over long times."""

    chain: UniformisedChain
    matrix: Any

    @classmethod
    def of(cls, generator: Generator) -> Walk:
        """From an explicit chain."""
        return cls(UniformisedChain.of(generator.matrix), generator.matrix)

    @property
    def dense(self) -> bool:
        """Whether the chain is small enough for dense powers."""
        return bool(self.matrix.shape[0] <= DENSE_STATES)

    @property
    def longest(self) -> float:
        """The longest time that is still walked, or jumped over by a dense power."""
        return (1e15 if self.dense else MAX_STEPS) / self.chain.rate

    def both(self, p: FloatArray, time: float) -> tuple[FloatArray, FloatArray]:
        """p(t), and its average over [0, t]."""
        if time == 0:
            return p, p
        if self.dense and self.chain.rate * time > 10 * DENSE_STATES:
            # Many steps of a small chain: p(t) and its integral are blocks of one larger exponential.
            n = p.size
            power = expm(np.block([[self.matrix.toarray(), np.eye(n)], [np.zeros((n, 2 * n))]]) * time)
            return _normalised(p @ power[:n, :n]), _normalised(p @ power[:n, n:])
        return self.chain.at_and_averaged(p, time)


@dataclass(frozen=True)
class _Stride:
    """One fixed step of time: a dense power for small chains, uniformisation for large ones."""

    walk: Walk
    time: float
    power: FloatArray | None

    @classmethod
    def of(cls, walk: Walk, time: float) -> _Stride:
        return cls(walk, time, expm(walk.matrix.toarray() * time) if walk.dense else None)

    def forward(self, p: FloatArray) -> FloatArray:
        return self.walk.both(p, self.time)[0] if self.power is None else _normalised(p @ self.power)

    def doubled(self) -> _Stride:
        return _Stride(self.walk, 2 * self.time, None if self.power is None else self.power @ self.power)


def _normalised(p: FloatArray) -> FloatArray:
    positive = np.maximum(p, 0.0)
    return np.asarray(positive / positive.sum())


def explicit_generator(scenario: Scenario) -> Generator:
    """The explicit chain, or a word that this question needs it."""
    chain = Chain.of(scenario)
    refuse_above(
        MAX_STATES,
        chain.states,
        "measures at a time must have an explicit chain, which",
        "Use a smaller capacity, or simulate.",
    )
    return Generator.of(chain)


def _start(generator: Generator, start: int | FloatArray) -> FloatArray:
    chain = generator.chain
    if isinstance(start, np.ndarray):
        if start.shape != (generator.states,) or (start < 0).any() or abs(start.sum() - 1) > 1e-8:
            raise InputError(
                f"start must be {generator.states} probabilities that sum to 1; got an array {start.shape}"
            )
        return start
    if isinstance(start, bool) or not isinstance(start, int | np.integer) or not 0 <= start <= chain.top:
        raise InputError(f"start must be a number of pages from 0 to {chain.top}; got {start!r}")
    return generator.fresh(int(start))


def total_variation(p: FloatArray, q: FloatArray) -> float:
    """Distance of two distributions, from 0 to 1."""
    return 0.5 * float(np.abs(p - q).sum())
