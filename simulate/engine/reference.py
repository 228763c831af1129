"""The reference engine: the paper's section 2 in SimPy, one event after the other.

**Robots** walk their phases and bring batches of pages; some finish their fetch (`fetching_robots`). The **buffer** is
finite; a batch meets one of three admission rules, and each page that must wait has a walk through the phases of
obsolescence of its own. The **indexers** take the pages in order of arrival; each time is a walk through the phases of
the service. When indexing begins, the alarm of obsolescence is cancelled, and when that alarm comes first, the page
leaves. The **controller** (`controllers`) lets the number of pages decide how many robots are active; a robot's phase
stays, and the rest of its sojourn is stretched by the old rate over the new one, which by the lack of memory has the
law of a new draw and needs no random number. The **account** keeps the clock, the level and the books.

Every alarm is a plain callback: one process per page, the usual style of SimPy, costs about six times as much.
"""

from __future__ import annotations

from simulate.engine.columns import ALL_OR_NOTHING, PARTIAL
from simulate.engine.crawler.account import Account, Page, Watch
from simulate.engine.crawler.alarms import ARRIVAL, END_OF_BIN, END_OF_SERVICE, OBSOLESCENCE, Alarm, Calendar
from simulate.engine.crawler.controllers import LevelController, ModeController
from simulate.engine.crawler.fetching_robots import FetchingRobots
from simulate.engine.crawler.walking import Choices, PhaseClock, rows_of
from simulate.engine.records import Records
from simulate.engine.run_plan import RunPlan
from simulate.engine.statistics import RunStatistics
from simulate.engine.streams import Streams, one_by_one
from simulate.engine.tables import IntArray


class Robots:
    """Robots that walk their phases, each by itself where they are independent; a jump may bring a batch."""

    def __init__(self, crawler: Crawler, streams: Streams, rows: IntArray) -> None:
        plan = crawler.plan
        self.crawler, self.account, self.calendar = crawler, crawler.account, crawler.calendar
        self.rows: list[int] = rows.tolist()
        self.rates = [1.0] * len(self.rows)
        self.alarms: list[Alarm] = []
        self._sojourn = one_by_one(streams.arrival_times.standard_exponential)
        self._choices = Choices(streams.arrival_jumps)
        # The plan as lists: indexing a list is three times as fast as indexing an array.
        self._first_rows = [int(table) * plan.rows for table in plan.table]
        self._factors: list[float] = plan.factor.tolist()
        self._jump_rates: list[float] = plan.jumps.rate.tolist()
        self._shares = rows_of(plan.jumps.begin, plan.jumps.cumulative.tolist())
        columns = zip(plan.jumps.size.tolist(), plan.jumps.mark.tolist(), plan.jumps.target.tolist())
        self._jumps = rows_of(plan.jumps.begin, list(columns))

    def start(self) -> None:
        """Draw the first sojourn of every robot."""
        self.alarms = [self._next_jump(walker) for walker in range(len(self.rows))]

    def _rate(self, walker: int) -> float:
        place = self.crawler.controller.place
        return self._jump_rates[self._first_rows[place] + self.rows[walker]] * self._factors[place]

    def _next_jump(self, walker: int) -> Alarm:
        """Draw the sojourn of a robot in its phase."""
        self.rates[walker] = rate = self._rate(walker)
        return self.calendar.at(self.account.now + self._sojourn() / rate, ARRIVAL, self.jump, walker)

    def jump(self, alarm: Alarm) -> None:
        """A robot's phase jumps; the jump may bring a batch."""
        self.account.time_passes(alarm.moment)
        walker: int = alarm.subject
        row = self._first_rows[self.crawler.controller.place] + self.rows[walker]
        size, mark, self.rows[walker] = self._jumps[row][self._choices.pick(self._shares[row])]
        if size and self.crawler.controller.lets_in(mark):
            self.crawler.buffer.deliver(size)
        self.crawler.controller.look(walker)
        self.alarms[walker] = self._next_jump(walker)
        self.account.close_full_bin()

    def follow(self, jumping: int) -> None:
        """The number of robots has changed: stretch the rest of each sojourn, but for the robot that jumps just now."""
        now = self.account.now
        for walker, old in enumerate(self.rates):
            new = self._rate(walker)
            if walker != jumping and new != old:
                alarm = self.alarms[walker]
                self.calendar.cancel(alarm)
                self.rates[walker] = new
                due = now + (alarm.moment - now) * old / new
                self.alarms[walker] = self.calendar.at(due, ARRIVAL, self.jump, walker)


class RecordedRobots:
    """The batches of a trace in place of robots; where fewer robots are active than recorded it, some do not come."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler, self.trace = crawler, crawler.plan.trace
        self.next_batch = self.next_work = 0

    def start(self) -> None:
        """Wait for the next batch of the trace."""
        if self.next_batch < self.trace.times.size:
            self.crawler.calendar.at(float(self.trace.times[self.next_batch]), ARRIVAL, self.come)

    def come(self, alarm: Alarm) -> None:
        """The batch comes."""
        self.crawler.account.time_passes(alarm.moment)
        size, mark = int(self.trace.sizes[self.next_batch]), int(self.trace.marks[self.next_batch])
        work = self.trace.work[self.next_work : self.next_work + size].tolist()
        self.next_batch += 1
        self.next_work += size
        if self.crawler.controller.lets_in(mark):
            self.crawler.buffer.deliver(size, work)
        self.crawler.controller.look()
        self.start()
        self.crawler.account.close_full_bin()

    def follow(self, jumping: int) -> None:
        """A trace is what it is."""


class Buffer:
    """Pages that wait, in order of arrival, each with its alarm of obsolescence."""

    def __init__(self, crawler: Crawler, streams: Streams) -> None:
        plan = crawler.plan
        self.crawler, self.account = crawler, crawler.account
        self.capacity, self.admission, self.ages = plan.capacity, plan.admission, plan.ages
        self._obsolescence = PhaseClock(plan.obsolescence, streams.obsolescence_times, streams.obsolescence_jumps)
        # A dictionary keeps the order, and lets any page leave.
        self.waiting: dict[Page, None] = {}

    def admitted(self, size: int) -> int:
        """How many pages of a batch the admission rule lets in."""
        room = self.capacity - self.account.level
        if self.admission == PARTIAL:
            return min(size, max(room, 0))
        if self.admission == ALL_OR_NOTHING:
            return size if size <= room else 0
        return size if room > 0 else 0

    def deliver(self, size: int, work: list[float] | None = None) -> None:
        """A batch meets the buffer: some pages enter, the others are lost."""
        account, entering = self.account, self.admitted(size)
        account.delivered(size, entering)
        self.enter(entering, work)
        account.pages += size - entering
        account.tell("delivered", entering)
        account.tell("lost", size - entering)

    def enter(self, entering: int, work: list[float] | None = None) -> None:
        """Pages enter: the first are indexed at once where indexers are free, the others wait and age."""
        account, indexers = self.account, self.crawler.indexers
        now = account.now
        for index in range(entering):
            page = Page(account.pages + index, now, work[index] if work else None)
            if indexers.free:
                indexers.begin(page)
                continue
            self.waiting[page] = None
            if self.ages:
                deadline = now + self._obsolescence.draw()
                page.alarm = self.crawler.calendar.at(deadline, OBSOLESCENCE, self.become_obsolete, page)
        account.pages += entering
        account.level += entering

    def next_page(self) -> Page | None:
        """The page that has waited longest leaves the buffer to be indexed; it can no longer become obsolete."""
        if not self.waiting:
            return None
        page = next(iter(self.waiting))
        del self.waiting[page]
        if page.alarm is not None:
            self.crawler.calendar.cancel(page.alarm)
        return page

    def become_obsolete(self, alarm: Alarm) -> None:
        """The obsolescence time of a waiting page has passed: it leaves the system."""
        self.account.time_passes(alarm.moment)
        del self.waiting[alarm.subject]
        self.account.obsolete(alarm.subject)
        self.crawler.controller.look()


class Indexers:
    """Equal indexers, each of which takes one page at a time; the free one of the lowest number begins."""

    def __init__(self, crawler: Crawler, streams: Streams) -> None:
        self.crawler, self.account = crawler, crawler.account
        self.pages: list[Page | None] = [None] * crawler.plan.indexers
        self.free = len(self.pages)
        self._service = PhaseClock(crawler.plan.service, streams.service_times, streams.service_jumps)

    def begin(self, page: Page) -> None:
        """Pick a page up."""
        indexer = self.pages.index(None)
        self.pages[indexer] = page
        self.free -= 1
        self.account.indexing_begins(page)
        time = self._service.draw() if page.work is None else page.work
        self.crawler.calendar.at(self.account.now + time, END_OF_SERVICE, self.end, indexer)

    def end(self, alarm: Alarm) -> None:
        """The page is in the database; the next one that waits is picked up."""
        self.account.time_passes(alarm.moment)
        page = self.pages[alarm.subject]
        assert page is not None
        self.account.served(page)
        self.pages[alarm.subject] = None
        self.free += 1
        following = self.crawler.buffer.next_page()
        if following is not None:
            self.begin(following)
        self.crawler.controller.look()


class Crawler:
    """Robots, controller, buffer and indexer on one calendar, and the account of what they do."""

    def __init__(
        self, plan: RunPlan, streams: Streams, rows: IntArray, recording: bool = False, watch: Watch | None = None
    ) -> None:
        self.plan, self.calendar = plan, Calendar()
        self.account = Account(plan, recording, watch)
        self.controller = ModeController(self, streams) if plan.general else LevelController(self, streams)
        self.buffer = Buffer(self, streams)
        self.indexers = Indexers(self, streams)
        self.robots: Robots | RecordedRobots | FetchingRobots
        if plan.traced:
            self.robots = RecordedRobots(self)
        else:
            self.robots = (FetchingRobots if plan.fetching else Robots)(self, streams, rows)

    def run(self, level: int) -> None:
        """From `level` pages, which enter at time 0, to the end of the last bin."""
        finished = self.calendar.event()
        self.account.finished = finished.succeed
        self.account.record(-1, level, level)
        self.buffer.enter(level)
        self.controller.start()
        self.robots.start()
        if not self.plan.bin_pages:
            self.calendar.at(self.plan.bin_time, END_OF_BIN, self._end_bin)
        self.calendar.run(until=finished)

    def _end_bin(self, alarm: Alarm) -> None:
        account = self.account
        account.time_passes(alarm.moment)
        account.events -= 1
        account.next_bin()
        if account.bin < self.plan.bins:
            self.calendar.at((account.bin + 1) * self.plan.bin_time, END_OF_BIN, self._end_bin)


def run(
    plan: RunPlan, streams: Streams, level: int, rows: IntArray, recording: bool = False, watch: Watch | None = None
) -> tuple[RunStatistics, Records | None]:
    """One whole run from `level` pages and the walkers' `rows`. Cost: 3 to 6 microseconds per event."""
    crawler = Crawler(plan, streams, rows, recording, watch)
    crawler.run(level)
    present = [page for page in crawler.indexers.pages if page is not None] + list(crawler.buffer.waiting)
    return crawler.account.statistics(level, present), crawler.account.records()
