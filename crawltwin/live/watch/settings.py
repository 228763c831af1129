"""How a log is watched."""

from __future__ import annotations

from dataclasses import dataclass

from crawltwin.live.watch.change import BLOCK, FEWEST_BLOCKS
from crawltwin.model import checks
from crawltwin.model.errors import Faults
from crawltwin.model.settings import setting


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
