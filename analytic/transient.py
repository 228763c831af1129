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

from analytic.chain import Chain
from analytic.direct import stationary_direct
from analytic.generator import Generator
from analytic.poisson import poisson_weights
from analytic.summary import basic_measures
from crawltwin.model import Fault, InputError, Scenario
from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import ConvergenceError

if TYPE_CHECKING:
    import pandas as pd

MAX_STEPS = 20_000_000
"""Most steps of the uniformised chain before a run is refused or given up."""


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
    chain = Chain.of(scenario)
    generator = Generator.of(chain)
    walk = _Walk.of(generator)
    walk.check(float(points.max()))
    p0 = _start(generator, start)
    stationary = stationary_direct(generator)
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

    Cost: about four times (fastest rate) (settling time) sparse products.

    Raises
    ------
    ConvergenceError
        When it has not settled within `MAX_STEPS` steps: the chain is nearly decomposable.
    """
    if not 0 < tolerance < 1:
        raise InputError(f"tolerance must be between 0 and 1; got {tolerance!r}")
    generator = Generator.of(Chain.of(scenario))
    walk = _Walk.of(generator)
    stationary = stationary_direct(generator)
    p, low = _start(generator, start), 0.0
    if _distance(p, stationary) <= tolerance:
        return 0.0
    width = 1.0 / walk.rate
    while True:
        further = walk.forward(p, width)
        if _distance(further, stationary) <= tolerance:
            break
        p, low = further, low + width
        width = low
        if walk.rate * low > MAX_STEPS:
            raise ConvergenceError(
                f"the chain had not settled to {tolerance:g} at time {low:g}: some of its states hardly communicate. "
                "Look at the slowest rates of the arrivals"
            )
    while width > 1e-3 * (low + width):
        width /= 2
        middle = walk.forward(p, width)
        if _distance(middle, stationary) > tolerance:
            p, low = middle, low + width
    return low + width


@dataclass(frozen=True)
class _Walk:
    """The uniformised chain."""

    rate: float
    step: Any

    @classmethod
    def of(cls, generator: Generator) -> _Walk:
        rate = float(np.abs(generator.matrix.diagonal()).max())
        size = generator.matrix.shape[0]
        return cls(rate, sp.csr_array((generator.matrix / rate + sp.eye_array(size)).T))

    def check(self, time: float) -> None:
        if self.rate * time > MAX_STEPS:
            raise InputError(
                [
                    Fault(
                        "times",
                        f"times must be at most {MAX_STEPS / self.rate:g} for rates as fast as {self.rate:g}; "
                        f"got {time:g}",
                        "Ask for earlier times, or for the stationary measures.",
                    )
                ]
            )

    def forward(self, p: FloatArray, time: float) -> FloatArray:
        return self.both(p, time)[0]

    def both(self, p: FloatArray, time: float) -> tuple[FloatArray, FloatArray]:
        """p(t), and its average over [0, t]."""
        if time == 0:
            return p, p
        first, weights = poisson_weights(self.rate * time)
        beyond = np.maximum(1.0 - np.cumsum(weights), 0.0)
        here, mean, state = np.zeros_like(p), np.zeros_like(p), p
        for k in range(first + weights.size):
            mean += state * (1.0 if k < first else beyond[k - first])
            if k >= first:
                here += weights[k - first] * state
            state = self.step @ state
        return here / here.sum(), mean / mean.sum()


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
