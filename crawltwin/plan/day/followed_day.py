"""Whether the parts of the day may be taken as stationary, each by itself: the day followed in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from analytic.time.cycle import periodic
from crawltwin.model import Policy, Scenario
from crawltwin.plan.day.parts import at_pace
from crawltwin.plan.wording import in_percent, in_time
from fitting.season.pace import PacePart

WATCHED = {"lost": "pages lost", "served": "pages indexed", "robots": "robots running", "level": "pages in the system"}
CLOSE = 0.01
"""Relative difference up to which the parts count as stationary."""


@dataclass(frozen=True)
class Followed:
    """Averages over the day: parts as stationary, and followed in time from one into the next.

    Parameters
    ----------
    stationary, followed : dict
        Rates by name, over the day.
    shortest : float
        Seconds of the shortest part.
    """

    stationary: dict[str, float]
    followed: dict[str, float]
    shortest: float

    @property
    def off(self) -> dict[str, float]:
        """Relative difference of each number; of lost pages relative to the pages that are delivered."""
        pages = self.followed["pages"]
        return {
            name: (self.stationary[name] - self.followed[name])
            / max(pages if name == "lost" else self.followed[name], 1e-300)
            for name in WATCHED
        }

    @property
    def close(self) -> bool:
        """Whether the parts may be taken as stationary."""
        return max(abs(one) for one in self.off.values()) <= CLOSE

    def in_words(self) -> str:
        """By how much the stationary parts are off, as a sentence."""
        name, most = max(self.off.items(), key=lambda pair: abs(pair[1]))
        judged = "may be taken as stationary" if self.close else "forget too slowly to be taken as stationary"
        return (
            f"The parts, of {in_time(self.shortest)} and more, {judged}: followed in time from one into the next, "
            f"{WATCHED[name]} over the day differ by {in_percent(abs(most))}"
            f"{' of the pages that are delivered' if name == 'lost' else ''}, and nothing more."
        )

    def to_json(self) -> dict[str, Any]:
        """Plain numbers."""
        return {"stationary": self.stationary, "followed": self.followed, "off": self.off, "close": self.close}


def follow(scenario: Scenario, parts: Sequence[PacePart], policies: Sequence[Policy], period: float) -> Followed:
    """The day followed in time. A time of day at which the crawler never ran is left out of it.

    Cost: that of `analytic.time.cycle.periodic`.
    """
    lengths = [part.share * period for part in parts]
    day = periodic(
        [
            (at_pace(scenario, part.pace).replace(policy=policy), length)
            for part, policy, length in zip(parts, policies, lengths, strict=True)
        ]
    )
    names = ("pages", *WATCHED)

    def over(every: Sequence[Any]) -> dict[str, float]:
        return {
            name: sum(part.share * float(getattr(one, name)) for part, one in zip(parts, every, strict=True))
            for name in names
        }

    return Followed(over(day.stationary), over(day.rates), min(lengths))
