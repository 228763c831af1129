"""From counts per interval to a model: the same steps as for a log of deliveries, where counts allow them.

A counter is a log whose clock ticks once per interval. To find pauses and changes of the rate, its pages are spread
evenly at random over their intervals, as those of a coarse clock are; the models see nothing of that: they are fitted
to the counts themselves.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from crawltwin.model.errors import InputError
from crawltwin.model.interval import Interval
from crawltwin.model.policies.schedule import period_time
from fitting.choose import candidates
from fitting.choose.counted.goodness import assess_counts, rate_series
from fitting.choose.counted.limits import cannot_tell
from fitting.choose.counted.rivals import SLICES, affordable, fit_rivals
from fitting.choose.numbers import model_numbers, series_correlations
from fitting.choose.result import FitResult
from fitting.choose.settings import FitOptions
from fitting.choose.versions import software_versions
from fitting.models.batch_laws import BatchTest
from fitting.models.counted.counted_map import CountedMap
from fitting.readers.count_log import CountLog
from fitting.readers.times.stamps import SECOND
from fitting.season.even_clock import even_trace
from fitting.trace import bootstrap
from fitting.trace.batches import Batches, find_batches
from fitting.trace.cleaning import Cleaning, clean
from fitting.trace.segments import CountedIntervals, Float
from fitting.trace.stationarity import Stationarity

MIN_INTERVALS = 30
"""Intervals below which nothing is fitted."""
SPREAD = 200_000
"""Pages that are spread at most; of more, as many are drawn."""
LONGEST = 2.5
"""An interval of so many ordinary ones tells nothing in slices and ends a stretch there."""


def fit_counts(log: CountLog, options: FitOptions, progress: Callable[[str], None] | None = None) -> FitResult:
    """Fit a crawler's counters.

    Raises
    ------
    InputError
        When there is too little to be fitted.

    Notes
    -----
    Cost: some 20 s of one processor for a day of minutes, whatever the counts.
    """
    began = time.perf_counter()
    _check(log)
    pages = _spread(log, options.seed)
    cleaning = clean(pages, pause=options.pause, pause_quantile=options.pause_quantile, stretch=options.stretch)
    data, words = used_intervals(log, cleaning)
    _check_varies(log, data)
    unit = float(data.gaps.mean())
    scaled = data.scaled(1 / unit)
    rivals, failed = fit_rivals(scaled, options, progress)
    best = candidates.best_of(rivals, failed, options, "counts")
    if progress is not None:
        progress("intervals, goodness of fit")
    assert isinstance(best.model, CountedMap)
    # Refits to resampled counts are done in slices: nearly the same likelihood for a small part of the cost.
    cheap = replace(best.model, slices=SLICES[best.order]) if best.method == "mmpp2" else best.model
    length = bootstrap.block_length(rate_series(data))
    in_seconds = {id(rival): rival.slowed(unit) for rival in rivals}
    final, process = in_seconds[id(best)], best.model.bmap().scaled(1 / unit)
    stationarity = _changes(log, pages, cleaning, options.period)
    unsettled = candidates.never_settles(rivals, best)
    findings = (*cleaning.words, *stationarity.words, *((unsettled,) if unsettled else ()))
    return FitResult(
        log=log,
        cleaning=cleaning,
        batches=Batches("counts", 0.0, None, data, np.ones(1, np.int64)),
        stationarity=stationarity,
        numbers=count_numbers(data, length, options),
        model_numbers=model_numbers(cheap, scaled, unit, length, options),
        block_length=length,
        candidates=tuple(in_seconds.values()),
        failed=tuple(failed),
        chosen=final,
        model=cheap.slowed(unit),
        process=process,
        batch_test=BatchTest.untested("counts do not tell batches"),
        sensitivity=(),
        sizes=None,
        obsolescence=None,
        visits=(0, 0),
        goodness=assess_counts(final.model, process, data, findings),
        warnings=(*log.notes, *words, *cleaning.cut_words, *findings, *failed, *_approximate(scaled)),
        seed=options.seed,
        cannot_tell=cannot_tell(data, process.mean_batch),
        seconds=time.perf_counter() - began,
        versions=software_versions(),
    )


def _changes(log: CountLog, pages: Float, cleaning: Cleaning, period: float | None) -> Stationarity:
    """Periods and changes of the rate. They are told, not taken out: counts are fitted as they are."""
    calendar = period is not None and int(log.start[0]) > 10**17
    phase = period_time(int(log.start[0]) / SECOND, period) if calendar and period is not None else None
    spread = find_batches(pages, cleaning, 1e-9, limit=0.0)
    even = even_trace(spread, phase, period, log.zoned)
    found, words = even.stationarity, []
    if even.season is not None and even.season.found:
        words.append(f"{even.season.in_words()}: one model of the counts averages over it; give the hours of interest")
    if even.season is not None and even.season.possible is not None:
        words.append(f"{even.season.possible_in_words()}; one model of the counts averages over it")
    if even.other is not None:
        words.append(even.other.in_words(calendar))
    if found.changed:
        low, high = min(found.levels), max(found.levels)
        words.append(
            f"the rate changes for good, between one page in {high:.4g} s and in {low:.4g} s: one stationary model of "
            "the counts averages over parts that differ; give a shorter range"
        )
    return replace(found, words=tuple(words))


def _approximate(data: CountedIntervals) -> tuple[str, ...]:
    if affordable(data):
        return ()
    words = f"counts of up to {int(data.sizes.max()):,} pages are too large for the exact likelihood"
    return (f"{words}: MMPPs whose phase changes at the borders of slices stand in for it, see each model's note",)


def _check(log: CountLog) -> None:
    pages = int(log.count.sum())
    if len(log) >= MIN_INTERVALS and pages >= MIN_INTERVALS:
        return
    raise InputError.at(
        log.place,
        f"counts must have at least {MIN_INTERVALS} intervals and as many pages to be fitted; got {len(log)} intervals "
        f"with {pages} pages",
        "Export a longer range, or a smaller step.",
    )


def _check_varies(log: CountLog, data: CountedIntervals) -> None:
    if len(data) < MIN_INTERVALS:
        raise InputError.at(
            log.place,
            f"counts must have at least {MIN_INTERVALS} intervals in the used stretches; got {len(data)} of {len(log)}",
            "Another --pause or --stretch is needed, or a longer range.",
        )
    if np.ptp(data.sizes) == 0 and np.ptp(data.gaps) == 0:
        raise InputError.at(
            log.place,
            f"the counts must vary to be fitted; got {len(data)} times {data.sizes[0]}",
            "A crawler with a fixed delay needs no arrival model: it is deterministic.",
        )


def _spread(log: CountLog, seed: int) -> Float:
    """Times of the pages, at random within their intervals, in order; a part of them where they are many."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))
    total = int(log.count.sum())
    count = log.count if total <= SPREAD else rng.binomial(log.count, SPREAD / total)
    begin = np.repeat((log.start - log.start[0]) / SECOND, count)
    return np.sort(begin + rng.random(begin.size) * np.repeat(log.length, count))


def used_intervals(log: CountLog, cleaning: Cleaning) -> tuple[CountedIntervals, list[str]]:
    """The intervals of the used stretches, cut where the counter tells nothing, and words about what was left out.

    An interval in which a pause begins or ends tells too few pages for its length, and is left out with it.
    """
    start, end = (log.start - log.start[0]) / SECOND, (log.end - log.start[0]) / SECOND
    label = np.full(len(log), -1)
    for number, stretch in enumerate(cleaning.stretches):
        if stretch.used:
            label[(end > stretch.begin) & (start < stretch.end)] = number
    for cut in cleaning.stretches[1:]:
        label[(start <= cut.begin) & (cut.begin < end)] = -1
    for cut in cleaning.stretches[:-1]:
        label[(start <= cut.end) & (cut.end < end)] = -1
    length = log.length
    usual = float(np.median(length))
    long = length > LONGEST * usual
    kept = (label >= 0) & ~long
    index = np.flatnonzero(kept)
    joined = (np.diff(index) == 1) & (np.diff(label[index]) == 0) & (np.diff(start[index]) - length[index][:-1] < 1e-6)
    first = np.concatenate([[0], np.flatnonzero(~joined) + 1]) if index.size else np.zeros(1, np.int64)
    words = [f"{count} samples were left out: {reason}" for reason, count in log.left_out.items()]
    if (long & (label >= 0)).any():
        count = int((long & (label >= 0)).sum())
        words.append(
            f"{count} intervals longer than {LONGEST:g} ordinary ones ({usual:g} s) were left out: samples are missing"
        )
    return CountedIntervals(length[kept], log.count[kept], first), words


def count_numbers(data: CountedIntervals, length: float, options: FitOptions) -> dict[str, Interval]:
    """Numbers of the counts with intervals, from blocks of mean length `length`."""

    def numbers(lengths: Float, counts: npt.NDArray[np.int64]) -> dict[str, float]:
        return {
            "page_rate": float(counts.sum() / lengths.sum()),
            "mean_gap": float(lengths.sum() / max(counts.sum(), 1)),
            "interval": float(lengths.mean()),
            "mean_count": float(counts.mean()),
            "count_dispersion": float(counts.var() / max(counts.mean(), 1e-300)),
            **series_correlations(counts / lengths),
        }

    return bootstrap.intervals(data, numbers, repetitions=options.repetitions, seed=options.seed, length=length)
