"""Logs that tell counts per interval: found among the others, read, and brought to one row per interval."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from crawltwin.model.errors import InputError
from crawltwin.work.progress import ProgressCallback
from fitting.readers.assemble import few
from fitting.readers.base import CountReader
from fitting.readers.columns import SHOWN
from fitting.readers.count_log import FELL, UNREAD, CountLog, Counts, Intervals, added_up, intervals, on_one_grid
from fitting.readers.detection import SAMPLE, best, sample
from fitting.readers.input.opening import open_sources
from fitting.readers.input.streams import Source
from fitting.readers.raw_log import RawLog
from fitting.readers.reading import Paths, listed_paths, read_log
from fitting.readers.registry import COUNTERS, known
from fitting.readers.settings import COUNTER_NAMES, ReadOptions
from fitting.readers.times import zones
from fitting.readers.times.stamps import INVALID, SECOND

MOST_FALLS = 0.1
"""Share of the intervals in which a counter may have been reset; one that falls more often is no counter."""
MEETING = 0.9
"""Of the intervals of the shortest of several counters, the share that must remain when they are added up."""
_SCRAPY_PAGES = b"DEBUG: Crawled ("


def read_either(
    paths: Paths, options: ReadOptions | None = None, progress: ProgressCallback | None = None
) -> RawLog | CountLog:
    """Deliveries where the files tell them, else counts per interval; `progress` as in `read_log`.

    Raises
    ------
    InputError
        As `read_log` and `read_counts`.
    """
    chosen = options or ReadOptions()
    if chosen.log_format in COUNTER_NAMES or (
        chosen.log_format is None and _tells_counts(listed_paths(paths)[0], chosen.member)
    ):
        return read_counts(paths, options=chosen)
    return read_log(paths, options=chosen, progress=progress)


def _tells_counts(path: Any, member: str | None) -> bool:
    """Whether counts alone are told there. Of standard input no more than its buffer can be looked at."""
    if str(path) == "-":
        peek = getattr(getattr(sys.stdin, "buffer", None), "peek", None)
        head = peek(1 << 16) if peek is not None else b""
        lines = [line for line in head.split(b"\n")[:-1] if line.strip()] or [head]
        score = max(counter.score(head, lines) for counter in COUNTERS)
        return score > max(reader.score(head, lines) for reader in known()) if head else False
    counts = False
    with open_sources(path, member) as sources:
        for source in sources:
            counted, _ = best(source, COUNTERS)
            score, reader = best(source, known())
            if reader.name == "scrapy" and score > 0.5:
                # A log of the level INFO has the format of one that tells pages, and none of them.
                counts |= (only := counted > 0.5 and _SCRAPY_PAGES not in source.peek(SAMPLE))
            else:
                counts |= (only := counted > max(score, 0.5))
            if score > 0.5 and not only:
                return False
    return counts


def read_counts(paths: Paths, *, timezone: str | None = None, options: ReadOptions | None = None) -> CountLog:
    """Read a crawler's counters: pages per interval, where no log of single deliveries is kept.

    Parameters
    ----------
    paths : path or sequence of paths
        Plain or packed files: Scrapy's ``Crawled N pages`` lines or its PeriodicLog, Heritrix's
        ``progress-statistics.log``, Crawlee's request statistics, range exports of Prometheus (JSON, CSV).
    timezone : str, optional
        Instead of that of `options`.
    options : ReadOptions, optional
        `log_format`, `timezone`, and `where` for the labels of Prometheus.

    Raises
    ------
    InputError
        When a file holds no counter, files hold different ones, there are fewer than two samples, or totals fall so
        often that they are none.
    """
    chosen = options or ReadOptions()
    chosen = replace(chosen, timezone=timezone or chosen.timezone)
    parts: list[Counts] = []
    names: list[str] = []
    formats: set[str] = set()
    left_out: list[InputError] = []
    for path in listed_paths(paths):
        with open_sources(path, chosen.member) as sources:
            for source in sources:
                try:
                    reader = _reader(source, chosen.log_format)
                except InputError as error:
                    if not source.archive:
                        raise
                    left_out.append(error)
                    continue
                formats.add(reader.name)
                names.append(source.name)
                parts += list(reader.read_counts(source, chosen))
    if not formats:
        raise InputError([fault for error in left_out[:SHOWN] for fault in error.faults])
    if len(formats) > 1:
        raise InputError.at(names[-1], f"files of one log must have one format; got {', '.join(sorted(formats))}")
    _check_clock(parts, names[0])
    zoned = all(part.zoned for part in parts if part.time.size)
    by_series = {part.series: [one for one in parts if one.series == part.series] for part in parts}
    zone = None if zoned else chosen.timezone
    found, shifted = _together([_series(same, zone) for same in by_series.values()])
    samples = sum(part.time.size for part in parts)
    _check(found, samples, names[0])
    kept = ~found.fell
    others = [f"{error.faults[0].place} was left out: {error.faults[0].text}" for error in left_out]
    notes = dict.fromkeys([*few(others), *(note for part in parts for note in part.notes), *shifted])
    unknown = Counter({"the total is no number": sum(part.unknown for part in parts)})
    robots = found.robots[kept]
    return CountLog(
        format=formats.pop(),
        files=tuple(names),
        start=found.start[kept],
        end=found.end[kept],
        count=found.count[kept],
        robots=robots if (robots >= 0).any() else None,
        zoned=zoned,
        notes=tuple(notes),
        discovered=None if found.discovered is None else found.discovered[kept],
        detected=chosen.log_format is None,
        other_lines=sum(part.other_lines for part in parts),
        left_out=found.left_out | {reason: count for reason, count in unknown.items() if count},
    )


def _reader(source: Source, wanted: str | None) -> CountReader:
    if wanted is not None:
        for counter in COUNTERS:
            if counter.name == wanted:
                return counter
    head, _ = sample(source)
    score, reader = best(source, COUNTERS) if head.strip() else (0.0, COUNTERS[0])
    if score <= 0.5:
        abouts = "; ".join(counter.about for counter in COUNTERS)
        raise InputError.at(source.name, f"counts must come from one of: {abouts}; got none of them")
    return reader


def _series(parts: Sequence[Counts], timezone: str | None) -> Counts:
    """One counter over all blocks and files."""
    time, total = (np.concatenate([getattr(part, name) for part in parts]) for name in ("time", "total"))
    robots = np.concatenate([np.full(one.time.size, -1) if one.robots is None else one.robots for one in parts])
    told = [part.discovered for part in parts if part.time.size]
    known = [one for one in told if one is not None]
    discovered = np.concatenate(known) if known and len(known) == len(told) else None
    return Counts(time if timezone is None else zones.to_utc(time, timezone), total, robots, discovered)


def _together(series: Sequence[Counts]) -> tuple[Intervals, tuple[str, ...]]:
    """All counters as one, and words about those whose samples were moved to meet those of the others."""
    each = [intervals(one.time, one.total, one.robots, one.discovered) for one in series]
    found = added_up(each)
    long = [(one, own) for one, own in zip(series, each) if own.count.size]
    if len(long) < 2 or found.count.size >= MEETING * min(own.count.size for _, own in long):
        return found, ()
    moved, apart = on_one_grid([one.time[one.time != INVALID] for one, _ in long])
    met = added_up(
        [intervals(time, one.total[one.time != INVALID]) for time, (one, _) in zip(moved, long)],
    )
    words = (
        f"the series are sampled up to {apart / SECOND:.3g} s apart: their intervals of "
        f"{float(np.median(met.end - met.start)) / SECOND:.3g} s were added up as if they were the same ones"
    )
    return replace(met, left_out=found.left_out), (words,)


def _check_clock(parts: Sequence[Counts], place: str) -> None:
    """Refuse a second run where the run time is the clock: nothing tells when it began."""
    told = [part for part in parts if part.time.size]
    if not any(part.undated for part in told):
        return
    back = np.flatnonzero(np.diff(np.concatenate([part.time for part in told])) <= 0)
    if back.size or not all(part.undated for part in told):
        where = f", the next begins at sample {int(back[0]) + 2}" if back.size else ", and lines with a time"
        raise InputError.at(
            place,
            f"lines without a time must be of one run, whose run time is their clock; got several runs{where}",
            "Give the lines of one run, or let the log write times.",
        )


def _check(found: Intervals, samples: int, place: str) -> None:
    if not found.count.size:
        unread = found.left_out.get(UNREAD, 0)
        raise InputError.at(
            place,
            f"counts must have at least two samples of a total, at different times; got {samples}"
            + (f", {unread} of them with a time that could not be read" if unread else ""),
            "Export a longer range, or a smaller step.",
        )
    falls = int(found.left_out.get(FELL, 0))
    if falls > max(3, MOST_FALLS * found.count.size):
        raise InputError.at(
            place,
            f"a total must not fall but after a restart; got {falls} falls in {found.count.size} intervals",
            "A gauge or a rate is no counter: export the total itself.",
        )
