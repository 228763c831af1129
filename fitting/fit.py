"""From a log to a model, in one call: read, clean, gather, fit, choose, prove."""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

import crawltwin
from crawltwin.model import BMAP
from crawltwin.model.errors import CrawltwinError, Fault, InputError
from fitting import bootstrap, candidates, erlang_map, map_em
from fitting.batches import Batches, find_batches, sensitivity
from fitting.bmap_fit import with_batches
from fitting.bootstrap import Interval
from fitting.cleaning import clean
from fitting.erlang_map import ErlangMap
from fitting.goodness import assess
from fitting.map_em import GeneralMap
from fitting.ph_em import PhFit
from fitting.readers import RawLog, ReadOptions, read_log
from fitting.readers.stamps import SECOND
from fitting.result import FitResult
from fitting.segments import Float, Segments
from fitting.service import fit_obsolescence, fit_sizes, revisits
from fitting.stationarity import judge

MIN_GAPS = 30
"""Gaps between batches below which nothing is fitted."""
LONG_TRACE = 200_000


@dataclass(frozen=True)
class FitOptions:
    """Choices of the user; every one has a default that needs nothing but the log.

    Parameters
    ----------
    pause, pause_quantile : float, optional
        Gaps above so many seconds, or above this quantile, are pauses; found from the gaps by default.
    stretch : {"all", "longest"} or number
        Which uninterrupted stretches are used.
    batch_gap : float, optional
        Gaps up to so many seconds join pages into a batch; found from the gaps by default.
    methods : tuple of str
        Families of rivals.
    model : str, optional
        Take this family's best rival instead of letting the criterion decide: one of `methods`.
    criterion : {"bic", "aic", "held-out"}
        How the rivals are compared.
    max_branches, max_stages, max_phases, map_order : int
        Sizes of the rivals; none of more than `max_phases` phases is chosen.
    third_moment : {"trace", "likelihood"}
        Of the order-two fit.
    batch_law : {"test", "independent", "by-phase"}
        Batch sizes by phase if the test says so, never, or always.
    service : {"moments", "two-moments", "em", "general"}
        How content sizes are fitted.
    repetitions, refits : int
        Resampled traces for intervals of the trace's and of the model's numbers.
    seed : int
        Of everything random.
    """

    pause: float | None = None
    pause_quantile: float | None = None
    stretch: str | int = "all"
    batch_gap: float | None = None
    methods: tuple[str, ...] = candidates.METHODS
    model: str | None = None
    criterion: str = "bic"
    max_branches: int = 5
    max_stages: int = erlang_map.MAX_STAGES
    max_phases: int = 40
    map_order: int = 2
    third_moment: str = "trace"
    batch_law: str = "test"
    service: str = "moments"
    repetitions: int = 200
    refits: int = 20
    seed: int = 0

    def __post_init__(self) -> None:
        choices = (
            ("criterion", self.criterion, ("bic", "aic", "held-out")),
            ("third_moment", self.third_moment, ("trace", "likelihood")),
            ("batch_law", self.batch_law, ("test", "independent", "by-phase")),
            ("service", self.service, ("moments", "two-moments", "em", "general")),
            *(("methods", method, candidates.METHODS) for method in self.methods),
            *((("model", self.model, self.methods),) if self.model is not None else ()),
        )
        faults = [
            Fault(name, f"{name} must be one of {', '.join(allowed)}; got {value!r}")
            for name, value, allowed in choices
            if value not in allowed
        ]
        faults += [
            Fault(name, f"{name} must be at least 1; got {getattr(self, name)}")
            for name in ("max_branches", "max_stages", "max_phases", "map_order")
            if getattr(self, name) < 1
        ]
        if self.map_order > 6:
            faults.append(Fault("map_order", f"map_order must be at most 6; got {self.map_order}"))
        if faults:
            raise InputError(faults)


def fit(
    log: str | Path | Sequence[str | Path] | RawLog,
    *,
    log_format: str | None = None,
    timezone: str | None = None,
    max_broken: float = 0.2,
    reading: ReadOptions | None = None,
    options: FitOptions | None = None,
    progress: Callable[[str], None] | None = None,
) -> FitResult:
    """Fit a crawler's log.

    Parameters
    ----------
    log : path, sequence of paths or RawLog
        Files of one log (``-`` for standard input), or a log that was read before.
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
    Cost: about 10 s of one processor for 65,000 gaps, a minute for a million.
    """
    began = time.perf_counter()
    chosen = options or FitOptions()

    def tell(words: str) -> None:
        if progress is not None:
            progress(words)

    tell("reading")
    raw = (
        log
        if isinstance(log, RawLog)
        else read_log(log, log_format=log_format, timezone=timezone, max_broken=max_broken, options=reading)
    )
    seconds = raw.seconds
    _check_enough_pages(raw)
    tell("cleaning")
    cleaning = clean(seconds, pause=chosen.pause, pause_quantile=chosen.pause_quantile, stretch=chosen.stretch)
    batches = find_batches(
        seconds, cleaning, raw.resolution, limit=chosen.batch_gap, from_gaps=raw.from_gaps, seed=chosen.seed
    )
    data = batches.segments
    _check_enough_gaps(raw, batches)
    # Fitted in units of the mean gap, so that no unit of time can bring a number out of range.
    unit = float(data.gaps.mean())
    scaled = data.scaled(1 / unit)
    phase = (int(raw.time[0]) // SECOND) % 86400 if len(raw) else 0
    stationarity = judge(data, seconds, float(phase), calendar=not raw.from_gaps)
    rivals, failed = candidates.fit_candidates(
        scaled,
        methods=chosen.methods,
        max_branches=chosen.max_branches,
        max_stages=chosen.max_stages,
        map_order=chosen.map_order,
        third_moment=chosen.third_moment,
        progress=progress,
    )
    if not rivals:
        raise InputError([Fault("log", "at least one model must fit the gaps; got none: " + "; ".join(failed))])
    wanted = [rival for rival in rivals if chosen.model in (None, rival.method)] or rivals
    best = candidates.choose(wanted, chosen.criterion, chosen.max_phases)
    tell("batch sizes and intervals")
    process, model, test = with_batches(best, scaled, batches.probabilities, chosen.batch_law)
    length = bootstrap.block_length(data)
    repetitions = chosen.repetitions if len(data) <= LONG_TRACE else max(chosen.repetitions // 4, 20)
    numbers = bootstrap.intervals(data, _statistic(batches), repetitions=repetitions, seed=chosen.seed, length=length)
    own = _model_numbers(model, scaled, unit, length, chosen)
    tell("content sizes, revisits, goodness of fit")
    in_seconds = {id(rival): rival.slowed(unit, len(data)) for rival in rivals}
    final, process = in_seconds[id(best)], process.scaled(1 / unit)
    unsettled = candidates.never_settles(rivals, best)
    findings = (*stationarity.words, *((unsettled,) if unsettled else ()))
    visits, obsolescence = _stale(raw)
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
        sensitivity=tuple(sensitivity(seconds, cleaning, batches, raw.resolution)),
        sizes=sizes,
        obsolescence=obsolescence,
        visits=visits,
        goodness=assess(final.model, process, data, findings),
        warnings=(*raw.notes, *_warnings(raw, batches, sizes is None), *findings, *failed),
        seed=chosen.seed,
        seconds=time.perf_counter() - began,
        versions=_versions(),
    )


def _check_enough_pages(raw: RawLog) -> None:
    if len(raw) > MIN_GAPS:
        return
    dropped = ", ".join(f"{count} {reason}" for reason, count in raw.dropped.items()) or "none"
    raise InputError(
        [
            Fault(
                raw.files[0] if raw.files else "log",
                f"a log must hold more than {MIN_GAPS} delivered pages to be fitted; got {len(raw)} "
                f"in {raw.rows} rows "
                f"(dropped: {dropped})",
                "A longer log is needed." if raw.rows <= MIN_GAPS else "Check --format and, for access logs, --agent.",
            )
        ]
    )


def _check_enough_gaps(raw: RawLog, batches: Batches) -> None:
    gaps = len(batches.segments)
    if gaps >= MIN_GAPS and np.ptp(batches.segments.gaps) > 0:
        return
    place = raw.files[0] if raw.files else "log"
    if gaps >= MIN_GAPS:
        raise InputError(
            [
                Fault(
                    place,
                    f"the gaps must vary to be fitted; got {gaps} gaps of {batches.segments.gaps[0]:g} s each",
                    "A crawler with a fixed delay needs no arrival model: it is deterministic.",
                )
            ]
        )
    span = float(raw.seconds[-1]) if len(raw) else 0.0
    raise InputError(
        [
            Fault(
                place,
                f"a log must hold at least {MIN_GAPS} gaps between batches to be fitted; got {gaps} "
                f"from {len(raw)} pages over "
                f"{span:g} s with a clock of {raw.resolution:g} s (rule: {batches.rule}, limit {batches.limit:g} s)",
                "Pages of one clock tick cannot be told apart; a finer clock, a longer log or "
                "another --batch-gap is needed.",
            )
        ]
    )


def _statistic(batches: Batches) -> Callable[[Float, npt.NDArray[np.int64]], dict[str, float]]:
    """Numbers of a trace that are reported with intervals."""
    shown = min(batches.probabilities.size, 10)

    def numbers(gaps: Float, sizes: npt.NDArray[np.int64]) -> dict[str, float]:
        mean, variance = float(gaps.mean()), float(gaps.var())
        centred = gaps - mean
        total = float(centred @ centred)
        low, median, high = np.quantile(gaps, (0.05, 0.5, 0.95))
        found = {
            "mean_gap": mean,
            "variance": variance,
            "scv": variance / mean**2,
            "third_moment": float(np.mean(gaps**3)),
            "gap_quantile_05": float(low),
            "gap_median": float(median),
            "gap_quantile_95": float(high),
            "batch_rate": 1 / mean,
            "page_rate": float(sizes.sum()) / float(gaps.sum()),
            "mean_batch": float(sizes.mean()),
        }
        for lag in (1, 2, 5, 10):
            found[f"correlation_{lag}"] = float(centred[:-lag] @ centred[lag:]) / total if total > 0 else math.nan
        for k in range(1, shown + 1):
            found[f"batch_size_{k}"] = float(np.mean(sizes == k))
        return found

    return numbers


def _model_numbers(
    model: ErlangMap | GeneralMap, data: Segments, unit: float, length: float, options: FitOptions
) -> dict[str, Interval]:
    """Numbers of the fitted process; intervals from short EM runs on resampled traces, begun at the fit."""
    found = _process_numbers(_bmap_of(model, data), unit)
    drawn: dict[str, list[float]] = {name: [] for name in found}
    small = LONG_TRACE if isinstance(model, ErlangMap) else candidates.SMALL_GAPS
    refits = options.refits if len(data) <= small else 0
    rng = np.random.default_rng(np.random.SeedSequence(options.seed, spawn_key=(3,)))
    for _ in range(refits):
        index = bootstrap.resample(data, length, rng)
        breaks = np.concatenate([[0], np.flatnonzero(np.diff(index) != 1) + 1])
        again = Segments(data.gaps[index], data.sizes[index], breaks)
        try:
            values = _process_numbers(_bmap_of(_refitted(model, again, options.max_stages), again), unit)
        except CrawltwinError:
            continue
        for name, value in values.items():
            drawn[name].append(value)
    result = {}
    for name, value in found.items():
        again_found = np.array(drawn[name])
        low, high = np.quantile(again_found, (0.025, 0.975)) if again_found.size >= 10 else (math.nan, math.nan)
        result[name] = Interval(value, float(low), float(high))
    return result


def _refitted(model: ErlangMap | GeneralMap, data: Segments, max_stages: int) -> ErlangMap | GeneralMap:
    if isinstance(model, ErlangMap):
        start = model.without_batches()
        return erlang_map.run_em(start, data, whole=True, steps=8, tolerance=1e-5, max_stages=max_stages).model
    return map_em.run_em(model, data, steps=5, tolerance=1e-5).model


def _bmap_of(model: ErlangMap | GeneralMap, data: Segments) -> BMAP:
    """The process with batches of `data`; a branch's own batch law stays."""
    shares = data.batch_counts / len(data)
    if isinstance(model, ErlangMap):
        own = model if model.q.shape[1] > 1 else model.with_batch_sizes(shares)
        return own.bmap()
    return BMAP.from_map(model.D0, model.D1, shares.tolist())


def _process_numbers(process: BMAP, unit: float) -> dict[str, float]:
    mean = process.interval_moment(1)
    return {
        "page_rate": process.page_rate / unit,
        "mean_gap": mean * unit,
        "scv": process.interval_variance / mean**2,
        "correlation_1": process.correlation(1),
        "correlation_10": process.correlation(10),
        "dispersion": process.dispersion(),
    }


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
    if batches.rule == "spread":
        words.append(
            f"the clock of {raw.resolution:g} s is too coarse to tell pages apart; as their counts "
            "vary like single pages "
            f"(local dispersion {batches.tick_dispersion:.2f}), they were spread evenly over their tick"
        )
    elif math.isfinite(batches.tick_dispersion):
        words.append(
            f"pages of one tick of the {raw.resolution:g} s clock are taken as a batch (local dispersion "
            f"{batches.tick_dispersion:.2f})"
        )
    if batches.cut_sizes:
        words.append(f"{batches.cut_sizes} batches were larger than can be modelled and were cut")
    if no_sizes:
        words.append("the log tells no content sizes: the service time must be given, or is taken as exponential")
    if not raw.from_gaps and len(raw) and int(raw.time[-1]) / 1e9 > time.time() + 86400:
        words.append("some times lie in the future: the crawler's clock was wrong")
    return words


def _versions() -> dict[str, str]:
    import numba
    import scipy

    return {
        "crawltwin": crawltwin.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "numba": numba.__version__,
    }
