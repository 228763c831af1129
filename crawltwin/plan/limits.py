"""Limits before weights: what must be kept, and what is made as small as possible among the policies that keep it.

An operator knows "lose less than 1%, index within an hour, as few robots as possible". The
values stand here, the choice among policies in `choosing`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from crawltwin.model.errors import InputError
from crawltwin.model.settings import read_time
from crawltwin.plan.wording import in_percent, in_time, read_share

Aim = Literal["robots", "loss", "obsolescence", "response", "starvation", "cost"]
AIMS: tuple[Aim, ...] = get_args(Aim)
AIM_WORDS = {
    "robots": "active robots",
    "loss": "lost pages",
    "obsolescence": "stale pages",
    "response": "time in the system",
    "starvation": "idle time of the indexer",
    "cost": "cost",
}


@dataclass(frozen=True)
class IndexWithin:
    """At least this share of the indexed pages spends at most so many seconds in the system.

    Examples
    --------
    >>> IndexWithin.read("1h:95%")
    IndexWithin(seconds=3600.0, share=0.95)
    """

    seconds: float
    share: float

    def __post_init__(self) -> None:
        if not (0 < self.seconds < math.inf and 0 < self.share < 1):
            raise InputError.at(
                "",
                f"index_within must be a time above 0 and a share between 0 and 1; got {self.seconds:g} s and "
                f"{self.share:g}",
                "For example 1h:95%.",
            )

    @classmethod
    def read(cls, text: Any) -> IndexWithin:
        """From words such as ``1h:95%``."""
        time, colon, share = str(text).partition(":")
        if not colon:
            raise InputError(f"index_within must be TIME:SHARE, such as 1h:95%; got {text!r}")
        return cls(read_time(time), read_share(share))

    def __str__(self) -> str:
        return f"{self.seconds:g}s:{100 * self.share:g}%"


@dataclass(frozen=True)
class Limits:
    """What must be kept, and what is made small.

    Parameters
    ----------
    lose_at_most, stale_at_most : float, optional
        Shares of the delivered pages.
    index_within : IndexWithin, optional
    index_at_least : float, optional
        Pages indexed per unit of time, as a share of what the crawl does today.
    minimise : str
        One of `AIMS`.
    """

    lose_at_most: float | None = None
    stale_at_most: float | None = None
    index_within: IndexWithin | None = None
    index_at_least: float | None = None
    minimise: Aim = "robots"

    def in_words(self) -> str:
        """The limits as one clause."""
        words = []
        if self.lose_at_most is not None:
            words.append(f"lose at most {in_percent(self.lose_at_most)} of the pages")
        if self.stale_at_most is not None:
            words.append(f"let at most {in_percent(self.stale_at_most)} go stale")
        if self.index_within is not None:
            words.append(
                f"index {in_percent(self.index_within.share)} of the indexed pages within "
                f"{in_time(self.index_within.seconds)}"
            )
        if self.index_at_least is not None:
            words.append(f"index at least {in_percent(self.index_at_least)} of the pages that are indexed today")
        return ", ".join(words)

    def broken(
        self, measures: Mapping[str, Any], today: Mapping[str, Any], in_time_share: float | None
    ) -> tuple[str, ...]:
        """Which of them a policy with these measures breaks, and what it does instead, as clauses."""
        indexed, before = (one["arrival_rate"] * one["success_probability"] for one in (measures, today))
        words = []
        lost, stale = measures["loss_probability"], measures["obsolescence_probability"]
        if self.lose_at_most is not None and lost > self.lose_at_most:
            words.append(f"loses {in_percent(lost)} of the pages")
        if self.stale_at_most is not None and stale > self.stale_at_most:
            words.append(f"lets {in_percent(stale)} go stale")
        if self.index_within is not None and in_time_share is not None and in_time_share < self.index_within.share:
            time = in_time(self.index_within.seconds)
            words.append(f"indexes {in_percent(in_time_share)} of the indexed pages within {time}")
        if self.index_at_least is not None and indexed < (self.index_at_least - 5e-4) * before:
            words.append(f"indexes {in_percent(indexed / before)} of the pages that are indexed today")
        return tuple(words)

    def to_json(self) -> dict[str, Any]:
        """Plain numbers."""
        within = self.index_within
        return {
            "lose_at_most": self.lose_at_most,
            "stale_at_most": self.stale_at_most,
            "index_within": None if within is None else {"seconds": within.seconds, "share": within.share},
            "index_at_least": self.index_at_least,
            "minimise": self.minimise,
        }
