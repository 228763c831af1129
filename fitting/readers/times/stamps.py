"""Times as crawlers write them, parsed a column at a time.

A Python `datetime` a line costs several microseconds, so a whole block of equally written times is turned into a
matrix of bytes and its digits are added up column by column: about 0.1 us a time. All times leave as whole
nanoseconds since 1970-01-01 UTC in `int64`; what cannot be read is `INVALID`. Times without a zone are taken as UTC
here; `fitting.readers.times.zones` moves them afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from crawltwin.work.compiling import njit

Int = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

INVALID = int(np.iinfo(np.int64).min)
"""Stands for a time that could not be read."""

SECOND = 1_000_000_000
LONGEST = 64
"""Bytes of the longest text that is looked at as a time or a number."""
FIRST_YEAR, LAST_YEAR = 1970, 2261
_MINUTES = re.compile(rb"^(\d{4}[-/]\d\d[-/]\d\d[Tt ]\d\d:\d\d)(?!:|\d)")
_MONTHS = {name: i for i, name in enumerate(b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), start=1)}


def byte_matrix(texts: Sequence[bytes]) -> Bytes:
    """One row of bytes per text, padded with zeros to the longest, plus one column so that every text ends in a zero.

    No time is longer than `LONGEST`: a longer text becomes an empty row, lest one of them widens all.
    """
    width = max(map(len, texts), default=0) + 1
    if width > LONGEST:
        texts = [text if len(text) < LONGEST else b"" for text in texts]
        width = LONGEST
    if not texts:
        return np.zeros((0, width), dtype=np.uint8)
    return np.array(texts, dtype=f"S{width}").view(np.uint8).reshape(len(texts), width)


def _digits(matrix: Bytes, columns: Sequence[int], good: npt.NDArray[np.bool_]) -> Int:
    """Numbers in neighbouring columns; rows with anything but digits there are marked as not good."""
    return np.asarray(_digits_between(matrix, columns[0], columns[-1] + 1, good), dtype=np.int64)


@njit(cache=True, nogil=True)
def _digits_between(matrix: Bytes, first: int, stop: int, good: npt.NDArray[np.bool_]) -> Int:
    value = np.zeros(matrix.shape[0], np.int64)
    for row in range(matrix.shape[0]):
        for column in range(first, stop):
            digit = np.int64(matrix[row, column]) - 48
            if digit < 0 or digit > 9:
                good[row] = False
            value[row] = value[row] * 10 + digit
    return value


def _civil(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int, good: npt.NDArray[np.bool_]) -> Int:
    """Seconds since the epoch of a calendar date and time of day; a leap second counts as the next second."""
    good &= (year >= FIRST_YEAR) & (year <= LAST_YEAR) & (month >= 1) & (month <= 12)
    good &= (hour <= 23) & (minute <= 59) & (second <= 60)
    month_ok = np.clip(month, 1, 12)
    first = np.array([0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334], dtype=np.int64)
    length = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31], dtype=np.int64)
    leap = ((year % 4 == 0) & (year % 100 != 0)) | (year % 400 == 0)
    good &= (day >= 1) & (day <= length[month_ok - 1] + (leap & (month_ok == 2)))
    before = year - 1
    days = 365 * (year - 1970) + before // 4 - before // 100 + before // 400 - 477
    days += first[month_ok - 1] + (leap & (month_ok > 2)) + day - 1
    return np.asarray(days * 86400 + hour * 3600 + minute * 60 + second)


def _fraction_and_zone(matrix: Bytes, start: int, good: npt.NDArray[np.bool_]) -> tuple[Int, Int, bool]:
    """Nanoseconds of a `.123` or `,123` at column `start`, seconds of the zone behind it, and whether all had one."""
    n, width = matrix.shape
    nanos = np.zeros(n, dtype=np.int64)
    at = np.full(n, start, dtype=np.int64)
    rows = np.arange(n)

    def char(offset: Int) -> Int:
        return np.asarray(matrix[rows, np.minimum(offset, width - 1)], dtype=np.int64)

    if width <= start:
        return nanos, nanos, False
    point = (char(at) == 46) | (char(at) == 44)
    if point.any():
        at = at + point
        scale = np.full(n, SECOND // 10, dtype=np.int64)
        going = point.copy()
        for _ in range(width - start):
            digit = char(at) - 48
            going &= (digit >= 0) & (digit <= 9)
            if not going.any():
                break
            nanos += np.where(going, digit * scale, 0)
            scale = np.where(going, scale // 10, scale)
            at = at + going
    space = char(at) == 32
    at = at + space
    sign = np.where(char(at) == 43, 1, np.where(char(at) == 45, -1, 0))
    zulu = (char(at) == 90) | (char(at) == 122)
    utc = (char(at) == 85) & (char(at + 1) == 84) & (char(at + 2) == 67)
    shift = np.zeros(n, dtype=np.int64)
    end = at + zulu + 3 * utc
    signed = sign != 0
    if signed.any():
        digits = []
        colon = char(at + 3) == 58
        for offset in (1, 2, 3, 4):
            digit = char(at + offset + (colon & (offset > 2))) - 48
            digits.append(digit)
        short = char(at + 3) == 0
        hours = digits[0] * 10 + digits[1]
        minutes = np.where(short, 0, digits[2] * 10 + digits[3])
        fine = (hours >= 0) & (hours <= 18) & (minutes >= 0) & (minutes <= 59)
        good &= ~signed | fine
        shift = np.where(signed, sign * (hours * 3600 + minutes * 60), 0)
        end = np.where(signed, at + np.where(short, 3, 5 + colon), end)
    good &= char(end) == 0
    return nanos, shift, bool((signed | zulu | utc)[good].all() and good.any())


def _finish(seconds: Int, nanos: Int, shift: Int, good: npt.NDArray[np.bool_]) -> Int:
    return np.where(good, (seconds - shift) * SECOND + nanos, INVALID)


def iso(texts: Sequence[bytes]) -> tuple[Int, bool]:
    """`2016-03-31T14:35:37.711Z` and its kin: `T` or a space, `.` or `,`, any number of decimals, any zone.

    Returns
    -------
    tuple
        Nanoseconds since the epoch, and whether every readable time named its zone.
    """
    return iso_rows(byte_matrix(texts))


def iso_rows(matrix: Bytes) -> tuple[Int, bool]:
    """`iso` for texts that are rows of bytes already, each ended by a zero."""
    if matrix.shape[1] < 20 or not matrix.shape[0]:
        return np.full(matrix.shape[0], INVALID), False
    good = np.ones(matrix.shape[0], dtype=bool)
    for column, allowed in ((4, b"-/"), (7, b"-/"), (10, b"T t"), (13, b":"), (16, b":")):
        good &= np.isin(matrix[:, column], np.frombuffer(allowed, dtype=np.uint8))
    fields = [_digits(matrix, c, good) for c in ((0, 1, 2, 3), (5, 6), (8, 9), (11, 12), (14, 15), (17, 18))]
    year, month, day, hour, minute, second = fields
    seconds = _civil(year, month, day, hour, minute, second, good)
    nanos, shift, zoned = _fraction_and_zone(matrix, 19, good)
    return _finish(seconds, nanos, shift, good), zoned


def compact(texts: Sequence[bytes]) -> Int:
    """`20160331143536` or `20160331143536323`: 14 digits, or 17 with milliseconds, always UTC."""
    return compact_rows(byte_matrix(texts))


def compact_rows(matrix: Bytes) -> Int:
    """`compact` for texts that are rows of bytes already, each ended by a zero."""
    n, width = matrix.shape
    if width < 15 or not n:
        return np.full(n, INVALID)
    good = np.ones(n, dtype=bool)
    fields = [_digits(matrix, c, good) for c in ((0, 1, 2, 3), (4, 5), (6, 7), (8, 9), (10, 11), (12, 13))]
    year, month, day, hour, minute, second = fields
    seconds = _civil(year, month, day, hour, minute, second, good)
    nanos = np.zeros(n, dtype=np.int64)
    if width > 15:
        longer = matrix[:, 14] != 0
        tail = np.zeros((n, 4), dtype=np.uint8)
        tail[:, : min(4, width - 14)] = matrix[:, 14 : 14 + min(4, width - 14)]
        fine = np.ones(n, dtype=bool)
        millis = _digits(tail, (0, 1, 2), fine)
        good &= ~longer | (fine & (tail[:, 3] == 0))
        nanos = np.where(longer, millis * 1_000_000, 0)
    return _finish(seconds, nanos, np.zeros(n, dtype=np.int64), good)


def common_log(texts: Sequence[bytes]) -> Int:
    """`16/Feb/2022:00:18:53 +0000`, the time of Apache's and nginx's access logs."""
    return common_log_rows(byte_matrix(texts))


def common_log_rows(matrix: Bytes) -> Int:
    """`common_log` for texts that are rows of bytes already, each ended by a zero."""
    n, width = matrix.shape
    if width < 21 or not n:
        return np.full(n, INVALID)
    good = np.ones(n, dtype=bool)
    for column, allowed in ((2, 47), (6, 47), (11, 58), (14, 58), (17, 58)):
        good &= matrix[:, column] == allowed
    names = np.ascontiguousarray(matrix[:, 3:6]).view("S3").ravel()
    found, inverse = np.unique(names, return_inverse=True)
    month = np.array([_MONTHS.get(bytes(name), 0) for name in found], dtype=np.int64)[inverse]
    day, year, hour, minute, second = (
        _digits(matrix, c, good) for c in ((0, 1), (7, 8, 9, 10), (12, 13), (15, 16), (18, 19))
    )
    seconds = _civil(year, month, day, hour, minute, second, good)
    nanos, shift, _ = _fraction_and_zone(matrix, 20, good)
    return _finish(seconds, nanos, shift, good)


def epoch_unit(values: npt.NDArray[np.float64]) -> int:
    """Nanoseconds in one unit of an epoch column, judged by its size: seconds, milli-, micro- or nanoseconds."""
    finite = values[np.isfinite(values)]
    typical = float(np.median(finite)) if finite.size else 0.0
    for limit, unit in ((1e11, SECOND), (1e14, 1_000_000), (1e17, 1_000)):
        if typical < limit:
            return unit
    return 1


def from_numbers(values: npt.NDArray[np.float64], unit: int) -> Int:
    """Numbers counted in `unit` nanoseconds as nanoseconds; not finite or out of the range of years is `INVALID`."""
    limit = 9.2e18 / unit
    good = np.isfinite(values) & (np.abs(values) < limit)
    whole = np.floor(np.where(good, values, 0.0))
    part = np.where(good, values, 0.0) - whole
    # The whole part is multiplied as an integer: 1.46e9 s as float nanoseconds would lose the microseconds.
    nanos = whole.astype(np.int64) * unit + np.rint(part * unit).astype(np.int64)
    return np.where(good, nanos, INVALID)


def floats(texts: Sequence[bytes] | Sequence[str]) -> npt.NDArray[np.float64]:
    """Numbers from their texts; what is not a number is NaN."""
    if not texts:
        return np.zeros(0)
    if max(map(len, texts)) > LONGEST:
        return np.array([_float(text) if len(text) <= LONGEST else float("nan") for text in texts])
    try:
        return np.array(texts).astype(np.float64)
    except ValueError:
        return np.array([_float(text) for text in texts])


def _float(text: bytes | str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def parse_any(texts: Sequence[bytes]) -> tuple[Int, str]:
    """A column whose writing is not known beforehand: numbers, ISO 8601, 14 or 17 digits, or the access-log form.

    Times of whole minutes count as ISO 8601 where no time of the column has seconds: one with, the other may be cut.

    Returns
    -------
    tuple
        Nanoseconds and what the column is: ``"epoch"``, ``"number"`` (too small for an epoch: relative times or gaps,
        given in seconds), ``"zoned"``, ``"local"`` or ``"unreadable"``.
    """
    filled = [text for text in texts if text.strip()]
    if not filled:
        return np.full(len(texts), INVALID), "unreadable"
    probe = filled[:200]
    digits14 = sum(
        text.strip().isdigit() and len(text.strip()) in (14, 17) and text[:2] in (b"19", b"20") for text in probe
    )
    stripped = [text.strip(b" \t\"'[]") for text in texts]
    if 2 * digits14 > len(probe):
        times = compact(stripped)
        if 2 * np.count_nonzero(times != INVALID) > len(texts):
            return times, "zoned"
    if 2 * np.count_nonzero(np.isfinite(floats([text.strip(b" \t\"'[]") for text in probe]))) > len(probe):
        numbers = floats(stripped)
        if float(np.nanmedian(np.abs(np.where(np.isfinite(numbers), numbers, np.nan)))) >= 1e8:
            return from_numbers(numbers, epoch_unit(numbers)), "epoch"
        return from_numbers(numbers, SECOND), "number"
    times, zoned = iso(stripped)
    if np.any(times != INVALID):
        return times, "zoned" if zoned else "local"
    times, zoned = iso([_MINUTES.sub(rb"\1:00", text) for text in stripped])
    if 2 * np.count_nonzero(times != INVALID) > len(filled):
        return times, "zoned" if zoned else "local"
    times = common_log(stripped)
    return times, "zoned" if np.any(times != INVALID) else "unreadable"
