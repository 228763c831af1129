"""The compiled engine: a whole run, in slices after which Python hears Ctrl-C.

Semantics, random numbers and order of the floating-point operations are those of the reference engine; the tests
compare the two page by page, bit by bit.
"""

from __future__ import annotations

from crawltwin.work.compiling import call_whole
from simulate.engine.event_loop import DONE, FULL, handle_all_events, handle_plain_events
from simulate.engine.records import Records, cut, grown, no_records
from simulate.engine.run_plan import RunPlan
from simulate.engine.state import CLOCK, CURSOR, begin
from simulate.engine.statistics import RunStatistics, trimmed
from simulate.engine.streams import Streams
from simulate.engine.tables import IntArray

SLICE = 4_000_000
"""Events between two returns to Python."""


def run(
    plan: RunPlan,
    streams: Streams,
    level: int,
    rows: IntArray,
    recording: bool = False,
) -> tuple[RunStatistics, Records | None]:
    """One whole run from `level` pages and the walkers' `rows`.

    Cost: about 30 to 100 ns per event; memory independent of the run's length unless records are asked for.
    """
    state, tally = begin(plan, level, rows)
    records = no_records(4096 if recording else 0)
    handle_events = handle_all_events if plan.general else handle_plain_events
    while True:
        outcome = call_whole(handle_events, plan, streams, state, tally, records, recording, SLICE)
        if outcome == DONE:
            break
        if outcome == FULL:
            records = grown(records, 2 * records.fate.size + plan.largest_batch)
    histograms, first_cell = trimmed(tally.histograms, plan.lowest_cell)
    now, cursor = float(state.clock[CLOCK.now]), state.cursor
    age, slot = 0.0, int(cursor[CURSOR.head])
    for serving in state.serving[state.serving >= 0]:
        age += now - float(state.arrived[serving])
    while slot >= 0:
        age, slot = age + (now - float(state.arrived[slot])), int(state.after[slot])
    statistics = RunStatistics(
        tally.time_at_level,
        tally.time_in_mode,
        tally.counts,
        tally.sojourns,
        tally.control,
        histograms,
        first_cell,
        initial=level,
        present=int(cursor[CURSOR.level]),
        present_age=age,
        time=now,
        events=int(cursor[CURSOR.events]),
    )
    return statistics, cut(records, int(cursor[CURSOR.pages])) if recording else None
