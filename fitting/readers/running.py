"""How many robots were running, from Heritrix's ``progress-statistics.log`` beside its crawl log.

A line of it tells the busy threads every twenty seconds. A delivery has their number where the lines before and after
it agree. A number that changes from line to line is no number of robots that somebody has set: then nothing is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from crawltwin.model.errors import InputError
from crawltwin.model.files import regular_size
from fitting.readers.formats.counters.progress import HeritrixProgress
from fitting.readers.input.opening import open_sources
from fitting.readers.raw_log import RawLog
from fitting.readers.settings import ReadOptions

BESIDE = "progress-statistics.log"
SETTLED = 0.8
"""Share of the lines that must tell the number of the line before."""


def with_running(log: RawLog, paths: Sequence[str | Path], options: ReadOptions) -> RawLog:
    """The log with the robots that were running, where a progress log was given or lies beside a Heritrix log.

    Raises
    ------
    InputError
        When the file that was given is no such log.
    """
    path = progress_log(log.format, paths, options)
    if path is None or log.robots is not None or not len(log):
        return log
    if Path(path).exists():
        regular_size(path, "the progress log")
    with open_sources(path) as sources:
        parts = [part for source in sources for part in HeritrixProgress().read_counts(source, options)]
    time = np.concatenate([part.time for part in parts]) if parts else np.zeros(0, np.int64)
    busy = np.concatenate([part.robots for part in parts if part.robots is not None]) if parts else time
    if time.size < 2:
        if options.progress is None:
            return log
        raise InputError.at(
            str(path), f"progress must be a progress-statistics.log of Heritrix; got {time.size} lines of totals"
        )
    order = np.argsort(time, kind="stable")
    time, busy = time[order], busy[order]
    settled = float(np.mean(np.diff(busy) == 0))
    name = Path(path).name
    if settled < SETTLED:
        words = f"{name}: the busy threads change from line to line: they are not taken as a number of robots"
        return replace(log, notes=(*log.notes, words))
    after = np.searchsorted(time, log.time, side="left")
    inside = (after > 0) & (after < time.size)
    later, before = busy[np.minimum(after, time.size - 1)], busy[np.maximum(after, 1) - 1]
    robots = np.where(inside & (later == before), later, -1)
    words = f"{name}: robots that were running are known for {np.mean(robots >= 1):.0%} of the deliveries"
    return replace(log, robots=robots.astype(np.int32), notes=(*log.notes, words))


def progress_log(log_format: str, paths: Sequence[str | Path], options: ReadOptions) -> str | Path | None:
    """The progress log that is read with a log: the one that was given, or the one in the folder of a Heritrix log."""
    if options.progress or log_format != "heritrix":
        return options.progress
    found = (Path(path).parent / BESIDE for path in paths if str(path) != "-")
    return next((path for path in found if path.is_file()), None)
