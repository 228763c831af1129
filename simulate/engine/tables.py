"""The scenario's own primitives as tables that can be walked.

Nothing here uses the mode matrices that the model derives for the chain (Kronecker sums, thinned or marked
sums): each robot walks its own phase, each mark keeps its robot, each batch of a thinned stream has its coin.
A simulation made from these tables is therefore a check of that algebra too.

A *row* is a phase with its rate of leaving and its possible jumps in the order of the given matrices: D_0,
D_1, ..., target phase by target phase; for phase types the phases and then the end. Jumps of rate zero are
left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from crawltwin.model import (
    ControlledArrivals,
    IndependentRobots,
    MarkedStream,
    ModeMatrices,
    PhaseType,
    ScaledStream,
    ThinnedStream,
    TooLargeError,
    checks,
)
from crawltwin.model.bmap import stationary
from crawltwin.model.checks import FloatArray

IntArray = npt.NDArray[np.int64]
MOST_LEVELS = 1_000_000
"""Levels that a simulation knows at most."""
END = -1
"""Target of the jump that ends a phase type."""


class Jumps(NamedTuple):
    """Rows of jumps, one after the other: row i owns the entries `begin[i]` to `begin[i + 1] - 1`.

    `rate[i]` is the rate of leaving row i; `cumulative` holds cumulative probabilities, the last of each row
    exactly 1; a jump delivers `size` pages from robot `mark` (counted from 0) and leads to row `target`.
    """

    rate: FloatArray
    begin: IntArray
    cumulative: FloatArray
    size: IntArray
    mark: IntArray
    target: IntArray


class PhaseWalk(NamedTuple):
    """A phase type: cumulative initial probabilities of its `first` phases, and the jumps between phases."""

    initial: FloatArray
    first: IntArray
    jumps: Jumps


@dataclass(frozen=True)
class ArrivalTables:
    """What the robots do.

    Parameters
    ----------
    jumps : tuple of Jumps
        One table, or one for each number of robots where the matrices depend on it (kind `modes`).
    table_of, factor_of, keep_of : dict
        For each number of robots: which table, the factor on its rates (kind `scaled`), and the probability
        that a batch is kept (kind `thinned`).
    starts : tuple of (rows, probabilities)
        For each walker (one per robot for independent robots, else a single one) its rows and their
        probabilities at the start: equilibrium of the phase with the number of robots that an empty system
        has.
    coins : bool
        Whether each batch has a coin.
    """

    jumps: tuple[Jumps, ...]
    table_of: dict[int, int]
    factor_of: dict[int, float]
    keep_of: dict[int, float]
    starts: tuple[tuple[IntArray, FloatArray], ...]
    coins: bool


def jumps_of_rows(rows: Sequence[list[tuple[float, int, int, int]]], rates: Sequence[float]) -> Jumps:
    """Rows of (rate, size, mark, target)."""
    begin, cumulative, entries = [0], [], []
    for row in rows:
        positive = [entry for entry in row if entry[0] > 0]
        sums = np.cumsum([entry[0] for entry in positive])
        shares = sums / sums[-1]
        shares[-1] = 1.0
        cumulative.extend(shares.tolist())
        entries.extend(positive)
        begin.append(len(entries))
    columns = [np.array([entry[i] for entry in entries], np.int64) for i in (1, 2, 3)]
    return Jumps(np.array(rates, np.float64), np.array(begin, np.int64), np.array(cumulative), *columns)


def _bmap_rows(
    D0: FloatArray,
    marked: Sequence[tuple[int, Sequence[FloatArray]]],
    offset: int = 0,
) -> tuple[list[list[tuple[float, int, int, int]]], list[float]]:
    """Rows of a marked BMAP: jumps of D_0 off its diagonal, then each robot's D_1, D_2, ..."""
    rows, rates = [], []
    for phase in range(D0.shape[0]):
        row = [(float(D0[phase, to]), 0, 0, offset + to) for to in range(D0.shape[0]) if to != phase]
        for mark, own in marked:
            for size, Dk in enumerate(own, start=1):
                row += [(float(Dk[phase, to]), size, mark, offset + to) for to in range(D0.shape[0])]
        rows.append(row)
        rates.append(float(-D0[phase, phase]))
    return rows, rates


def arrival_tables(arrivals: ControlledArrivals, robots_when_empty: int) -> ArrivalTables:
    """Tables for each of the five kinds, from what the kind itself holds."""
    numbers = arrivals.robot_numbers
    table_of = dict.fromkeys(numbers, 0)
    factor_of = dict.fromkeys(numbers, 1.0)
    keep_of = dict.fromkeys(numbers, 1.0)
    coins = False
    if isinstance(arrivals, IndependentRobots):
        rows, rates, starts, offset = [], [], [], 0
        for mark, robot in enumerate(arrivals.robots):
            own_rows, own_rates = _bmap_rows(robot.D[0], [(mark, robot.D[1:])], offset)
            rows += own_rows
            rates += own_rates
            starts.append((np.arange(offset, offset + robot.phases), stationary(robot.generator)))
            offset += robot.phases
        return ArrivalTables((jumps_of_rows(rows, rates),), table_of, factor_of, keep_of, tuple(starts), coins)
    if isinstance(arrivals, ModeMatrices):
        tables = tuple(jumps_of_rows(*_bmap_rows(mode.D[0], [(0, mode.D[1:])])) for mode in arrivals.given.values())
        table_of = {robots: index for index, robots in enumerate(arrivals.given)}
        generator = arrivals.given[robots_when_empty].generator
    elif isinstance(arrivals, MarkedStream):
        tables = (jumps_of_rows(*_bmap_rows(arrivals.D0, list(enumerate(arrivals.robots)))),)
        generator = arrivals.D0 + np.asarray(sum(sum(own) for own in arrivals.robots))
    elif isinstance(arrivals, ThinnedStream | ScaledStream):
        tables = (jumps_of_rows(*_bmap_rows(arrivals.stream.D[0], [(0, arrivals.stream.D[1:])])),)
        generator = arrivals.stream.generator
        if isinstance(arrivals, ThinnedStream):
            coins = True
            keep_of = dict(enumerate(arrivals.keep, start=1))
        else:
            factor_of = {robots: float(robots) for robots in numbers}
    else:
        raise TypeError(f"no walk is known for {type(arrivals).__name__}")
    starts = [(np.arange(generator.shape[0]), stationary(generator))]
    return ArrivalTables(tables, table_of, factor_of, keep_of, tuple(starts), coins)


def phase_walk(distribution: PhaseType | None) -> PhaseWalk:
    """The walk of a phase type; of None an empty one."""
    if distribution is None:
        nothing = np.zeros(0), np.zeros(0, np.int64)
        return PhaseWalk(*nothing, Jumps(nothing[0], np.zeros(1, np.int64), nothing[0], *[nothing[1]] * 3))
    S, exits = distribution.subgenerator, distribution.exit_rates
    rows = []
    for phase in range(distribution.order):
        row = [(float(S[phase, to]), 0, 0, to) for to in range(distribution.order) if to != phase]
        rows.append([*row, (float(exits[phase]), 0, 0, END)])
    first = np.flatnonzero(distribution.initial > 0)
    initial = np.cumsum(distribution.initial[first])
    initial[-1] = 1.0
    return PhaseWalk(
        initial, first.astype(np.int64), jumps_of_rows(rows, [-S[i, i] for i in range(distribution.order)])
    )


def check_levels(top_level: int) -> None:
    """Refuse levels 0, 1, ..., top that memory would not hold."""
    if top_level >= MOST_LEVELS:
        raise TooLargeError(
            f"capacity must be below {MOST_LEVELS:,} pages for a simulation, which keeps the time at every level; "
            f"got {checks.count(top_level)}. A buffer that never fills is like any larger one: choose a smaller one"
        )
