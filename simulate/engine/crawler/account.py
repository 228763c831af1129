"""The account of a run of the reference engine: the clock, the level, the counts of each bin, the records of pages."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from simulate.engine.columns import CELLS, CELLS_PER_OCTAVE, CONTROL, COUNT, LOST, OBSOLETE, PRESENT, SERVED, SOJOURN
from simulate.engine.crawler.alarms import Alarm
from simulate.engine.length import BINS_PER_GROUP
from simulate.engine.records import Records, no_records
from simulate.engine.run_plan import RunPlan
from simulate.engine.statistics import RunStatistics, empty_histograms, trimmed

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


class Count:
    """The counts of one bin, by the names of `COUNT`."""

    __slots__ = COUNT._fields

    def __init__(self) -> None:
        self.delivered = self.batches = self.lost = self.obsolete = self.served = 0


class Sojourns:
    """The sums of sojourn times of one bin, by the names of `SOJOURN`."""

    __slots__ = SOJOURN._fields

    def __init__(self) -> None:
        self.served = self.served_squares = self.obsolete = self.obsolete_squares = 0.0


class Control:
    """What the controller did in one bin, by the names of `CONTROL`."""

    __slots__ = CONTROL._fields

    def __init__(self) -> None:
        self.switches = self.fetches = 0.0


class Account:
    """What happened, bin by bin.

    `now` and `level` are the clock and the number of pages in the system, `mode` and `robots` what the controller
    wants, `in_flight` the number of fetches of robots that finish theirs. `robots_then` tells the number of robots that
    the controller will want after the event that is being handled.
    """

    def __init__(self, plan: RunPlan, recording: bool, watch: Watch | None) -> None:
        self.now = 0.0
        self.level = self.mode = self.robots = self.in_flight = 0
        self.robots_then: Callable[[], int] = lambda: self.robots
        self.events = self.pages = self.batches = 0
        self.finished: Callable[[], Any] = lambda: None
        self._plan, self._watch = plan, watch
        self._lowest_cell = plan.lowest_cell
        self._times = [[0.0] * plan.levels for _ in range(plan.bins)]
        self._mode_times = [[0.0] * plan.modes for _ in range(plan.bins)]
        self._controls = [Control() for _ in range(plan.bins)]
        self._counts = [Count() for _ in range(plan.bins)]
        self._sojourns = [Sojourns() for _ in range(plan.bins)]
        self._histograms = empty_histograms(plan).tolist()
        self._records: list[list[Any]] | None = [] if recording else None
        self.bin = 0
        self._open_bin()

    def _open_bin(self) -> None:
        self.time_at_level = self._times[self.bin]
        self.time_in_mode, self.control = self._mode_times[self.bin], self._controls[self.bin]
        self.count, self.sojourns = self._counts[self.bin], self._sojourns[self.bin]
        self.served_cells, self.obsolete_cells = (of[self.bin // BINS_PER_GROUP] for of in self._histograms)

    def next_bin(self) -> None:
        """The bin is over; after the last one the run is finished."""
        self.bin += 1
        if self.bin == self._plan.bins:
            self.finished()
        else:
            self._open_bin()

    def close_full_bin(self) -> None:
        """Where bins are of so many delivered pages: after an event, see whether there are enough."""
        if self._plan.bin_pages and self.count.delivered >= self._plan.bin_pages:
            self.next_bin()

    def time_passes(self, moment: float) -> None:
        """An event happens at `moment`: until then the level, the mode and the fetches were what they were."""
        passed = moment - self.now
        self.time_at_level[self.level] += passed
        if self.time_in_mode:
            self.time_in_mode[self.mode] += passed
            self.control.fetches += self.in_flight * passed
        self.now = moment
        self.events += 1

    def delivered(self, size: int, entering: int) -> None:
        """A batch was delivered, and so many of its pages enter."""
        count = self.count
        count.delivered += size
        count.batches += 1
        count.lost += size - entering
        if self._records is not None:
            self.record(self.batches, size, entering)
        self.batches += 1

    def record(self, batch: int, size: int, entering: int) -> None:
        """Begin the records of a batch (-1 for the pages at time 0)."""
        if self._records is not None:
            begin = [batch, self.now, self.level, self.robots, math.nan]
            self._records += [[*begin, math.nan, PRESENT] for _ in range(entering)]
            self._records += [[*begin, self.now, LOST] for _ in range(size - entering)]

    def indexing_begins(self, page: Page) -> None:
        """The indexer has picked a page up."""
        if self._records is not None:
            self._records[page.number][4] = self.now

    def served(self, page: Page) -> None:
        """A page leaves because it is indexed."""
        spent = self.now - page.arrival
        self.count.served += 1
        self.sojourns.served += spent
        self.sojourns.served_squares += spent * spent
        self.served_cells[self._cell(spent)] += 1
        self._leaves(page, SERVED)

    def obsolete(self, page: Page) -> None:
        """A page leaves because it is obsolete."""
        spent = self.now - page.arrival
        self.count.obsolete += 1
        self.sojourns.obsolete += spent
        self.sojourns.obsolete_squares += spent * spent
        self.obsolete_cells[self._cell(spent)] += 1
        self._leaves(page, OBSOLETE)

    def _leaves(self, page: Page, fate: int) -> None:
        self.level -= 1
        if self._records is not None:
            self._records[page.number][5:] = self.now, fate
        if self._watch is not None:
            self.tell("served" if fate == SERVED else "obsolete", 1)

    def _cell(self, spent: float) -> int:
        """The cell of the logarithmic histogram."""
        if spent <= 0:
            return 0
        fraction, exponent = math.frexp(spent)
        cell = exponent * CELLS_PER_OCTAVE + int((fraction - 0.5) * (2 * CELLS_PER_OCTAVE)) - self._lowest_cell
        return cell if 0 <= cell < CELLS else 0 if cell < 0 else CELLS - 1

    def tell(self, what: str, pages: int) -> None:
        """Tell whoever watches, if anybody does, and if any page is concerned or the number of robots is."""
        if self._watch is not None and (pages or what == "switched"):
            self._watch(self.now, what, pages, self.level, self.robots_then())

    def statistics(self, initial: int, present: list[Page]) -> RunStatistics:
        """What the run leaves behind: it began with `initial` pages, and `present` are still there."""
        histograms, first_cell = trimmed(np.array(self._histograms), self._lowest_cell)
        return RunStatistics(
            np.array(self._times),
            np.array(self._mode_times),
            np.array([[getattr(count, name) for name in COUNT._fields] for count in self._counts], np.int64),
            np.array([[getattr(sums, name) for name in SOJOURN._fields] for sums in self._sojourns]),
            np.array([[getattr(own, name) for name in CONTROL._fields] for own in self._controls]),
            histograms,
            first_cell,
            initial=initial,
            present=self.level,
            present_age=sum(self.now - page.arrival for page in present),
            time=self.now,
            events=self.events,
        )

    def records(self) -> Records | None:
        """The records of the pages, where they were kept."""
        if self._records is None:
            return None
        room = no_records(len(self._records))
        for name, column in zip(Records._fields, zip(*self._records)):
            getattr(room, name)[:] = column
        return room
