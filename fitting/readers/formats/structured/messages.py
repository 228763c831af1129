"""JSON logs in which not every object is a delivery: which message is one must be known.

A crawler's own log says many things about one page: that it begins, that it waits, that it is done. Such a log has a
level and a message, or names an event. Where more than one message occurs and nobody has said which one tells a
delivery, the log is refused with what was found: counting every object would make several pages of each.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from crawltwin.model.errors import InputError
from fitting.readers.columns import show
from fitting.readers.input.json_objects import values_at
from fitting.readers.named import plain_name
from fitting.readers.settings import ReadOptions

LEVELS = ("level", "loglevel", "log_level", "levelname", "severity", "lvl")
MESSAGES = ("message", "msg", "event_message", "log_message")
EVENTS = ("event", "event_type", "eventtype", "event_name", "action", "log_type")
_LIKELY = re.compile(r"finished|fetched|crawled|downloaded|saved|success|completed", re.IGNORECASE)
_SHOWN = 6


class Messages:
    """Watches the messages of one JSON log, block by block."""

    def __init__(self, names: Iterable[str], options: ReadOptions, place: str) -> None:
        plain = {plain_name(name): name for name in names}
        events = [plain[name] for name in EVENTS if name in plain]
        if any(name in plain for name in LEVELS):
            events = [plain[name] for name in MESSAGES if name in plain] + events
        self._name = events[0] if events and not options.where else None
        self._place = place
        self._seen: Counter[str] = Counter()

    def check(self, entries: list[dict[str, Any]]) -> None:
        """Refuse the log when more than one message was seen.

        Raises
        ------
        InputError
            With the commonest messages, and how to say which one is a delivery.
        """
        if self._name is None:
            return
        self._seen.update(map(str, values_at(entries, self._name)))
        if len(self._seen) < 2:
            return
        common = [(show(text.encode())[:60], count) for text, count in self._seen.most_common(_SHOWN)]
        found = ", ".join(f'"{text}" ({count} times)' for text, count in common)
        more = len(self._seen) - len(common)
        likely = next((text for text, _ in common if _LIKELY.search(text)), common[0][0])
        raise InputError.at(
            self._place,
            f"each object of a JSON log must be a delivery; got, in the first {self._seen.total()} objects, "
            f"{self._name} {found}" + (f" and {more} more" if more else ""),
            f'Say which ones are deliveries, for example --where {self._name}="{likely}", or by a regular '
            f"expression, --where '{self._name}~^fetched'.",
        )
