"""What an engine needs to know of one run: the rules, the walks, the trace, the start and the length.

Both engines read the same `Plan`. It is made of arrays and numbers alone, so that the compiled engine takes
it as it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from crawltwin.model import ADMISSIONS, Scenario, checks
from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import Faults
from simulate.streams import Streams
from simulate.tables import (
    ArrivalTables,
    IntArray,
    Jumps,
    PhaseWalk,
    arrival_tables,
    phase_walk,
    robots_by_level,
)

PARTIAL, ALL_OR_NOTHING, OVERFLOW = range(3)
FATES = ("lost", "obsolete", "served", "present")
"""What became of a page; `present` means still in the system when the run ended."""
LOST, OBSOLETE, SERVED, PRESENT = range(4)

CELLS_AN_OCTAVE = 64
OCTAVES = 64
CELLS = CELLS_AN_OCTAVE * OCTAVES
"""Cells of the histogram of sojourn times: logarithmic in octaves, linear inside one, 1.6% wide at most."""

BINS = 250
"""Bins that a run is cut into; statistics are kept a bin, so memory does not grow with the run's length."""
BINS_A_GROUP = 10
"""Bins that share one histogram of sojourn times."""
_MOST_NUMBERS = 2_000_000


class Trace(NamedTuple):
    """Recorded batches: rising times, pages in each, robot of each (from 0), indexing time of each page.

    No `work` means that indexing times are drawn from the scenario's phase type.
    """

    times: FloatArray
    sizes: IntArray
    marks: IntArray
    work: FloatArray


NO_TRACE = Trace(np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))


class Plan(NamedTuple):
    """One run of one scenario, for either engine.

    `robots`, `mode`, `table`, `factor` and `keep` are indexed by the level: the active robots, the number of
    the mode (equal where nothing changes), the table of jumps, the factor on its rates, the probability that
    a batch is kept. Row `i` of table `t` is row `t * rows + i` of `jumps`.
    """

    capacity: int
    admission: int
    robots: IntArray
    mode: IntArray
    table: IntArray
    factor: FloatArray
    keep: FloatArray
    coins: bool
    rows: int
    largest_batch: int
    jumps: Jumps
    service: PhaseWalk
    obsolescence: PhaseWalk
    ages: bool
    traced: bool
    trace: Trace
    bins: int
    bin_time: float
    bin_pages: int
    lowest_cell: int


@dataclass(frozen=True)
class Length:
    """How long a run is: equal bins of time, or of delivered pages.

    Parameters
    ----------
    time : float, optional
        Simulated time of the whole run.
    pages : int, optional
        Pages delivered in the whole run; it ends with the batch that reaches the number.
    bins : int
        Bins that the run is cut into.
    """

    time: float | None = None
    pages: int | None = None
    bins: int = BINS

    def __post_init__(self) -> None:
        faults = Faults()
        bins = checks.integer(self.bins, "bins", faults, at_least=1)
        if (self.time is None) == (self.pages is None):
            faults.add(
                "time",
                f"one of time and pages must be given; got time {self.time!r} and pages {self.pages!r}",
            )
        elif self.time is not None:
            checks.number(self.time, "time", faults, above=0, way_out="It is the simulated time of one replication.")
        elif bins is not None:
            checks.integer(
                self.pages,
                "pages",
                faults,
                at_least=bins,
                way_out=f"A run is cut into {bins} bins, and each needs a page.",
            )
        faults.raise_if_any()


@dataclass(frozen=True)
class Start:
    """State at time 0: probabilities of the levels, None for an empty system; phases are in equilibrium."""

    levels: FloatArray | None = None

    @classmethod
    def checked(cls, levels: Any, top_level: int) -> Start:
        """Probabilities of levels 0, 1, ...; refused when they are none or go beyond the top level."""
        if levels is None:
            return cls()
        faults = Faults()
        found = checks.vector(levels, "start", faults)
        if found is not None:
            checks.probability_vector(found, "start", faults)
            if found.size > top_level + 1:
                faults.add(
                    "start",
                    f"start must have at most {top_level + 1} probabilities, for levels 0..{top_level}; "
                    f"got {found.size}",
                )
        faults.raise_if_any()
        return cls(found)


def bins_for(levels: int) -> int:
    """The usual number of bins, or fewer where so many levels are possible that memory would suffer."""
    return max(20, min(BINS, BINS_A_GROUP * (_MOST_NUMBERS // levels // BINS_A_GROUP)))


def make_plan(
    scenario: Scenario,
    length: Length,
    trace: Trace | None = None,
    recorded_robots: int | None = None,
) -> Plan:
    """Tables and rules of a scenario; with a `trace` its batches take the place of the scenario's arrivals.

    A trace recorded with N robots is thinned for r < N: a batch is kept when its coin is below r/N. With
    `recorded_robots` None the marks say whose each batch is, and a batch is kept when its robot is active.
    """
    if trace is None:
        robots = robots_by_level(scenario, scenario.top_level)
        tables = arrival_tables(scenario.arrivals, int(robots[0]))
    else:
        more = int(trace.sizes.max()) - 1 if scenario.admission == "overflow" else 0
        robots = robots_by_level(scenario, scenario.capacity + more)
        used = dict.fromkeys(map(int, robots), 0)
        ones = dict.fromkeys(used, 1.0)
        shares = ones if recorded_robots is None else {r: min(1.0, r / recorded_robots) for r in used}
        coins = recorded_robots is not None
        tables = ArrivalTables((phase_walk(None).jumps,), used, ones, shares, (), coins)
    jumps = _one_after_the_other(tables.jumps)
    numbers = sorted({int(r) for r in robots})
    pages = 0 if length.pages is None else math.ceil(length.pages / length.bins)
    middle = math.frexp(scenario.service.mean)[1]
    return Plan(
        capacity=scenario.capacity,
        admission=ADMISSIONS.index(scenario.admission),
        robots=robots,
        mode=np.array([numbers.index(int(r)) for r in robots], np.int64),
        table=np.array([tables.table_of[int(r)] for r in robots], np.int64),
        factor=np.array([tables.factor_of[int(r)] for r in robots]),
        keep=np.array([tables.keep_of[int(r)] for r in robots]),
        coins=tables.coins,
        rows=int(tables.jumps[0].rate.size),
        largest_batch=int((jumps.size if trace is None else trace.sizes).max()),
        jumps=jumps,
        service=phase_walk(scenario.service),
        obsolescence=phase_walk(scenario.obsolescence),
        ages=scenario.obsolescence is not None,
        traced=trace is not None,
        trace=NO_TRACE if trace is None else trace,
        bins=length.bins,
        bin_time=math.inf if length.time is None else float(length.time) / length.bins,
        bin_pages=pages,
        lowest_cell=(middle - OCTAVES // 2) * CELLS_AN_OCTAVE,
    )


def opening(scenario: Scenario, plan: Plan) -> tuple[tuple[IntArray, FloatArray], ...]:
    """For each walker its rows and their probabilities at time 0; nothing for a trace."""
    return () if plan.traced else arrival_tables(scenario.arrivals, int(plan.robots[0])).starts


def draw_opening(
    walkers: tuple[tuple[IntArray, FloatArray], ...], start: Start, streams: Streams
) -> tuple[int, IntArray]:
    """The level and the walkers' rows at time 0; both engines begin with these draws."""
    level = 0 if start.levels is None else _pick(start.levels, streams.start)
    rows = [int(own[_pick(probabilities, streams.arrival_jumps)]) for own, probabilities in walkers]
    return level, np.array(rows, np.int64)


def _pick(probabilities: FloatArray, stream: np.random.Generator) -> int:
    if probabilities.size == 1:
        return 0
    found = np.searchsorted(np.cumsum(probabilities), stream.random() * probabilities.sum(), side="right")
    return int(min(found, np.flatnonzero(probabilities)[-1]))


def _one_after_the_other(tables: tuple[Jumps, ...]) -> Jumps:
    begins, offset = [np.zeros(1, np.int64)], 0
    for table in tables:
        begins.append(table.begin[1:] + offset)
        offset += int(table.begin[-1])
    return Jumps(
        np.concatenate([table.rate for table in tables]),
        np.concatenate(begins),
        np.concatenate([table.cumulative for table in tables]),
        np.concatenate([table.size for table in tables]),
        np.concatenate([table.mark for table in tables]),
        np.concatenate([table.target for table in tables]),
    )
