"""From the record of a crawl to a scenario: fetch times, spells, indexing times, lifetimes, each by likelihood.

The record tells more than a log: how long each fetch took, how long each page was indexed, and how long pages waited
that went stale or that began. A robot's pause between two fetches (the crawler needs some milliseconds to begin the
next one) counts into the fetch, so that the pace is right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crawltwin.live.measured import time_integrals
from crawltwin.live.record import Float, Record
from crawltwin.model import PhaseType, Scenario
from crawltwin.model.arrivals.fetching import FetchingRobots
from crawltwin.model.arrivals.spells import Spells
from crawltwin.model.errors import InputError
from crawltwin.model.policies.cost import CostWeights
from crawltwin.model.policies.policy import Policy
from fitting.models.phase_type_em import best_hyper_erlang, hyper_erlang_em
from fitting.robots.fetch_law import fit_fetch_law
from fitting.robots.fetches import Fetches
from fitting.robots.spells import fit_spells
from fitting.trace.samples import Samples

FETCH_STRUCTURES = ((1,), (2,), (3,), (1, 1), (1, 2), (2, 2))
SPELL_STRUCTURES = ((1,), (2,), (1, 1), (1, 2))
SERVICE_STRUCTURES = ((1,), (2,), (3,), (1, 1), (1, 2), (2, 2), (1, 3), (2, 3))
"""Few phases: the chain has one state for each way in which the fetches under way are spread over them."""
FEWEST = 100
"""Pages below which nothing is fitted."""
BATCHES = 10
SHORTEST = 1e-6
"""Durations of nothing, which the clock can give, count as this."""


@dataclass(frozen=True)
class FittedCrawl:
    """What one crawl tells about the model.

    Attributes
    ----------
    robots : int
        The most robots that ran.
    capacity : int
    fetch, service : PhaseType
    lifetime : PhaseType or None
        None where no page went stale.
    spells : Spells or None
        None where the likelihood finds none.
    errors : dict
        Standard errors of the mean fetch, service and lifetime, as shares of the means.
    methods : dict
        How each part was fitted, in words.
    pages : int
        Pages delivered in the part that was used.
    pause : float
        Mean seconds between two fetches of a robot, counted into the fetch.
    """

    robots: int
    capacity: int
    fetch: PhaseType
    service: PhaseType
    lifetime: PhaseType | None
    spells: Spells | None
    errors: dict[str, float]
    methods: dict[str, str]
    pages: int
    pause: float

    @property
    def load(self) -> float:
        """Pages delivered by all robots per page that the indexer manages."""
        return self.arrivals.page_rate(self.robots) * self.service.mean

    @property
    def arrivals(self) -> FetchingRobots:
        """The robots of the model."""
        return FetchingRobots(self.robots, self.fetch, spells=self.spells)

    def scenario(self, policy: Policy, cost: CostWeights | None = None, **factors: float) -> Scenario:
        """The model under a policy; `factors` (`fetch`, `service`, `lifetime`) multiply the means."""

        def slower(law: PhaseType, name: str) -> PhaseType:
            return law.scaled(1 / factors[name]) if name in factors else law

        return Scenario(
            title=f"the crawl under {policy.phrase}",
            capacity=self.capacity,
            arrivals=FetchingRobots(self.robots, slower(self.fetch, "fetch"), spells=self.spells),
            service=slower(self.service, "service"),
            obsolescence=None if self.lifetime is None else slower(self.lifetime, "lifetime"),
            policy=policy,
            cost=cost,
        )


def fit_record(record: Record, begin: float = 0.0, end: float | None = None) -> FittedCrawl:
    """The model of a crawl, from the part of its record between `begin` and `end`, whatever policy it obeyed.

    A robot that is wanted and does not fetch pauses between two fetches; one that is told to stop finishes its fetch.
    So the time of robots is the integral of the larger of robots wanted and fetches under way, and the mean cycle of a
    robot is that over the pages. With one number of robots all the time it is their number times the seconds.

    Raises
    ------
    InputError
        When fewer than 100 pages were delivered, hardly one was indexed, or no robot or capacity is told.
    """
    stop = record.seconds if end is None else min(end, record.seconds)
    own = (record.delivered >= begin) & (record.delivered < stop) & (record.fetch > 0)
    state = (record.time >= begin) & (record.time < stop)
    if own.sum() < FEWEST:
        raise InputError(f"at least {FEWEST} pages must have been delivered to fit a model; got {int(own.sum())}")
    robots, capacity = int(record.robots[state].max()), record.opened.get("capacity")
    if robots < 1 or capacity is None:
        raise InputError(
            f"the record must tell robots and capacity to fit a model; got {robots} robots and capacity {capacity}"
        )
    ends, durations = record.delivered[own], record.fetch[own]
    working = np.maximum(record.robots, record.in_flight).astype(np.float64)
    cycle = float(time_integrals(record, working, np.array([begin, stop]))[0]) / float(own.sum())
    stretch = max(cycle / float(durations.mean()), 1.0)
    fetch, spells, fetch_words = _fetch(ends, durations * stretch, robots)
    served = (record.indexed >= begin) & (record.indexed < stop) & np.isfinite(record.service)
    if served.sum() < BATCHES:
        raise InputError(f"at least {BATCHES} pages must have been indexed to fit a model; got {int(served.sum())}")
    service_times = np.maximum(record.service[served], SHORTEST)
    service = best_hyper_erlang(Samples.of(service_times), SERVICE_STRUCTURES)
    lifetime, stale = _lifetime(record)
    errors = {
        "fetch": _relative_error(ends, durations),
        "service": _relative_error(record.indexed[served], service_times),
    }
    if lifetime is not None:
        errors["lifetime"] = float(1 / np.sqrt(stale))
    return FittedCrawl(
        robots=robots,
        capacity=int(capacity),
        fetch=fetch,
        service=service.distribution,
        lifetime=lifetime,
        spells=spells,
        errors=errors,
        methods={
            "fetch": fetch_words,
            "service": service.method,
            "lifetime": "exponential by likelihood, pages that began as censored" if lifetime else "no page went stale",
        },
        pages=int(own.sum()),
        pause=cycle - float(durations.mean()),
    )


def _fetch(ends: Float, durations: Float, robots: int) -> tuple[PhaseType, Spells | None, str]:
    """The law of a fetch and the spells, where likelihood and blocks left out find them."""
    order = np.argsort(ends, kind="stable")
    end, took = ends[order], np.maximum(durations[order], SHORTEST)
    stretch, borders = np.zeros(end.size, dtype=np.int64), np.array([[end[0], end[-1]]])
    fetches = Fetches(end - took, end, None, stretch, borders)
    found = fit_spells(fetches, fit_fetch_law(fetches, robots, repetitions=2), laws=SPELL_STRUCTURES)
    if found.spells is None:
        fit = best_hyper_erlang(Samples.of(took), FETCH_STRUCTURES)
        return fit.distribution, None, f"{fit.method}; no slow spells found"
    slow = f"slow spells of {found.slow_length.value:.2g} s every {found.fast_length.value:.2g} s"
    words = f"{found.law.order} phases with {slow}, {1 / found.pace.value:.2g} times slower, by likelihood"
    return found.law, found.spells, words


def _lifetime(record: Record) -> tuple[PhaseType | None, int]:
    """Exponential lifetime: waits of stale pages are exact, those of pages that began are censored."""
    exact = np.maximum(record.sojourn_stale[np.isfinite(record.sojourn_stale)], SHORTEST)
    if exact.size == 0:
        return None, 0
    began = record.waits[record.waits > SHORTEST]
    censored = np.concatenate([np.zeros(exact.size, bool), np.ones(began.size, bool)])
    samples = Samples.of(np.concatenate([exact, began]), censored=censored)
    return hyper_erlang_em(samples, (1,)).distribution, int(exact.size)


def _relative_error(times: Float, values: Float) -> float:
    """Standard error of a mean of correlated values, from batches of time, as a share of the mean."""
    from simulate.sample.estimates import pseudo_values, standard_errors

    edges = np.linspace(times.min(), np.nextafter(times.max(), np.inf), BATCHES + 1)
    sums = np.stack([np.histogram(times, edges, weights=values)[0], np.histogram(times, edges)[0]], axis=1)
    pseudo = pseudo_values(sums.astype(np.float64), lambda rows: rows[..., :1] / rows[..., 1:])
    return float(standard_errors(pseudo)[0] / values.mean())
