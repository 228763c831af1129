"""Everything that changes while the compiled engine runs, as arrays that it can take up where it left them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from crawltwin.model.checks import FloatArray
from simulate.plan import BINS_A_GROUP, Plan
from simulate.run_statistics import COUNTS, empty_histograms
from simulate.tables import IntArray

# Places in State.clock and State.cursor.
NOW, SERVICE_END, BIN_END = range(3)
LEVEL, SERVING, HEAD, TAIL, FREE, HEAPED, BIN, PAGES, BATCH, NEXT_BATCH, NEXT_WORK, EVENTS, OPENED = range(13)


class State(NamedTuple):
    """Everything that changes: clocks and cursors, one entry a walker, one entry a slot."""

    clock: FloatArray
    cursor: IntArray
    row: IntArray
    rate: FloatArray
    due: FloatArray
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
    counts: IntArray
    sojourns: FloatArray
    histograms: IntArray
    bins_a_group: int


def begin(plan: Plan, level: int, rows: IntArray) -> tuple[State, Tally]:
    """The state before the first event: `level` pages are about to enter, the walkers stand in `rows`."""
    walkers, slots = max(1, rows.size), plan.robots.size
    clock = np.array([0.0, math.inf, plan.bin_time])
    cursor = np.zeros(OPENED + 1, np.int64)
    cursor[[LEVEL, FREE]] = level, slots
    cursor[[SERVING, HEAD, TAIL]] = -1
    state = State(
        clock=clock,
        cursor=cursor,
        row=rows.copy(),
        rate=np.ones(walkers),
        due=np.full(walkers, math.inf),
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
        np.zeros((plan.bins, plan.robots.size)),
        np.zeros((plan.bins, len(COUNTS)), np.int64),
        np.zeros((plan.bins, 4)),
        empty_histograms(plan),
        BINS_A_GROUP,
    )
    return state, tally
