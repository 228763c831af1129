"""A Scrapy crawl that obeys a policy and records what the model speaks about.

In the project's settings::

    EXTENSIONS = {"crawltwin.live.scrapy.ObeyPolicy": 500}
    ITEM_PIPELINES = {"crawltwin.live.scrapy.HandOver": 900}
    CRAWLTWIN_POLICY = "policy.json"             # read again whenever it changes
    CRAWLTWIN_RECORD = "crawl.record.jsonl"      # optional
    CRAWLTWIN_INDEX = "myproject.index_page"     # the built-in buffer: a function that takes an item
    CRAWLTWIN_CAPACITY = 20                      # pages waiting or being indexed
    CRAWLTWIN_INDEXERS = 1
    CRAWLTWIN_INDEX_IN_PROCESS = True            # in processes of their own; False: in threads
    CRAWLTWIN_LIFETIME = "myproject.lifetime"    # optional: draws the seconds after which a waiting page is stale
    # or, where the pages go elsewhere, a source of the backlog in place of the buffer:
    CRAWLTWIN_BACKLOG = "myproject.backlog"      # a function without arguments that returns a whole number
    CRAWLTWIN_POLL = 1.0                         # seconds between two looks at it
    CRAWLTWIN_SEED = 1                           # of the random times of a policy with check_every

The policy file may hold a schedule, with a policy for each part of the day: the one in force is obeyed.

A robot is a fetch under way (times `threads_per_robot` of the policy file). When fewer robots are wanted, fetches under
way are finished; when more are wanted, Scrapy is asked to begin at once. Limits per domain and delays of the project
stay in force: the policy only bounds the total.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import random
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.misc import load_object

from crawltwin.live.backlog import SafeBacklog
from crawltwin.live.buffer import Buffer, BufferSettings
from crawltwin.live.clock import LoopClock, Timer
from crawltwin.live.controller import Controller
from crawltwin.live.recorder import FORMAT, Recorder
from crawltwin.model.errors import InputError
from crawltwin.model.policies.policy_file import PolicyFile

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)

STARTED = "crawltwin_started"
"""Key in a request's meta: when its fetch began."""
RELOAD_EVERY = 1.0
"""Seconds between two looks at the policy file's time stamp."""
LONGEST_SLEEP = 60.0
"""Most seconds between two looks at the time of day, where the policy file has a schedule."""


class ObeyPolicy:
    """The extension: sets the number of fetches under way, keeps the buffer, writes the record."""

    def __init__(self, crawler: Crawler) -> None:
        path = crawler.settings.get("CRAWLTWIN_POLICY")
        if not path:
            raise NotConfigured("CRAWLTWIN_POLICY is not set")
        self.crawler = crawler
        self.path = str(path)
        self.controller = Controller(PolicyFile.read(self.path))
        self.recorder = Recorder(crawler.settings.get("CRAWLTWIN_RECORD"))
        # Until the backlog is known, the fewest robots that the policy names run.
        self.wanted = min(self.controller.policy.robots)
        self.level = 0
        self.buffer: Buffer | None = None
        self._backlog: SafeBacklog | None = None
        self._executor: Executor | None = None
        self._asking = False
        self._clock: LoopClock
        self._timers: dict[str, Timer] = {}
        self._closed = False
        self._stamp = Path(self.path).stat().st_mtime_ns
        self._chance = random.Random(crawler.settings.getint("CRAWLTWIN_SEED", 1))

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> ObeyPolicy:
        """What Scrapy calls."""
        # A policy file that is wrong ends the crawl here: without the extension it would run uncontrolled.
        extension = cls(crawler)
        for function, moment in (
            (extension.opened, signals.spider_opened),
            (extension.fetching, signals.request_reached_downloader),
            (extension.closed, signals.spider_closed),
        ):
            crawler.signals.connect(function, signal=moment)
        return extension

    def opened(self) -> None:
        """Begin: buffer or source of the backlog, the first number of robots."""
        settings = self.crawler.settings
        self._clock = LoopClock()
        index, source = settings.get("CRAWLTWIN_INDEX"), settings.get("CRAWLTWIN_BACKLOG")
        if index:
            indexers = settings.getint("CRAWLTWIN_INDEXERS", 1)
            sizes = BufferSettings(settings.getint("CRAWLTWIN_CAPACITY", 20), indexers)
            if settings.getbool("CRAWLTWIN_INDEX_IN_PROCESS"):
                self._executor = ProcessPoolExecutor(indexers, multiprocessing.get_context("spawn"))
                # The process starts now and not with the first page, whose time it would lengthen.
                self._executor.submit(os.getpid).result()
            else:
                self._executor = ThreadPoolExecutor(indexers)
            lifetime = settings.get("CRAWLTWIN_LIFETIME")
            draw: Callable[[], float] | None = load_object(lifetime) if lifetime else None
            self.buffer = Buffer(sizes, load_object(index), self._executor, self._clock, draw)
            self.buffer.watchers.append(self._changed)
        elif source:
            self._executor = ThreadPoolExecutor(1)
            self._backlog = SafeBacklog(
                load_object(source), lambda text: self._clock.call_from_thread(self._tell, text)
            )
        engine = self.crawler.engine
        assert engine is not None
        # Scrapy counts a fetch until its response is there and begins the next one before the page is handed over, so
        # it would not yet know the backlog that this page makes. Here a fetch ends when its page has been handed over.
        setattr(engine.downloader, "needs_backout", self._is_full)  # noqa: B010 - a method of one object
        self._write(
            "opened",
            format=FORMAT,
            capacity=self.buffer.settings.capacity if self.buffer else None,
            indexers=self.buffer.settings.indexers if self.buffer else None,
            policy=self.controller.policy.to_mapping(),
        )
        self.look()
        self._plan_looks()
        self._plan_parts()
        self._put_off("reload", RELOAD_EVERY, self._reload)

    def fetching(self, request: Request) -> None:
        """A fetch begins."""
        request.meta[STARTED] = self._clock.now()
        self._write("fetching")

    def deliver(self, item: Any, facts: Mapping[str, Any]) -> bool:
        """A page for the built-in buffer; False when it is lost."""
        facts = dict(facts)
        if facts.get("start") is not None:
            facts["duration"] = round(self._clock.now() - facts["start"], 6)
        if self.buffer is None:
            self._write("delivered", **facts)
            return True
        return self.buffer.offer(item, **facts)

    def look(self) -> None:
        """Look at the backlog and want the number of robots that the policy gives."""
        if self.buffer is not None:
            self._see(self.buffer.level)
        elif self._backlog is not None and not self._asking:
            # In a thread: a source that is slow to answer must not hold up the crawl.
            assert self._executor is not None
            self._asking = True
            self._executor.submit(self._backlog).add_done_callback(
                lambda asked: self._clock.call_from_thread(self._answered, asked.result())
            )

    def _answered(self, level: int | None) -> None:
        self._asking = False
        if level is not None and not self._closed:
            self._see(level)

    def _see(self, level: int) -> None:
        self._notice_part()
        self.level = level
        self._want(self.controller.robots(level))

    def _changed(self, event: str, fields: dict[str, Any]) -> None:
        assert self.buffer is not None
        self.level = self.buffer.level
        self._write(event, **fields)
        self._notice_part()
        if self.controller.check_every == 0:
            self._want(self.controller.robots(self.level))

    def _want(self, robots: int) -> None:
        if robots == self.wanted:
            return
        more, self.wanted = robots > self.wanted, robots
        engine = self.crawler.engine
        assert engine is not None
        self._write("robots")
        if more and engine._slot is not None:
            # Without this Scrapy would begin only when the next fetch ends.
            engine._slot.nextcall.schedule()

    @property
    def in_flight(self) -> int:
        """Fetches under way: from the request until its page is handed over."""
        engine = self.crawler.engine
        return 0 if engine is None or engine._slot is None else len(engine._slot.inprogress)

    def _is_full(self) -> bool:
        return self.in_flight >= self.controller.fetches(self.wanted)

    def _plan_looks(self) -> None:
        mean = self.controller.check_every
        if mean > 0:
            self._put_off("look", self._chance.expovariate(1 / mean), self._look_again)
        elif self._backlog is not None:
            self._put_off("look", self.crawler.settings.getfloat("CRAWLTWIN_POLL", 1.0), self._look_again)

    def _look_again(self) -> None:
        self.look()
        self._plan_looks()

    def _plan_parts(self) -> None:
        left = self.controller.until_change
        if left is not None:
            # Not longer than a minute: the clock may be set meanwhile, or the machine may sleep.
            self._put_off("part", min(left, LONGEST_SLEEP), self._look_at_the_time)

    def _look_at_the_time(self) -> None:
        self._plan_parts()
        self._notice_part()

    def _notice_part(self) -> None:
        if self.controller.look_at_clock():
            self._obey(f"another part of the schedule begins: {self.controller.policy.phrase}")

    def _obey(self, words: str) -> None:
        """Another policy is in force."""
        self._tell(words)
        self._take_back("look")
        self._plan_looks()
        self.look()

    def _reload(self) -> None:
        self._put_off("reload", RELOAD_EVERY, self._reload)
        try:
            stamp = Path(self.path).stat().st_mtime_ns
            if stamp == self._stamp:
                return
            self._stamp = stamp
            self.controller.follow(PolicyFile.read(self.path))
        except (OSError, InputError) as error:
            self._tell(f"the policy file was changed but not taken: {str(error)[:300]}")
            return
        self._obey("a new policy is obeyed")
        self._take_back("part")
        self._plan_parts()

    def _put_off(self, name: str, delay: float, function: Callable[[], None]) -> None:
        def run() -> None:
            self._timers.pop(name, None)
            if not self._closed:
                function()

        self._timers[name] = self._clock.call_later(delay, run)

    def _take_back(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()

    def _tell(self, message: str) -> None:
        logger.warning("crawltwin: %s", message)
        self._write("backlog", message=message)

    def _write(self, event: str, **fields: Any) -> None:
        state = {"level": self.level, "robots": self.wanted, "in_flight": self.in_flight}
        self.recorder.write(self._clock.now(), event, **fields, **state)

    def closed(self, reason: str) -> None:
        """End: stop the timers, close the record."""
        self._closed = True
        for timer in self._timers.values():
            timer.cancel()
        if self.buffer is not None:
            self.buffer.close()
        self._write("closed", present=self.level, reason=reason)
        self.recorder.close()
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)


class HandOver:
    """The pipeline: every item goes to the buffer as one delivered page."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> HandOver:
        """What Scrapy calls."""
        return cls(crawler)

    def process_item(self, item: Any) -> Any:
        """Hand a page over. `item` may carry `crawltwin` facts: url, status, size, start (see `fetch_facts`)."""
        extension = self.crawler.get_extension(ObeyPolicy)
        if extension is not None:
            extension.deliver(item, dict(item.get("crawltwin", {})))
        return item


def fetch_facts(response: Response) -> dict[str, Any]:
    """What the record tells about the fetch of a page; put it into the item under `crawltwin`."""
    started = response.meta.get(STARTED)
    return {
        "url": response.url,
        "status": response.status,
        "size": len(response.body),
        "start": None if started is None else round(started, 6),
    }
