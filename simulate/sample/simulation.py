"""`simulate`: measures of a scenario with intervals, for a given length or to a given precision.

Independent replications with the warm-up deleted, or batch means of one long run. With a precision wanted, a first
round of short replications finds the warm-up and how much is needed; where that is a lot, the real replications are
made longer and the first ones thrown away, so that warm-ups stay cheap. All decisions depend on the seed alone, never
on the number of workers; a budget in seconds is the one thing that depends on the machine.
"""

from __future__ import annotations

import math
import time as clock
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from crawltwin.model import SCALAR_MEASURES, Interval, Scenario
from crawltwin.model.errors import Fault, InputError
from crawltwin.model.scenario import takes_scenario
from crawltwin.work.store import Store
from simulate.engine.streams import BIT_GENERATOR
from simulate.sample.collection import Collection
from simulate.sample.draws import run_replications
from simulate.sample.estimates import Sample
from simulate.sample.intervals import Intervals, quantile_intervals
from simulate.sample.replications import Job
from simulate.sample.result import Precision, SimulationResult, versions
from simulate.sample.settings import SimulationSettings

_MOST_PAGES = 5_000_000
_MANY_REPLICATIONS = 100


@dataclass(frozen=True)
class Progress:
    """How far a simulation is: replications done and planned, events per second, seconds left, half-widths so far."""

    done: int
    planned: int
    pages: int
    events: int
    seconds: float
    seconds_left: float
    half_widths: dict[str, float]

    @property
    def rate(self) -> float:
        """Events per second."""
        return self.events / self.seconds if self.seconds > 0 else 0.0


Told = Callable[[Progress], None]


@takes_scenario
def simulate(
    scenario: Scenario,
    settings: SimulationSettings | None = None,
    *,
    store: Store | None = None,
    progress: Told | None = None,
    **options: Any,
) -> SimulationResult:
    """Simulate a scenario.

    Parameters
    ----------
    scenario : Scenario
        With a policy, or with arrivals that know one number of robots only.
    settings : SimulationSettings, optional
        Length, seed, engine, precision and the rest.
    store : Store, optional
        Keeps finished replications, so that an interrupted simulation goes on.
    progress : callable, optional
        Called with a `Progress` after each replication.
    **options
        Fields of `SimulationSettings` by name, for example ``pages=5000, seed=4``; they go before `settings`.

    Returns
    -------
    SimulationResult
        On Ctrl-C what is known so far, with `interrupted` set.

    Notes
    -----
    Cost: some ten million events per second and core when compiled, after one to two seconds of loading; some hundred
    thousand with SimPy. Where no length is given and the start is forgotten slowly, runs are made longer.

    Examples
    --------
    >>> from crawltwin.model import examples
    >>> result = simulate(examples.load("mm1k"), pages=5000, seed=4)
    >>> result["loss_probability"].covers(0.018176)
    True
    """
    for name in ("replications", "measures", "budget"):
        if name in options and options[name] is None:
            del options[name]
    settings = replace(settings, **options) if settings else SimulationSettings(**options)
    if settings.records and store is not None:
        raise InputError([Fault("records", "records must be off when a store is used; got both")])
    job = Job.of(scenario, settings)
    return run_job(Request(job, settings, store=store, progress=progress))


@dataclass(frozen=True)
class Request:
    """A job and what is wanted of it; with `by_batches` the intervals rest on batches of time."""

    job: Job
    settings: SimulationSettings
    by_batches: bool = False
    store: Store | None = None
    progress: Told | None = None


def run_job(request: Request) -> SimulationResult:
    """Run what was asked for; again with longer runs where these were too short."""
    began = clock.monotonic()
    known: _Outcome | None = None
    while True:
        try:
            outcome = _rounds(request, began)
        except KeyboardInterrupt:
            # Nothing of these runs is done; what shorter ones told before is better than nothing.
            if known is None:
                raise
            return _result(replace(known, interrupted=True))
        pages = _pages_after_long_warm_up(outcome) or _pages_instead_of_many_runs(outcome)
        if pages is None or outcome.stopped:
            return _result(outcome)
        longer = replace(request.job, length=replace(request.job.length, pages=pages))
        request, known = replace(request, job=longer), outcome


@dataclass(frozen=True)
class _Outcome:
    """Where the rounds of one request ended; `needed` replications would have been next, 0 where none were."""

    request: Request
    sample: Sample
    found: Intervals
    status: Precision | None = None
    needed: int = 0
    interrupted: bool = False
    over: bool = False

    @property
    def stopped(self) -> bool:
        return self.interrupted or self.over


def _rounds(request: Request, began: float) -> _Outcome:
    """Replications until there are enough, or until longer ones seem better."""
    settings, interrupted, planned = request.settings, False, request.settings.replications
    collection = Collection(request.job, settings.warmup, request.by_batches or planned == 1)
    wanted = settings.precision
    while True:
        try:
            for run, records in run_replications(request.job, range(collection.done, planned), settings, request.store):
                collection.add(run, records)
                seconds = clock.monotonic() - began
                if request.progress is not None:
                    request.progress(_progress(settings, collection, planned, seconds))
                if wanted is not None and collection.done >= 2 and seconds > settings.budget:
                    break
        except KeyboardInterrupt:
            if collection.done == 0:
                raise
            interrupted = True
        seconds = clock.monotonic() - began
        sample = collection.sample(seconds)
        found = sample.intervals(settings.confidence, settings.method)
        outcome = _Outcome(request, sample, found, interrupted=interrupted)
        if wanted is None:
            return outcome
        status = _status(settings, wanted, sample, found)
        outcome = replace(outcome, status=status, over=seconds > settings.budget)
        if outcome.stopped or status.reached:
            return outcome
        needed = collection.done * (status.half_width / wanted) ** 2
        # What seems needed, a little more, three times as many at most.
        planned = int(
            min(max(math.ceil(1.05 * min(needed, 1e12)), collection.done + settings.replications // 2),
                3 * collection.done)
        )  # fmt: skip
        outcome = replace(outcome, needed=planned)
        if _pages_instead_of_many_runs(outcome) is not None:
            return outcome


def _status(settings: SimulationSettings, wanted: float, sample: Sample, found: Intervals) -> Precision:
    """How far the wanted precision is."""
    widths = _half_widths(settings, found)
    worst = max(widths, key=lambda name: widths[name])
    factor = (widths[worst] / wanted) ** 2
    reached = factor <= 1 + 1e-9
    missing = 0.0 if reached else factor - 1
    how = sample.diagnostics
    return Precision(
        wanted, reached, worst, widths[worst], missing * float(how.pages["delivered"]), missing * how.seconds
    )


def _half_widths(settings: SimulationSettings, found: Intervals) -> dict[str, float]:
    """Relative half-widths of the measures that matter; 0 where one does not exist, so that nobody waits for it."""
    intervals = {name: found.measures[name] for name in settings.aims if name in found.measures}
    return {name: 0.0 if one is None else one.relative_half_width for name, one in intervals.items()}


def _may_grow(outcome: _Outcome) -> int | None:
    """Pages of a replication where runs may be made longer; None where the length was given or is the longest."""
    pages = outcome.request.job.length.pages
    fixed = outcome.request.settings.fixed_length or outcome.request.job.trace is not None
    return None if fixed or pages is None or pages >= _MOST_PAGES else pages


def _pages_instead_of_many_runs(outcome: _Outcome) -> int | None:
    """Pages of longer replications, where very many short ones would be needed."""
    settings, pages = outcome.request.settings, _may_grow(outcome)
    if pages is None or outcome.status is None or outcome.needed <= settings.replications:
        return None
    needed = settings.replications * (outcome.status.half_width / outcome.status.wanted) ** 2
    if needed <= _MANY_REPLICATIONS:
        return None
    return min(_MOST_PAGES, int(pages * min(1e6, needed / 40)))


def _pages_after_long_warm_up(outcome: _Outcome) -> int | None:
    """Pages of replications four times as long, where a quarter of a run was warm-up and no length was given."""
    pages, how = _may_grow(outcome), outcome.sample.diagnostics
    if pages is None or outcome.request.settings.warmup is not None:
        return None
    if how.warmup_found and how.warmup_bins * 4 <= outcome.request.job.length.bins:
        return None
    return 4 * pages


def _progress(settings: SimulationSettings, collection: Collection, planned: int, seconds: float) -> Progress:
    widths: dict[str, float] = {}
    if collection.warm is not None:
        widths = _half_widths(settings, collection.sample().intervals(settings.confidence, settings.method))
    left = seconds / collection.done * (planned - collection.done)
    return Progress(collection.done, planned, collection.delivered, collection.events, seconds, left, widths)


def _result(outcome: _Outcome) -> SimulationResult:
    job, settings = outcome.request.job, outcome.request.settings
    sample, found = outcome.sample, outcome.found
    listed = {"mean_fetches": None} | found.measures
    measures: dict[str, Any] = {name: listed[name] for name in SCALAR_MEASURES if name in listed}
    measures["level_distribution"] = found.levels
    return SimulationResult(
        measures=measures,
        quantiles=quantile_intervals(sample, tuple(settings.quantiles), settings.confidence),
        robots=sample.robot_shares,
        confidence=settings.confidence,
        seed=job.seed,
        bit_generator=BIT_GENERATOR,
        engine=job.engine,
        versions=versions(),
        scenario=job.scenario.content_hash,
        diagnostics=replace(sample.diagnostics, effective_size=found.effective),
        precision=outcome.status,
        interrupted=outcome.interrupted,
        warnings=_warnings(outcome, measures),
        records=sample.records,
    )


def _warnings(outcome: _Outcome, measures: dict[str, Interval | None]) -> tuple[str, ...]:
    found = []
    how = outcome.sample.diagnostics
    if not how.warmup_found and outcome.request.settings.warmup is None:
        found.append("the start is not forgotten before the middle of a run: make the runs longer")
    if how.units == "batches":
        limit = 2 / math.sqrt(how.count)
        tied = [name for name, lag in how.lag_one.items() if lag > limit]
        if tied:
            found.append(f"neighbouring batches are correlated in {', '.join(tied)}: make the run longer")
    reading = outcome.sample.reading
    exists = {"mean_sojourn_obsolete": reading.ages, "mean_fetches": reading.fetches}
    for name, interval in measures.items():
        if interval is None and exists.get(name, True):
            found.append(f"{name} is unknown: too few such pages were seen")
    if how.conservation or how.little > 1e-9:
        found.append("the accounts of pages do not close: the engine is wrong, please report this")
    return tuple(found)
