"""Random models for property tests: valid by construction, modest in size, reproducible from a seed."""

from __future__ import annotations

import numpy as np

from crawltwin.model import (
    ADMISSIONS,
    BMAP,
    ControlledArrivals,
    CostWeights,
    IndependentRobots,
    LevelPolicy,
    MarkedStream,
    ModeMatrices,
    PhaseType,
    ScaledStream,
    Scenario,
    ThinnedStream,
)


def random_phase_type(rng: np.random.Generator, order: int, scale: float = 1.0) -> PhaseType:
    rates = rng.uniform(0.2, 3.0, (order, order)) * (rng.random((order, order)) < 0.7)
    np.fill_diagonal(rates, 0.0)
    exits = rng.uniform(0.2, 2.0, order)
    S = rates - np.diag(rates.sum(axis=1) + exits)
    beta = rng.dirichlet(np.ones(order))
    return PhaseType(beta, S * scale)


def random_bmap(rng: np.random.Generator, phases: int, batch: int, scale: float = 1.0) -> BMAP:
    blocks = [rng.uniform(0.05, 1.0, (phases, phases)) * scale for _ in range(batch + 1)]
    np.fill_diagonal(blocks[0], 0.0)
    blocks[0] -= np.diag(sum(block.sum(axis=1) for block in blocks))
    return BMAP(blocks)


def random_arrivals(rng: np.random.Generator, kind: str, robots: int, phases: int, batch: int) -> ControlledArrivals:
    if kind == "modes":
        return ModeMatrices({r: random_bmap(rng, phases, batch, 0.5 * r) for r in range(1, robots + 1)})
    if kind == "independent":
        return IndependentRobots(tuple(random_bmap(rng, min(phases, 2), batch, 0.5) for _ in range(robots)))
    if kind == "thinned":
        keep = np.sort(rng.uniform(0.1, 1.0, robots))
        return ThinnedStream(random_bmap(rng, phases, batch), tuple(keep))
    if kind == "marked":
        own = [[rng.uniform(0.05, 0.5, (phases, phases)) for _ in range(batch)] for _ in range(robots)]
        D0 = rng.uniform(0.05, 1.0, (phases, phases))
        np.fill_diagonal(D0, 0.0)
        D0 -= np.diag(D0.sum(axis=1) + sum(block.sum(axis=1) for blocks in own for block in blocks))
        return MarkedStream(D0, own)
    return ScaledStream(random_bmap(rng, phases, batch, 0.4), robots)


def random_scenario(
    seed: int, *, max_capacity: int = 5, max_batch: int = 3, max_clock: int = 2, kinds: tuple[str, ...] | None = None
) -> Scenario:
    rng = np.random.default_rng(seed)
    kind = str(rng.choice(kinds or ("modes", "independent", "thinned", "marked", "scaled")))
    robots = int(rng.integers(1, 4))
    arrivals = random_arrivals(rng, kind, robots, int(rng.integers(1, 4)), int(rng.integers(1, max_batch + 1)))
    capacity = int(rng.integers(1, max_capacity + 1))
    clock = int(rng.integers(0, max_clock + 1))
    return Scenario(
        capacity=capacity,
        arrivals=arrivals,
        service=random_phase_type(rng, int(rng.integers(1, 4)), 2.0),
        obsolescence=random_phase_type(rng, clock, 0.5) if clock else None,
        policy=LevelPolicy(rng.choice(arrivals.robot_numbers, capacity + 1).tolist()),
        cost=CostWeights(*rng.uniform(0, 10, 5)),
        admission=str(rng.choice(ADMISSIONS)),
    )
