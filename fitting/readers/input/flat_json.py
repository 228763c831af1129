"""Flat JSON objects, read without making objects of them: a compiled scanner finds the values of the wanted names.

It accepts only what needs no thought: one object of texts and whole numbers, in plain ASCII without escapes. Everything
else (nested values, escapes, other letters, damage) goes through the JSON parser, and its texts are put behind the
block, so that what works on columns sees one block of bytes and borders in it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from crawltwin.work.compiling import njit
from fitting.readers.input.json_objects import objects
from fitting.readers.input.scan import Bytes, Int, as_bytes

_SPACE, _TAB, _RETURN, _QUOTE, _BACKSLASH, _COLON, _COMMA, _OPEN, _CLOSE = 32, 9, 13, 34, 92, 58, 44, 123, 125
_ZERO, _NINE = 48, 57


def members(
    text: bytes, start: Int, end: Int, names: Sequence[str]
) -> tuple[bytes, npt.NDArray[np.bool_], dict[str, tuple[Int, Int]]]:
    """The values of these names in JSON objects that stand between the borders.

    Returns
    -------
    tuple
        The block, with texts of its own put behind it; which rows are objects; and for each name the borders of the
        value in every row: texts without quotes, an empty one where the name is missing.
    """
    written = [name.encode() for name in names]
    ends = np.cumsum([len(name) for name in written])
    good, first, last = _flat(as_bytes(text), start, end, as_bytes(b"".join(written)), ends)
    odd = np.flatnonzero(~good)
    parsed = objects([text[a:b] for a, b in zip(start[odd].tolist(), end[odd].tolist())])
    more, at = [text], len(text)
    for row, entry in zip(odd.tolist(), parsed):
        if entry is None:
            continue
        good[row] = True
        for place, name in enumerate(names):
            more.append(str(entry.get(name, "")).encode("utf-8", errors="replace"))
            first[row, place] = at
            at += len(more[-1])
            last[row, place] = at
    borders = {name: (first[:, place], last[:, place]) for place, name in enumerate(names)}
    return (b"".join(more) if len(more) > 1 else text), good, borders


@njit(cache=True, nogil=True)
def _flat(text: Bytes, start: Int, end: Int, names: Bytes, ends: Int) -> tuple[npt.NDArray[np.bool_], Int, Int]:
    """Which rows are flat objects, and the borders of the values; the last one counts where a name stands twice."""
    good = np.zeros(start.size, np.bool_)
    first, last = np.zeros((start.size, ends.size), np.int64), np.zeros((start.size, ends.size), np.int64)
    for row in range(start.size):
        i, stop = start[row], end[row]
        while stop > i and (text[stop - 1] == _SPACE or text[stop - 1] == _TAB or text[stop - 1] == _RETURN):
            stop -= 1
        if stop - i < 2 or text[i] != _OPEN or text[stop - 1] != _CLOSE:
            continue
        # The closing brace is no blank and no part of a text: every loop below ends at it at the latest.
        i = _after_blanks(text, i + 1)
        while text[i] == _QUOTE:
            key = i + 1
            i = _after_text(text, key, stop)
            key_end = i - 1
            i = _after_blanks(text, i)
            if i >= stop or text[i] != _COLON:
                break
            value = _after_blanks(text, i + 1)
            if text[value] == _QUOTE:
                value += 1
                i = _after_text(text, value, stop)
                value_end = i - 1
            else:
                i = value
                while _ZERO <= text[i] <= _NINE:
                    i += 1
                value_end = i
                if i == value or (text[value] == _ZERO and i > value + 1):
                    break
            if i >= stop:
                break
            place = _place(text, key, key_end, names, ends)
            if place >= 0:
                first[row, place], last[row, place] = value, value_end
            i = _after_blanks(text, i)
            if text[i] == _CLOSE:
                good[row] = i == stop - 1
                break
            if text[i] != _COMMA:
                break
            i = _after_blanks(text, i + 1)
    return good, first, last


@njit(cache=True, nogil=True)
def _after_blanks(text: Bytes, i: int) -> int:
    while i < text.size and (text[i] == _SPACE or text[i] == _TAB):
        i += 1
    return i


@njit(cache=True, nogil=True)
def _after_text(text: Bytes, i: int, stop: int) -> int:
    """Behind the quote that ends a plain text; `stop` where it does not end, or is not plain."""
    while i < stop and text[i] != _QUOTE:
        if text[i] == _BACKSLASH or text[i] < _SPACE or text[i] > 126:
            return stop
        i += 1
    return min(i + 1, stop)


@njit(cache=True, nogil=True)
def _place(text: Bytes, key: int, key_end: int, names: Bytes, ends: Int) -> int:
    """Which of the names stands there; -1 for none of them."""
    begin = 0
    for place in range(ends.size):
        if ends[place] - begin == key_end - key:
            same = True
            for k in range(key_end - key):
                same = same and text[key + k] == names[begin + k]
            if same:
                return place
        begin = ends[place]
    return -1
