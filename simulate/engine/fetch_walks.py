"""Robots that finish their fetch, as tables that can be walked: each robot has its own fetch and its own phase.

Nothing here uses the matrices that the model derives for the chain (counts of fetches by phase, entrance matrices): a
fetch is a phase type whose end delivers pages, a spell of the web is a jump of a small chain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crawltwin.model import ControlledArrivals, FetchingRobots
from crawltwin.model.bmap import stationary
from crawltwin.model.checks import FloatArray
from simulate.engine.tables import END, IntArray, Jumps, PhaseWalk, jumps_of_rows, phase_walk


@dataclass(frozen=True)
class FetchWalks:
    """The walk of one fetch, whose end brings pages; the mean start-up time (0: at once); the spells and their pace."""

    fetch: PhaseWalk
    start_up: float
    spells: Jumps
    pace: FloatArray


NO_FETCHES = FetchWalks(phase_walk(None), 0.0, phase_walk(None).jumps, np.ones(1))


def walks_of_fetches(arrivals: ControlledArrivals | None) -> FetchWalks | None:
    """The walks of robots that finish their fetch; None for other arrivals."""
    if not isinstance(arrivals, FetchingRobots):
        return None
    law, spells = arrivals.fetch, arrivals.spells
    plain = phase_walk(law)
    rows = []
    for phase in range(law.order):
        row = [(float(law.subgenerator[phase, to]), 0, 0, to) for to in range(law.order) if to != phase]
        # A choice of the end and one of the number of pages are one choice.
        ends = [(float(law.exit_rates[phase] * share), size, 0, END) for size, share in enumerate(arrivals.pages, 1)]
        rows.append([*row, *ends])
    generator = np.zeros((1, 1)) if spells is None else spells.generator
    return FetchWalks(
        PhaseWalk(plain.initial, plain.first, jumps_of_rows(rows, plain.jumps.rate.tolist())),
        0.0 if arrivals.start_up is None else arrivals.start_up.mean,
        jumps_of_rows(_spell_rows(generator), (-np.diag(generator)).tolist()),
        np.ones(1) if spells is None else np.array(spells.pace),
    )


def _spell_rows(generator: FloatArray) -> list[list[tuple[float, int, int, int]]]:
    if generator.shape[0] == 1:
        # One spell, which never ends: its row is never walked.
        return [[(1.0, 0, 0, 0)]]
    return [
        [(float(rate), 0, 0, to) for to, rate in enumerate(row) if to != spell] for spell, row in enumerate(generator)
    ]


def fetches_in_equilibrium(arrivals: FetchingRobots, wanted: int) -> tuple[tuple[IntArray, FloatArray], ...]:
    """Phases of `wanted` fetches in flight, independent and in equilibrium, and last the spell."""
    law = arrivals.fetch
    phases = stationary(law.subgenerator + np.outer(law.exit_rates, law.initial))
    shares = np.ones(1) if arrivals.spells is None else arrivals.spells.shares
    one = (np.arange(law.order), phases)
    return (*[one] * wanted, (np.arange(shares.size), shares))
