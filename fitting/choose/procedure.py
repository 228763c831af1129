"""From a log to a model, in one call: read, clean, gather, fit, choose, prove."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from crawltwin.model import BMAP
from crawltwin.model.errors import InputError
from crawltwin.model.policies.schedule import period_time
from crawltwin.work.memory import give_back
from fitting.choose import candidates
from fitting.choose.counted.procedure import fit_counts
from fitting.choose.goodness import assess
from fitting.choose.numbers import model_numbers, trace_numbers
from fitting.choose.result import FitResult
from fitting.choose.service import fit_obsolescence, fit_sizes, revisits
from fitting.choose.settings import FitOptions
from fitting.choose.versions import software_versions
from fitting.models.batch_laws import with_batches
from fitting.models.phase_type_em import MOST_STAGES, PhFit
from fitting.readers import CountLog, RawLog, ReadOptions, read_either
from fitting.readers.times.stamps import SECOND
from fitting.robots.learned import learn_robots
from fitting.robots.modes import learn_modes
from fitting.robots.named import learn_named
from fitting.robots.rate_laws import evidence_of
from fitting.robots.several import changes_beside_robots, check_files, read_by_robots, traces_by_column, varies
from fitting.season.even_clock import EvenTrace, even_trace
from fitting.trace import bootstrap
from fitting.trace.batches import Batches, find_batches, sensitivity
from fitting.trace.cleaning import Cleaning, clean
from fitting.trace.regularity import regular_words
from fitting.trace.segments import Segments

MIN_GAPS = 30
"""Gaps between batches below which nothing is fitted."""
RATE_OFF = 1.2 * candidates.MEAN_OFF
"""Relative error of the page rate above which a model is refused."""
LARGE_BATCH = 50
"""Pages of a batch from which on the reader is told."""


def fit(
    log: str | Path | Sequence[str | Path] | RawLog | CountLog | Mapping[int, RawLog],
    *,
    log_format: str | None = None,
    timezone: str | None = None,
    max_broken: float | None = None,
    reading: ReadOptions | None = None,
    options: FitOptions | None = None,
    progress: Callable[[str], None] | None = None,
) -> FitResult:
    """Fit a crawler's log.

    Parameters
    ----------
    log : path, sequence of paths, RawLog, CountLog or mapping
        Files of one log (``-`` for standard input), a log that was read before, or one for each number of robots.
        Counts per interval are fitted as such; the answer says what they cannot tell.
    log_format, timezone, max_broken, reading
        See `fitting.readers.read_log`.
    options : FitOptions, optional
        Everything after reading.
    progress : callable, optional
        Told in words what is being done.

    Returns
    -------
    FitResult
        The model with the account of how it came about.

    Raises
    ------
    InputError
        When the log cannot be read, or holds too little to be fitted; the message says what is missing.

    Notes
    -----
    Cost: about 10 s of one processor for 65,000 gaps, a minute for five million; see docs/scale.md.
    """
    began = time.perf_counter()
    chosen = options or FitOptions()

    def tell(words: str) -> None:
        give_back()
        if progress is not None:
            progress(words)

    tell("reading")
    # Of several numbers of robots the most are fitted; the others follow from them and their own gaps.
    logs: Mapping[int, RawLog] = {}
    raw: RawLog | CountLog
    if isinstance(log, Mapping):
        logs = log
    elif chosen.robots_of is not None:
        logs = read_by_robots(check_files(log), chosen.robots_of, reading)
    if logs:
        raw = logs[max(logs)]
    elif isinstance(log, RawLog | CountLog):
        raw = log
    else:
        assert not isinstance(log, Mapping)
        given: dict[str, Any] = {"log_format": log_format, "timezone": timezone, "max_broken": max_broken}
        known = {name: value for name, value in given.items() if value is not None}
        raw = read_either(log, replace(reading or ReadOptions(), **known))
    if isinstance(raw, CountLog):
        return fit_counts(raw, chosen, progress)
    tell("revisits")
    visits, obsolescence = _stale(raw)
    # Of a long log, every column counts: what is not needed any more goes.
    raw = raw.without_keys()
    del log
    tell("cleaning")
    cleaning, batches = gather(raw, chosen)
    sensitive = tuple(sensitivity(raw.seconds, cleaning, batches, raw.resolution))
    # Where the number of robots changes, the rate changes with it: nothing is taken out then.
    several = varies(raw)
    even = (
        EvenTrace(None, changes_beside_robots(raw, batches), batches.segments)
        if several
        else even_trace(batches, _phase(raw, chosen.period), chosen.period, raw.zoned)
    )
    data, stationarity = even.segments, even.stationarity
    # Fitted in units of the mean gap, so that no unit of time can bring a number out of range.
    unit = float(data.gaps.mean())
    scaled = data.scaled(1 / unit)
    rivals, failed = candidates.fit_candidates(scaled, chosen, progress)
    best = candidates.best_of(rivals, failed, chosen)
    tell("batch sizes and intervals")
    model, test = with_batches(best.model, scaled, batches.probabilities, chosen.batch_law)
    length = bootstrap.block_length(data)
    numbers = trace_numbers(batches, length, chosen)
    own = model_numbers(model, scaled, unit, length, chosen, batches.probabilities)
    del scaled
    tell("robots")
    traces = _traces(logs, raw, data, chosen)
    evidence = evidence_of(traces, seed=chosen.seed)
    modes = learn_modes(model.slowed(unit), traces, evidence)
    # Held-out likelihoods of gaps as they were: the even clock's densities times its pace.
    paced = 0.0 if data is batches.segments else float(np.mean(np.log(data.gaps) - np.log(batches.segments.gaps)))
    held_out = best.slowed(unit).held_out + paced
    robots = learn_robots(raw, cleaning, batches.segments, held_out, seed=chosen.seed)
    steady = data is batches.segments and not several and not logs
    named = learn_named(raw, cleaning, model.slowed(unit), steady=steady)
    tell("content sizes, goodness of fit")
    in_seconds = {id(rival): rival.slowed(unit) for rival in rivals}
    final, process = in_seconds[id(best)], model.bmap().scaled(1 / unit)
    _check_rate(process, batches)
    unsettled = candidates.never_settles(rivals, best)
    regular = regular_words(data, raw.resolution, max(chosen.max_stages, MOST_STAGES))
    told = (*raw.doubts, *cleaning.words, *batches.words, *even.words, *regular)
    findings = (*told, *((unsettled,) if unsettled else ()))
    sizes = None if raw.size is None else fit_sizes(raw.size, chosen.service)
    return FitResult(
        log=raw,
        cleaning=cleaning,
        batches=batches,
        stationarity=stationarity,
        numbers=numbers,
        model_numbers=own,
        block_length=length,
        candidates=tuple(in_seconds.values()),
        failed=tuple(failed),
        chosen=final,
        model=model.slowed(unit),
        process=process,
        batch_test=test,
        sensitivity=sensitive,
        sizes=sizes,
        obsolescence=obsolescence,
        visits=visits,
        goodness=assess(final.model, process, data, findings),
        warnings=(*raw.notes, *_warnings(raw, batches, sizes is None), *cleaning.cut_words, *findings, *failed),
        seed=chosen.seed,
        robots=robots,
        named=named,
        evidence=evidence,
        modes=modes,
        season=even.season,
        evened=None if data is batches.segments else data,
        regular=regular,
        seconds=time.perf_counter() - began,
        versions=software_versions(),
    )


def _phase(raw: RawLog, period: float | None) -> float | None:
    """How far into a period the log begins; None where it has no calendar."""
    if raw.from_gaps or period is None:
        return None
    return period_time(int(raw.time[0]) / SECOND, period)


def gather(raw: RawLog, options: FitOptions) -> tuple[Cleaning, Batches]:
    """Pauses cut and pages gathered into batches.

    Raises
    ------
    InputError
        When the log holds too little to be fitted.
    """
    seconds = raw.seconds
    _check_enough_pages(raw)
    cleaning = clean(
        seconds,
        pause=options.pause,
        pause_quantile=options.pause_quantile,
        stretch=options.stretch,
        run_starts=None if raw.run_starts is None else (raw.run_starts - raw.time[0]) / SECOND,
        resolution=0.0 if raw.from_gaps else raw.resolution,
        seed=options.seed,
    )
    batches = find_batches(
        seconds,
        cleaning,
        raw.resolution,
        limit=options.batch_gap,
        from_gaps=raw.from_gaps,
        reading=options.ticks,
        seed=options.seed,
    )
    _check_enough_gaps(raw, batches)
    batches.check(cleaning.pages)
    return cleaning, batches


def _traces(logs: Mapping[int, RawLog], raw: RawLog, data: Segments, options: FitOptions) -> list[tuple[int, Segments]]:
    """Gaps of each number of robots, from several logs or from a column of one."""
    if not logs:
        return traces_by_column(raw, data)
    most = max(logs)
    others = [(number, gather(log, options)[1].segments) for number, log in logs.items() if number != most]
    return [*others, (most, data)]


def _check_enough_pages(raw: RawLog) -> None:
    if len(raw) > MIN_GAPS:
        return
    dropped = ", ".join(f"{count} {reason}" for reason, count in raw.dropped.items()) or "none"
    raise InputError.at(
        raw.place,
        f"a log must hold more than {MIN_GAPS} delivered pages to be fitted; got {len(raw)} in {raw.rows} rows "
        f"(dropped: {dropped})",
        "A longer log is needed." if raw.rows <= MIN_GAPS else "Check --format and, for access logs, --agent.",
    )


def _check_enough_gaps(raw: RawLog, batches: Batches) -> None:
    gaps = len(batches.segments)
    if gaps >= MIN_GAPS and np.ptp(batches.segments.gaps) > 0:
        return
    if gaps >= MIN_GAPS:
        raise InputError.at(
            raw.place,
            f"the gaps must vary to be fitted; got {gaps} gaps of {batches.segments.gaps[0]:g} s each",
            "A crawler with a fixed delay needs no arrival model: it is deterministic.",
        )
    span = float(raw.seconds[-1]) if len(raw) else 0.0
    raise InputError.at(
        raw.place,
        f"a log must hold at least {MIN_GAPS} gaps between batches to be fitted; got {gaps} from {len(raw)} pages over "
        f"{span:g} s with a clock of {raw.resolution:g} s (rule: {batches.rule}, limit {batches.limit:g} s)",
        "Pages of one clock tick cannot be told apart; a finer clock, a longer log or another --batch-gap is needed.",
    )


def _check_rate(process: BMAP, batches: Batches) -> None:
    """The model brings as many pages per second as the log did, up to what its law of the gaps may be off."""
    log_rate = float(batches.sizes.mean() / batches.segments.gaps.mean())
    if abs(log_rate / process.page_rate - 1) > RATE_OFF:
        raise InputError.at(
            "model",
            f"the model must bring as many pages per second as the log; got {process.page_rate:.4g} instead of "
            f"{log_rate:.4g}: the trace changes its rate for good, and the wanted models follow it",
            "Fit a stretch on its own (--stretch), or allow all families of models.",
        )


def _stale(raw: RawLog) -> tuple[tuple[int, int], PhFit | None]:
    if raw.page is None or raw.content is None:
        return (0, 0), None
    gap, changed = revisits(raw.time, raw.page, raw.content)
    return (int(gap.size), int(np.count_nonzero(changed))), fit_obsolescence(gap, changed)


def _warnings(raw: RawLog, batches: Batches, no_sizes: bool) -> list[str]:
    words = []
    if raw.broken:
        words.append(
            f"{raw.broken} lines could not be read; the first: {raw.broken_shown[0] if raw.broken_shown else ''}"
        )
    words += batches.clock_words(raw.resolution)
    if batches.sizes.max() > LARGE_BATCH:
        words.append(f"the largest batch holds {batches.sizes.max()} pages; batches are kept whole")
    if no_sizes:
        words.append("the log tells no content sizes: the service time must be given, or is taken as exponential")
    if not raw.from_gaps and len(raw) and int(raw.time[-1]) / 1e9 > time.time() + 86400:
        words.append("some times lie in the future: the crawler's clock was wrong")
    return words
