"""Where the backlog comes from: the number of pages that were delivered and are not yet indexed.

Three real sources stand behind one small interface, a callable without arguments that returns a whole number:
the built-in buffer, a table of a SQLite database used as a queue, and an HTTP address that answers with a number or
with Prometheus text. `SafeBacklog` guards each: a source that dies or answers nonsense leaves the last good number in
force, and says so once.
"""

from __future__ import annotations

import math
import sqlite3
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from crawltwin.model.errors import InputError

Backlog = Callable[[], int]
LONGEST_ANSWER = 4_000_000
"""Most bytes that are read from an HTTP source."""


class SqliteBacklog:
    """Rows of a table that is used as a queue.

    Parameters
    ----------
    path : path
        The database file; it must exist.
    query : str
        One number, for example ``SELECT count(*) FROM queue WHERE indexed IS NULL``.
    """

    def __init__(self, path: str | Path, query: str) -> None:
        self.path = Path(path)
        self.query = query
        if not self.path.is_file():
            raise InputError(f"the backlog's database must be an existing SQLite file; got {str(path)!r}")

    def __call__(self) -> int:
        """Ask the database."""
        address = f"{self.path.resolve().as_uri()}?mode=ro"
        connection = sqlite3.connect(address, uri=True, timeout=1.0)
        try:
            row = connection.execute(self.query).fetchone()
        finally:
            connection.close()
        if row is None:
            raise ValueError("the query gave no row")
        return whole_number(row[0])


class HttpBacklog:
    """A number behind an HTTP address: plain text, or one gauge of a Prometheus page.

    Parameters
    ----------
    address : str
        ``http://`` or ``https://``.
    gauge : str, optional
        The name of the Prometheus gauge, with or without labels; its samples are added up. None: the answer is the
        number itself.
    timeout : float
        Seconds after which the source counts as silent.
    """

    def __init__(self, address: str, gauge: str | None = None, timeout: float = 1.0) -> None:
        if urlsplit(address).scheme not in ("http", "https"):
            raise InputError(f"the backlog's address must begin with http:// or https://; got {address!r}")
        self.address = address
        self.gauge = gauge
        self.timeout = timeout

    def __call__(self) -> int:
        """Ask the server."""
        with urllib.request.urlopen(self.address, timeout=self.timeout) as answer:
            text = answer.read(LONGEST_ANSWER).decode("utf-8", "replace")
        if self.gauge is None:
            return whole_number(text.strip())
        return whole_number(gauge_value(text, self.gauge))


class SafeBacklog:
    """A source that may fail, with the last good number kept.

    Parameters
    ----------
    source : callable
    tell : callable
        Called with a sentence when the source goes silent and when it speaks again.
    """

    def __init__(self, source: Backlog, tell: Callable[[str], None]) -> None:
        self.source = source
        self.tell = tell
        self.last: int | None = None
        self.silent = False

    def __call__(self) -> int | None:
        """The number, or the last good one; None when there was none yet."""
        try:
            number = whole_number(self.source())
        except Exception as error:  # noqa: BLE001 - whatever a user's source raises, the crawl goes on
            if not self.silent:
                kept = "no number was ever read" if self.last is None else f"{self.last} pages are kept"
                self.tell(f"the backlog's source failed ({type(error).__name__}: {str(error)[:200]}); {kept}")
            self.silent = True
            return self.last
        if self.silent:
            self.tell(f"the backlog's source speaks again: {number} pages")
        self.silent = False
        self.last = number
        return number


def whole_number(value: object) -> int:
    """`value` as a number of pages; ValueError when it is none.

    Examples
    --------
    >>> whole_number("12"), whole_number(3.0)
    (12, 3)
    """
    number = float(str(value))
    if not (math.isfinite(number) and number >= 0 and number == int(number)):
        raise ValueError(f"a backlog must be a whole number of pages, 0 or more; got {str(value)[:80]!r}")
    return int(number)


def gauge_value(text: str, gauge: str) -> float:
    r"""The sum of a gauge's samples in Prometheus' text format.

    Examples
    --------
    >>> gauge_value('# TYPE backlog gauge\nbacklog{queue="a"} 3\nbacklog{queue="b"} 4\n', "backlog")
    7.0
    """
    found: list[float] = []
    for line in text.splitlines():
        words = line.strip()
        if words.startswith("#") or not words.startswith(gauge):
            continue
        rest = words[len(gauge) :]
        if rest.startswith("{"):
            rest = rest.partition("}")[2]
        elif rest[:1] not in (" ", "\t"):
            continue
        numbers = rest.split()
        if numbers:
            found.append(float(numbers[0]))
    if not found:
        raise ValueError(f"no sample of {gauge!r} in the answer")
    return sum(found)
