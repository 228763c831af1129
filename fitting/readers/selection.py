"""Which rows count as delivered pages: by HTTP status, media type, address and named values.

By default every answer with a status from 200 to 299 counts, whatever its type: `robots.txt`, images and style sheets
too. The log's notes say how many deliveries are no HTML where the format tells types.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fitting.readers.columns import FAILED, HTTP_ERROR, NOT_MODIFIED, REDIRECT, none_of
from fitting.readers.settings import ReadOptions
from fitting.readers.times.stamps import Int

WRONG_STATUS = "status not asked for (--only-status)"
WRONG_TYPE = "type not asked for (--only)"
WRONG_ADDRESS = "address not asked for (--only-url)"
NOT_WHERE = "not a delivery (--where)"
HTML = ("text/html", "application/xhtml")

Texts = Callable[[], Sequence[bytes]]
"""Makes the texts of all rows when they are asked for."""


def status_reasons(status: Int, options: ReadOptions | None = None) -> npt.NDArray[np.object_]:
    """Why a row with this HTTP status is no delivery; None for those that are asked for, 200 to 299 by default."""
    wanted = np.zeros(status.shape, dtype=bool)
    for low, high in _status_ranges("2xx" if options is None else options.only_status):
        wanted |= (status >= low) & (status <= high)
    reason = np.full(status.shape, FAILED, dtype=object)
    reason[(status >= 200) & (status < 300)] = WRONG_STATUS
    reason[(status >= 300) & (status < 400)] = REDIRECT
    reason[status == 304] = NOT_MODIFIED
    reason[(status >= 400) & (status < 600)] = HTTP_ERROR
    reason[wanted] = None
    return reason


def _status_ranges(text: str) -> list[tuple[int, int]]:
    found = []
    for part in text.split(","):
        low, _, high = part.strip().partition("-")
        found.append((int(low.replace("x", "0")), int((high or low).replace("x", "9"))))
    return found


def reject_unwanted(
    reason: npt.NDArray[np.object_],
    options: ReadOptions,
    *,
    types: Texts | None = None,
    addresses: Texts | None = None,
) -> npt.NDArray[np.object_]:
    """Add the reason to rows whose type or address is not asked for; texts are made only where they are needed."""
    if options.only_type and types is not None:
        wanted = tuple(part.strip().lower().encode() for part in options.only_type.split(",") if part.strip())
        fits = np.array([text.strip().lower().startswith(wanted) for text in types()], dtype=bool)
        reason[none_of(reason) & ~fits] = WRONG_TYPE
    if options.only_url and addresses is not None:
        search = re.compile(options.only_url.encode()).search
        fits = np.array([search(text) is not None for text in addresses()], dtype=bool)
        reason[none_of(reason) & ~fits] = WRONG_ADDRESS
    return reason


def html_marks(types: Sequence[bytes]) -> npt.NDArray[np.int8]:
    """1 for HTML, 0 for another type, -1 where none is told."""
    known = {text: _html_mark(text) for text in set(types)}
    return np.array([known[text] for text in types], dtype=np.int8)


def _html_mark(text: bytes) -> int:
    lower = text.strip().lower()
    return -1 if not lower or lower == b"-" else int(lower.startswith(tuple(name.encode() for name in HTML)))


@dataclass(frozen=True)
class Condition:
    """One condition on a named value: equal to a text, or matched by a regular expression."""

    name: str
    value: str
    regex: bool

    @classmethod
    def read(cls, text: str) -> Condition:
        """From ``NAME=VALUE`` or ``NAME~REGEX``; quotes around the value are taken off."""
        found = re.match(r"([^=~]+)([=~])(.*)", text, re.DOTALL)
        assert found is not None, "ReadOptions checks the form"
        value = found[3]
        if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        return cls(found[1].strip(), value, found[2] == "~")

    def holds(self, values: Sequence[Any]) -> npt.NDArray[np.bool_]:
        """Whether it holds, for each value."""
        texts = [text_of(value) for value in values]
        if not self.regex:
            return np.array([text in (self.value, self.value.removesuffix(".0")) for text in texts], dtype=bool)
        search = re.compile(self.value).search
        return np.array([search(text) is not None for text in texts], dtype=bool)


def text_of(value: Any) -> str:
    """As it is shown and compared: nothing is empty, whole numbers have no point, yes and no are in small letters."""
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}"
    return str(value).lower() if isinstance(value, bool) else str(value)
