"""Several logs with several numbers of robots, or one with a column of them: one trace for each number."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from crawltwin.model.errors import InputError
from fitting.readers import RawLog, ReadOptions, read_log
from fitting.robots.robots_of import RobotsOf
from fitting.trace.segments import Float, Int, Segments

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
