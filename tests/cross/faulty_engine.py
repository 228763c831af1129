"""A third, small engine, written apart from the other two, with faults that can be switched on.

It walks the joint phase of the arrivals (`scenario.arrivals.modes`), draws every time anew when the level or the phase
changes (the exponential law has no memory), and keeps the waiting pages in a plain list. Without a fault it is one more
independent account of the paper's section 2; each fault is one line where a careless program goes wrong.
"""

from __future__ import annotations

import math
from enum import IntEnum

import numpy as np
from numba import njit

from crawltwin.model import PhaseType, Scenario
from simulate import Sample
from simulate.engine.columns import LEVELS, SUM
from simulate.sample.units import Reading, Units

CELLS_AN_OCTAVE, OCTAVES, LOWEST_OCTAVE = 64, 80, -40
COLUMNS = LEVELS
TIME, DELIVERED, BATCHES, LOST, OBSOLETE, SERVED, SERVED_SUM, SERVED_SQUARES, OBSOLETE_SUM, OBSOLETE_SQUARES = range(10)
SWITCHES = SUM.switches


class Mistake(IntEnum):
    """What may be wrong with the engine."""

    NONE = 0
    LAST_IN_FIRST_OUT = 1
    CLOCK_RESTARTS = 2
    CLOCK_RUNS_ON_IN_SERVICE = 3
    LOST_CANCEL = 4
    BATCH_ADMITTED_WHOLE = 5
    PHASE_LOST_AT_MODE_CHANGE = 6
    MODE_CHOSEN_BEFORE_DEPARTURE = 7


@njit(cache=True)
def draw(uniform, cumulative):
    position = 0
    while position < cumulative.size - 1 and uniform >= cumulative[position]:
        position += 1
    return position


@njit(cache=True)
def draw_time(rng, initial, rates, jumps):
    """A phase-type time: `jumps[phase]` are cumulative probabilities of the next phases, the last is the end."""
    phase, total = draw(rng.random(), initial), 0.0
    while phase < rates.size:
        total += rng.exponential() / rates[phase]
        phase = draw(rng.random(), jumps[phase])
    return total


@njit(cache=True)
def simulate_run(
    rng, mistake, capacity, admission, mode_of, rates, shares, sizes, targets, stationary, service, ageing, ages,
    warm_up, horizon, sums, cells,
):  # fmt: skip
    top = mode_of.size - 1
    arrived, deadline = np.zeros(top + 64), np.zeros(top + 64)
    stale, stales = np.zeros(4096), 0
    waiting, busy, in_service_since, service_end, in_service_deadline = 0, False, 0.0, math.inf, math.inf
    now, level, mode_level = 0.0, 0, 0
    phase = draw(rng.random(), np.cumsum(stationary[mode_of[0]]))
    while now < horizon:
        mode = mode_of[min(mode_level, top)]
        arrival = now + rng.exponential() / rates[mode, phase]
        soonest, which = math.inf, -1
        for index in range(waiting):
            if deadline[index] < soonest:
                soonest, which = deadline[index], index
        alarm, alarm_at = math.inf, -1
        for index in range(stales):
            if stale[index] < alarm:
                alarm, alarm_at = stale[index], index
        aborted = in_service_deadline if mistake == 3 and busy else math.inf
        then = min(arrival, soonest, service_end, alarm, aborted, horizon)
        if then > warm_up:
            span = then - max(now, warm_up)
            sums[TIME] += span
            sums[COLUMNS + min(level, top)] += span
        now = then
        if now >= horizon:
            break
        counted, before, departed = now > warm_up, level, False
        if now == arrival:
            jump = draw(rng.random(), shares[mode, phase])
            phase = targets[mode, phase, jump]
            size = sizes[mode, jump]
            if size > 0:
                room = max(capacity - level, 0)
                entering = min(size, room)
                if admission == 1:
                    entering = size if size <= room else 0
                elif admission == 2 or mistake == 5:
                    entering = size if room > 0 else 0
                if counted:
                    sums[DELIVERED] += size
                    sums[BATCHES] += 1
                    sums[LOST] += size - entering
                for _ in range(entering):
                    level += 1
                    arrived[waiting] = now
                    deadline[waiting] = now + draw_time(rng, ageing[0], ageing[1], ageing[2]) if ages else math.inf
                    waiting += 1
        elif now in (service_end, aborted):
            served = now == service_end
            spent = now - in_service_since
            level -= 1
            busy, service_end, in_service_deadline, departed = False, math.inf, math.inf, True
            if counted:
                count(sums, cells, spent, served)
        else:
            gone = which
            if now == alarm:
                stales -= 1
                stale[alarm_at] = stale[stales]
                gone = 0
            if gone < waiting:
                spent = now - arrived[gone]
                for index in range(gone, waiting - 1):
                    arrived[index], deadline[index] = arrived[index + 1], deadline[index + 1]
                waiting -= 1
                level -= 1
                departed = True
                if counted:
                    count(sums, cells, spent, False)
        if not busy and waiting > 0:
            first = waiting - 1 if mistake == 1 else 0
            busy, in_service_since, in_service_deadline = True, arrived[first], deadline[first]
            waited = in_service_since < now
            for index in range(first, waiting - 1):
                arrived[index], deadline[index] = arrived[index + 1], deadline[index + 1]
            waiting -= 1
            service_end = now + draw_time(rng, service[0], service[1], service[2])
            if mistake == 4 and waited and stales < stale.size and in_service_deadline < math.inf:
                stale[stales] = in_service_deadline
                stales += 1
            if mistake == 2 and ages:
                for index in range(waiting):
                    deadline[index] = now + draw_time(rng, ageing[0], ageing[1], ageing[2])
        mode_level = before if mistake == 7 and departed else level
        if counted and mode_of[min(mode_level, top)] != mode:
            sums[SWITCHES] += 1
        if mistake == 6 and mode_of[min(level, top)] != mode_of[min(before, top)]:
            phase = draw(rng.random(), np.cumsum(stationary[mode_of[min(level, top)]]))


@njit(cache=True)
def count(sums, cells, spent, served):
    if served:
        sums[SERVED] += 1
        sums[SERVED_SUM] += spent
        sums[SERVED_SQUARES] += spent * spent
    else:
        sums[OBSOLETE] += 1
        sums[OBSOLETE_SUM] += spent
        sums[OBSOLETE_SQUARES] += spent * spent
    mantissa, octave = math.frexp(spent)
    cell = (octave - LOWEST_OCTAVE) * CELLS_AN_OCTAVE + int((mantissa - 0.5) * 2 * CELLS_AN_OCTAVE)
    cells[0 if served else 1, min(max(cell, 0), cells.shape[1] - 1)] += 1


def tables(scenario: Scenario) -> tuple:
    """Rates, cumulative jump probabilities, batch sizes and targets for each mode and phase."""
    modes = list(scenario.arrivals.modes.items())
    phases = scenario.arrivals.phases
    batches = scenario.arrivals.max_batch + 1
    rates = np.zeros((len(modes), phases))
    shares = np.zeros((len(modes), phases, phases * batches))
    targets = np.zeros(shares.shape, np.int64)
    sizes = np.zeros((len(modes), phases * batches), np.int64)
    for index, (_, bmap) in enumerate(modes):
        blocks = [bmap.D[0] - np.diag(np.diag(bmap.D[0])), *bmap.D[1:]]
        blocks += [np.zeros((phases, phases))] * (batches - len(blocks))
        rows = np.hstack(blocks)
        rates[index] = rows.sum(axis=1)
        shares[index] = np.cumsum(rows, axis=1) / rates[index][:, None]
        targets[index] = np.tile(np.arange(phases), batches)
        sizes[index] = np.repeat(np.arange(batches), phases)
    policy = scenario.policy_in_force
    numbers = [robots for robots, _ in modes]
    mode_of = np.array([numbers.index(policy.robots_at(level)) for level in range(scenario.top_level + 1)])
    stationary = np.array([bmap.phase_distribution for _, bmap in modes])
    return mode_of, rates, shares, sizes, targets, stationary


def walk(law: PhaseType | None) -> tuple:
    if law is None:
        return np.ones(1), np.ones(1), np.ones((1, 2))
    rates = -np.diag(law.subgenerator)
    rows = np.hstack([law.subgenerator + np.diag(rates), law.exit_rates[:, None]])
    return np.cumsum(law.initial), rates, np.cumsum(rows, axis=1) / rows.sum(axis=1)[:, None]


def run_engine(
    simulated: Scenario,
    mistake: Mistake,
    *,
    pages: int,
    rate: float,
    replications: int,
    seed: int,
    reading_of: Scenario | None = None,
) -> Sample:
    """Replications of the engine, read as if they were of the scenario `reading_of`.

    `rate` is the solved arrival rate, which turns pages into time. Levels above the scenario's top are counted there.
    """
    scenario = simulated if reading_of is None else reading_of
    own = tables(simulated)
    levels = scenario.top_level + 1
    horizon = pages / replications / rate / 0.95
    sums = np.zeros((replications, COLUMNS + own[0].size))
    cells = np.zeros((replications, 2, CELLS_AN_OCTAVE * OCTAVES), np.int64)
    for index, child in enumerate(np.random.SeedSequence([seed, int(mistake)]).spawn(replications)):
        simulate_run(
            np.random.Generator(np.random.PCG64(child)),
            int(mistake),
            simulated.capacity,
            ("partial", "all-or-nothing", "overflow").index(simulated.admission),
            *own,
            walk(simulated.service),
            walk(simulated.obsolescence),
            simulated.obsolescence is not None,
            0.05 * horizon,
            horizon,
            sums[index],
            cells[index],
        )
    at_level = np.zeros((replications, levels))
    for level in range(own[0].size):
        at_level[:, min(level, levels - 1)] += sums[:, COLUMNS + level]
    used = np.flatnonzero(cells.any(axis=(0, 1)))
    first = int(used[0])
    units = Units(
        np.hstack([sums[:, :COLUMNS], at_level]),
        cells[:, :, first : int(used[-1]) + 1].copy(),
        first + LOWEST_OCTAVE * CELLS_AN_OCTAVE,
    )
    return Sample(units, Reading.of(scenario, levels))
