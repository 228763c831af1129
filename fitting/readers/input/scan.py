"""Compiled scanners: where the fields of each line begin and end, and numbers and keys straight from the bytes.

A Python object a field would cost more than all the rest of the reading. A block of lines becomes an array of bytes;
these kernels find the fields' borders in it, and everything later works on whole columns: about 1 ns a byte.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from crawltwin.work.compiling import njit

Bytes = npt.NDArray[np.uint8]
Int = npt.NDArray[np.int64]

_NEWLINE, _SPACE, _TAB, _QUOTE, _BACKSLASH, _OPEN, _CLOSE = 10, 32, 9, 34, 92, 91, 93
_COLON, _SLASH, _MARK, _HASH, _AT, _PLUS, _MINUS = 58, 47, 63, 35, 64, 43, 45
_FNV_START, _FNV_PRIME = np.uint64(14695981039346656037), np.uint64(1099511628211)


def as_bytes(text: bytes) -> Bytes:
    """The block as an array, without a copy."""
    return np.frombuffer(text, dtype=np.uint8)


@njit(cache=True, nogil=True)
def _count_lines(text: Bytes) -> int:
    lines = 0
    for i in range(text.size):
        lines += text[i] == _NEWLINE
    return lines


@njit(cache=True, nogil=True)
def split_lines(text: Bytes, fields: int) -> tuple[Int, Int, Int, Int, Int]:
    """Borders of each line and of its first `fields` fields between runs of spaces and tabs.

    Returns
    -------
    tuple
        Line starts, line ends, number of fields found in each line (at most `fields`), field starts and field ends
        (lines x fields; zero where there is no such field).
    """
    n = _count_lines(text)
    line_start, line_end = np.zeros(n, np.int64), np.zeros(n, np.int64)
    count = np.zeros(n, np.int64)
    start, end = np.zeros((n, fields), np.int64), np.zeros((n, fields), np.int64)
    line, at = 0, 0
    while line < n:
        line_start[line] = at
        found = 0
        inside = False
        while text[at] != _NEWLINE:
            blank = text[at] == _SPACE or text[at] == _TAB
            if inside and blank:
                end[line, found] = at
                found += 1
                inside = False
            elif not inside and not blank:
                if found == fields:
                    break
                start[line, found] = at
                inside = True
            at += 1
        if inside:
            end[line, found] = at
            found += 1
        while text[at] != _NEWLINE:
            at += 1
        line_end[line] = at
        count[line] = found
        at += 1
        line += 1
    return line_start, line_end, count, start, end


@njit(cache=True, nogil=True)
def split_access(text: Bytes) -> tuple[Int, Int, npt.NDArray[np.bool_], Int, Int]:
    """Borders in lines of a web server's log: time in brackets, quoted request, status, size, quoted user agent.

    Returns
    -------
    tuple
        Line starts, line ends, whether the line has the first four, field starts and ends (lines x 5; the fifth is
        empty where there is no agent).
    """
    n = _count_lines(text)
    line_start, line_end = np.zeros(n, np.int64), np.zeros(n, np.int64)
    good = np.zeros(n, np.bool_)
    start, end = np.zeros((n, 5), np.int64), np.zeros((n, 5), np.int64)
    at = 0
    for line in range(n):
        line_start[line] = at
        stop = at
        while text[stop] != _NEWLINE:
            stop += 1
        line_end[line] = stop
        i = at
        at = stop + 1
        while i < stop and text[i] != _OPEN:
            i += 1
        start[line, 0] = i + 1
        while i < stop and text[i] != _CLOSE:
            i += 1
        if i + 3 >= stop or text[i + 1] != _SPACE or text[i + 2] != _QUOTE:
            continue
        end[line, 0] = i
        i += 3
        start[line, 1] = i
        while i < stop and text[i] != _QUOTE:
            i += 2 if text[i] == _BACKSLASH else 1
        end[line, 1] = min(i, stop)
        i += 1
        ok = i < stop and text[i] == _SPACE
        for field in (2, 3):
            i += 1
            start[line, field] = min(i, stop)
            while i < stop and text[i] != _SPACE:
                i += 1
            end[line, field] = min(i, stop)
            ok = ok and end[line, field] > start[line, field]
        good[line] = ok
        if not ok:
            continue
        for quoted in range(2):
            if i + 1 >= stop or text[i] != _SPACE or text[i + 1] != _QUOTE:
                break
            i += 2
            first = i
            while i < stop and text[i] != _QUOTE:
                i += 2 if text[i] == _BACKSLASH else 1
            if quoted == 1:
                start[line, 4], end[line, 4] = first, min(i, stop)
            i += 1
    return line_start, line_end, good, start, end


@njit(cache=True, nogil=True)
def integers(text: Bytes, start: Int, end: Int, missing: int) -> Int:
    """Whole numbers of at most 18 digits; `missing` for everything else."""
    result = np.full(start.size, missing, np.int64)
    for row in range(start.size):
        i, stop = start[row], end[row]
        negative = i < stop and text[i] == 45
        i += negative
        if i >= stop or stop - i > 18:
            continue
        value = 0
        while i < stop and 48 <= text[i] <= 57:
            value = value * 10 + (text[i] - 48)
            i += 1
        if i == stop:
            result[row] = -value if negative else value
    return result


@njit(cache=True, nogil=True)
def hashes(text: Bytes, start: Int, end: Int) -> npt.NDArray[np.uint64]:
    """64-bit FNV-1a keys of the fields; 0 for an empty one and for ``-``."""
    result = np.zeros(start.size, np.uint64)
    for row in range(start.size):
        first, stop = start[row], end[row]
        if stop <= first or (stop - first == 1 and text[first] == 45):
            continue
        key = _FNV_START
        for i in range(first, stop):
            key = (key ^ np.uint64(text[i])) * _FNV_PRIME
        result[row] = key
    return result


@njit(cache=True, nogil=True)
def host_hashes(text: Bytes, start: Int, end: Int) -> npt.NDArray[np.uint64]:
    """Keys of the hosts of addresses, without user and port, capital letters made small; 0 where there is none."""
    result = np.zeros(start.size, np.uint64)
    for row in range(start.size):
        i, stop = start[row], end[row]
        while i + 2 < stop and not (text[i] == _COLON and text[i + 1] == _SLASH and text[i + 2] == _SLASH):
            i += 1
        if i + 3 >= stop:
            continue
        i += 3
        first = i
        while i < stop and text[i] != _SLASH and text[i] != _MARK and text[i] != _HASH:
            i += 1
            if text[i - 1] == _AT:
                first = i
        stop = i
        key = _FNV_START
        inside = False
        for i in range(first, stop):
            letter = text[i]
            # The colons of an address of version 6 stand in brackets; any other begins the port.
            inside = (inside or letter == _OPEN) and letter != _CLOSE
            if letter == _COLON and not inside:
                break
            key = (key ^ np.uint64(letter + 32 if 65 <= letter <= 90 else letter)) * _FNV_PRIME
        result[row] = key
    return result


@njit(cache=True, nogil=True)
def hops(text: Bytes, start: Int, end: Int) -> npt.NDArray[np.int16]:
    """Links from a seed: letters of a discovery path such as `LLE`, of `50+LLE` the number and the letters."""
    result = np.zeros(start.size, np.int16)
    for row in range(start.size):
        i, stop = start[row], end[row]
        number = 0
        while i < stop and 48 <= text[i] <= 57 and number < 1000:
            number = number * 10 + (text[i] - 48)
            i += 1
        if number and i < stop and text[i] == _PLUS:
            i += 1
        if not (stop - i == 1 and text[i] == _MINUS):
            number += stop - i
        result[row] = min(number, 32767)
    return result


def texts(text: bytes, start: Int, end: Int) -> list[bytes]:
    """The fields as texts."""
    return [text[a:b] for a, b in zip(start.tolist(), end.tolist())]


@njit(cache=True, nogil=True)
def matrix(text: Bytes, start: Int, end: Int, width: int) -> Bytes:
    """The fields as rows of bytes, cut or filled with zeros to `width`; the last column is always zero."""
    result = np.zeros((start.size, width), np.uint8)
    for row in range(start.size):
        length = min(end[row] - start[row], width - 1)
        for i in range(length):
            result[row, i] = text[start[row] + i]
        if end[row] - start[row] > width - 1:
            # Too long to be what is looked for: made unreadable rather than cut to something else.
            result[row, 0] = 0
    return result


@njit(cache=True, nogil=True)
def begins_with(text: Bytes, start: Int, end: Int, what: Bytes) -> npt.NDArray[np.bool_]:
    """Whether each field begins with `what`."""
    result = np.zeros(start.size, np.bool_)
    for row in range(start.size):
        if end[row] - start[row] < what.size:
            continue
        same = True
        for i in range(what.size):
            same = same and text[start[row] + i] == what[i]
        result[row] = same
    return result
