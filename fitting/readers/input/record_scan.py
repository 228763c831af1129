"""A compiled scanner of WARC records: where the headers that matter stand, and where the next record begins.

A block of headers is looked at line by line. A body is never looked at, but for the HTTP headers at its beginning.
"""

from __future__ import annotations

import numpy as np

from crawltwin.work.compiling import njit
from fitting.readers.input.scan import Bytes, Int

MAX_HEADERS = 1 << 20
"""Bytes of headers that are looked at; more are damage."""
OTHER, RESPONSE, REVISIT = 0, 1, 2
"""Kinds of records."""
MORE, FULL, NO_RECORD, NO_END, NO_LENGTH = 0, 1, 2, 3, 4
"""Why the scanner stopped: it needs more bytes, the table is full, or the file is damaged in one of three ways."""
KIND, LENGTH, HTTP, STATUS, PART, DATE, ADDRESS, DIGEST, MEDIA = 0, 1, 2, 3, 4, 5, 7, 9, 11
"""Columns of the table; the last four are two columns each, where a text begins and where it ends."""
WIDTH = 13
CUT = -2
"""In the column `HTTP`: the file ends within the HTTP headers."""

_WARC, _HTTP, _HTTP_COLON, _HTTPS_COLON, _NAMES = (
    np.frombuffer(text, np.uint8) for text in (b"WARC/", b"HTTP/", b"http:", b"https:", b"warc-")
)
_TYPE, _DATE, _TARGET, _DIGEST, _SEGMENT, _LENGTH, _MEDIA, _RESPONSE, _REVISIT = (
    np.frombuffer(text, np.uint8)
    for text in (
        b"warc-type", b"warc-date", b"warc-target-uri", b"warc-payload-digest", b"warc-segment-number",
        b"content-length", b"content-type", b"response", b"revisit",
    )
)  # fmt: skip
_NEWLINE, _RETURN, _SPACE, _TAB, _COLON, _DOT, _LESS = 10, 13, 32, 9, 58, 46, 60


@njit(cache=True, nogil=True)
def _begins(text: Bytes, at: int, end: int, what: Bytes) -> bool:
    """Whether the text begins with `what`, in small letters or capitals where `what` has small ones."""
    if end - at < what.size:
        return False
    for i in range(what.size):
        letter = text[at + i]
        if letter != what[i] and not (97 <= what[i] <= 122 and letter + 32 == what[i]):
            return False
    return True


@njit(cache=True, nogil=True)
def _is(text: Bytes, at: int, end: int, what: Bytes) -> bool:
    return end - at == what.size and _begins(text, at, end, what)


@njit(cache=True, nogil=True)
def _line_end(text: Bytes, at: int, end: int) -> int:
    """Where the newline of this line stands; -1 where there is none before `end`."""
    while at < end:
        if text[at] == _NEWLINE:
            return at
        at += 1
    return -1


@njit(cache=True, nogil=True)
def _field(text: Bytes, at: int, stop: int) -> tuple[int, int, int]:
    """Of a line `name: value` the end of the name and the borders of the value; the name is empty in other lines."""
    name = at
    while name < stop and text[name] != _COLON:
        name += 1
    if name == stop:
        return at, at, at
    first = name + 1
    while name > at and (text[name - 1] == _SPACE or text[name - 1] == _TAB):
        name -= 1
    last = first
    while last < stop and text[last] != _RETURN:
        last += 1
    while first < last and (text[first] == _SPACE or 9 <= text[first] <= 13):
        first += 1
    while last > first and (text[last - 1] == _SPACE or 9 <= text[last - 1] <= 13):
        last -= 1
    return name, first, last


@njit(cache=True, nogil=True)
def _status(text: Bytes, at: int, end: int) -> int:
    """The status of an answer that begins here, 0 where it is none."""
    if not _begins(text, at, end, _HTTP):
        return 0
    at += 5
    first = at
    while at < end and (48 <= text[at] <= 57 or text[at] == _DOT):
        at += 1
    if at == first:
        return 0
    first = at
    while at < end and (text[at] == _SPACE or text[at] == _TAB):
        at += 1
    if at == first:
        return 0
    value, first = 0, at
    while at < end and at - first < 8 and 48 <= text[at] <= 57:
        value = value * 10 + (text[at] - 48)
        at += 1
    return value


@njit(cache=True, nogil=True)
def _web_address(text: Bytes, at: int, end: int) -> bool:
    while at < end and text[at] == _LESS:
        at += 1
    return _begins(text, at, end, _HTTP_COLON) or _begins(text, at, end, _HTTPS_COLON)


@njit(cache=True, nogil=True)
def _http(text: Bytes, at: int, length: int, final: bool, row: Int) -> bool:
    """Status, type and length of the HTTP headers that begin here; False where more bytes are needed to tell.

    Where the file ends within the headers, what their last line tells is not taken, and their length is `CUT`.
    """
    end = min(at + min(length, MAX_HEADERS), text.size)
    cut = end < at + min(length, MAX_HEADERS)
    line, typed = at, False
    row[HTTP] = -1
    while True:
        stop = _line_end(text, line, end)
        last = end if stop < 0 else stop
        if line > at and stop >= 0 and (stop == line or (stop == line + 1 and text[line] == _RETURN)):
            row[HTTP] = stop + 1 - at
            break
        if stop < 0 and cut:
            if not final or line == at:
                return False
            row[HTTP] = CUT
            break
        if not typed:
            name, first, until = _field(text, line, last)
            if _is(text, line, name, _MEDIA):
                row[MEDIA], row[MEDIA + 1], typed = first, until, True
        if stop < 0:
            row[HTTP] = end - at
            break
        line = stop + 1
    row[STATUS] = _status(text, at, line if row[HTTP] == CUT else at + row[HTTP])
    return True


@njit(cache=True, nogil=True)
def scan_records(text: Bytes, at: int, final: bool, table: Int) -> tuple[int, int, int]:
    """The records that begin in `text` from `at` on, one row of `table` each.

    Parameters
    ----------
    text : array of bytes
        Part of a file.
    at : int
        Where a record begins, or the empty lines before it.
    final : bool
        Whether the file ends where `text` does.
    table : int array
        Filled: the columns are named in this module. `HTTP` is -1 where no HTTP headers belong to the record,
        `CUT` where the file ends within them.

    Returns
    -------
    tuple
        Number of rows, where the next record begins (perhaps behind the end of `text`), and why it stopped there. For
        `NO_LENGTH` the row behind the last one tells in `DATE` where the text stands that is no length.
    """
    size, rows = text.size, 0
    while True:
        while at < size and (text[at] == _NEWLINE or text[at] == _RETURN):
            at += 1
        if at >= size or (size - at < 5 and not final):
            return rows, at, MORE
        if rows == table.shape[0] - 1:
            return rows, at, FULL
        for i in range(5):
            if size - at < 5 or text[at + i] != _WARC[i]:
                return rows, at, NO_RECORD
        row = table[rows]
        row[:] = 0
        row[HTTP] = -1
        digits_first, digits_last = 0, 0
        line, body = at, -1
        while body < 0:
            stop = _line_end(text, line, size)
            if stop < 0:
                return rows, at, NO_END if final or size - at > MAX_HEADERS else MORE
            if stop == line or (stop == line + 1 and text[line] == _RETURN):
                body = stop + 1
            elif _begins(text, line, stop, _NAMES):
                name, first, last = _field(text, line, stop)
                if _is(text, line, name, _TYPE):
                    row[KIND] = OTHER
                    if _is(text, first, last, _RESPONSE):
                        row[KIND] = RESPONSE
                    elif _is(text, first, last, _REVISIT):
                        row[KIND] = REVISIT
                elif _is(text, line, name, _DATE):
                    row[DATE], row[DATE + 1] = first, last
                elif _is(text, line, name, _TARGET):
                    row[ADDRESS], row[ADDRESS + 1] = first, last
                elif _is(text, line, name, _DIGEST):
                    row[DIGEST], row[DIGEST + 1] = first, last
                elif _is(text, line, name, _SEGMENT):
                    row[PART] = 1
            elif _begins(text, line, stop, _LENGTH):
                name, first, last = _field(text, line, stop)
                if _is(text, line, name, _LENGTH):
                    digits_first, digits_last = first, last
            line = stop + 1
        length = 0
        good = 0 < digits_last - digits_first <= 18
        for i in range(digits_first, digits_last):
            good = good and 48 <= text[i] <= 57
            length = length * 10 + (text[i] - 48) if good else 0
        if not good:
            row[DATE], row[DATE + 1] = digits_first, digits_last
            return rows, at, NO_LENGTH
        row[LENGTH] = length
        if (
            row[KIND] != OTHER
            and _web_address(text, row[ADDRESS], row[ADDRESS + 1])
            and not _http(text, body, length, final, row)
        ):
            return rows, at, NO_END if final else MORE
        at = body + length
        rows += 1
