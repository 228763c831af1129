"""What brings the pages in the scenario of a fit: one stream, robots that fetch, or the robots that the log names."""

from __future__ import annotations

from dataclasses import dataclass

from crawltwin.model import BMAP, ScaledStream
from crawltwin.model.arrivals.kinds import ControlledArrivals
from crawltwin.model.errors import InputError
from fitting.choose.settings import ARRIVALS
from fitting.robots.learned import LearnedRobots
from fitting.robots.modes import LearnedModes
from fitting.robots.named import NamedRobots


@dataclass(frozen=True, eq=False)
class Brought:
    """Everything that a fit knows of what brings the pages.

    Parameters
    ----------
    process : BMAP
        The stream of the crawler as it ran.
    modes, learned, named
        What each number of robots brings, robots that fetch, robots that the log names; None where it does not tell.
    """

    process: BMAP
    modes: LearnedModes | None
    learned: LearnedRobots | None
    named: NamedRobots | None

    @property
    def supported(self) -> str:
        """The kind that the log supports: `fetching`, `independent`, `marked` or `stream`.

        Robots that fetch are alike; where the tests say that they are not, models of the named robots go before them.
        """
        named = self.named if self.modes is None and self.named is not None and self.named.won else None
        if self.learned is not None and self.learned.preferred:
            unlike = self.learned.alike is not None and self.learned.alike.unlike
            return named.kind if named is not None and unlike else "fetching"
        return "stream" if named is None else named.kind

    def arrivals(self, kind: str, robots_in_log: int, robots: int | None) -> tuple[ControlledArrivals, int]:
        """Arrivals of this kind, or of the supported one for `auto`, and the robots that ran, as they count them.

        Raises
        ------
        InputError
            When the log does not tell what the kind needs.
        """
        if kind not in ARRIVALS:
            raise InputError.at("arrivals", f"arrivals must be one of {', '.join(ARRIVALS)}; got {kind!r}")
        wanted = self.supported if kind == "auto" else kind
        most = robots_in_log if robots is None else robots
        if wanted == "stream":
            if self.modes is not None:
                return self.modes.arrivals(most), robots_in_log
            single = self.process.scaled(1 / robots_in_log) if robots_in_log > 1 else self.process
            return ScaledStream(single, most), robots_in_log
        if wanted == "fetching":
            if self.learned is None:
                raise InputError.at(
                    "arrivals",
                    "robots that fetch need the durations of the fetches; got a log without them",
                    "Use --arrivals stream.",
                )
            ran = robots_in_log if robots_in_log > 1 else self.learned.robots
            return self.learned.arrivals(ran, None if robots is None else max(robots, ran)), ran
        if self.named is None:
            raise InputError.at(
                "arrivals",
                f"{wanted} arrivals need the thread or worker of each delivery; got none that names two robots",
                "Use --arrivals stream, or a column worker.",
            )
        return self.named.arrivals(None if most == 1 else most, wanted), self.named.robots
