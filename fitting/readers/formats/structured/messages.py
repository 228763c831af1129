"""JSON logs and tables in which not every object or row is a delivery: which message is one must be known.

A crawler's own log says many things about one page: that it begins, that it waits, that it is done. Such a log has a
level and a message, or names an event; or pages are told several times at once, and one field tells what of. Where more
than one message occurs and nobody has said which one tells a delivery, the log is refused with what was found: counting
every object would make several pages of each.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from crawltwin.model.errors import InputError
from fitting.readers.columns import show
from fitting.readers.input.json_objects import values_at
from fitting.readers.named import NO_STATUS, Chosen, is_good, plain_name, status_number
from fitting.readers.selection import text_of
from fitting.readers.settings import ReadOptions

LEVELS = ("level", "loglevel", "log_level", "levelname", "severity", "lvl")
MESSAGES = ("message", "msg", "event_message", "log_message")
EVENTS = ("event", "event_type", "eventtype", "event_name", "action", "log_type")
_LIKELY = re.compile(
    r"finished|fetched|crawled|downloaded|saved|success|succeeded|completed|^ok$|^done$", re.IGNORECASE
)
_SHOWN = 6
FIRST_ERROR, LAST_STATUS = 300, 599
ENOUGH = 30
"""Rows without a page among them before numbers are taken for something else than the status of an answer."""
PROBE = 2000
NEAR = 50
"""Objects that are looked at for pages told several times, and within how many objects that must be."""
AGAIN, OTHER, FEW_VALUES = 0.3, 0.9, 20
"""Share of the objects that tell a page again, share of these with another value of the field, its most values."""


class Messages:
    """Watches the messages of one log, block by block."""

    what, of = "object", "JSON log"

    def __init__(self, names: Sequence[str], chosen: Chosen, options: ReadOptions, place: str) -> None:
        page = chosen.page
        self._status = None if options.where else chosen.status
        self._words: Counter[str] = Counter()
        plain = {plain_name(name): name for name in names}
        events = [plain[name] for name in EVENTS if name in plain]
        if any(name in plain for name in LEVELS):
            events = [plain[name] for name in MESSAGES if name in plain] + events
        self._name = events[0] if events and not options.where else None
        self._names = () if events or options.where or page is None else tuple(name for name in names if name != page)
        self._page, self._place = str(page), place
        self._seen: Counter[str] = Counter()

    def check(self, entries: list[dict[str, Any]]) -> None:
        """Refuse the log when more than one message was seen.

        Raises
        ------
        InputError
            With the commonest messages, and how to say which one is a delivery.
        """
        self._check_status(entries)
        if self._names:
            self._name, self._names = _stage(entries[:PROBE], self._page, self._names), ()
        if self._name is None:
            return
        self._seen.update(map(text_of, values_at(entries, self._name)))
        if len(self._seen) < 2:
            return
        raise self._mixture(self._name, self._seen)

    def _check_status(self, entries: list[dict[str, Any]]) -> None:
        """Refuse a log whose status is told in different words, or in numbers of which none is that of a page.

        Words among numbers are failures where one of the numbers is. Where none is, the rows without a status may be
        the pages, or the numbers mean something else.
        """
        if self._status is None:
            return
        texts = list(map(text_of, values_at(entries, self._status)))
        kinds = [status_number(text.encode()) for text in texts]
        if any(map(is_good, kinds)):
            self._status = None
            return
        self._words.update("" if kind == NO_STATUS else text for text, kind in zip(texts, kinds))
        numbers = [kind for kind in map(status_number, map(str.encode, self._words)) if kind > NO_STATUS]
        told = sum(word != "" for word in self._words)
        only_failed = len(numbers) == len(self._words) and all(FIRST_ERROR <= one <= LAST_STATUS for one in numbers)
        unclear = not only_failed if numbers else told and "" in self._words
        if (told > 1 and not numbers) or (unclear and self._words.total() >= ENOUGH):
            raise self._mixture(self._status, self._words)

    def _mixture(self, name: str, seen: Counter[str]) -> InputError:
        common = [(show(text.encode())[:60], count) for text, count in seen.most_common(_SHOWN)]
        found = ", ".join(f'"{text}" ({count} times)' for text, count in common)
        more = len(seen) - len(common)
        likely = next((text for text, _ in common if _LIKELY.search(text)), common[0][0])
        first = re.escape(likely.split()[0]) if likely.split() else "$"
        ways = f"by a regular expression, --where '{name}~^{first}'."
        if seen[likely] > 1:
            ways = f'for example --where {name}="{likely}", or {ways}'
        return InputError.at(
            self._place,
            f"each {self.what} of a {self.of} must be a delivery; got, in the first {seen.total()} {self.what}s, "
            f"{name} {found}" + (f" and {more} more" if more else ""),
            f"Say which ones are deliveries, {ways}",
        )


class TableMessages(Messages):
    """The same for the rows of a table."""

    what, of = "row", "table"


def _stage(entries: list[dict[str, Any]], page: str, names: Sequence[str]) -> str | None:
    """The field that tells what happened to a page, where objects tell the same page several times; else None."""
    before: dict[str, int] = {}
    pairs: list[tuple[int, int]] = []
    for at, address in enumerate(map(str, values_at(entries, page))):
        if address in before and at - before[address] <= NEAR:
            pairs.append((before[address], at))
        before[address] = at
    if len(pairs) < AGAIN * len(entries):
        return None
    for name in names:
        values = values_at(entries, name)
        if not all(isinstance(value, str) for value in values) or not 2 <= len(set(values)) <= FEW_VALUES:
            continue
        if sum(values[one] != values[other] for one, other in pairs) >= OTHER * len(pairs):
            return name
    return None
