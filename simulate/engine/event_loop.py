"""The loop of the compiled engine: the same crawler as the reference engine, one event after the other.

Semantics, random numbers and order of the floating-point operations are those of the reference engine; the tests
compare the two page by page, bit by bit. A waiting page is a slot in a doubly linked list (order of service) and in a
binary heap (order of obsolescence), so an event costs the logarithm of the number waiting at most. The loop returns to
Python every few million events, so that Ctrl-C is heard; its whole state lives in arrays.

It is compiled twice from one text: for the paper's crawler, and for one with everything beyond it (several indexers, a
controller with a memory or one that polls, robots that finish their fetch; limits of the level for rare events).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from crawltwin.work.compiling import njit
from simulate.engine.columns import ALL_OR_NOTHING, CONTROL, COUNT, EVENT, LOST, PARTIAL, PRESENT, SOJOURN
from simulate.engine.loop_parts import (
    add_deadline,
    begin_sojourn,
    cell_of,
    change_rate,
    draw_time,
    first_with,
    last_with,
    pick,
    remove_deadline,
    with_last,
    without,
)
from simulate.engine.records import Records
from simulate.engine.run_plan import RunPlan
from simulate.engine.state import CLOCK, CURSOR, IDLE, STARTING, State, Tally
from simulate.engine.streams import Streams

GOING, DONE, FULL, CROSSED = range(4)
Loop = Callable[[RunPlan, Streams, State, Tally, Records, bool, int], int]


def compiled_loop(general: bool) -> Loop:
    """The loop, with what goes beyond the paper's crawler or without it."""

    @njit(cache=True, nogil=True)
    def handle_events(
        plan: RunPlan, streams: Streams, state: State, tally: Tally, records: Records, recording: bool, most_events: int
    ) -> int:
        """Handle events until the run is done, `most_events` have passed or the records are full.

        One loop without calls on purpose. Arrays are unpacked once and never handed on: numba counts every array in and
        out of a call, and of a tuple, with locked additions, which made the same loop ten times slower.
        """
        clock, cursor = state.clock, state.cursor
        row, rate, due, left = state.row, state.rate, state.due, state.left
        serving, ends, turn = state.serving, state.ends, state.turn
        arrived, deadline, work, page = state.arrived, state.deadline, state.work, state.page
        after, before, place, free, heap = state.after, state.before, state.place, state.free, state.heap
        robots_at, mode_at, table_at, factor_at, keep_at = plan.robots, plan.mode, plan.table, plan.factor, plan.keep
        thresholds, resume, check_every, indexers = plan.thresholds, plan.resume, plan.check_every, plan.indexers
        j_rate, j_begin, j_share, j_size, j_mark, j_target = plan.jumps
        f_initial, f_first, start_up, fetching = plan.fetch_initial, plan.fetch_first, plan.start_up, plan.fetching
        s_initial, s_first, s_jumps = plan.service
        s_rate, s_begin, s_share, s_target = s_jumps.rate, s_jumps.begin, s_jumps.cumulative, s_jumps.target
        o_initial, o_first, o_jumps = plan.obsolescence
        o_rate, o_begin, o_share, o_target = o_jumps.rate, o_jumps.begin, o_jumps.cumulative, o_jumps.target
        e_jumps, pace = plan.spells, plan.pace
        e_rate, e_begin, e_share, e_target = e_jumps.rate, e_jumps.begin, e_jumps.cumulative, e_jumps.target
        trace_times, trace_sizes, trace_marks, trace_work = plan.trace
        arrival_times, arrival_jumps, coins = streams.arrival_times, streams.arrival_jumps, streams.coins
        service_times, service_jumps = streams.service_times, streams.service_jumps
        obsolescence_times, obsolescence_jumps = streams.obsolescence_times, streams.obsolescence_jumps
        looks, start_ups = streams.looks, streams.start_ups
        spell_times, spell_jumps = streams.spell_times, streams.spell_jumps
        time_at_level, time_in_mode = tally.time_at_level, tally.time_in_mode
        counts, sojourns, control, histograms = tally.counts, tally.sojourns, tally.control, tally.histograms
        r_batch, r_arrival, r_level, r_robots, r_start, r_end, r_fate = records
        rows, ages, traced, tossed = plan.rows, plan.ages, plan.traced, plan.coins
        capacity, admission, bins, bin_pages = plan.capacity, plan.admission, plan.bins, plan.bin_pages
        bin_time, lowest_cell, largest_batch = plan.bin_time, plan.lowest_cell, plan.largest_batch
        now, bin_end, look, spell_end = (
            clock[CLOCK.now],
            clock[CLOCK.bin_end],
            clock[CLOCK.look],
            clock[CLOCK.spell_end],
        )
        level, busy, head, tail = cursor[CURSOR.level], cursor[CURSOR.busy], cursor[CURSOR.head], cursor[CURSOR.tail]
        free_slots, heaped, current = cursor[CURSOR.free], cursor[CURSOR.heaped], cursor[CURSOR.bin]
        pages, batch = cursor[CURSOR.pages], cursor[CURSOR.batch]
        next_batch, next_work = cursor[CURSOR.next_batch], cursor[CURSOR.next_work]
        mode, turns, spell = cursor[CURSOR.mode], cursor[CURSOR.turn], cursor[CURSOR.spell]
        in_flight, starting = cursor[CURSOR.in_flight], cursor[CURSOR.starting]
        upper, lower, stop = cursor[CURSOR.upper], cursor[CURSOR.lower], clock[CLOCK.stop]
        walkers, cells, bins_per_group = due.size, histograms.shape[2], tally.bins_per_group
        handled, outcome = 0, GOING

        while True:
            kind, walker, size, entering, first_work, leaving, indexer = EVENT.opening, -1, 0, 0, 0, -1, 0
            if cursor[CURSOR.opened] == 0:
                # At time 0 the pages that are there already enter like a batch, which is not counted as delivered.
                entering, level = level, 0
            else:
                if handled == most_events:
                    break
                # The next event; where several coincide, the end of service before obsolescence before arrival.
                then, kind = ends[0], EVENT.served
                if general:
                    for i in range(1, indexers):
                        if ends[i] < then or (ends[i] == then and turn[i] < turn[indexer]):
                            then, indexer = ends[i], i
                if heaped > 0 and deadline[heap[0]] < then:
                    then, kind = deadline[heap[0]], EVENT.obsolete
                for w in range(walkers):
                    if due[w] < then:
                        then, kind, walker = due[w], EVENT.arrival, w
                if general:
                    if look < then:
                        then, kind, walker = look, EVENT.look, -1
                    if spell_end < then:
                        then, kind, walker = spell_end, EVENT.spell, -1
                if recording and kind == EVENT.arrival and pages + largest_batch > r_fate.size:
                    outcome = FULL
                    break
                if general and then > stop:
                    time_at_level[current, level] += stop - now
                    outcome = DONE
                    break
                while current < bins:
                    until = min(then, bin_end)
                    time_at_level[current, level] += until - now
                    if general:
                        time_in_mode[current, mode] += until - now
                        control[current, CONTROL.fetches] += in_flight * (until - now)
                    now = until
                    if then <= bin_end:
                        break
                    current += 1
                    bin_end = (current + 1) * bin_time
                if current == bins:
                    outcome = DONE
                    break
                handled += 1
            # Robots, tables, factors and coins go by the level, or by the mode of a controller with a memory.
            found, was = level, mode if general else level

            if kind == EVENT.arrival:
                # A robot's phase jumps: perhaps it brings a batch, perhaps the robot is not active.
                if traced:
                    size, mark = trace_sizes[next_batch], trace_marks[next_batch]
                    first_work = next_work
                    next_work += size
                    next_batch += 1
                elif general and row[walker] == STARTING:
                    size, mark, row[walker] = 0, 0, IDLE
                    starting -= 1
                else:
                    at = table_at[was] * rows + row[walker]
                    entry = pick(j_share, j_begin[at], j_begin[at + 1], arrival_jumps)
                    row[walker] = j_target[entry]
                    size, mark = j_size[entry], j_mark[entry]
                    if general and row[walker] == IDLE:
                        in_flight -= 1
                if size > 0 and ((tossed and coins.random() >= keep_at[was]) or mark >= robots_at[was]):
                    size = 0
                if size > 0:
                    room = capacity - level
                    if admission == PARTIAL:
                        entering = min(size, max(room, 0))
                    elif admission == ALL_OR_NOTHING:
                        entering = size if size <= room else 0
                    elif room > 0:
                        entering = size
                    counts[current, COUNT.delivered] += size
                    counts[current, COUNT.batches] += 1
                    counts[current, COUNT.lost] += size - entering
            elif kind == EVENT.served:
                leaving = serving[indexer]
                spent = now - arrived[leaving]
                counts[current, COUNT.served] += 1
                sojourns[current, SOJOURN.served] += spent
                sojourns[current, SOJOURN.served_squares] += spent * spent
                histograms[0, current // bins_per_group, cell_of(spent, lowest_cell, cells)] += 1
                serving[indexer], ends[indexer] = -1, math.inf
                busy -= 1
            elif kind == EVENT.obsolete:
                leaving = heap[0]
                spent = now - arrived[leaving]
                counts[current, COUNT.obsolete] += 1
                sojourns[current, SOJOURN.obsolete] += spent
                sojourns[current, SOJOURN.obsolete_squares] += spent * spent
                histograms[1, current // bins_per_group, cell_of(spent, lowest_cell, cells)] += 1

            # One page may leave the waiting room: to be indexed, which ends its ageing, or because it is obsolete.
            out = leaving if kind == EVENT.obsolete else (head if kind == EVENT.served else -1)
            if out >= 0:
                head, tail = without(after, before, out, head, tail)
                if ages:
                    heaped -= 1
                    remove_deadline(heap, place, deadline, heaped, out)
            beginning = 1 if kind == EVENT.served and out >= 0 else 0
            if leaving >= 0:
                if recording:
                    r_end[page[leaving]] = now
                    r_fate[page[leaving]] = kind
                free[free_slots] = leaving
                free_slots += 1
                level -= 1

            # Pages enter: the first of them are indexed at once where indexers are free, the others begin to age.
            top_slot = free_slots - 1
            for index in range(entering):
                free_slots -= 1
                slot = free[free_slots]
                arrived[slot] = now
                page[slot] = pages + index
                work[slot] = trace_work[first_work + index] if kind == EVENT.arrival and trace_work.size > 0 else -1.0
                if busy + beginning < indexers:
                    beginning += 1
                    continue
                head, tail = with_last(after, before, slot, head, tail)
                if ages:
                    deadline[slot] = now + draw_time(
                        o_initial, o_first, o_rate, o_begin, o_share, o_target, obsolescence_times, obsolescence_jumps
                    )
                    add_deadline(heap, place, deadline, heaped, slot)
                    heaped += 1
            entered = entering if kind == EVENT.opening else size
            if recording:
                for index in range(entered):
                    mine = pages + index
                    r_batch[mine] = -1 if kind == EVENT.opening else batch
                    r_arrival[mine] = now
                    r_level[mine] = found
                    r_robots[mine] = robots_at[was]
                    r_start[mine] = math.nan
                    r_end[mine] = math.nan if index < entering else now
                    r_fate[mine] = PRESENT if index < entering else LOST
            pages, batch, level = pages + entered, batch + (1 if size > 0 else 0), level + entering

            for index in range(beginning):
                slot = out if kind == EVENT.served else free[top_slot - index]
                total = work[slot]
                if recording:
                    r_start[page[slot]] = now
                if total < 0.0:
                    total = draw_time(
                        s_initial, s_first, s_rate, s_begin, s_share, s_target, service_times, service_jumps
                    )
                if general:
                    indexer = first_with(serving, -1)
                    turn[indexer] = turns
                    turns += 1
                serving[indexer], ends[indexer] = slot, now + total
                busy += 1

            # The controller sees the level at once, or when it looks.
            if general:
                if check_every > 0.0 and kind in (EVENT.look, EVENT.opening):
                    look = now + check_every * looks.standard_exponential()
                if check_every == 0.0 or kind in (EVENT.look, EVENT.opening):
                    while mode < thresholds.size and level > thresholds[mode]:
                        mode += 1
                    while mode > 0 and level <= resume[mode - 1]:
                        mode -= 1
            at_now = mode if general else level
            switched = kind != EVENT.opening and (
                robots_at[mode] != robots_at[was] if general else mode_at[level] != mode_at[found]
            )
            if switched:
                control[current, CONTROL.switches] += 1.0
            # The number of robots follows; phases stay, the rest of a sojourn is stretched.
            if traced:
                if kind in (EVENT.arrival, EVENT.opening):
                    due[0] = trace_times[next_batch] if next_batch < trace_times.size else math.inf
            elif general and fetching:
                if kind in (EVENT.spell, EVENT.opening):
                    if kind == EVENT.spell:
                        spell = e_target[pick(e_share, e_begin[spell], e_begin[spell + 1], spell_jumps)]
                        for w in range(walkers):
                            if row[w] >= 0:
                                change_rate(rate, due, left, w, now, j_rate[row[w]] * pace[spell])
                    if e_rate[spell] > 0.0:
                        spell_end = now + spell_times.standard_exponential() / e_rate[spell]
                wanted, joins = robots_at[mode], -1
                if kind == EVENT.arrival and row[walker] == IDLE:
                    joins, due[walker] = walker, math.inf
                for w in range(walkers):
                    if row[w] >= 0 and (w == walker or kind == EVENT.opening):
                        new = j_rate[row[w]] * pace[spell]
                        begin_sojourn(rate, due, left, w, now, new, arrival_times.standard_exponential())
                # Robots begin a fetch: first the one that has delivered or started up, then idle ones.
                while in_flight < wanted and (joins >= 0 or start_up == 0.0):
                    if joins < 0:
                        joins = first_with(row, IDLE)
                    row[joins] = f_first[pick(f_initial, 0, f_initial.size, arrival_jumps)]
                    new = j_rate[row[joins]] * pace[spell]
                    begin_sojourn(rate, due, left, joins, now, new, arrival_times.standard_exponential())
                    in_flight += 1
                    joins = -1
                if start_up > 0.0:
                    while starting < wanted - in_flight:
                        joins = first_with(row, IDLE)
                        row[joins], due[joins] = STARTING, now + start_up * start_ups.standard_exponential()
                        starting += 1
                    while starting > max(0, wanted - in_flight):
                        joins = last_with(row, STARTING)
                        row[joins], due[joins] = IDLE, math.inf
                        starting -= 1
            else:
                if switched:
                    for w in range(walkers):
                        if w != walker:
                            new = j_rate[table_at[at_now] * rows + row[w]] * factor_at[at_now]
                            if new != rate[w]:
                                due[w] = now + (due[w] - now) * rate[w] / new
                                rate[w] = new
                for w in range(walkers):
                    if w == walker or kind == EVENT.opening:
                        rate[w] = j_rate[table_at[at_now] * rows + row[w]] * factor_at[at_now]
                        due[w] = now + arrival_times.standard_exponential() / rate[w]
            if kind == EVENT.opening:
                cursor[CURSOR.opened] = 1
            elif bin_pages > 0 and counts[current, COUNT.delivered] >= bin_pages:
                current += 1
                if current == bins:
                    outcome = DONE
                    break
            if general and (level >= upper or level < lower):
                outcome = CROSSED
                break

        clock[CLOCK.now], clock[CLOCK.bin_end], clock[CLOCK.look], clock[CLOCK.spell_end] = (
            now,
            bin_end,
            look,
            spell_end,
        )
        cursor[CURSOR.level], cursor[CURSOR.busy], cursor[CURSOR.head], cursor[CURSOR.tail] = level, busy, head, tail
        cursor[CURSOR.free], cursor[CURSOR.heaped], cursor[CURSOR.bin] = free_slots, heaped, current
        cursor[CURSOR.pages], cursor[CURSOR.batch], cursor[CURSOR.next_batch] = pages, batch, next_batch
        cursor[CURSOR.mode], cursor[CURSOR.turn], cursor[CURSOR.spell] = mode, turns, spell
        cursor[CURSOR.next_work], cursor[CURSOR.in_flight], cursor[CURSOR.starting] = next_work, in_flight, starting
        cursor[CURSOR.events] += handled
        return outcome

    return handle_events


handle_plain_events = compiled_loop(general=False)
handle_all_events = compiled_loop(general=True)
