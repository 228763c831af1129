"""The compiled engine: the same crawler as `engine_simpy`, as one loop over the next event.

Semantics, random numbers and order of the floating-point operations are those of the reference engine; the
tests compare the two page by page, bit by bit. A waiting page is a slot in a doubly linked list (order of
service) and in a binary heap (order of obsolescence), so an event costs the logarithm of the number waiting
at most. The loop returns to Python every few million events, so that progress is shown and Ctrl-C is heard;
its whole state lives in arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numba import njit

from simulate.engine_state import (
    BATCH,
    BIN,
    BIN_END,
    EVENTS,
    FREE,
    HEAD,
    HEAPED,
    LEVEL,
    NEXT_BATCH,
    NEXT_WORK,
    NOW,
    OPENED,
    PAGES,
    SERVICE_END,
    SERVING,
    TAIL,
    State,
    Tally,
    begin,
)
from simulate.plan import ALL_OR_NOTHING, LOST, OBSOLETE, PARTIAL, PRESENT, SERVED, Plan
from simulate.records import Records, cut, grown, no_records
from simulate.run_statistics import (
    BATCHES,
    DELIVERED,
    LOST_PAGES,
    OBSOLETE_PAGES,
    OBSOLETE_SQUARES,
    OBSOLETE_SUM,
    SERVED_PAGES,
    SERVED_SQUARES,
    SERVED_SUM,
    RunStatistics,
    trimmed,
)
from simulate.streams import Streams
from simulate.tables import END, IntArray

SLICE = 4_000_000
"""Events between two returns to Python."""

GOING, DONE, FULL = range(3)
# Kinds of events beside OBSOLETE and SERVED, which are fates too.
ARRIVAL, OPENING = LOST, PRESENT
_BITS_BELOW_CELL = 46
_EXPONENT_BIAS = 1022 * 64


@njit(cache=True)
def _cell(sojourn: float, lowest: int, cells: int) -> int:
    """The cell of the logarithmic histogram, from the bits of the number."""
    found = int(np.float64(sojourn).view(np.int64) >> _BITS_BELOW_CELL) - _EXPONENT_BIAS - lowest
    return min(max(found, 0), cells - 1)


@njit(cache=True)
def advance(
    plan: Plan,
    streams: Streams,
    state: State,
    tally: Tally,
    records: Records,
    recording: bool,
    most_events: int,
) -> int:
    """Handle events until the run is done, `most_events` have passed or the records are full.

    One loop without calls on purpose. Arrays are unpacked once and never handed on: numba counts every array
    in and out of a call, and of a tuple, with locked additions, which made the same loop ten times slower.
    """
    clock, cursor = state.clock, state.cursor
    row, rate, due = state.row, state.rate, state.due
    arrived, deadline, work, page = state.arrived, state.deadline, state.work, state.page
    after, before, place, free, heap = state.after, state.before, state.place, state.free, state.heap
    robots_at, mode_at, table_at, factor_at, keep_at = (
        plan.robots,
        plan.mode,
        plan.table,
        plan.factor,
        plan.keep,
    )
    j_rate, j_begin, j_share, j_size, j_mark, j_target = plan.jumps
    s_initial, s_first, s_jumps = plan.service
    s_rate, s_begin, s_share, s_target = s_jumps.rate, s_jumps.begin, s_jumps.cumulative, s_jumps.target
    o_initial, o_first, o_jumps = plan.obsolescence
    o_rate, o_begin, o_share, o_target = o_jumps.rate, o_jumps.begin, o_jumps.cumulative, o_jumps.target
    trace_times, trace_sizes, trace_marks, trace_work = plan.trace
    arrival_times, arrival_jumps, coins = streams.arrival_times, streams.arrival_jumps, streams.coins
    service_times, service_jumps = streams.service_times, streams.service_jumps
    obsolescence_times, obsolescence_jumps = streams.obsolescence_times, streams.obsolescence_jumps
    time_at_level, counts, sojourns, histograms = (
        tally.time_at_level,
        tally.counts,
        tally.sojourns,
        tally.histograms,
    )
    r_batch, r_arrival, r_level, r_robots, r_start, r_end, r_fate = records
    rows, ages, traced, tossed = plan.rows, plan.ages, plan.traced, plan.coins
    capacity, admission, bins, bin_pages = plan.capacity, plan.admission, plan.bins, plan.bin_pages
    bin_time, lowest_cell, largest_batch = plan.bin_time, plan.lowest_cell, plan.largest_batch
    now, service_end, bin_end = clock[NOW], clock[SERVICE_END], clock[BIN_END]
    level, serving, head, tail = cursor[LEVEL], cursor[SERVING], cursor[HEAD], cursor[TAIL]
    free_slots, heaped, current = cursor[FREE], cursor[HEAPED], cursor[BIN]
    pages, batch = cursor[PAGES], cursor[BATCH]
    next_batch, next_work = cursor[NEXT_BATCH], cursor[NEXT_WORK]
    walkers, cells, bins_a_group = due.size, histograms.shape[2], tally.bins_a_group
    handled, outcome = 0, GOING

    while True:
        kind, walker, size, entering, first_work, leaving = OPENING, -1, 0, 0, 0, -1
        if cursor[OPENED] == 0:
            # At time 0 the pages that are there already enter like a batch, which is not counted as
            # delivered.
            entering, level = level, 0
        else:
            if handled == most_events:
                break
            # The next event; where several coincide, the end of service before obsolescence before arrival.
            then, kind = service_end, SERVED
            if heaped > 0 and deadline[heap[0]] < then:
                then, kind = deadline[heap[0]], OBSOLETE
            for w in range(walkers):
                if due[w] < then:
                    then, kind, walker = due[w], ARRIVAL, w
            if recording and kind == ARRIVAL and pages + largest_batch > r_fate.size:
                outcome = FULL
                break
            while then > bin_end and current < bins:
                time_at_level[current, level] += bin_end - now
                now = bin_end
                current += 1
                bin_end = (current + 1) * bin_time
            if current == bins:
                outcome = DONE
                break
            time_at_level[current, level] += then - now
            now = then
            handled += 1
        found = level

        if kind == ARRIVAL:
            # A robot's phase jumps: perhaps it brings a batch, perhaps the robot is not active.
            if traced:
                size, mark = trace_sizes[next_batch], trace_marks[next_batch]
                first_work = next_work
                next_work += size
                next_batch += 1
            else:
                at = table_at[level] * rows + row[walker]
                entry = j_begin[at]
                if j_begin[at + 1] - entry > 1:
                    number = arrival_jumps.random()
                    while number >= j_share[entry]:
                        entry += 1
                row[walker] = j_target[entry]
                size, mark = j_size[entry], j_mark[entry]
            if size > 0 and ((tossed and coins.random() >= keep_at[level]) or mark >= robots_at[level]):
                size = 0
            if size > 0:
                room = capacity - level
                if admission == PARTIAL:
                    entering = min(size, max(room, 0))
                elif admission == ALL_OR_NOTHING:
                    entering = size if size <= room else 0
                elif room > 0:
                    entering = size
                counts[current, DELIVERED] += size
                counts[current, BATCHES] += 1
                counts[current, LOST_PAGES] += size - entering
        elif kind == SERVED:
            leaving = serving
            spent = now - arrived[leaving]
            counts[current, SERVED_PAGES] += 1
            sojourns[current, SERVED_SUM] += spent
            sojourns[current, SERVED_SQUARES] += spent * spent
            histograms[0, current // bins_a_group, _cell(spent, lowest_cell, cells)] += 1
            serving, service_end = -1, math.inf
        elif kind == OBSOLETE:
            leaving = heap[0]
            spent = now - arrived[leaving]
            counts[current, OBSOLETE_PAGES] += 1
            sojourns[current, OBSOLETE_SUM] += spent
            sojourns[current, OBSOLETE_SQUARES] += spent * spent
            histograms[1, current // bins_a_group, _cell(spent, lowest_cell, cells)] += 1

        # One page may leave the waiting room: to be indexed, which ends its ageing, or because it is
        # obsolete.
        out = leaving if kind == OBSOLETE else (head if kind == SERVED else -1)
        if out >= 0:
            if before[out] >= 0:
                after[before[out]] = after[out]
            else:
                head = after[out]
            if after[out] >= 0:
                before[after[out]] = before[out]
            else:
                tail = before[out]
            if ages:
                heaped -= 1
                hole, moved = place[out], heap[heaped]
                if moved != out:
                    while hole > 0 and deadline[moved] < deadline[heap[(hole - 1) >> 1]]:
                        heap[hole] = heap[(hole - 1) >> 1]
                        place[heap[hole]] = hole
                        hole = (hole - 1) >> 1
                    child = 2 * hole + 1
                    while child < heaped:
                        if child + 1 < heaped and deadline[heap[child + 1]] < deadline[heap[child]]:
                            child += 1
                        if deadline[moved] <= deadline[heap[child]]:
                            break
                        heap[hole] = heap[child]
                        place[heap[hole]] = hole
                        hole = child
                        child = 2 * hole + 1
                    heap[hole] = moved
                    place[moved] = hole
        begins = out if kind == SERVED else -1
        if leaving >= 0:
            if recording:
                r_end[page[leaving]] = now
                r_fate[page[leaving]] = kind
            free[free_slots] = leaving
            free_slots += 1
            level -= 1

        # Pages enter: the first of them is indexed at once where the indexer is free, the others begin to
        # age.
        for index in range(entering):
            free_slots -= 1
            slot = free[free_slots]
            arrived[slot] = now
            page[slot] = pages + index
            work[slot] = trace_work[first_work + index] if kind == ARRIVAL and trace_work.size > 0 else -1.0
            if serving < 0 and begins < 0:
                begins = slot
                continue
            before[slot], after[slot] = tail, -1
            if tail >= 0:
                after[tail] = slot
            else:
                head = slot
            tail = slot
            if ages:
                total, entry = 0.0, 0
                if o_initial.size > 1:
                    number = obsolescence_jumps.random()
                    while number >= o_initial[entry]:
                        entry += 1
                phase = o_first[entry]
                while phase != END:
                    total += obsolescence_times.standard_exponential() / o_rate[phase]
                    entry = o_begin[phase]
                    if o_begin[phase + 1] - entry > 1:
                        number = obsolescence_jumps.random()
                        while number >= o_share[entry]:
                            entry += 1
                    phase = o_target[entry]
                deadline[slot] = now + total
                hole = heaped
                heaped += 1
                while hole > 0 and deadline[slot] < deadline[heap[(hole - 1) >> 1]]:
                    heap[hole] = heap[(hole - 1) >> 1]
                    place[heap[hole]] = hole
                    hole = (hole - 1) >> 1
                heap[hole] = slot
                place[slot] = hole
        entered = entering if kind == OPENING else size
        if recording:
            for index in range(entered):
                mine = pages + index
                r_batch[mine] = -1 if kind == OPENING else batch
                r_arrival[mine] = now
                r_level[mine] = found
                r_robots[mine] = robots_at[found]
                r_start[mine] = math.nan
                r_end[mine] = math.nan if index < entering else now
                r_fate[mine] = PRESENT if index < entering else LOST
        pages += entered
        batch += 1 if size > 0 else 0
        level += entering

        if begins >= 0:
            serving, total = begins, work[begins]
            if recording:
                r_start[page[begins]] = now
            if total < 0.0:
                total, entry = 0.0, 0
                if s_initial.size > 1:
                    number = service_jumps.random()
                    while number >= s_initial[entry]:
                        entry += 1
                phase = s_first[entry]
                while phase != END:
                    total += service_times.standard_exponential() / s_rate[phase]
                    entry = s_begin[phase]
                    if s_begin[phase + 1] - entry > 1:
                        number = service_jumps.random()
                        while number >= s_share[entry]:
                            entry += 1
                    phase = s_target[entry]
            service_end = now + total

        # The number of robots follows the level at once; phases stay, the rest of a sojourn is stretched.
        if traced:
            if kind in (ARRIVAL, OPENING):
                due[0] = trace_times[next_batch] if next_batch < trace_times.size else math.inf
        else:
            if kind != OPENING and mode_at[level] != mode_at[found]:
                for w in range(walkers):
                    if w != walker:
                        new = j_rate[table_at[level] * rows + row[w]] * factor_at[level]
                        if new != rate[w]:
                            due[w] = now + (due[w] - now) * rate[w] / new
                            rate[w] = new
            for w in range(walkers):
                if w == walker or kind == OPENING:
                    rate[w] = j_rate[table_at[level] * rows + row[w]] * factor_at[level]
                    due[w] = now + arrival_times.standard_exponential() / rate[w]
        if kind == OPENING:
            cursor[OPENED] = 1
        elif bin_pages > 0 and counts[current, DELIVERED] >= bin_pages:
            current += 1
            if current == bins:
                outcome = DONE
                break

    clock[NOW], clock[SERVICE_END], clock[BIN_END] = now, service_end, bin_end
    cursor[LEVEL], cursor[SERVING], cursor[HEAD], cursor[TAIL] = level, serving, head, tail
    cursor[FREE], cursor[HEAPED], cursor[BIN] = free_slots, heaped, current
    cursor[PAGES], cursor[BATCH] = pages, batch
    cursor[NEXT_BATCH], cursor[NEXT_WORK] = next_batch, next_work
    cursor[EVENTS] += handled
    return outcome


def run(
    plan: Plan,
    streams: Streams,
    level: int,
    rows: IntArray,
    recording: bool = False,
    tick: Callable[[], None] | None = None,
) -> tuple[RunStatistics, Records | None]:
    """One whole run from `level` pages and the walkers' `rows`; `tick` is called every few million events.

    Cost: about 30 to 100 ns an event; memory independent of the run's length unless records are asked for.
    """
    state, tally = begin(plan, level, rows)
    records = no_records(4096 if recording else 0)
    while True:
        outcome = advance(plan, streams, state, tally, records, recording, SLICE)
        if outcome == DONE:
            break
        if outcome == FULL:
            records = grown(records, 2 * records.fate.size + plan.largest_batch)
        if tick is not None:
            tick()
    histograms, first_cell = trimmed(tally.histograms, plan.lowest_cell)
    now, cursor = float(state.clock[NOW]), state.cursor
    age, slot = 0.0, int(cursor[SERVING])
    if slot >= 0:
        age, slot = now - float(state.arrived[slot]), int(cursor[HEAD])
    while slot >= 0:
        age, slot = age + (now - float(state.arrived[slot])), int(state.after[slot])
    statistics = RunStatistics(
        tally.time_at_level,
        tally.counts,
        tally.sojourns,
        histograms,
        first_cell,
        initial=level,
        present=int(cursor[LEVEL]),
        present_age=age,
        time=now,
        events=int(cursor[EVENTS]),
    )
    return statistics, cut(records, int(cursor[PAGES])) if recording else None
