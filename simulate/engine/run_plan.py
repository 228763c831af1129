"""What an engine needs to know of one run: the rules, the walks, the trace, the start and the length.

Both engines read the same `RunPlan`. It is made of arrays and numbers alone, so that the compiled engine takes
it as it is.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from crawltwin.model import ADMISSIONS, FetchingRobots, Scenario, ThresholdPolicy
from crawltwin.model.checks import FloatArray
from crawltwin.model.scenario import FEATURES
from simulate.engine.columns import CELLS_PER_OCTAVE, OCTAVES
from simulate.engine.fetch_walks import NO_FETCHES, fetches_in_equilibrium, walks_of_fetches
from simulate.engine.length import Length, Start
from simulate.engine.streams import Streams
from simulate.engine.tables import (
    ArrivalTables,
    IntArray,
    Jumps,
    PhaseWalk,
    arrival_tables,
    check_levels,
    phase_walk,
)


class Trace(NamedTuple):
    """Recorded batches: rising times, pages in each, robot of each (from 0), indexing time of each page.

    No `work` means that indexing times are drawn from the scenario's phase type.
    """

    times: FloatArray
    sizes: IntArray
    marks: IntArray
    work: FloatArray


NO_TRACE = Trace(np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))


class RunPlan(NamedTuple):
    """One run of one scenario, for either engine.

    `robots`, `mode`, `table`, `factor` and `keep` are indexed by the level: the active robots, the number of
    the mode (equal where nothing changes), the table of jumps, the factor on its rates, the probability that
    a batch is kept. Row `i` of table `t` is row `t * rows + i` of `jumps`.

    A plan is `general` where the scenario goes beyond the paper's: several `indexers`, a controller with a memory,
    robots that finish their fetch. Then the policy is followed mode by mode (`thresholds`, `resume`, `check_every`,
    beginning in `first_mode`), and `robots`, `table`, `factor` and `keep` are indexed by the mode. Where robots finish
    their fetch, `jumps` are those of one fetch, whose end is the target `END`.
    """

    capacity: int
    admission: int
    levels: int
    general: bool
    indexers: int
    thresholds: IntArray
    resume: IntArray
    check_every: float
    first_mode: int
    robots: IntArray
    mode: IntArray
    table: IntArray
    factor: FloatArray
    keep: FloatArray
    coins: bool
    rows: int
    largest_batch: int
    jumps: Jumps
    fetching: bool
    fetch_initial: FloatArray
    fetch_first: IntArray
    start_up: float
    spells: Jumps
    pace: FloatArray
    service: PhaseWalk
    obsolescence: PhaseWalk
    ages: bool
    traced: bool
    trace: Trace
    bins: int
    bin_time: float
    bin_pages: int
    lowest_cell: int

    @property
    def modes(self) -> int:
        """Modes of which the time is kept: those of a general plan."""
        return int(self.robots.size) if self.general else 0


def goes_beyond_the_paper(scenario: Scenario) -> bool:
    """Whether a run needs a general plan."""
    return bool(scenario.features - {"switching"})


def make_plan(
    scenario: Scenario,
    length: Length,
    trace: Trace | None = None,
    recorded_robots: int | None = None,
    general: bool | None = None,
) -> RunPlan:
    """Tables and rules of a scenario; with a `trace` its batches take the place of the scenario's arrivals.

    A trace recorded with N robots is thinned for r < N: a batch is kept when its coin is below r/N. With
    `recorded_robots` None the marks say whose each batch is, and a batch is kept when its robot is active.
    `general` follows the policy mode by mode where the scenario does not need it, which gives the same run.
    """
    scenario.check_features(FEATURES, "the simulation")
    general = goes_beyond_the_paper(scenario) if general is None else general
    policy = scenario.policy_in_force
    top = scenario.top_level
    if trace is not None:
        top = scenario.capacity + (int(trace.sizes.max()) - 1 if scenario.admission == "overflow" else 0)
    check_levels(top)
    rule = policy.as_thresholds() if general else ThresholdPolicy([1])
    robots = np.array(rule.robots if general else policy.robots_by_level(top), np.int64)
    walks = walks_of_fetches(scenario.arrivals if trace is None else None)
    if walks is not None:
        same = dict.fromkeys(map(int, robots), 0)
        ones = dict.fromkeys(same, 1.0)
        tables = ArrivalTables((walks.fetch.jumps,), same, ones, ones, (), coins=False)
    elif trace is None:
        tables = arrival_tables(scenario.arrivals, int(robots[0]))
    else:
        used = dict.fromkeys(map(int, robots), 0)
        ones = dict.fromkeys(used, 1.0)
        shares = ones if recorded_robots is None else {r: min(1.0, r / recorded_robots) for r in used}
        coins = recorded_robots is not None
        tables = ArrivalTables((phase_walk(None).jumps,), used, ones, shares, (), coins)
    jumps = _one_after_the_other(tables.jumps)
    walk = NO_FETCHES if walks is None else walks
    numbers = sorted({int(r) for r in robots})
    pages = 0 if length.pages is None else math.ceil(length.pages / length.bins)
    middle = math.frexp(scenario.service.mean)[1]
    return RunPlan(
        capacity=scenario.capacity,
        admission=ADMISSIONS.index(scenario.admission),
        levels=top + 1,
        general=general,
        indexers=scenario.indexers,
        thresholds=np.array(rule.thresholds, np.int64),
        resume=np.array(rule.resume, np.int64),
        check_every=rule.check_every,
        first_mode=rule.mode_after(0, 0) if general else 0,
        robots=robots,
        mode=np.array([numbers.index(int(r)) for r in robots], np.int64),
        table=np.array([tables.table_of[int(r)] for r in robots], np.int64),
        factor=np.array([tables.factor_of[int(r)] for r in robots]),
        keep=np.array([tables.keep_of[int(r)] for r in robots]),
        coins=tables.coins,
        rows=int(tables.jumps[0].rate.size),
        largest_batch=int((jumps.size if trace is None else trace.sizes).max()),
        jumps=jumps,
        fetching=walks is not None,
        fetch_initial=walk.fetch.initial,
        fetch_first=walk.fetch.first,
        start_up=walk.start_up,
        spells=walk.spells,
        pace=walk.pace,
        service=phase_walk(scenario.service),
        obsolescence=phase_walk(scenario.obsolescence),
        ages=scenario.obsolescence is not None,
        traced=trace is not None,
        trace=NO_TRACE if trace is None else trace,
        bins=length.bins,
        bin_time=math.inf if length.time is None else float(length.time) / length.bins,
        bin_pages=pages,
        lowest_cell=(middle - OCTAVES // 2) * CELLS_PER_OCTAVE,
    )


def opening(scenario: Scenario, plan: RunPlan) -> tuple[tuple[IntArray, FloatArray], ...]:
    """For each walker its rows and their probabilities at time 0; nothing for a trace.

    Equilibrium with the robots that an empty system has. Where robots finish their fetch, so many fetches are in
    flight, and the last walker is the spell of the web.
    """
    wanted = int(plan.robots[plan.first_mode])
    if plan.traced:
        return ()
    if isinstance(scenario.arrivals, FetchingRobots):
        return fetches_in_equilibrium(scenario.arrivals, wanted)
    return arrival_tables(scenario.arrivals, wanted).starts


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
