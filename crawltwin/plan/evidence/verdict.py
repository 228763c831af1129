"""The verdict on a plan: TRUSTED, PROVISIONAL or NOT TRUSTED, with the reasons; the exit code follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from crawltwin.model import Scenario
from crawltwin.plan.evidence.replayed import ROOM
from crawltwin.plan.evidence.resampling import CONFIDENCE, Uncertainty
from crawltwin.plan.wording import in_percent, listed
from fitting import FitResult, RawLog
from fitting.robots.several import varies
from fitting.season.season import Season

Word = Literal["TRUSTED", "PROVISIONAL", "NOT TRUSTED"]


@dataclass(frozen=True)
class PlanVerdict:
    """Whether a plan may be acted on.

    Parameters
    ----------
    word : {"TRUSTED", "PROVISIONAL", "NOT TRUSTED"}
    reasons : tuple of str
        Clauses without a full stop: what speaks against the plan, or which numbers are missing, or what was checked.

    Examples
    --------
    >>> PlanVerdict.of(against=(), missing=("the indexing time is assumed",), checked=()).in_words()
    'PROVISIONAL: the indexing time is assumed.'
    """

    word: Word
    reasons: tuple[str, ...]

    @classmethod
    def of(cls, against: tuple[str, ...], missing: tuple[str, ...], checked: tuple[str, ...]) -> PlanVerdict:
        """The worst that can be said decides."""
        if against:
            return cls("NOT TRUSTED", against)
        return cls("PROVISIONAL", missing) if missing else cls("TRUSTED", checked)

    @property
    def exit_code(self) -> int:
        """1 where something speaks against the plan; a plan that is provisional is a plan."""
        return 1 if self.word == "NOT TRUSTED" else 0

    def in_words(self) -> str:
        """The word and its reasons as one line."""
        return f"{self.word}: {'; '.join(self.reasons)}." if self.reasons else f"{self.word}."

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"word": self.word, "reasons": list(self.reasons), "exit_code": self.exit_code}


def stands_in(fit: FitResult, scenario: Scenario) -> str:
    """What stands in place of the stream whose fit was judged, for people; empty: the stream itself."""
    if scenario.arrivals.kind == "fetching":
        return "robots that finish their fetch"
    by_number = fit.modes is not None and isinstance(fit.log, RawLog) and varies(fit.log)
    return "streams for each number of robots" if by_number else ""


def outside_in_words(numbers: Sequence[str], season: Season | None) -> str:
    """That the replayed log contradicts the model in these numbers, and why where the log may swing, as a clause."""
    swing = season is not None and season.possible is not None
    cause = ": it swings, perhaps with the time of day, and the model has the mean rate only" if swing else ""
    return f"the replayed log lies outside what the model predicts ({listed(numbers)}){cause}"


def undecided(doubt: Uncertainty) -> str:
    """Why the resampled traces leave the decision open, as a clause; empty where they do not."""
    if doubt.limits is not None:
        few = doubt.share < CONFIDENCE
        return f"the limits are kept on only {doubt.share:.0%} of the resampled traces" if few else ""
    if doubt.regret_high <= ROOM * abs(doubt.cost.value):
        return ""
    return (
        "the log is too short to tell which policy is best: in one of twenty resampled traces this one costs more than "
        f"{in_percent(doubt.regret_high / abs(doubt.cost.value))} above the best"
    )
