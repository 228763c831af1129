r"""What a log tells of its robots, as one value, and the arrivals of `kind = "fetching"` that follow.

Robots that fetch without a break are compared with the stream models on equal ground: the times of the deliveries. For
these both have a likelihood. That of N robots is the likelihood of a MAP, the superposition of N fetches in flight
(`FetchingRobots.mode(N)`), with a law that was fitted to the *durations* of the fetches outside the blocks left out; it
has not seen one gap between deliveries. For the durations only the robots have a likelihood, so nothing is compared
there. With many phases the likelihood is not computed, and the answer says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from crawltwin.model import PhaseType
from crawltwin.model.arrivals.fetching import FetchingRobots
from crawltwin.model.arrivals.spells import Spells
from crawltwin.model.errors import InputError
from fitting.choose.plain_values import plain
from fitting.models.general_map import GeneralMap
from fitting.models.phase_type_em import hyper_erlang_em
from fitting.readers import RawLog
from fitting.robots.alike import Alike, judge_robots
from fitting.robots.fetch_law import FetchLaw, fit_fetch_law
from fitting.robots.fetches import Fetches, InFlight
from fitting.robots.spells import SpellFit, fit_spells
from fitting.trace import bootstrap
from fitting.trace.cleaning import Cleaning
from fitting.trace.samples import Samples
from fitting.trace.segments import Float, Segments

COMPARED_PHASES = 60
"""Phases up to which the likelihood of the delivery times is computed."""
COMPARED_GAPS = 100_000
"""Gaps of the blocks left out on which it is computed at most."""
BUSY = 0.9
"""Share of the robots that must be fetching at a time for the robots to be taken as fetching without a break."""
BEHIND = 0.01
"""Nats per gap that the robots may lack to the stream model on blocks left out, and still be preferred."""
RATE_DOUBT = 0.05
"""Share by which the delivery rate of the robots may differ from that of the log, and they still be preferred."""


@dataclass(frozen=True, eq=False)
class LearnedRobots:
    """The robots of one log.

    Attributes
    ----------
    fetches : int
        Fetches whose duration is known.
    workers : int
        Robots that the log names; 0 for none.
    in_flight : InFlight
        Fetches under way at the same time.
    law : FetchLaw
        Time of a fetch.
    spells : SpellFit
        Fast and slow spells, found or not.
    alike : Alike or None
        Whether the robots are alike and independent, where the log names them.
    held_out, stream_held_out : float
        Log-likelihood per gap between deliveries on blocks left out, of robots that fetch and of the chosen stream
        model; NaN where the robots have too many phases.
    durations : array
        Seconds of the fetches in the order of their begins.
    """

    fetches: int
    workers: int
    in_flight: InFlight
    law: FetchLaw
    spells: SpellFit
    alike: Alike | None
    held_out: float
    stream_held_out: float
    durations: Float

    @property
    def robots(self) -> int:
        """The most fetches that were under way at a time."""
        return self.in_flight.most

    @property
    def busy(self) -> float:
        """Share of these robots that fetched, on average."""
        return self.in_flight.mean / self.in_flight.most

    @property
    def preferred(self) -> bool:
        """Whether robots that fetch tell the deliveries about as well as the stream model, and never rest long."""
        as_many = abs(self.rate_ratio - 1) <= RATE_DOUBT
        return as_many and self.busy >= BUSY and self.held_out >= self.stream_held_out - BEHIND

    @property
    def rate_ratio(self) -> float:
        """Delivery rate of these robots over that of the log, by Little's law: mean fetch of the log over theirs."""
        law, spells = self.law_and_spells
        return float(self.durations.mean() * (1.0 if spells is None else spells.mean_pace) / law.mean)

    @property
    def law_and_spells(self) -> tuple[PhaseType, Spells | None]:
        """Time of a fetch at full pace and the spells that slow it down; the steady law where there are none."""
        return (self.law.law, None) if self.spells.spells is None else (self.spells.law, self.spells.spells)

    @property
    def words(self) -> tuple[str, ...]:
        """What the reader should know."""
        found = [
            (
                f"{self.in_flight.mean:.3g} fetches were under way on average and {self.robots} at most; one took "
                f"{self.law.mean.value:.4g} s on average (95% from {self.law.mean.low:.4g} to {self.law.mean.high:.4g})"
            )
        ]
        if self.spells.spells is not None:
            found.append(
                f"there are slow spells of {self.spells.slow_length.value:.3g} s in which fetches go at "
                f"{self.spells.pace.value:.2f} of the pace, and fast ones of {self.spells.fast_length.value:.3g} s"
            )
        if self.busy < BUSY:
            found.append(
                f"of {self.robots} robots only {self.in_flight.mean:.3g} fetched at a time (or fetches that failed are "
                "missing): in a fetching scenario the rest after a fetch is part of it"
            )
        if math.isnan(self.held_out):
            found.append("the likelihood of the delivery times was not computed: the robots have too many phases")
        return (*found, *(self.alike.words if self.alike is not None else ()))

    def arrivals(self, robots_in_log: int | None = None, robots: int | None = None) -> FetchingRobots:
        """Robots that finish their fetch, with the delivery rate of the log.

        Parameters
        ----------
        robots_in_log : int, optional
            Robots that ran; the most fetches under way by default.
        robots : int, optional
            Robots that may run; those that ran by default.
        """
        ran = self.robots if robots_in_log is None else robots_in_log
        if ran < self.in_flight.mean * 0.999:
            raise InputError.at(
                "robots",
                f"robots must be at least the fetches under way on average ({self.in_flight.mean:.4g}); got {ran}",
                "Give the number of fetches that ran at the same time.",
            )
        law, spells = self.law_and_spells
        return _fetching(law, spells, self.in_flight.mean / ran, ran if robots is None else robots)

    def supports(self, robots_in_log: int) -> bool:
        """Whether so many robots may have written the log: as many as fetched, and seldom at rest."""
        busy = self.in_flight.mean / robots_in_log
        return self.preferred and BUSY <= busy <= 1.001

    def to_json(self) -> dict[str, Any]:
        """As a plain dictionary."""
        return {
            "fetches": self.fetches,
            "workers": self.workers,
            "in_flight": self.in_flight.to_json(),
            "fetch": plain(self.law.to_json()),
            "spells": plain(self.spells.to_json()),
            "alike": None if self.alike is None else plain(self.alike.to_json()),
            "evidence": {
                "data": "gaps between deliveries in blocks left out",
                "held_out": plain(self.held_out),
                "stream_held_out": plain(self.stream_held_out),
                "rate_ratio": self.rate_ratio,
                "preferred": self.preferred,
            },
            "words": list(self.words),
        }


def _fetching(law: PhaseType, spells: Spells | None, busy: float, robots: int) -> FetchingRobots:
    """Robots whose fetch includes the rest after it: they deliver at the rate of robots that are busy for a share."""
    return FetchingRobots(robots, law.scaled(min(busy, 1.0)), spells=spells)


@dataclass(frozen=True, eq=False)
class FetchingModel:
    """Robots that finish their fetch, as a plan takes them.

    Parameters
    ----------
    learned : LearnedRobots
    ran : int
        Robots that wrote the log.
    """

    kind: ClassVar[str] = "fetching"
    learned: LearnedRobots
    ran: int

    @property
    def words(self) -> tuple[str, ...]:
        """What was learned of the fetches."""
        return ("robots finish the fetch that they have begun", *self.learned.words)

    def arrivals(self, robots: int) -> FetchingRobots:
        """So many robots with the law of a fetch."""
        return self.learned.arrivals(self.ran, robots)

    def redrawn(self, robots: int, rng: np.random.Generator) -> FetchingRobots:
        """The law fitted again to durations resampled in blocks; pace and lengths of spells drawn from their errors."""
        learned = self.learned
        data = Segments.of(learned.durations)
        index = bootstrap.resample(data, bootstrap.block_length(data), rng)
        drawn = learned.durations[index]
        longer = float(drawn.mean() / learned.durations.mean())
        busy = learned.in_flight.mean / self.ran
        if learned.spells.spells is None:
            own = hyper_erlang_em(Samples.of(drawn).compressed(500), learned.law.fit.stages, steps=50).distribution
            return _fetching(own.scaled(own.mean / (learned.law.law.mean * longer)), None, busy, robots)
        spells, law = learned.spells.redrawn(rng), learned.spells.law
        rate = learned.spells.spells.mean_pace / law.mean
        return _fetching(law.scaled(law.mean * rate / (spells.mean_pace * longer)), spells, busy, robots)


def learn_robots(
    log: RawLog, cleaning: Cleaning, data: Segments, stream_held_out: float, *, seed: int = 0
) -> LearnedRobots | None:
    """Everything that the durations and names in a log tell; None where it has no durations.

    Parameters
    ----------
    log, cleaning
        What was read, and which stretches are used.
    data : Segments
        Gaps between deliveries in seconds.
    stream_held_out : float
        Log-likelihood per gap, in seconds, of the chosen stream model on the blocks that are left out.
    seed : int
        Of the bootstrap and the shifts.

    Notes
    -----
    Cost: 5 to 10 s of one processor for 10,000 fetches and more.
    """
    fetches = Fetches.of(log, cleaning)
    if fetches is None:
        return None
    in_flight = InFlight.of(fetches)
    law = fit_fetch_law(fetches, in_flight.most, seed=seed)
    spells = fit_spells(fetches, law, seed=seed)
    trained, paces = (law.trained, None) if spells.spells is None else spells.trained
    robots = _fetching(trained, paces, in_flight.mean / in_flight.most, in_flight.most)
    return LearnedRobots(
        len(fetches),
        fetches.workers,
        in_flight,
        law,
        spells,
        judge_robots(fetches, seed),
        _held_out(robots, data),
        stream_held_out,
        fetches.durations_by_begin(),
    )


def _held_out(robots: FetchingRobots, data: Segments) -> float:
    """Log-likelihood per gap of the deliveries of all robots on the blocks that are left out; NaN with many phases."""
    order = math.comb(robots.count + robots.fetch.order - 1, robots.fetch.order - 1)
    if order * (1 if robots.spells is None else robots.spells.count) > COMPARED_PHASES:
        return math.nan
    unit = float(data.gaps.mean())
    process = robots.mode(robots.count)
    D0, D1 = (np.asarray(block * unit, dtype=np.float64) for block in process.D[:2])
    held = data.held_out().sample(COMPARED_GAPS).scaled(1 / unit)
    return GeneralMap(D0, D1).log_likelihood(held) / max(len(held), 1) - math.log(unit)
