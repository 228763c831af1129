"""The reference engine: the paper's section 2 in SimPy, one event after the other.

Robots walk their phases and bring batches of pages. A batch meets a finite buffer and one of three admission
rules. The indexer takes the pages in order of arrival, and its time is a walk through the phases of the
service. Each page that must wait has a walk through the phases of obsolescence of its own; when indexing
begins, that alarm is cancelled, and when the alarm comes first, the page leaves. The number of pages decides
at once how many robots are active; a robot's phase stays, and the rest of its sojourn is stretched by the old
rate over the new one, which by the lack of memory has the law of a new draw and needs no random number.

Every alarm is a plain callback: a process a page, the usual style of SimPy, costs about six times as much.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from simulate.alarms import ARRIVAL, END_OF_BIN, END_OF_SERVICE, OBSOLESCENCE, Alarm, Calendar
from simulate.plan import (
    ALL_OR_NOTHING,
    BINS_A_GROUP,
    CELLS,
    CELLS_AN_OCTAVE,
    LOST,
    OBSOLETE,
    PARTIAL,
    PRESENT,
    SERVED,
    Plan,
)
from simulate.records import Records
from simulate.run_statistics import RunStatistics, empty_histograms, trimmed
from simulate.streams import Streams, one_by_one
from simulate.tables import END, IntArray, PhaseWalk

Watch = Callable[[float, str, int, int, int], None]
"""Told after each event: the moment, what happened, to how many pages, level and active robots after it."""


class Page:
    """A page from its delivery to its end."""

    __slots__ = ("alarm", "arrival", "number", "work")

    def __init__(self, number: int, arrival: float, work: float | None) -> None:
        self.number = number
        self.arrival = arrival
        self.work = work
        self.alarm: Alarm | None = None


class Choices:
    """Draws from lists of cumulative probabilities; a certain choice draws nothing."""

    def __init__(self, stream: np.random.Generator) -> None:
        self._uniform = one_by_one(stream.random)

    def pick(self, cumulative: list[float]) -> int:
        """The position of the first entry above a uniform number."""
        if len(cumulative) == 1:
            return 0
        number = self._uniform()
        for position, limit in enumerate(cumulative):
            if number < limit:
                return position
        raise AssertionError("the last cumulative probability is 1")


class PhaseClock:
    """Times of a phase type, walked phase by phase."""

    def __init__(self, walk: PhaseWalk, times: np.random.Generator, jumps: np.random.Generator) -> None:
        self._exponential = one_by_one(times.standard_exponential)
        self._choices = Choices(jumps)
        self._initial = walk.initial.tolist()
        self._first = walk.first.tolist()
        self._rates: list[float] = walk.jumps.rate.tolist()
        self._rows = _rows(walk.jumps.begin, walk.jumps.cumulative)
        self._targets = _rows(walk.jumps.begin, walk.jumps.target)
        self._is_exponential = len(self._rates) == 1

    def draw(self) -> float:
        """One time."""
        if self._is_exponential:
            return self._exponential() / self._rates[0]
        pick = self._choices.pick
        phase = self._first[pick(self._initial)]
        total = 0.0
        while phase != END:
            total += self._exponential() / self._rates[phase]
            phase = self._targets[phase][pick(self._rows[phase])]
        return total


class Crawler:
    """Robots, buffer and indexer."""

    def __init__(
        self,
        plan: Plan,
        streams: Streams,
        level: int,
        rows: IntArray,
        recording: bool,
        watch: Watch | None,
    ) -> None:
        self.plan = plan
        self.capacity, self.admission, self.ages = plan.capacity, plan.admission, plan.ages
        self.bin_pages, self.coins, self.lowest_cell = plan.bin_pages, plan.coins, plan.lowest_cell
        self.switches = bool(plan.mode.any())
        self.calendar = Calendar()
        self.watch = watch
        # The buffer: pages that wait, in order of arrival (a dictionary keeps it, and lets any page leave).
        self.waiting: dict[Page, None] = {}
        self.indexed: Page | None = None
        self.level = 0
        # The robots: each walker's row in the table of jumps, its rate, the moment of its next jump.
        self.rows: list[int] = rows.tolist()
        self.rates = [1.0] * len(self.rows)
        self.due = [math.inf] * len(self.rows)
        self.alarms: list[Alarm | None] = [None] * len(self.rows)
        self.batches_seen = self.work_seen = 0
        # Random numbers.
        self.sojourn_of_phase = one_by_one(streams.arrival_times.standard_exponential)
        self.jump = Choices(streams.arrival_jumps)
        self.coin = one_by_one(streams.coins.random)
        self.service = PhaseClock(plan.service, streams.service_times, streams.service_jumps)
        self.obsolescence = PhaseClock(plan.obsolescence, streams.obsolescence_times, streams.obsolescence_jumps)
        # The plan as lists: indexing a list is three times as fast as indexing an array.
        self.robots_at: list[int] = plan.robots.tolist()
        self.mode_at: list[int] = plan.mode.tolist()
        self.first_row = [int(table) * plan.rows for table in plan.table]
        self.factor_at: list[float] = plan.factor.tolist()
        self.keep_at: list[float] = plan.keep.tolist()
        self.jump_rates: list[float] = plan.jumps.rate.tolist()
        self.jump_shares = _rows(plan.jumps.begin, plan.jumps.cumulative)
        columns = zip(plan.jumps.size.tolist(), plan.jumps.mark.tolist(), plan.jumps.target.tolist())
        self.jumps = _rows(plan.jumps.begin, list(columns))
        # The statistics, a bin at a time.
        self.now = 0.0  # the calendar's, kept here after each event
        self.bin = self.events = self.pages = self.batches = 0
        self.time_at_level = [[0.0] * len(self.robots_at) for _ in range(plan.bins)]
        self.counts = [[0] * 5 for _ in range(plan.bins)]
        self.sojourns = [[0.0] * 4 for _ in range(plan.bins)]
        self.histograms = empty_histograms(plan).tolist()
        self._open_bin()
        self.records: list[list[Any]] | None = [] if recording else None
        self.finished = self.calendar.event()
        self._open(level)

    # The robots.

    def _next_jump(self, walker: int) -> None:
        """Draw the sojourn of a robot in its phase."""
        level = self.level
        rate = self.jump_rates[self.first_row[level] + self.rows[walker]] * self.factor_at[level]
        self.rates[walker] = rate
        self.due[walker] = due = self.now + self.sojourn_of_phase() / rate
        self.alarms[walker] = self.calendar.at(due, ARRIVAL, self._phase_jumps, walker)

    def _phase_jumps(self, alarm: Alarm) -> None:
        """A robot's phase jumps; the jump may bring a batch."""
        self._time_passes(alarm)
        walker: int = alarm.subject
        found = self.level
        row = self.first_row[found] + self.rows[walker]
        size, mark, target = self.jumps[row][self.jump.pick(self.jump_shares[row])]
        self.rows[walker] = target
        if size and self._is_delivered(mark):
            self._deliver(size, None)
        if self.switches:
            self._robots_follow(found, walker)
        self._next_jump(walker)

    def _next_recorded(self) -> None:
        """Wait for the next batch of the trace."""
        if self.batches_seen < self.plan.trace.times.size:
            self.calendar.at(float(self.plan.trace.times[self.batches_seen]), ARRIVAL, self._recorded_batch)

    def _recorded_batch(self, alarm: Alarm) -> None:
        """A batch of the trace comes; when fewer robots are active than recorded it, it may not."""
        self._time_passes(alarm)
        trace = self.plan.trace
        size, mark = int(trace.sizes[self.batches_seen]), int(trace.marks[self.batches_seen])
        work = trace.work[self.work_seen : self.work_seen + size].tolist() if trace.work.size else None
        self.batches_seen += 1
        self.work_seen += size
        if self._is_delivered(mark):
            self._deliver(size, work)
        self._next_recorded()

    def _is_delivered(self, mark: int) -> bool:
        """Whether a batch arrives: its coin falls well where there are coins, and its robot is active."""
        if self.coins and self.coin() >= self.keep_at[self.level]:
            return False
        return mark < self.robots_at[self.level]

    def _robots_follow(self, found: int, jumping: int = -1) -> None:
        """The level was `found` and has changed: where the mode changed, stretch the rest of each sojourn."""
        level, now = self.level, self.now
        if self.mode_at[level] == self.mode_at[found]:
            return
        for walker, row in enumerate(self.rows):
            new, old = (
                self.jump_rates[self.first_row[level] + row] * self.factor_at[level],
                self.rates[walker],
            )
            if walker != jumping and new != old:
                self._cancel(self.alarms[walker])
                self.due[walker] = due = now + (self.due[walker] - now) * old / new
                self.rates[walker] = new
                self.alarms[walker] = self.calendar.at(due, ARRIVAL, self._phase_jumps, walker)

    # The buffer.

    def _deliver(self, size: int, work: list[float] | None) -> None:
        """A batch meets the buffer: some pages enter, the others are lost."""
        room = self.capacity - self.level
        if self.admission == PARTIAL:
            entering = min(size, max(room, 0))
        elif self.admission == ALL_OR_NOTHING:
            entering = size if size <= room else 0
        else:
            entering = size if room > 0 else 0
        counts = self.count
        counts[0] += size
        counts[1] += 1
        counts[2] += size - entering
        if self.records is not None:
            self._record(self.batches, size, entering)
        self._enter(entering, work)
        self.pages += size - entering
        self.batches += 1
        if self.watch is not None:
            self._tell("delivered", entering)
            self._tell("lost", size - entering)
        if self.bin_pages and counts[0] >= self.bin_pages:
            self._next_bin()

    def _enter(self, entering: int, work: list[float] | None) -> None:
        """Pages enter: the first is indexed at once where the indexer is free, the others wait and age."""
        now = self.now
        for index in range(entering):
            page = Page(self.pages + index, now, work[index] if work else None)
            if self.indexed is None:
                self._begin_indexing(page)
                continue
            self.waiting[page] = None
            if self.ages:
                deadline = now + self.obsolescence.draw()
                page.alarm = self.calendar.at(deadline, OBSOLESCENCE, self._becomes_obsolete, page)
        self.pages += entering
        self.level += entering

    def _becomes_obsolete(self, alarm: Alarm) -> None:
        """The obsolescence time of a waiting page has passed: it leaves the buffer."""
        self._time_passes(alarm)
        page: Page = alarm.subject
        del self.waiting[page]
        self._leave(page, OBSOLETE)
        if self.switches:
            self._robots_follow(self.level + 1)

    # The indexer.

    def _begin_indexing(self, page: Page) -> None:
        """The page is picked up; it can no longer become obsolete."""
        if page.alarm is not None:
            self._cancel(page.alarm)
        self.indexed = page
        now = self.now
        if self.records is not None:
            self.records[page.number][4] = now
        time = self.service.draw() if page.work is None else page.work
        self.calendar.at(now + time, END_OF_SERVICE, self._end_indexing)

    def _end_indexing(self, alarm: Alarm) -> None:
        """The page is in the database; the next one that waits is picked up."""
        self._time_passes(alarm)
        page, self.indexed = self.indexed, None
        assert page is not None
        self._leave(page, SERVED)
        if self.waiting:
            following = next(iter(self.waiting))
            del self.waiting[following]
            self._begin_indexing(following)
        if self.switches:
            self._robots_follow(self.level + 1)

    def _leave(self, page: Page, fate: int) -> None:
        now = self.now
        spent = now - page.arrival
        self.level -= 1
        obsolete = fate == OBSOLETE
        self.count[3 if obsolete else 4] += 1
        sums, at = self.sums, 2 if obsolete else 0
        sums[at] += spent
        sums[at + 1] += spent * spent
        self.cells[obsolete][self._cell(spent)] += 1
        if self.records is not None:
            self.records[page.number][5:] = now, fate
        if self.watch is not None:
            self._tell("obsolete" if fate == OBSOLETE else "served", 1)

    # Time and accounts.

    def _open(self, level: int) -> None:
        """Time 0: the pages that are there already enter, the robots start, the bins begin."""
        self._record(-1, level, level)
        self._enter(level, None)
        if self.plan.traced:
            self._next_recorded()
        for walker in range(len(self.rows)):
            self._next_jump(walker)
        if not self.bin_pages:
            self.calendar.at(self.plan.bin_time, END_OF_BIN, self._bin_ends)

    def _time_passes(self, alarm: Alarm) -> None:
        now = alarm.moment
        self.times[self.level] += now - self.now
        self.now = now
        self.events += 1

    def _bin_ends(self, alarm: Alarm) -> None:
        self._time_passes(alarm)
        self.events -= 1
        self._next_bin()
        if self.bin < self.plan.bins:
            self.calendar.at((self.bin + 1) * self.plan.bin_time, END_OF_BIN, self._bin_ends)

    def _next_bin(self) -> None:
        self.bin += 1
        if self.bin == self.plan.bins:
            self.finished.succeed()
        else:
            self._open_bin()

    def _open_bin(self) -> None:
        self.times, self.count = self.time_at_level[self.bin], self.counts[self.bin]
        self.sums = self.sojourns[self.bin]
        self.cells = [of_fate[self.bin // BINS_A_GROUP] for of_fate in self.histograms]

    def _cancel(self, alarm: Alarm | None) -> None:
        if alarm is not None:
            self.calendar.cancel(alarm)

    def _cell(self, spent: float) -> int:
        if spent <= 0:
            return 0
        fraction, exponent = math.frexp(spent)
        cell = exponent * CELLS_AN_OCTAVE + int((fraction - 0.5) * (2 * CELLS_AN_OCTAVE)) - self.lowest_cell
        return cell if 0 <= cell < CELLS else 0 if cell < 0 else CELLS - 1

    def _record(self, batch: int, size: int, entering: int) -> None:
        if self.records is not None:
            now, level = self.now, self.level
            begin = [batch, now, level, self.robots_at[level], math.nan]
            self.records += [[*begin, math.nan, PRESENT] for _ in range(entering)]
            self.records += [[*begin, now, LOST] for _ in range(size - entering)]

    def _tell(self, what: str, pages: int) -> None:
        if self.watch is not None and pages:
            self.watch(self.now, what, pages, self.level, self.robots_at[self.level])


def run(
    plan: Plan,
    streams: Streams,
    level: int,
    rows: IntArray,
    recording: bool = False,
    watch: Watch | None = None,
) -> tuple[RunStatistics, Records | None]:
    """One whole run from `level` pages and the walkers' `rows`. Cost: 3 to 6 microseconds an event."""
    crawler = Crawler(plan, streams, level, rows, recording, watch)
    crawler.calendar.run(until=crawler.finished)
    now = crawler.now
    histograms, first_cell = trimmed(np.array(crawler.histograms), plan.lowest_cell)
    present = ([] if crawler.indexed is None else [crawler.indexed]) + list(crawler.waiting)
    statistics = RunStatistics(
        np.array(crawler.time_at_level),
        np.array(crawler.counts, np.int64),
        np.array(crawler.sojourns),
        histograms,
        first_cell,
        initial=level,
        present=crawler.level,
        present_age=sum(now - page.arrival for page in present),
        time=now,
        events=crawler.events,
    )
    records = None
    if crawler.records is not None:
        kinds = (np.int64, np.float64, np.int64, np.int64, np.float64, np.float64, np.int8)
        columns = zip(*crawler.records) if crawler.records else [()] * len(kinds)
        records = Records(*[np.array(column, kind) for column, kind in zip(columns, kinds)])
    return statistics, records


def _rows(begin: IntArray, entries: Any) -> list[list[Any]]:
    """Flat entries cut into rows."""
    flat = entries.tolist() if isinstance(entries, np.ndarray) else entries
    return [flat[low:high] for low, high in pairwise(begin.tolist())]
