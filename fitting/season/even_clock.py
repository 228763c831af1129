"""The trace on a clock on which its rate holds: first the pace of the period is taken out, then changes that remain."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fitting.season.other_periods import OtherPeriod, other_period
from fitting.season.running import Running
from fitting.season.season import DAY, Season, find_season, with_possible
from fitting.trace.batches import Batches
from fitting.trace.segments import Segments
from fitting.trace.stationarity import Stationarity, judge


@dataclass(frozen=True, eq=False)
class EvenTrace:
    """A trace, what changes in it, and its gaps without that.

    Attributes
    ----------
    season : Season or None
        None: no period was looked for.
    stationarity : Stationarity
        Changes that the period does not explain.
    segments : Segments
        Gaps on the even clock, as long as those of the trace in sum; the trace itself where its rate holds.
    other : OtherPeriod or None
        A cycle of another period; it is told, not taken out.
    """

    season: Season | None
    stationarity: Stationarity
    segments: Segments
    other: OtherPeriod | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """What one stationary model cannot say: a change, and whether it may be part of a cycle."""
        season, found = self.season, self.stationarity
        if season is None or not season.too_short or season.possible is not None or not found.changed:
            return found.words
        return tuple(f"{words}; {season.too_short_in_words()}" for words in found.words)


def even_trace(batches: Batches, phase: float | None, period: float | None, utc: bool = False) -> EvenTrace:
    """Look for a period and for changes, and take both out.

    Parameters
    ----------
    phase : float, optional
        Seconds from the beginning of a period to second 0; None: the log has no calendar.
    period : float, optional
        Seconds; None: none is looked for.
    utc : bool
        Whether the calendar is in universal time.
    """
    data, season = batches.segments, None
    running = Running.of(batches, phase or 0.0, period or DAY)
    begins = np.concatenate([own[:-1] for own in running.stretches])
    if phase is not None and period is not None:
        season = find_season(running, utc)
        if season.too_short:
            season = with_possible(season, running, judge(data), begins)
        pace = season.pace or season.possible
        if pace is not None:
            data = pace.evened(data, begins)
    found = judge(data, data is not batches.segments)
    other = None if found.changed or data is not batches.segments else other_period(running)
    if other is not None:
        found = replace(found, stationary=False, words=(other.in_words(phase is not None),))
    if found.changed:
        found = replace(found, since=float(begins[found.change_points[-1]]))
        sizes = np.diff([0, *found.change_points, len(data)])
        gaps = data.gaps / np.repeat(found.levels, sizes)
        data = Segments(gaps * (data.gaps.sum() / gaps.sum()), data.sizes, data.first)
    if season is not None and season.possible is not None:
        words = f"{season.possible_in_words()}; the model is fitted without the swing, at the mean rate of the log"
        found = replace(found, words=(words, *found.words))
    return EvenTrace(season, found, data, other)
