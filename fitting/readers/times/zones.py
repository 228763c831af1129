"""Local times made whole: zones by name, and the hour that comes twice when daylight saving ends.

A wall clock that goes back an hour makes rows fall in time without being out of order. With a zone the hour is
known to be ambiguous, and the rows' own order tells its first pass from its second. Without one, a single lasting
step back of an hour (or half of one) is taken as such a change and mended; a step forward looks like a pause and is
left to the cleaning.
"""

from __future__ import annotations

import datetime as dt
import zoneinfo

import numpy as np
import numpy.typing as npt

from crawltwin.model.errors import InputError
from fitting.readers.times.stamps import SECOND, Int

QUARTER = 900 * SECOND
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC).replace(tzinfo=None)


def zone(name: str) -> zoneinfo.ZoneInfo:
    """The zone of that name.

    Raises
    ------
    InputError
        When the machine's zone database does not have it.
    """
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InputError.at(
            "timezone", f"timezone must be a name of the zone database; got {name!r}", "For example Europe/Paris."
        ) from error


def _offset(quarter: int, tz: zoneinfo.ZoneInfo, fold: int) -> int:
    moment = (_EPOCH + dt.timedelta(seconds=int(quarter) * 900)).replace(tzinfo=tz, fold=fold)
    offset = moment.utcoffset()
    return 0 if offset is None else round(offset.total_seconds()) * SECOND


def to_utc(local: Int, name: str) -> Int:
    """Wall-clock nanoseconds in file order as UTC. Cost: one look-up per quarter of an hour that occurs."""
    tz = zone(name)
    quarters, where = np.unique(local // QUARTER, return_inverse=True)
    first = np.array([_offset(q, tz, 0) for q in quarters], dtype=np.int64)[where]
    second = np.array([_offset(q, tz, 1) for q in quarters], dtype=np.int64)[where]
    twice = first > second
    if not twice.any():
        return local - first
    rows = np.flatnonzero(twice)
    # Within the hour that comes twice, the second pass begins where the clock falls by more than half of the step.
    begins = np.concatenate([[True], (np.diff(rows) > 1) | (np.abs(np.diff(local[rows])) > 4 * 3600 * SECOND)])
    step = (first - second)[rows]
    highest = np.int64(0)
    fold: npt.NDArray[np.bool_] = np.zeros(rows.size, dtype=bool)
    passed = False
    for i, row in enumerate(rows):
        if begins[i]:
            passed = bool(row > 0 and local[row - 1] > local[row] + step[i] // 2)
            highest = local[row]
        if local[row] < highest - step[i] // 2:
            passed = True
        highest = max(highest, local[row])
        fold[i] = passed
    result = local - first
    result[rows[fold]] = local[rows[fold]] - second[rows[fold]]
    return result


def mend_steps_back(local: Int) -> tuple[Int, list[int]]:
    """Times in file order with lasting steps back of an hour undone, and the rows where they were.

    A step lasts when the twenty rows behind it all stay below the twenty before it, and the time before it had not
    gone back already; more than two steps in one log are something else and nothing is changed.
    """
    fall = np.diff(local)
    found = []
    for row in np.flatnonzero((fall < -1500 * SECOND) & (fall > -3700 * SECOND)) + 1:
        before, after = local[max(0, row - 20) : row], local[row : row + 20]
        if after.size >= 2 and before.size >= 2 and after.max() < before.min() + 1800 * SECOND:
            found.append(int(row))
    if not found or len(found) > 2:
        return local, []
    mended = local.copy()
    for at in found:
        back = mended[at - 1] - mended[at]
        mended[at:] += 3600 * SECOND if back > 1900 * SECOND else 1800 * SECOND
    return mended, found
