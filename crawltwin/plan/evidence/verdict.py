"""The verdict on a plan: TRUSTED, PROVISIONAL or NOT TRUSTED, with the reasons; the exit code follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

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
