"""How a log is watched, and which options of reading cannot be heeded meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from crawltwin.live.watch.change import BLOCK, FEWEST_BLOCKS
from crawltwin.model import checks
from crawltwin.model.errors import Faults, InputError
from crawltwin.model.settings import setting
from fitting.readers.settings import COUNTER_NAMES

UNHEEDED = {
    "member": "a member of an archive does not grow. Unpack it, and watch the file",
    "progress": "the watch does not ask how many robots ran. Leave it out; crawltwin fit heeds it",
    "repeats": "the watch counts every line. Leave it out; crawltwin fit leaves out what was written twice",
}
"""Options of reading that the watch cannot heed, with the reason and the way out."""


@dataclass(frozen=True)
class WatchSettings:
    """How a log is watched.

    Parameters
    ----------
    learn : int
        Deliveries from which the normal pace is learnt, at the beginning and after each alarm.
    every : float
        Minutes after which a better policy is looked for, whatever the pace did; 0: only after an alarm.
    poll : float
        Seconds between two looks at the log.
    port : int
        Of the page on 127.0.0.1; 0: one that is free.
    """

    learn: int = setting(5_000, help="deliveries from which the normal pace is learnt", metavar="N")
    every: float = setting(0.0, help="look for a better policy so often, not only after an alarm", metavar="MINUTES")
    poll: float = setting(1.0, help="seconds between two looks at the log", metavar="SECONDS")
    port: int = setting(0, help="port of the page on 127.0.0.1", metavar="N", default_words="one that is free")

    def __post_init__(self) -> None:
        faults = Faults()
        checks.integer(self.learn, "learn", faults, at_least=BLOCK * FEWEST_BLOCKS, at_most=1_000_000)
        checks.number(self.every, "every", faults, at_least=0)
        checks.number(self.poll, "poll", faults, at_least=0.05, at_most=3600)
        checks.integer(self.port, "port", faults, at_least=0, at_most=65_535)
        faults.raise_if_any()


def check_heeded(given: Mapping[str, Any]) -> None:
    """Refuse options of reading, by their names in `ReadOptions`, that a watch would not heed.

    Raises
    ------
    InputError
        With the way out.
    """
    for name, words in UNHEEDED.items():
        if given.get(name) is not None and (name, given[name]) != ("repeats", "keep"):
            raise InputError(f"--{name} must be left out to watch a log; got {given[name]!r}: {words}")
    if given.get("values") == "gaps":
        raise InputError("a log must hold times to be watched; got --values gaps. Fit them: crawltwin fit LOG")
    if given.get("log_format") in COUNTER_NAMES:
        raise InputError(
            f"a log must be one line per delivery to be watched; got the format {given['log_format']}, counts per "
            "interval. Fit them: crawltwin fit LOG"
        )
