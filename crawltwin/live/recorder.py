"""What happened, one JSON object per line: deliveries, indexing, fates, changes of the number of robots.

Every line has `time` (seconds since 1970), `event`, and the state just after it: `level` (pages waiting or being
indexed), `robots` (as many as the policy wants) and `in_flight` (fetches under way). The events:

=============== ======================================================================================================
event           further fields
=============== ======================================================================================================
``opened``      ``format``, ``capacity``, ``indexers``, ``policy``: the first line of a record
``fetching``    a fetch has begun
``delivered``   ``url``, ``status``, ``size`` (bytes), ``start`` and ``duration`` of the fetch, ``fate``
``indexing``    ``page`` (number of the delivery, from 0, also in ``delivered``)
``indexed``     ``page``, ``duration`` of the indexing, ``sojourn`` since the delivery
``stale``       ``page``, ``sojourn``
``failed``      ``page``, ``duration``: the indexing function raised
``robots``      the number of robots wanted has changed
``backlog``     ``message``: the source of the backlog went silent, or speaks again
``closed``      ``present``: pages still in the system
=============== ======================================================================================================

The `fate` of a delivery is "waiting" or "lost". `crawltwin fit` reads these files as they are.
"""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

FORMAT = "crawltwin live 1"
logger = logging.getLogger(__name__)


class Recorder:
    """Writes the record, one whole line at a time.

    A crawl does not stop for its record: where it cannot be written any more (a full disk), it ends there, with a
    warning. With a hole in it, it would tell wrong times.

    Parameters
    ----------
    path : path, optional
        The file; lines are appended, so that a crawl that is started again goes on in it. None: nothing is kept.
    """

    def __init__(self, path: str | Path | None) -> None:
        self.counts: dict[str, int] = {}
        self._file: TextIO | None = None if path is None else _opened(path)

    def write(self, time: float, event: str, **fields: Any) -> None:
        """One line."""
        self.counts[event] = self.counts.get(event, 0) + 1
        if self._file is not None:
            line = json.dumps({"time": round(time, 6), "event": event, **fields}, separators=(",", ":"))
            try:
                self._file.write(line + "\n")
            except OSError as error:
                logger.warning("crawltwin: the record ends here, the crawl goes on: %s", error.strerror)
                self.close()

    def close(self) -> None:
        """Close the file."""
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError):
                file.close()


def _opened(path: str | Path) -> TextIO:
    """The file at its end, after a newline: the last line of a crawl that was killed may be cut off."""
    file = Path(path).open("a+b")  # noqa: SIM115 - closed with the recorder
    if file.tell() > 0:
        file.seek(-1, 2)
        if file.read(1) != b"\n":
            file.write(b"\n")
    file.close()
    return Path(path).open("a", encoding="utf-8", buffering=1)
