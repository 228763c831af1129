"""Several logs with several numbers of robots, or one with a column of them: one trace for each number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from crawltwin.model.errors import InputError
from fitting.readers import RawLog, ReadOptions, read_log
from fitting.robots.robots_of import RobotsOf
from fitting.season.even_clock import even_trace
from fitting.season.running import Running
from fitting.trace.batches import Batches
from fitting.trace.cleaning import Cleaning
from fitting.trace.segments import Float, Int, Segments
from fitting.trace.stationarity import Stationarity

FEWEST = 200
"""Gaps that a number of robots must have for its rate to be taken from a column `robots`."""


def read_by_robots(paths: Sequence[str | Path], robots_of: RobotsOf, reading: ReadOptions | None) -> dict[int, RawLog]:
    """One log for each number of robots, the fewest first; files of one number are one log."""
    return {number: read_log(files, options=reading) for number, files in robots_of.groups(paths).items()}


def traces_by_column(log: RawLog, gaps: Segments) -> list[tuple[int, Segments]]:
    """Gaps between pages for each number of robots that a column of the log tells; empty with fewer than two numbers.

    A gap counts for a number where it stood at both ends, and is not longer than the longest gap in `gaps`, the gaps
    between batches of the used stretches.
    """
    if log.robots is None or not len(gaps):
        return []
    own = np.diff(log.seconds)
    same = (log.robots[1:] == log.robots[:-1]) & (log.robots[1:] >= 1) & (own <= gaps.gaps.max())
    found = []
    for number in np.unique(log.robots[1:][same]).tolist():
        here = np.flatnonzero(same & (log.robots[1:] == number))
        trace = _trace(own, here)
        if trace is not None and len(trace) >= FEWEST:
            found.append((int(number), trace))
    return found if len(found) > 1 else []


def _trace(gaps: Float, here: Int) -> Segments | None:
    """These gaps as stretches; a gap of zero brings one more page to the batch of the gap before it."""
    positive = gaps[here] > 0
    first = np.flatnonzero(positive)
    if not first.size:
        return None
    sizes = np.diff(np.append(first, here.size))
    places = here[first]
    breaks = np.concatenate([[0], np.flatnonzero(np.diff(places) != sizes[:-1]) + 1])
    return Segments(gaps[places], sizes, breaks)


def robots_at(log: RawLog, seconds: Float) -> Int:
    """Robots at these times, in seconds since the first page: those of the first page from then on; -1: not known."""
    if log.robots is None:
        return np.full(seconds.size, -1)
    return np.asarray(log.robots[np.minimum(np.searchsorted(log.seconds, seconds), len(log) - 1)], dtype=np.int64)


def varies(log: RawLog) -> bool:
    """Whether a column of the log tells several numbers of robots."""
    return log.robots is not None and np.unique(log.robots[log.robots >= 1]).size > 1


def shares_by_column(log: RawLog, cleaning: Cleaning) -> dict[int, float]:
    """Share of the running time of each number of robots that a column tells; empty with fewer than two numbers.

    A gap belongs by halves to the numbers at its two ends; time of which the number is not known is left out.
    """
    if log.robots is None or not varies(log):
        return {}
    seconds: dict[int, float] = {}
    for stretch in cleaning.stretches:
        if not stretch.used:
            continue
        gaps, own = np.diff(log.seconds[stretch.first : stretch.last]), log.robots[stretch.first : stretch.last]
        for ends in (own[:-1], own[1:]):
            for number in np.unique(ends[ends >= 1]).tolist():
                seconds[number] = seconds.get(number, 0.0) + float(gaps[ends == number].sum()) / 2
    total = sum(seconds.values())
    return {number: own / total for number, own in sorted(seconds.items()) if own > 0}


def changes_beside_robots(log: RawLog, batches: Batches) -> Stationarity:
    """Changes of the rate that the number of robots does not explain: on a clock on which each number is as fast."""
    data = batches.segments
    ends = np.concatenate([own[1:] for own in Running.of(batches, 0.0, 1.0).stretches])
    _, who = np.unique(robots_at(log, ends), return_inverse=True)
    mean = np.bincount(who, weights=data.gaps) / np.bincount(who)
    paced = Segments(data.gaps / mean[who] * float(data.gaps.mean()), data.sizes, data.first)
    found = even_trace(replace(batches, segments=paced), None, None).stationarity
    if not found.changed:
        return found
    words = (
        f"the rate changes {found.ratio:.2g}-fold beside what the number of robots explains: what each number of "
        "robots brings is a mean over the whole log"
    )
    return replace(found, latest=1.0, since=0.0, words=(words,))


def check_files(log: object) -> Sequence[str | Path]:
    """The paths of several logs.

    Raises
    ------
    InputError
        For a log that was read before, or a single file.
    """
    if isinstance(log, RawLog | str | Path) or not isinstance(log, Sequence) or len(log) < 2:
        raise InputError.at("robots_of", "robots-of needs two or more files; got one log")
    return log
