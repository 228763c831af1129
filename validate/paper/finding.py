"""The verdict on one printed number, statement or formula."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Verdict = Literal["reproduced", "misprint", "not reproducible"]


@dataclass(frozen=True)
class Finding:
    """One printed thing beside ours.

    Parameters
    ----------
    where : str
        Table or section.
    what : str
        Row and column, or the name of the number.
    printed : str
        As printed.
    ours : str
        As computed here, with more digits than were printed.
    verdict : {"reproduced", "misprint", "not reproducible"}
    how : str
        How it agrees: "rounded", "truncated", "within one unit", "within the rounding of the inputs"; or the kind
        of the misprint.
    words : str
        The explanation of a misprint, or why it cannot be reproduced; empty for what simply agrees.
    value : float, optional
        Ours as a number.
    """

    where: str
    what: str
    printed: str
    ours: str
    verdict: Verdict
    how: str = ""
    words: str = ""
    value: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)
