"""One crawl in a process of its own: Scrapy under a policy, on the demonstration's site, with its record.

Twisted's event loop cannot be started twice in one process, so each crawl has its own: `run_crawl` starts
``python -m crawltwin.live.crawl``, waits, and leaves no process behind, whatever happens.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from crawltwin.model import checks
from crawltwin.model.errors import Faults, InputError

SEEDS = 20
"""Requests that wait at any time: far more than robots, few enough for the memory."""
GRACE = 60.0
"""Seconds that a crawl may take to start and to end beyond its own length."""


@dataclass(frozen=True)
class CrawlSettings:
    """One crawl.

    Parameters
    ----------
    address : str
        Where the site is.
    pages : int
        Pages of the site: ``address/0`` to ``address/(pages - 1)``.
    folder : str
        Holds `policy.json`; gets `record.jsonl` and the index `pages.db`.
    seconds : float
        Length.
    capacity : int
        Pages waiting or being indexed at most.
    lifetime : float
        Mean time after which a waiting page is stale, exponential; 0: never.
    bytes_per_second : float
        Pace of the indexer; 0: as fast as this machine.
    seed : int
    """

    address: str
    pages: int
    folder: str
    seconds: float
    capacity: int = 10
    lifetime: float = 0.0
    bytes_per_second: float = 0.0
    seed: int = 1

    def __post_init__(self) -> None:
        faults = Faults()
        checks.integer(self.pages, "pages", faults, at_least=1)
        checks.number(self.seconds, "seconds", faults, above=0)
        checks.integer(self.capacity, "capacity", faults, at_least=1)
        checks.number(self.lifetime, "lifetime", faults, at_least=0)
        checks.number(self.bytes_per_second, "bytes_per_second", faults, at_least=0)
        checks.integer(self.seed, "seed", faults, at_least=0)
        faults.raise_if_any()

    @property
    def record(self) -> Path:
        """The record of the crawl."""
        return Path(self.folder) / "record.jsonl"

    @property
    def policy(self) -> Path:
        """The policy that it obeys."""
        return Path(self.folder) / "policy.json"


def run_crawl(settings: CrawlSettings, tell: Callable[[], None] = lambda: None) -> Path:
    """Crawl in a process of its own; returns the record. `tell` is called every half second.

    Raises
    ------
    InputError
        When the crawl ended with an error or did not end in time; its last words are told.
    """
    command = [sys.executable, "-m", "crawltwin.live.crawl", json.dumps(asdict(settings))]
    log = Path(settings.folder) / "crawl.log"
    with log.open("wb") as words:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=words, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            left = 2 * (settings.seconds + GRACE)
            while left > 0 and process.poll() is None:
                try:
                    process.wait(0.5)
                except subprocess.TimeoutExpired:
                    left -= 1
                    tell()
        finally:
            # The crawl's own session: with it goes its indexing process.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if process.returncode != 0 or not settings.record.exists():
        tail = log.read_text("utf-8", "replace").strip().splitlines()[-3:]
        raise InputError(f"the crawl must end by itself; got exit code {process.returncode}: {' / '.join(tail)[:500]}")
    return settings.record


def crawl_in_this_process(settings: CrawlSettings) -> None:
    """Crawl in this process, which cannot crawl again afterwards."""
    import scrapy
    from scrapy.crawler import CrawlerProcess

    from crawltwin.live.indexing import index_page
    from crawltwin.live.scrapy import fetch_facts

    which = random.Random(settings.seed)
    staleness = random.Random(settings.seed + 1)
    database = str(Path(settings.folder) / "pages.db")

    def lifetime() -> float:
        return staleness.expovariate(1 / settings.lifetime)

    class Pages(scrapy.Spider):
        name = "pages"

        async def start(self) -> Any:
            for _ in range(SEEDS):
                yield self.another()

        def another(self) -> scrapy.Request:
            number = which.randrange(settings.pages)
            return scrapy.Request(f"{settings.address}/{number}", dont_filter=True)

        def parse(self, response: Any) -> Iterator[Any]:
            yield {
                "crawltwin": fetch_facts(response),
                "database": database,
                "bytes_per_second": settings.bytes_per_second,
                "url": response.url,
                "html": response.text,
            }
            yield self.another()

    process = CrawlerProcess(
        {
            "LOG_LEVEL": "WARNING",
            "EXTENSIONS": {"crawltwin.live.scrapy.ObeyPolicy": 500},
            "ITEM_PIPELINES": {"crawltwin.live.scrapy.HandOver": 900},
            "CRAWLTWIN_POLICY": str(settings.policy),
            "CRAWLTWIN_RECORD": str(settings.record),
            "CRAWLTWIN_INDEX": index_page,
            "CRAWLTWIN_INDEX_IN_PROCESS": True,
            "CRAWLTWIN_CAPACITY": settings.capacity,
            "CRAWLTWIN_LIFETIME": lifetime if settings.lifetime > 0 else None,
            "CRAWLTWIN_SEED": settings.seed,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 64,
            "DOWNLOAD_DELAY": 0,
            "CLOSESPIDER_TIMEOUT": settings.seconds,
            "LOG_SCRAPED_ITEMS": False,
            "ROBOTSTXT_OBEY": False,
            "TELNETCONSOLE_ENABLED": False,
            "COOKIES_ENABLED": False,
        }
    )
    process.crawl(Pages)
    process.start()
    if process.bootstrap_failed:
        sys.exit(1)


if __name__ == "__main__":
    crawl_in_this_process(CrawlSettings(**json.loads(sys.argv[1])))
