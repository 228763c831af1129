"""Every format that is known: ours, and those that other packages add.

A package adds a reader through the entry point group ``crawltwin.readers``; the entry point's name is the name of the
format, its object a class without arguments that is a `Reader`. `docs/new-reader.md` shows one.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.metadata import entry_points

from crawltwin.model.errors import InputError
from fitting.readers.base import CountReader, Reader
from fitting.readers.formats.added import GROUP, WAY_OUT, Added
from fitting.readers.formats.counters.crawlee import CrawleeStatistics
from fitting.readers.formats.counters.progress import HeritrixProgress
from fitting.readers.formats.counters.prometheus import Prometheus, PrometheusCsv
from fitting.readers.formats.counters.scrapy_stats import ScrapyCounters, ScrapyPeriodic
from fitting.readers.formats.structured.browsertrix import Browsertrix
from fitting.readers.formats.structured.cdx import Cdx, Cdxj
from fitting.readers.formats.structured.crawl_record import CrawlRecord
from fitting.readers.formats.structured.har import Har
from fitting.readers.formats.structured.json_lines import JsonLines, WaczPages
from fitting.readers.formats.structured.tables import Csv, Parquet
from fitting.readers.formats.structured.warc import Warc
from fitting.readers.formats.text.access_log import AccessLog
from fitting.readers.formats.text.heritrix import Heritrix
from fitting.readers.formats.text.httrack import Httrack
from fitting.readers.formats.text.nutch import Nutch
from fitting.readers.formats.text.plain import Plain
from fitting.readers.formats.text.scrapy_log import ScrapyLog
from fitting.readers.formats.text.stormcrawler import StormCrawler
from fitting.readers.formats.text.wget import Wget
from fitting.readers.formats.text.wpull import Wpull
from fitting.readers.settings import COUNTER_NAMES, NAMES

FORMATS: tuple[Reader, ...] = (
    Parquet(),
    Warc(),
    Heritrix(),
    Cdxj(),
    Cdx(),
    AccessLog(),
    ScrapyLog(),
    Nutch(),
    StormCrawler(),
    Wpull(),
    Wget(),
    Httrack(),
    Har(),
    Browsertrix(),
    WaczPages(),
    CrawlRecord(),
    JsonLines(),
    Plain(),
    Csv(),
)
"""Every format of deliveries that can be detected, in the order in which a tie is decided; `pattern` comes only on
request."""

COUNTERS: tuple[CountReader, ...] = (
    ScrapyCounters(),
    ScrapyPeriodic(),
    HeritrixProgress(),
    CrawleeStatistics(),
    Prometheus(),
    PrometheusCsv(),
)
"""Formats that tell counts per interval only."""


@lru_cache(maxsize=1)
def added() -> tuple[Reader, ...]:
    """Readers of other packages, in the order of their names.

    Raises
    ------
    InputError
        When one cannot be loaded, is no reader, or has the name of one of ours.
    """
    found: list[Reader] = []
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            reader = point.load()()
        except (Exception, SystemExit) as error:
            raise InputError.at(
                GROUP, f"a reader must be importable; got {point.name} = {point.value} ({error})", WAY_OUT
            ) from error
        if point.name in (*NAMES, *COUNTER_NAMES):
            raise InputError.at(
                GROUP, f"a reader must have a name of its own; got {point.name} = {point.value}", WAY_OUT
            )
        if not isinstance(reader, Reader) or reader.name != point.name:
            raise InputError.at(
                GROUP,
                f"a reader must have name, about, score and read, and be registered under its name; got {point.name} = "
                f"{point.value}",
                WAY_OUT,
            )
        found.append(Added(reader, point.value))
    return tuple(found)


def known() -> tuple[Reader, ...]:
    """Every format of deliveries: those of other packages after ours."""
    return FORMATS + added()
