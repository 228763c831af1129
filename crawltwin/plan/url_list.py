"""The URLs that are left, by host: a list of URLs, counts by host, or what Heritrix tells of its frontier.

Four kinds of files, plain or packed, are known by their lines: one URL per line; a host and a number per line;
Heritrix's ``hosts-report.txt`` (a headline ``[#urls] [#bytes] [host] [#robots] [#remaining]``, of which the remaining
ones count); and its ``recover`` log, whose lines ``F+`` put a URL into the frontier and ``Fs``, ``Ff`` and ``Fd`` take
it out as fetched, failed or disregarded (internetarchive/heritrix3, HostsReport.java and FrontierJournal.java).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crawltwin.model.errors import InputError

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://(?:[^/?#\s@]*@)?(\[[^\]\s]*\]|[^:/?#\s]+)", re.IGNORECASE)
_COUNTED = re.compile(r"(\[[^\]\s]*\]|[^\s/,;:]+)[\s,;]+(\d{1,12})")
_JOURNAL = re.compile(r"(F[+edfirs]) (\S+)")
_NO_FETCH = ("dns:", "whois:")


@dataclass(frozen=True)
class UrlList:
    """How many URLs each host has left.

    Parameters
    ----------
    path : str
        Where it was read.
    hosts, keys, counts : tuple
        Names in small letters, their keys in a log, and the numbers of their URLs; the largest first.
    """

    path: str
    hosts: tuple[str, ...] = field(repr=False)
    keys: tuple[int, ...] = field(repr=False)
    counts: tuple[int, ...] = field(repr=False)

    @property
    def total(self) -> int:
        """All URLs of the list."""
        return sum(self.counts)

    def __str__(self) -> str:
        return self.path


def read_urls(value: Any) -> UrlList | int:
    """A number of URLs, or the list in a file."""
    text = str(value)
    if re.fullmatch(r"[+-]?\d+", text.strip()):
        return int(text)
    if text != "-" and not Path(text).is_file():
        raise InputError(f"--urls must be a whole number in digits alone or a file that exists; got {text!r}")
    from fitting.readers.columns import host_keys
    from fitting.readers.input.line_blocks import blocks
    from fitting.readers.input.opening import open_sources

    with open_sources(text) as sources:
        lines = (
            line.decode("utf-8", errors="replace").strip()
            for source in sources
            for block in blocks(source)
            for line in block.text.split(b"\n")
        )
        left = _by_host(line for line in lines if line and not line.startswith("#"))
    if not left:
        raise InputError.at(
            text,
            "--urls must be a number, or a file of URLs or of hosts with their numbers of URLs; got none",
            "One URL per line, or HOST NUMBER, or Heritrix's hosts-report.txt or recover log.",
        )
    hosts, counts = zip(*left.most_common(), strict=True)
    keys = host_keys([f"http://{host}/".encode() for host in hosts])
    return UrlList(text, hosts, tuple(keys.tolist()), counts)


def _by_host(lines: Iterator[str]) -> Counter[str]:
    first = next(lines, "")
    rest = (line for part in ((first,), lines) for line in part)
    if "[#remaining]" in first:
        names = first.split()
        host, remaining = names.index("[host]"), names.index("[#remaining]")
        rows = (line.split() for line in lines)
        known = ((row[host], row[remaining]) for row in rows if len(row) > max(host, remaining))
        return _summed((name, int(left)) for name, left in known if left.isdigit())
    if _JOURNAL.match(first):
        return _of_journal(rest)
    if _ADDRESS.match(first):
        found = (_ADDRESS.match(line) for line in rest)
        return _summed((match[1], 1) for match in found if match)
    pairs = (_COUNTED.fullmatch(line) for line in rest)
    return _summed((match[1], int(match[2])) for match in pairs if match)


def _of_journal(lines: Iterable[str]) -> Counter[str]:
    """URLs that were put in and not taken out."""
    waiting: set[str] = set()
    for line in lines:
        if match := _JOURNAL.match(line):
            if match[1] == "F+":
                waiting.add(match[2])
            elif match[1] in ("Fs", "Ff", "Fd"):
                waiting.discard(match[2])
    found = (_ADDRESS.match(url) for url in waiting)
    return _summed((match[1], 1) for match in found if match)


def _summed(pairs: Iterable[tuple[str, int]]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for name, number in pairs:
        if number > 0 and not name.startswith(_NO_FETCH):
            counts[name.lower()] += number
    return counts
