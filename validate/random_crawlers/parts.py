"""The parts of random crawlers: streams of pages, phase types, policies; rates are of order one."""

from __future__ import annotations

import numpy as np

from crawltwin.model import (
    BMAP,
    ControlledArrivals,
    IndependentRobots,
    LevelPolicy,
    MarkedStream,
    ModeMatrices,
    PhaseType,
    Policy,
    ScaledStream,
    ThinnedStream,
    ThresholdPolicy,
    coxian,
    erlang,
    exponential,
    hyperexponential,
)
from crawltwin.model.checks import FloatArray

KINDS = ("modes", "independent", "thinned", "marked", "scaled")
"""The five kinds of arrivals of the paper, in the order in which they take turns."""
MOST_STATES = 1500
"""Largest explicit chain."""
LARGEST_CAPACITY = 12


def draw_arrivals(rng: np.random.Generator, kind: str) -> ControlledArrivals:
    """Two to four robots of one of the `KINDS`."""
    robots = int(rng.integers(2, 5))
    if kind == "modes":
        phases, factors = int(rng.integers(1, 4)), np.sort(rng.uniform(0.5, 3.0, robots))
        return ModeMatrices({r: _bmap(rng, phases).scaled(float(factors[r - 1])) for r in range(1, robots + 1)})
    if kind == "independent":
        return IndependentRobots(tuple(_bmap(rng, int(rng.integers(1, 3))) for _ in range(min(robots, 3))))
    if kind == "thinned":
        keep = np.append(np.sort(rng.uniform(0.1, 0.9, robots - 1)), 1.0)
        return ThinnedStream(_bmap(rng, int(rng.integers(1, 4))), tuple(float(q) for q in keep))
    if kind == "scaled":
        return ScaledStream(_bmap(rng, int(rng.integers(1, 4))), robots)
    phases = int(rng.integers(1, 4))
    own = [[_rates(rng, phases, 0.7) for _ in range(int(rng.integers(1, 3)))] for _ in range(robots)]
    D0 = _changes(rng, phases)
    np.fill_diagonal(D0, -(D0.sum(axis=1) + sum(block.sum(axis=1) for blocks in own for block in blocks)))
    return MarkedStream(D0, own)


def _bmap(rng: np.random.Generator, phases: int) -> BMAP:
    """A BMAP with batches of up to four pages and rates of order one."""
    blocks = [_rates(rng, phases, 0.7) * float(rng.uniform(0.2, 1.0)) for _ in range(int(rng.integers(1, 5)))]
    D0 = _changes(rng, phases)
    np.fill_diagonal(D0, -(D0.sum(axis=1) + sum(block.sum(axis=1) for block in blocks)))
    return BMAP([D0, *blocks])


def _rates(rng: np.random.Generator, phases: int, density: float) -> FloatArray:
    """Rates of one batch size: some entries missing, none of the rows empty."""
    rates = rng.gamma(1.5, 1 / 1.5, (phases, phases)) * (rng.random((phases, phases)) < density)
    rates[np.arange(phases), rng.integers(0, phases, phases)] += 0.1 + rng.random(phases)
    return np.asarray(rates)


def _changes(rng: np.random.Generator, phases: int) -> FloatArray:
    """Changes of phase without a page: a cycle at least, so that every phase is reached."""
    D0 = np.zeros((phases, phases))
    if phases > 1:
        D0 = rng.gamma(1.5, 0.3, (phases, phases)) * (rng.random((phases, phases)) < 0.5)
        D0[np.arange(phases), np.roll(np.arange(phases), -1)] += 0.2
        np.fill_diagonal(D0, 0.0)
    return D0


def draw_phase_type(rng: np.random.Generator, mean: float) -> PhaseType:
    """Exponential, Erlang, hyperexponential, Coxian, or a general one of two phases."""
    shape = int(rng.integers(0, 5))
    if shape == 0:
        return exponential(mean)
    if shape == 1:
        return erlang(int(rng.integers(2, 4)), mean)
    if shape == 2:
        weight = float(rng.uniform(0.2, 0.9))
        return hyperexponential([weight, 1 - weight], [float(rate) for rate in rng.uniform(0.3, 4.0, 2)])
    if shape == 3:
        stages = int(rng.integers(2, 4))
        return coxian(
            [float(rate) for rate in rng.uniform(0.5, 4.0, stages)],
            [float(chance) for chance in rng.uniform(0.2, 1.0, stages - 1)],
        )
    ways, exits, first = rng.uniform(0.1, 2.0, 2), rng.uniform(0.1, 2.0, 2), float(rng.uniform(0.1, 0.9))
    return PhaseType([first, 1 - first], [[-ways[0] - exits[0], ways[0]], [ways[1], -ways[1] - exits[1]]])


def draw_policy(rng: np.random.Generator, known: tuple[int, ...], capacity: int) -> Policy:
    """Thresholds between -1 and the capacity, some of them equal; every fifth policy a free table."""
    if rng.random() < 0.2:
        return LevelPolicy([int(robots) for robots in rng.choice(known, capacity + 1)])
    used = rng.permutation(known)[: int(rng.integers(1, len(known) + 1))]
    if rng.random() < 0.7:
        used = np.sort(used)[::-1]
    return ThresholdPolicy(
        [int(robots) for robots in used], [int(j) for j in np.sort(rng.integers(-1, capacity + 1, used.size - 1))]
    )
