"""The URLs that are left, by host: a list of URLs, counts by host, or what Heritrix tells of its frontier.

Four kinds of files, plain or packed, are known by their lines: one URL per line; a host and a number per line;
Heritrix's ``hosts-report.txt`` (a headline ``[#urls] [#bytes] [host] [#robots] [#remaining]``, of which the remaining
ones count); and its ``recover`` log, whose lines ``F+`` put a URL into the frontier and ``Fs``, ``Ff`` and ``Fd`` take
it out as fetched, failed or disregarded, with lines ``T`` of times and ``E`` of errors (internetarchive/heritrix3,
HostsReport.java, FrontierJournal.java and CrawlerJournal.java). The first line that is of a kind tells the kind. Blank
lines and remarks (``#``) may stand anywhere; a file with any other line is refused, since its list would be too short.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawltwin.model.errors import InputError

if TYPE_CHECKING:
    from fitting.readers.input.streams import Source

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://(?:[^/?#\s@]*@)?(\[[^\]\s]*\]|[^:/?#\s]+)", re.IGNORECASE)
_COUNTED = re.compile(r"(\[[^\]\s]*\]|[^\s/,;:]+)[\s,;]+(\d{1,12})")
_JOURNAL = re.compile(r"(F[+edfirs]) ([a-z][a-z0-9+.-]*:\S*)", re.IGNORECASE)
_JOURNAL_REMARK = re.compile(r"T \d{14,17}|E .*")
_NUMBER = re.compile(r"\d{1,12}")
_NO_FETCH = ("dns:", "whois:")
_BLOCK, _LONGEST = 2**20, 2**22
"""Bytes that are read at a time, and of a line at most."""
_SHOWN, _WIDTH = 5, 60
"""Lines that are not understood, and letters of each, that are told."""


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
    from fitting.readers.input.opening import open_sources

    with open_sources(text) as sources:
        left = _by_host(text, sources)
    if not left:
        raise InputError.at(text, f"--urls must be {_ANY.rule}; got none", _WAY_OUT)
    hosts, counts = zip(*left.most_common(), strict=True)
    keys = host_keys([f"http://{host}/".encode() for host in hosts])
    return UrlList(text, hosts, tuple(keys.tolist()), counts)


class _Kind:
    """A kind of files: what they hold, and how a line is read. As it stands, files of which no kind is known."""

    rule = "a number, or a file of URLs or of hosts with their numbers of URLs"

    def understands(self, line: str) -> bool:
        """Count what the line tells; False where it is not of the kind."""
        return not line

    def left(self) -> Iterable[tuple[str, int]]:
        """Hosts and numbers of URLs, a host as often as it likes."""
        return ()


_ANY = _Kind()
_WAY_OUT = "One URL per line, or HOST NUMBER, or Heritrix's hosts-report.txt or recover log."


class _Urls(_Kind):
    rule = "a file with one URL on each line"

    def __init__(self) -> None:
        self._hosts: Counter[str] = Counter()

    def understands(self, line: str) -> bool:
        if match := _ADDRESS.match(line):
            self._hosts[match[1]] += 1
        return bool(match) or line.startswith(_NO_FETCH)

    def left(self) -> Iterable[tuple[str, int]]:
        return self._hosts.items()


class _Counts(_Urls):
    rule = "a file with HOST NUMBER on each line, the number whole and not below 0"

    def understands(self, line: str) -> bool:
        if match := _COUNTED.fullmatch(line):
            self._hosts[match[1]] += int(match[2])
        return bool(match)


class _HostsReport(_Urls):
    rule = "Heritrix's hosts-report.txt with the columns of its first line in each row"

    def __init__(self, names: list[str]) -> None:
        super().__init__()
        self._host, self._remaining = names.index("[host]"), names.index("[#remaining]")

    def understands(self, line: str) -> bool:
        row = line.split()
        if row[0].startswith("[#"):
            return True
        known = len(row) > max(self._host, self._remaining) and bool(_NUMBER.fullmatch(row[self._remaining]))
        if known:
            self._hosts[row[self._host]] += int(row[self._remaining])
        return known


class _Journal(_Kind):
    rule = "Heritrix's recover log with F+, Fs, Ff, Fd, Fe, Fi or Fr and a URL on each line"

    def __init__(self) -> None:
        self._waiting: set[str] = set()

    def understands(self, line: str) -> bool:
        match = _JOURNAL.match(line)
        if match and match[1] == "F+":
            self._waiting.add(match[2])
        elif match and match[1] in ("Fs", "Ff", "Fd"):
            self._waiting.discard(match[2])
        return bool(match) or bool(_JOURNAL_REMARK.fullmatch(line))

    def left(self) -> Iterable[tuple[str, int]]:
        found = (_ADDRESS.match(url) for url in self._waiting)
        return ((match[1], 1) for match in found if match)


def _kind_of(line: str) -> _Kind:
    names = line.split()
    if "[host]" in names and "[#remaining]" in names:
        return _HostsReport(names)
    if _JOURNAL.match(line) or _JOURNAL_REMARK.fullmatch(line):
        return _Journal()
    if _ADDRESS.match(line) or line.startswith(_NO_FETCH):
        return _Urls()
    return _Counts() if _COUNTED.fullmatch(line) else _ANY


def _by_host(path: str, sources: Iterable[Source]) -> Counter[str]:
    """URLs of each host; refused where a line is not understood, or where a list breaks off."""
    kind = _ANY
    shown: list[str] = []
    wrong, broken = 0, ""
    for source in sources:
        within = "" if source.name == path else f" of {source.name}"
        for number, raw in _lines(source):
            line = raw.decode("utf-8", errors="replace").strip()
            if not line or line.startswith("#"):
                continue
            if kind is _ANY:
                kind = _kind_of(line)
            if not kind.understands(line):
                wrong += 1
                if wrong <= _SHOWN:
                    told = line if len(line) <= _WIDTH else f"{line[:_WIDTH]}..."
                    shown.append(f"line {number}{within} {told!r}")
        broken = broken or source.broken_off
    if wrong:
        more = f" and {wrong - _SHOWN:,} more" if wrong > _SHOWN else ""
        what = "1 line that is not understood" if wrong == 1 else f"{wrong:,} lines that are not understood"
        way_out = _WAY_OUT if kind is _ANY else "Correct what is to be counted, and write # before the rest."
        raise InputError.at(path, f"--urls must be {kind.rule}; got {what} ({', '.join(shown)}{more})", way_out)
    # The journal of a crawl that runs or was killed has no end: what it would tell after it has not happened.
    if broken and not isinstance(kind, _Journal):
        raise InputError.at(
            path, f"--urls must be a whole file; got one whose {broken}", "Pack it again, or unpack it."
        )
    counts: Counter[str] = Counter()
    for name, urls in kind.left():
        if urls > 0 and not name.startswith(_NO_FETCH):
            counts[name.lower()] += urls
    return counts


def _lines(source: Source) -> Iterator[tuple[int, bytes]]:
    """Lines with their numbers from 1 on."""
    rest, number = b"", 0
    if source.peek(len(BOM_UTF8)) == BOM_UTF8:
        source.read(len(BOM_UTF8))
    while data := source.read(_BLOCK):
        *whole, rest = (rest + data).split(b"\n")
        if len(rest) > _LONGEST:
            raise InputError.at(source.name, f"a line must have at most {_LONGEST} bytes; got more", _WAY_OUT)
        for raw in whole:
            number += 1
            yield number, raw
    if rest:
        yield number + 1, rest
