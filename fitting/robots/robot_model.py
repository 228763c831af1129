"""What a plan asks of every model of robots that was learned from a log."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from crawltwin.model.arrivals.kinds import ControlledArrivals


class RobotModel(Protocol):
    """Arrivals for each number of robots, and the same from a resampled log."""

    @property
    def kind(self) -> str:
        """Kind of the arrivals, as scenario files name it."""

    @property
    def words(self) -> tuple[str, ...]:
        """What was learned, in sentences."""

    def arrivals(self, robots: int) -> ControlledArrivals:
        """What 1, 2, ... robots bring, up to so many; times in seconds.

        Raises
        ------
        InputError
            When so many robots cannot be told from this log.
        """

    def redrawn(self, robots: int, rng: np.random.Generator) -> ControlledArrivals:
        """The same, fitted again to a resampled log."""
