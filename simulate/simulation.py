"""`simulate`: measures of a scenario with intervals, for a given length or to a given precision.

Independent replications with the warm-up deleted, or batch means of one long run. With a precision wanted, a first
round of short replications finds the warm-up and how much is needed; where that is a lot, the real replications are
made longer and the first ones thrown away, so that warm-ups stay cheap. All decisions depend on the seed alone, never
on the number of workers; a budget in seconds is the one thing that depends on the machine.
"""

from __future__ import annotations

import math
import time as clock
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from crawltwin import workers as work
from crawltwin.model import SCALAR_MEASURES, Scenario
from crawltwin.store import Store, key_of
from simulate.collect import Collection
from simulate.intervals import Estimate, Interval, Method, quantiles
from simulate.order import QUANTILES, Order, checked_order
from simulate.replications import Piece, run_piece
from simulate.result import Precision, SimulationResult, versions
from simulate.run_statistics import RunStatistics
from simulate.streams import BIT_GENERATOR
from simulate.units import Reading

_WARM_BINS = 5
_MOST_PAGES = 5_000_000
_MANY_REPLICATIONS = 100
_SMALL_WORK = 20_000_000


@dataclass(frozen=True)
class Progress:
    """How far a simulation is: replications done and planned, events a second, seconds left, half-widths so far."""

    done: int
    planned: int
    pages: int
    events: int
    seconds: float
    seconds_left: float
    half_widths: dict[str, float]

    @property
    def rate(self) -> float:
        """Events a second."""
        return self.events / self.seconds if self.seconds > 0 else 0.0


def simulate(
    scenario: Scenario,
    *,
    pages: int | None = None,
    time: float | None = None,
    replications: int | None = None,
    seed: int = 1,
    engine: str = "compiled",
    confidence: float = 0.95,
    precision: float | None = None,
    measures: Sequence[str] | None = None,
    budget: float | None = None,
    warmup: float | None = None,
    start: Any = None,
    method: Method = "jackknife",
    quantiles: Sequence[float] = QUANTILES,
    records: bool = False,
    workers: int | None = None,
    cluster: str | None = None,
    store: Store | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> SimulationResult:
    """Simulate a scenario.

    Parameters
    ----------
    scenario : Scenario
        With a policy, or with arrivals that know one number of robots only.
    pages, time : int or float, optional
        Length of each replication, in delivered pages or in simulated time; 20,000 pages where nothing is said, and
        longer where the start is forgotten too slowly for that.
    replications : int, optional
        Independent runs, 20 by default; 1 means one long run, cut into 20 batches.
    seed : int
        Same scenario, same seed: same bits, whatever the engine and the number of workers.
    engine : {"compiled", "simpy"}
        The fast one, or the reference.
    precision : float, optional
        Relative half-width that every measure must reach; replications are added until it is, or the budget ends.
    measures : sequence of str, optional
        The measures that the precision is about; all by default.
    budget : float, optional
        Seconds after which a run for a precision ends anyway; 60 by default.
    warmup : float, optional
        Simulated time to leave out at the start of each replication; found by MSER-5 where nothing is said.
    start : array_like, optional
        Probabilities of the levels at time 0, whose pages are then new; an empty system where nothing is said.
    method : {"jackknife", "delta"}
        Standard errors of ratios.
    records : bool
        Keep one record a page, as a frame in the result; memory then grows with the run.
    workers, cluster, store
        See `crawltwin.workers.run`. Where `workers` is None, small work stays in this process.
    progress : callable, optional
        Called with a `Progress` after each replication.

    Returns
    -------
    SimulationResult
        On Ctrl-C what is known so far, with `interrupted` set.

    Notes
    -----
    Cost: some ten million events a second and core when compiled, after one to two seconds of loading; some hundred
    thousand with SimPy.

    Examples
    --------
    >>> from crawltwin.model import examples
    >>> result = simulate(examples.load("mm1k"), pages=5000, seed=4)
    >>> result["loss_probability"].covers(0.018176)
    True
    """
    order = checked_order(
        scenario, pages, time, replications, seed, engine, confidence, precision, measures, budget, warmup, start,
        method, quantiles, records, workers, cluster, store,
    )  # fmt: skip
    return fulfil(order, progress)


def fulfil(order: Order, progress: Callable[[Progress], None] | None = None) -> SimulationResult:
    """Run what was ordered."""
    began = clock.monotonic()
    known: _Outcome | None = None
    while True:
        try:
            outcome = _rounds(order, began, progress)
        except KeyboardInterrupt:
            # Nothing of these runs is done; what shorter ones told before is better than nothing.
            if known is None:
                raise
            return _result(replace(known, interrupted=True))
        longer = _too_short(outcome) or _longer(outcome)
        if longer is None or outcome.stopped:
            return _result(outcome)
        order, known = longer, outcome


@dataclass(frozen=True)
class _Outcome:
    """Where the rounds of one order ended; `needed` replications would have been next, 0 where none were."""

    order: Order
    collection: Collection
    found: Estimate
    status: Precision | None
    needed: int
    interrupted: bool
    over: bool
    seconds: float

    @property
    def stopped(self) -> bool:
        return self.interrupted or self.over


def _rounds(order: Order, began: float, progress: Callable[[Progress], None] | None) -> _Outcome:
    """Replications until there are enough, or until longer ones seem better."""
    collection, planned, interrupted = _collection(order), order.replications, False
    collection.alone = order.by_batches or order.replications == 1
    while True:
        try:
            for run, records in _outcomes(order, range(collection.done, planned)):
                collection.add(run, records)
                seconds = clock.monotonic() - began
                if progress is not None:
                    progress(_progress(order, collection, planned, seconds))
                if order.precision is not None and collection.done >= 2 and seconds > order.budget:
                    break
        except KeyboardInterrupt:
            if collection.done == 0:
                raise
            interrupted = True
        found = collection.estimate(order.confidence, order.method)
        seconds = clock.monotonic() - began
        status = _status(order, collection, found, seconds) if order.precision is not None else None
        over = order.precision is not None and seconds > order.budget
        if interrupted or over or status is None or status.reached:
            return _Outcome(order, collection, found, status, 0, interrupted, over, seconds)
        planned = _more(order, collection.done, status)
        outcome = _Outcome(order, collection, found, status, planned, interrupted, over, seconds)
        if _longer(outcome) is not None:
            return outcome


def _outcomes(order: Order, replications: Sequence[int]) -> Iterator[tuple[RunStatistics, Any]]:
    pieces = [Piece(order.job, index) for index in replications]
    length = order.job.length
    events = 3.0 * (length.pages or math.inf) * len(pieces)
    workers = order.workers
    if workers is None and order.job.engine == "compiled" and events < _SMALL_WORK:
        workers = 1
    if order.store is None:
        return work.run(run_piece, pieces, workers=workers, cluster=order.cluster)
    job = order.job
    content = (job.scenario, length.time, length.pages, length.bins, job.seed, job.engine, job.start.levels)
    keys = [key_of("replication", *content, versions(), piece.replication) for piece in pieces]
    kept = work.run(run_to_keep, pieces, workers=workers, cluster=order.cluster, store=order.store, keys=keys)
    return ((RunStatistics(**plain), None) for plain in kept)


def run_to_keep(piece: Piece) -> dict[str, Any]:
    """The statistics of a replication as plain values, for a store."""
    return dict(vars(run_piece(piece)[0]))


def _collection(order: Order) -> Collection:
    at_least = 0 if order.job.start.levels is not None else _WARM_BINS
    levels = order.job.plan().robots.size
    return Collection(Reading.of(order.job.scenario, levels), order.warmup, at_least)


def _status(order: Order, collection: Collection, found: Estimate, seconds: float) -> Precision:
    """How far the wanted precision is."""
    assert order.precision is not None
    widths = {name: relative_half_width(found.measures[name]) for name in order.aims if name in found.measures}
    worst = max(widths, key=lambda name: widths[name])
    factor = (widths[worst] / order.precision) ** 2
    reached = factor <= 1 + 1e-9
    delivered = float(np.sum(collection.counts[0]))
    missing = 0.0 if reached else factor - 1
    return Precision(order.precision, reached, worst, widths[worst], missing * delivered, missing * seconds)


def relative_half_width(interval: Interval | None) -> float:
    """Of a measure; 0 where it does not exist, so that nobody waits for it."""
    return 0.0 if interval is None else interval.relative_half_width


def _more(order: Order, done: int, status: Precision) -> int:
    """Replications to have after the next round: what seems needed, a little more, three times as many at most."""
    assert order.precision is not None
    needed = done * (status.half_width / order.precision) ** 2
    return int(min(max(math.ceil(1.05 * min(needed, 1e12)), done + order.replications // 2), 3 * done))


def _longer(outcome: _Outcome) -> Order | None:
    """The same order with longer replications, where very many short ones would be needed."""
    order, status = outcome.order, outcome.status
    length = order.job.length
    if status is None or order.precision is None or order.fixed_length or length.pages is None:
        return None
    if outcome.needed <= order.replications or length.pages >= _MOST_PAGES:
        return None
    needed = order.replications * (status.half_width / order.precision) ** 2
    if needed <= _MANY_REPLICATIONS:
        return None
    pages = min(_MOST_PAGES, int(length.pages * min(1e6, needed / 40)))
    return replace(order, job=replace(order.job, length=replace(length, pages=pages)))


def _too_short(outcome: _Outcome) -> Order | None:
    """The same order with runs four times as long, where a quarter of a run was warm-up and no length was given."""
    order = outcome.order
    length, warm = order.job.length, outcome.collection.find_warm_up()
    if order.fixed_length or order.warmup is not None or length.pages is None or length.pages >= _MOST_PAGES:
        return None
    if warm.found and warm.bins * 4 <= length.bins:
        return None
    return replace(order, job=replace(order.job, length=replace(length, pages=4 * length.pages)))


def _progress(order: Order, collection: Collection, planned: int, seconds: float) -> Progress:
    widths: dict[str, float] = {}
    if collection.warm is not None:
        found = collection.estimate(order.confidence, order.method)
        widths = {name: relative_half_width(found.measures[name]) for name in order.aims if name in found.measures}
    left = seconds / collection.done * (planned - collection.done)
    pages = int(collection.counts[0])
    return Progress(collection.done, planned, pages, collection.events, seconds, left, widths)


def _result(outcome: _Outcome) -> SimulationResult:
    order, collection, found = outcome.order, outcome.collection, outcome.found
    job, units = order.job, collection.units()
    measures: dict[str, Any] = {name: found.measures[name] for name in SCALAR_MEASURES if name in found.measures}
    measures["level_distribution"] = found.levels
    diagnostics = collection.diagnostics(found, outcome.seconds)
    shares = dict.fromkeys(sorted({int(r) for r in collection.reading.robots}), 0.0)
    for robots, share in zip(collection.reading.robots, collection.reading.levels(units.sums.sum(axis=0))):
        shares[int(robots)] += float(share)
    return SimulationResult(
        measures=measures,
        quantiles={
            fate: quantiles(units, index, order.quantiles, order.confidence)
            for index, fate in enumerate(("served", "obsolete"))
        },
        robots=shares,
        confidence=order.confidence,
        seed=job.seed,
        bit_generator=BIT_GENERATOR,
        engine=job.engine,
        versions=versions(),
        scenario=job.scenario.content_hash,
        diagnostics=diagnostics,
        precision=outcome.status,
        interrupted=outcome.interrupted,
        warnings=_warnings(order, collection, measures, diagnostics.lag_one),
        records=pd.concat(collection.frames, ignore_index=True) if collection.frames else None,
    )


def _warnings(order: Order, collection: Collection, measures: dict[str, Any], lags: Any) -> tuple[str, ...]:
    found = []
    warm = collection.find_warm_up()
    if not warm.found and order.warmup is None:
        found.append("the start is not forgotten before the middle of a run: make the runs longer")
    if collection.alone:
        limit = 2 / math.sqrt(collection.units().count)
        tied = [name for name, lag in lags.items() if lag > limit]
        if tied:
            found.append(f"neighbouring batches are correlated in {', '.join(tied)}: make the run longer")
    for name, interval in measures.items():
        if interval is None and (name != "mean_sojourn_obsolete" or collection.reading.ages):
            found.append(f"{name} is unknown: too few such pages were seen")
    if collection.conservation or collection.little > 1e-9:
        found.append("the accounts of pages do not close: the engine is wrong, please report this")
    return tuple(found)
