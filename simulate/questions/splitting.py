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

from typing import Any

import numpy as np

from crawltwin.model.checks import FloatArray
from crawltwin.work.compiling import njit
from simulate.engine.event_loop import CROSSED, DONE, handle_all_events
from simulate.engine.records import Records, no_records
from simulate.engine.run_plan import RunPlan
from simulate.engine.state import CLOCK, CURSOR, State, Tally
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
def run_trials(
    plan: RunPlan, streams: Streams, state: State, tally: Tally, records: Records, kept: Any, places: Any
) -> bool:
    """Go on with the trials; True when the last one has come to the end of its time.

    `kept` holds the two arrays of the state and, for each stratum, those kept at its threshold; `places` the thresholds
    (0 for stratum 0, one above all levels at the end), the numbers of trials, the trials left in each stratum, and the
    stratum.
    """
    floats, whole, kept_floats, kept_whole = kept
    thresholds, numbers, left, stratum = places
    cursor = state.cursor
    for _ in range(CALLS):
        s = stratum[0]
        while cursor[CURSOR.level] >= thresholds[s + 1]:
            s += 1
            left[s] = numbers[s]
            kept_floats[s, :] = floats
            kept_whole[s, :] = whole
        stratum[0] = s
        cursor[CURSOR.bin], cursor[CURSOR.upper], cursor[CURSOR.lower] = s, thresholds[s + 1], thresholds[s]
        outcome = handle_all_events(plan, streams, state, tally, records, False, EVENTS_PER_CALL)
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
        stratum[0] = s
    return False


def restart(
    plan: RunPlan,
    streams: Streams,
    begun: tuple[State, Tally],
    splits: tuple[IntArray, IntArray],
    times: tuple[float, float],
) -> Tally:
    """A whole run with splitting from `times[0]` to `times[1]`; the sums of each stratum, to be weighted.

    Parameters
    ----------
    begun : tuple
        State and sums before the first event; the bins of the sums are the strata.
    splits : tuple
        Thresholds and numbers of trials, those of stratum 0 (0 and 1) first.
    """
    state, floats, whole = packed(begun[0])
    tally, records = begun[1], no_records()
    thresholds, numbers = splits
    if times[0] > 0:
        state.clock[CLOCK.stop] = times[0]
        while handle_all_events(plan, streams, state, tally, records, False, EVENTS_PER_CALL) != DONE:
            pass
        for sums in (tally.time_at_level, tally.time_in_mode, tally.counts, tally.sojourns, tally.control):
            sums[:] = 0
    state.clock[CLOCK.now] = times[0]
    state.clock[CLOCK.stop] = times[1]
    strata = numbers.size
    kept = (floats, whole, np.zeros((strata, floats.size)), np.zeros((strata, whole.size), np.int64))
    limits = np.append(thresholds, plan.levels + 1)
    places = (limits, numbers, np.ones(strata, np.int64), np.zeros(1, np.int64))
    while not run_trials(plan, streams, state, tally, records, kept, places):
        pass
    return tally
