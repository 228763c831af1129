"""Choices of the user that change what a reader takes, with their words of help; nothing heavy is imported here."""

from __future__ import annotations

import re
from dataclasses import dataclass

from crawltwin.model.errors import Faults
from crawltwin.model.settings import setting

NAMES = (
    *("parquet", "warc", "heritrix", "cdxj", "cdx", "access-log", "scrapy", "nutch", "stormcrawler", "wpull", "wget"),
    *("httrack", "har", "browsertrix", "pages-jsonl", "crawltwin", "json-lines", "plain", "csv", "pattern"),
)
"""Every format of deliveries that can be named; all but `pattern` can be detected. Other packages may add more."""
COUNTER_NAMES = ("scrapy-counters", "scrapy-periodic", "heritrix-progress", "crawlee", "prometheus", "prometheus-csv")
"""Every format of counts per interval."""
VALUES = ("auto", "times", "gaps")
REPEATS = ("drop", "keep")
_GROUP = "reading"
_STATUSES = re.compile(r"[1-9]xx|\d{3}(?:-\d{3})?")


@dataclass(frozen=True)
class ReadOptions:
    """Choices of the user that change what a reader takes.

    Parameters
    ----------
    log_format : str, optional
        One of `NAMES` or `COUNTER_NAMES`, or of a reader that another package adds; found from the content by default.
    timezone : str, optional
        Zone of times that do not name one, for example ``Europe/Paris``; UTC by default.
    max_broken : float
        Share of lines that may be unreadable before the whole is refused.
    pattern : str, optional
        Regular expression with a named group ``time`` and, where there is one, ``size``; for the format ``pattern``.
    time_column, size_column : str, optional
        Names (or numbers, from 1) of columns in CSV, Parquet and JSON lines; ``response.size`` is a nested one.
    where : tuple of str
        Conditions ``NAME=VALUE`` or ``NAME~REGEX`` on named columns that make a row a delivery; all must hold.
    only_type : str, optional
        Media types that count as pages, separated by commas; every type by default.
    only_status : str
        HTTP statuses that count as delivered: ``2xx``, ``200,203``, ``200-206``.
    only_url : str, optional
        Regular expression that the address of a page must match.
    member : str, optional
        Name of a member of a zip, WACZ or tar archive, or a pattern for several (``archive/*``): only these are read.
    progress : str, optional
        Heritrix's ``progress-statistics.log``, which tells the robots that ran; that beside the log by default.
    agent : str
        Access logs: ``robots`` keeps known robots' user agents, ``all`` everything, else a regular expression.
    values : {"auto", "times", "gaps"}
        What a plain column of numbers holds.
    repeats : {"drop", "keep"}
        What becomes of deliveries that were read before: in an overlapping file, or in the same file again.
    workers, cluster : int or None, str or None
        Processes that read several files (None: one for each core), or the address of a Dask scheduler whose workers
        see the files under the same paths.
    """

    log_format: str | None = setting(
        None,
        help="the log's format: " + ", ".join(NAMES) + "; of counts: " + ", ".join(COUNTER_NAMES),
        option="--format",
        metavar="NAME",
        group=_GROUP,
        default_words="found from the content",
    )
    timezone: str | None = setting(
        None, help="zone of times that name none, for example Europe/Paris", metavar="NAME", group=_GROUP
    )
    max_broken: float = setting(0.2, help="share of lines that may be unreadable", metavar="SHARE", group=_GROUP)
    pattern: str | None = setting(
        None, help="any other log: groups time, size, url, status", metavar="REGEX", group=_GROUP
    )
    time_column: str | None = setting(
        None, help="column of times in CSV, Parquet, JSON lines", metavar="NAME", group=_GROUP
    )
    size_column: str | None = setting(None, help="column of sizes there", metavar="NAME", group=_GROUP)
    where: tuple[str, ...] = setting(
        (),
        help='rows there that are deliveries, NAME=VALUE or NAME~REGEX, such as message="Page Finished"',
        metavar="CONDITION",
        group=_GROUP,
        repeat=True,
        read=str,
    )
    only_type: str | None = setting(
        None,
        help="media types that count as pages, such as text/html,application/pdf",
        option="--only",
        metavar="TYPES",
        group=_GROUP,
        default_words="every type, robots.txt and images too",
    )
    only_status: str = setting(
        "2xx", help="HTTP statuses that count as delivered, such as 200,203 or 200-206", metavar="STATUS", group=_GROUP
    )
    only_url: str | None = setting(
        None, help="regex that the address of a page must match", metavar="REGEX", group=_GROUP
    )
    member: str | None = setting(
        None,
        help="members of a zip, WACZ or tar archive, such as 'logs/*'",
        metavar="NAME",
        group=_GROUP,
        default_words="all; of a WACZ its list of pages",
    )
    progress: str | None = setting(
        None,
        help="Heritrix's progress-statistics.log: how many robots were running",
        metavar="FILE",
        group=_GROUP,
        default_words="the one beside the log",
    )
    agent: str = setting("robots", help="access logs: robots, all, or a regex", metavar="WHICH", group=_GROUP)
    values: str = setting("auto", help="what a plain column of numbers holds", choices=VALUES, group=_GROUP)
    repeats: str = setting(
        "drop",
        help="deliveries that stand in two files, or again in one: count once (drop) or all (keep)",
        choices=REPEATS,
        group=_GROUP,
    )
    workers: int | None = 1
    cluster: str | None = None

    def __post_init__(self) -> None:
        from crawltwin.work.workers import check_workers

        faults = Faults()
        with faults.under(""):
            check_workers(self.workers)
        if self.values not in VALUES:
            faults.add("values", f"values must be one of {', '.join(VALUES)}; got {self.values!r}")
        if self.repeats not in REPEATS:
            faults.add("repeats", f"repeats must be one of {', '.join(REPEATS)}; got {self.repeats!r}")
        if not 0 <= self.max_broken <= 1:
            faults.add("max_broken", f"max_broken must be between 0 and 1; got {self.max_broken!r}")
        for condition in self.where:
            if not re.match(r"[^=~]+[=~]", condition):
                faults.add(
                    "where",
                    f"where must be NAME=VALUE or NAME~REGEX; got {condition!r}",
                    'For example --where message="Page Finished".',
                )
        for part in self.only_status.split(","):
            if not _STATUSES.fullmatch(part.strip()):
                faults.add(
                    "only_status", f"only_status must be statuses such as 2xx, 200 or 200-206; got {part.strip()!r}"
                )
        for name, text in (
            ("only_url", self.only_url or ""),
            *(("where", one.partition("~")[2]) for one in self.where if re.match("[^=~]+~", one)),
        ):
            try:
                re.compile(text)
            except (re.error, OverflowError, RecursionError) as error:
                faults.add(name, f"{name} must be a regular expression; got {text!r} ({error})")
        faults.raise_if_any()
