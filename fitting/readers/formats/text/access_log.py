"""Access logs of Apache and nginx, common and combined, with a virtual host before and extra fields behind.

Whole seconds with a zone. Such a log sees a crawler from the server's side, among people; by default only rows whose
user agent is a known kind of robot are kept. In the common format there is no agent and every row is kept.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from crawltwin.model.errors import InputError
from fitting.readers.base import LineReader
from fitting.readers.columns import NOT_ROBOT, Columns, keep, note_broken
from fitting.readers.input import scan
from fitting.readers.selection import reject_unwanted, status_reasons
from fitting.readers.settings import ReadOptions
from fitting.readers.times import stamps

ROBOT = (
    rb"bot\b|bot[/; _-]|crawl|spider|slurp|archiver|heritrix|nutch|scrapy|wget/|curl/|python-requests|"
    rb"googlebot|bingpreview|fetcher"
)


class AccessLog(LineReader):
    """Rows of a web server's access log."""

    name = "access-log"
    about = "Apache or nginx access log"
    probe = re.compile(rb'[^\[\n]{0,1024}\[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d[^\]\n]{0,20}\] "')

    def parse(self, text: bytes, options: ReadOptions) -> Columns:
        """Columns of one block of rows."""
        block = scan.as_bytes(text)
        line_start, line_end, good, start, end = scan.split_access(block)
        time = stamps.common_log_rows(scan.matrix(block, start[:, 0], end[:, 0], 40))
        status = scan.integers(block, start[:, 2], end[:, 2], -1)
        good &= (time != stamps.INVALID) & (status >= 100) & (status <= 999)
        wrong = [text[a:b] for a, b in zip(line_start[~good], line_end[~good]) if b > a]
        start, end, time, status = start[good], end[good], time[good], status[good]
        size = scan.integers(block, start[:, 3], end[:, 3], -1)
        reason = status_reasons(status, options)
        reason[~_wanted(text, block, start[:, 4], end[:, 4], options.agent)] = NOT_ROBOT
        page = scan.hashes(block, start[:, 1], end[:, 1])
        columns = Columns(time, size=np.where(size < 0, np.nan, size), page=page)
        reason = reject_unwanted(reason, options, addresses=lambda: scan.texts(text, start[:, 1], end[:, 1]))
        return note_broken(keep(columns, reason), wrong)


def _wanted(text: bytes, block: scan.Bytes, start: stamps.Int, end: stamps.Int, choice: str) -> npt.NDArray[np.bool_]:
    if choice == "all":
        return np.ones(start.size, dtype=bool)
    try:
        wanted = re.compile(ROBOT if choice == "robots" else choice.encode(), re.IGNORECASE)
    except re.error as error:
        raise InputError.at(
            "agent", f"agent must be robots, all or a regular expression; got {choice!r} ({error})"
        ) from error
    # A log has few different agents: each is judged once. Rows of a format without agents are all kept.
    _, first, which = np.unique(scan.hashes(block, start, end), return_index=True, return_inverse=True)
    agents = [text[start[row] : end[row]] for row in first]
    judged = np.array([not agent or wanted.search(agent) is not None for agent in agents], dtype=bool)
    return judged[which] if judged.size else np.zeros(0, dtype=bool)
