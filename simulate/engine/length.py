"""How long a run is, into how many bins it is cut, and from which level it starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from crawltwin.model import checks
from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import Faults

BINS = 250
"""Bins that a run is cut into; statistics are kept per bin, so memory does not grow with the run's length."""
BINS_PER_GROUP = 10
"""Bins that share one histogram of sojourn times."""
_MOST_NUMBERS = 2_000_000


@dataclass(frozen=True)
class Length:
    """How long a run is: equal bins of time, or of delivered pages.

    Parameters
    ----------
    time : float, optional
        Simulated time of the whole run.
    pages : int, optional
        Pages delivered in the whole run; it ends with the batch that reaches the number.
    bins : int
        Bins that the run is cut into.
    """

    time: float | None = None
    pages: int | None = None
    bins: int = BINS

    def __post_init__(self) -> None:
        faults = Faults()
        bins = checks.integer(self.bins, "bins", faults, at_least=1)
        if (self.time is None) == (self.pages is None):
            faults.add(
                "time",
                f"one of time and pages must be given; got time {self.time!r} and pages {self.pages!r}",
            )
        elif self.time is not None:
            checks.number(self.time, "time", faults, above=0, way_out="It is the simulated time of one replication.")
        elif bins is not None:
            checks.integer(
                self.pages,
                "pages",
                faults,
                at_least=bins,
                way_out=f"A run is cut into {bins} bins, and each needs a page.",
            )
        faults.raise_if_any()


@dataclass(frozen=True)
class Start:
    """State at time 0: probabilities of the levels, None for an empty system; phases are in equilibrium."""

    levels: FloatArray | None = None

    @classmethod
    def checked(cls, levels: Any, top_level: int | None = None) -> Start:
        """Probabilities of levels 0, 1, ...; refused when they are none or go beyond the top level."""
        if levels is None:
            return cls()
        faults = Faults()
        found = checks.probability_vector(levels, "start", faults)
        if found is not None and top_level is not None and found.size > top_level + 1:
            faults.add(
                "start",
                f"start must have at most {top_level + 1} probabilities, for levels 0..{top_level}; got {found.size}",
            )
        faults.raise_if_any()
        return cls(found)


def bins_for(levels: int) -> int:
    """The usual number of bins, or fewer where so many levels are possible that memory would suffer."""
    return max(20, min(BINS, BINS_PER_GROUP * (_MOST_NUMBERS // levels // BINS_PER_GROUP)))
