"""Everything that changes while the compiled engine runs, as arrays that it can take up where it left them."""

from __future__ import annotations

import math
from collections import namedtuple
from typing import NamedTuple

import numpy as np

from crawltwin.model.checks import FloatArray
from simulate.engine.columns import CONTROL, COUNT, SOJOURN
from simulate.engine.length import BINS_PER_GROUP
from simulate.engine.run_plan import RunPlan
from simulate.engine.statistics import empty_histograms
from simulate.engine.tables import IntArray

ClockPlaces = namedtuple("ClockPlaces", "now bin_end look spell_end stop")
CLOCK = ClockPlaces(*range(5))
"""Places of the moments in `State.clock`."""
CursorPlaces = namedtuple(
    "CursorPlaces",
    "level busy head tail free heaped bin pages batch next_batch next_work events opened "
    "mode turn spell in_flight starting upper lower",
)
CURSOR = CursorPlaces(*range(20))
"""Places of the whole numbers in `State.cursor`."""


IDLE, STARTING = -1, -2
"""Rows of a robot that does not fetch: it is not wanted, or it starts up."""


class State(NamedTuple):
    """Everything that changes: clocks and cursors, one entry per walker, per indexer, per slot.

    `row` of a robot that finishes its fetches may be `IDLE` or `STARTING`; `left` is the rest of its sojourn at pace 1
    while the pace is 0. `serving` is the slot of the page that an indexer works on, -1 for none, `ends` the moment when
    it is done, `turn` the order in which indexers began.
    """

    clock: FloatArray
    cursor: IntArray
    row: IntArray
    rate: FloatArray
    due: FloatArray
    left: FloatArray
    serving: IntArray
    ends: FloatArray
    turn: IntArray
    arrived: FloatArray
    deadline: FloatArray
    work: FloatArray
    page: IntArray
    after: IntArray
    before: IntArray
    place: IntArray
    free: IntArray
    heap: IntArray


class Tally(NamedTuple):
    """The sums of `RunStatistics` while they grow."""

    time_at_level: FloatArray
    time_in_mode: FloatArray
    counts: IntArray
    sojourns: FloatArray
    control: FloatArray
    histograms: IntArray
    bins_per_group: int


def begin(plan: RunPlan, level: int, rows: IntArray) -> tuple[State, Tally]:
    """The state before the first event: `level` pages are about to enter, the walkers stand in `rows`."""
    slots = plan.levels
    clock = np.array([0.0, plan.bin_time, math.inf, math.inf, math.inf])
    cursor = np.zeros(len(CURSOR), np.int64)
    cursor[[CURSOR.level, CURSOR.free, CURSOR.mode, CURSOR.upper]] = level, slots, plan.first_mode, plan.levels
    cursor[[CURSOR.head, CURSOR.tail]] = -1
    if plan.fetching:
        # Robots beyond those that fetch at time 0 are idle; the last row is the spell.
        cursor[[CURSOR.in_flight, CURSOR.spell]] = rows.size - 1, rows[-1]
        rows = np.concatenate([rows[:-1], np.full(int(plan.robots.max()) - rows.size + 1, IDLE)])
    walkers = max(1, rows.size)
    state = State(
        clock=clock,
        cursor=cursor,
        row=rows.copy(),
        rate=np.ones(walkers),
        due=np.full(walkers, math.inf),
        left=np.zeros(walkers),
        serving=np.full(plan.indexers, -1),
        ends=np.full(plan.indexers, math.inf),
        turn=np.zeros(plan.indexers, np.int64),
        arrived=np.zeros(slots),
        deadline=np.zeros(slots),
        work=np.zeros(slots),
        page=np.zeros(slots, np.int64),
        after=np.zeros(slots, np.int64),
        before=np.zeros(slots, np.int64),
        place=np.zeros(slots, np.int64),
        free=np.arange(slots, dtype=np.int64)[::-1].copy(),
        heap=np.zeros(slots, np.int64),
    )
    tally = Tally(
        np.zeros((plan.bins, plan.levels)),
        np.zeros((plan.bins, plan.modes)),
        np.zeros((plan.bins, len(COUNT)), np.int64),
        np.zeros((plan.bins, len(SOJOURN))),
        np.zeros((plan.bins, len(CONTROL))),
        empty_histograms(plan),
        BINS_PER_GROUP,
    )
    return state, tally
