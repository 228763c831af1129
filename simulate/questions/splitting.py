r"""RESTART: trials are split where the level rises, so that high levels are seen often and with a small weight.

Thresholds :math:`T_1 < T_2 < \dots` on the level have numbers :math:`R_1, R_2, \dots` of trials. Whenever a trial
reaches :math:`T_s` from below, its state is kept and :math:`R_s` trials go on from it, each with new random numbers.
All but the last of them end when they fall below :math:`T_s` again; the last goes on. What happens at stratum s counts
with weight :math:`1/(R_1\cdots R_s)`, which makes every sum over the run unbiased whatever thresholds and numbers are
chosen; an event counts with the stratum that it happens in. (M. and J. Villén-Altamirano, RESTART: a method for
accelerating rare event simulations, 1991.)

The trials run in the compiled engine. Its whole state lies in two arrays, so that keeping it is two copies.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from crawltwin.model.checks import FloatArray
from crawltwin.work.compiling import call_whole, njit
from simulate.engine.event_loop import CROSSED, DONE, handle_all_events
from simulate.engine.loop_parts import add_deadline
from simulate.engine.records import Records, no_records
from simulate.engine.run_plan import RunPlan
from simulate.engine.state import CLOCK, CURSOR, STARTING, State, Tally
from simulate.engine.streams import Streams
from simulate.engine.tables import IntArray

EVENTS_PER_CALL = 1_000_000
CALLS = 100_000
"""Stretches of trials between two returns to Python, where Ctrl-C is heard."""


def packed(state: State) -> tuple[State, FloatArray, IntArray]:
    """The same state, lying in one array of numbers and one of whole numbers."""
    floats = np.concatenate([part for part in state if part.dtype == np.float64])
    whole = np.concatenate([part for part in state if part.dtype == np.int64])
    parts, at = [], {np.dtype(np.float64): 0, np.dtype(np.int64): 0}
    for part in state:
        room = floats if part.dtype == np.float64 else whole
        begin = at[part.dtype]
        parts.append(room[begin : begin + part.size])
        at[part.dtype] = begin + part.size
    return State(*parts), floats, whole


@njit(cache=True, nogil=True)
def draw_again(plan: RunPlan, streams: Streams, state: State) -> None:
    """Draw every clock anew that has no memory, so that trials split from one state part at once.

    Times in a phase of the arrivals, start-ups, looks and spells have none; indexing and obsolescence where they are
    exponential.
    """
    clock, cursor, row, due, heap, deadline = (
        state.clock,
        state.cursor,
        state.row,
        state.due,
        state.heap,
        state.deadline,
    )
    now, rates, services, ages = clock[CLOCK.now], state.rate, plan.service.jumps.rate, plan.obsolescence.jumps.rate
    for w in range(row.size):
        if plan.fetching and row[w] == STARTING:
            due[w] = now + plan.start_up * streams.start_ups.standard_exponential()
        elif due[w] < math.inf:
            due[w] = now + streams.arrival_times.standard_exponential() / rates[w]
    if plan.check_every > 0.0:
        clock[CLOCK.look] = now + plan.check_every * streams.looks.standard_exponential()
    if clock[CLOCK.spell_end] < math.inf:
        spell = plan.spells.rate[cursor[CURSOR.spell]]
        clock[CLOCK.spell_end] = now + streams.spell_times.standard_exponential() / spell
    if services.size == 1:
        for i in range(state.serving.size):
            if state.serving[i] >= 0:
                state.ends[i] = now + streams.service_times.standard_exponential() / services[0]
    if ages.size == 1:
        for heaped in range(cursor[CURSOR.heaped]):
            slot = heap[heaped]
            deadline[slot] = now + streams.obsolescence_times.standard_exponential() / ages[0]
            add_deadline(heap, state.place, deadline, heaped, slot)


@njit(cache=True, nogil=True)
def run_trials(
    plan: RunPlan, streams: Streams, state: State, tally: Tally, records: Records, kept: Any, places: Any
) -> bool:
    """Go on with the trials; True when the last one has come to the end of its time.

    `kept` holds the two arrays of the state and, for each stratum, those kept at its threshold; `places` the thresholds
    (0 for stratum 0, one above all levels at the end), the numbers of trials, the trials left in each stratum, the
    stratum, and the moments where counting begins and where it ends. What happens before goes to a bin of its own,
    the last.
    """
    floats, whole, kept_floats, kept_whole = kept
    thresholds, numbers, left, stratum, times = places
    clock, cursor = state.clock, state.cursor
    for _ in range(CALLS):
        s = stratum[0]
        while cursor[CURSOR.level] >= thresholds[s + 1]:
            s += 1
            left[s] = numbers[s]
            kept_floats[s, :] = floats
            kept_whole[s, :] = whole
        stratum[0] = s
        early = clock[CLOCK.now] < times[0]
        cursor[CURSOR.bin] = numbers.size if early else s
        clock[CLOCK.stop] = times[0] if early else times[1]
        cursor[CURSOR.upper], cursor[CURSOR.lower] = thresholds[s + 1], thresholds[s]
        outcome = handle_all_events(plan, streams, state, tally, records, False, EVENTS_PER_CALL)
        if outcome == DONE and early:
            clock[CLOCK.now] = times[0]
            continue
        if outcome == DONE:
            # This trial is at the end of its time, and so are those that it was the last of.
            left[s] -= 1
            while s > 0 and left[s] == 0:
                s -= 1
                left[s] -= 1
            if s == 0:
                return True
        elif outcome == CROSSED and cursor[CURSOR.level] < thresholds[s]:
            left[s] -= 1
            if left[s] == 0:
                stratum[0] = s - 1
                continue
        else:
            continue
        floats[:] = kept_floats[s]
        whole[:] = kept_whole[s]
        draw_again(plan, streams, state)
        stratum[0] = s
    return False


def restart(
    plan: RunPlan,
    streams: Streams,
    begun: tuple[State, Tally],
    splits: tuple[IntArray, IntArray],
    times: tuple[float, float],
) -> Tally:
    """A whole run with splitting, counted from `times[0]` to `times[1]`; the sums of each stratum, to be weighted.

    Trials are split from the first moment on. Were they split from `times[0]` on only, a run that happened to stand at
    a high level then, with its full weight, would come once in a million runs and count as much as all others.

    Parameters
    ----------
    begun : tuple
        State and sums before the first event; the bins of the sums are the strata, and one for what is not counted.
    splits : tuple
        Thresholds and numbers of trials, those of stratum 0 (0 and 1) first.
    """
    state, floats, whole = packed(begun[0])
    tally, records = begun[1], no_records()
    thresholds, numbers = splits
    strata = numbers.size
    kept = (floats, whole, np.zeros((strata, floats.size)), np.zeros((strata, whole.size), np.int64))
    limits = np.append(thresholds, plan.levels + 1)
    places = (limits, numbers, np.ones(strata, np.int64), np.zeros(1, np.int64), np.array(times))
    while not call_whole(run_trials, plan, streams, state, tally, records, kept, places):
        pass
    return tally
