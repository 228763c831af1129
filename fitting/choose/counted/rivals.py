"""Rival models of counts per interval: Poisson, MMPPs of growing order, and regular streams where counts vary little.

MMPPs are fitted in slices (`fitting.models.counted.occupation`), which is cheap for any count. Where the exact
likelihood is affordable, a few exact EM steps follow and every rival is scored by it; else all are scored in slices,
and each candidate says so. An MMPP varies at least like a Poisson stream: only where neighbouring counts differ less
than that are Erlang stages and a MAP without structure tried. Where they differ more, pages may have come in bursts
that are shorter than an interval or in batches: the same with batches of geometric sizes are rivals too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from crawltwin.model.errors import InputError
from fitting.choose.candidates import Candidate, attempt_rival
from fitting.choose.rivals import Scored
from fitting.choose.settings import FitOptions
from fitting.models.counted.convolution import work
from fitting.models.counted.counted_map import CountedMap
from fitting.models.em import EmSettings
from fitting.models.gap_model import GapModel
from fitting.trace.segments import CountedIntervals, Float, Segments

FAMILIES = ("poisson", "renewal", "mmpp2", "map")
SLICES = {2: 32, 3: 8, 4: 5}
"""Slices per interval by the number of phases."""
EXACT = 2e9
"""Multiplications of one pass up to which the exact likelihood is affordable: about a second."""
EXACT_EM = 1e8
"""Multiplications of a pass up to which exact EM steps are done: each costs some six passes."""
REGULAR = 0.85
"""Local dispersion of the counts below which the stream is more regular than Poisson's."""
IRREGULAR = 1.15
"""Local dispersion above which batches are a rival explanation."""
WINDOWS = (1, 5, 25)
"""Intervals over which rates are averaged before they are put into classes."""
MOST_STAGES = 10
_SLICED = EmSettings(steps=200, tolerance=3e-6)
_EXACT = EmSettings(steps=40, tolerance=1e-6)
_LAST = EmSettings(steps=8, tolerance=1e-5)
"""Exact steps after the sliced ones, which are nearly there."""


def local_dispersion(data: CountedIntervals) -> float:
    """Half of the mean squared difference of neighbouring counts over their mean: 1 for a slowly varying Poisson rate.

    Of intervals of unequal length each count is brought to the mean length first.
    """
    rate = data.sizes / data.gaps * data.gaps.mean()
    pairs = np.concatenate([np.diff(rate[piece]) for piece in data.stretches()] or [np.zeros(0)])
    return float(np.mean(pairs**2) / 2 / max(rate.mean(), 1e-300)) if pairs.size else math.nan


def affordable(data: CountedIntervals, order: int = 2, stages: int = 1) -> bool:
    """Whether the exact likelihood of a process of this order is."""
    return _work(data, order, stages) <= EXACT


def _work(data: Segments, order: int, stages: int = 1) -> float:
    return max(work(data.gaps, data.sizes, stages * float((data.sizes / data.gaps).max()), order), 1.0)


def fit_rivals(
    data: CountedIntervals, options: FitOptions, progress: Callable[[str], None] | None = None
) -> tuple[list[Candidate], list[str]]:
    """Fit all rivals of the chosen families; MMPPs of higher order while the BIC falls."""
    if options.model is not None and options.model not in FAMILIES:
        raise InputError.at(
            "model",
            f"model must be one of {', '.join(FAMILIES)} for counts; got {options.model!r}",
            "The others need the gaps between pages, which counts do not tell.",
        )
    train, held = data.split()
    found: list[Candidate] = []
    failed: list[str] = []
    best = math.inf
    for label, make in _every(data, train, options):
        grows = label.startswith("MMPP")
        if grows and found and found[-1].method == "mmpp2" and found[-1].bic > best:
            continue
        best = min([best, *(one.bic for one in found)])
        if progress is not None:
            progress(label)
        result = attempt_rival(label, make, data, held)
        failed.append(result) if isinstance(result, str) else found.append(result)
    return found, failed


def _every(
    data: CountedIntervals, train: CountedIntervals, options: FitOptions
) -> Iterator[tuple[str, Callable[[], Scored]]]:
    asked = options.methods if options.model is None else (options.model, "poisson")
    phi = local_dispersion(data)
    if "poisson" in asked:
        yield "Poisson", partial(_poisson, train)
    for order in SLICES if "mmpp2" in asked else ():
        if len(data) >= 15 * order**2:
            yield f"MMPP({order}) by EM", partial(_mmpp, train, order, affordable(data))
    for order in (1, 2) if phi > IRREGULAR else ():
        if ("poisson", "mmpp2")[order - 1] in asked and len(data) >= 15 * order**2:
            yield f"{order} phases in batches", partial(_batched, train, order, phi)
    if "renewal" in asked and (phi < REGULAR or options.model == "renewal"):
        stages = min(max(round(1 / max(phi, 1e-9)), 2), MOST_STAGES)
        for count in sorted({max(stages - 1, 2), stages, min(stages + 1, MOST_STAGES)}):
            if affordable(data, count, count):
                yield f"Erlang gaps of {count} stages", partial(_erlang, train, count)
    if "map" in asked and _work(data, options.map_order) <= EXACT_EM and (phi < REGULAR or options.model == "map"):
        yield f"MAP({options.map_order}) by EM", partial(_general, train, options.map_order)


def _poisson(train: CountedIntervals) -> Scored:
    def fitted(data: Segments) -> tuple[GapModel, bool]:
        return CountedMap.poisson(data), True

    return Scored(fitted(train)[0], fitted)


def _erlang(train: CountedIntervals, stages: int) -> Scored:
    """Independent Erlang gaps: `stages` phases in a ring, a page at the end of each turn."""

    def fitted(data: Segments) -> tuple[GapModel, bool]:
        rate = stages / data.mean_gap
        D0, D1 = rate * (np.eye(stages, k=1) - np.eye(stages)), np.zeros((stages, stages))
        D1[-1, 0] = rate
        return CountedMap(D0, D1, family="renewal"), True

    return Scored(fitted(train)[0], fitted)


def _mmpp(train: CountedIntervals, order: int, exact: bool) -> Scored:
    starts = [mmpp_start(train, order, window) for window in WINDOWS]
    runs = [start.refit(train.sample(5000), replace(_SLICED, steps=25)) for start in starts]
    run = max(runs, key=lambda one: one.history[-1]).model.refit(train, _SLICED)
    model = _exactly(run.model, train, run.converged)[0] if exact else run.model

    def fitted(data: Segments) -> tuple[GapModel, bool]:
        last = run.model.refit(data, _SLICED)
        return _exactly(last.model, data, last.converged) if exact else (last.model, last.converged)

    return Scored(model, fitted, () if exact else (_words(run.model, train),))


def _batched(train: CountedIntervals, order: int, phi: float) -> Scored:
    """A Poisson stream or an MMPP whose pages come in batches, first with the spread of neighbouring counts."""
    more = min((phi - 1) / (phi + 1), 0.9)
    starts = (
        [replace(CountedMap.poisson(train), slices=1)]
        if order == 1
        else [mmpp_start(train, order, window) for window in WINDOWS]
    )
    runs = [start.in_batches(more).refit(train, replace(_SLICED, steps=15)) for start in starts]
    run = max(runs, key=lambda one: one.history[-1]).model.refit(train, _SLICED)

    def fitted(data: Segments) -> tuple[GapModel, bool]:
        last = run.model.refit(data, _SLICED)
        return last.model, last.converged

    return Scored(run.model, fitted)


def _exactly(model: CountedMap, data: Segments, converged: bool) -> tuple[CountedMap, bool]:
    """The sliced fit with the exact likelihood, after a few exact EM steps where they are cheap (two phases)."""
    exact = replace(model, slices=0)
    if model.order > 2 or _work(data, model.order) > EXACT_EM:
        return exact, converged
    run = exact.refit(data, _LAST)
    return run.model, run.converged


def _words(model: CountedMap, data: CountedIntervals) -> str:
    """That the likelihood is an approximation, and how good: the change when slices are halved."""
    finer = replace(model, slices=2 * model.slices)
    change = abs(finer.log_likelihood(data) - model.log_likelihood(data)) / len(data)
    return (
        f"approximate, as counts are large: given its phases, which may change {model.slices} times per interval, the "
        f"stream is Poisson; with slices of half the length the log-likelihood differs by {change:.2g} per interval"
    )


def _general(train: CountedIntervals, order: int) -> Scored:
    """A MAP without structure, from Erlang stages and from regimes, whichever leads further."""
    rate = order / train.mean_gap
    ring = CountedMap(rate * np.eye(order, k=1), rate * np.eye(order, k=1 - order), family="map")
    starts = [ring, mmpp_start(train, max(order, 2), 5)] if order > 1 else [ring]
    dense = [_dense(one.D0, one.D1, train.mean_gap) for one in starts]
    runs = [start.refit(train, replace(_EXACT, steps=10)) for start in dense]
    model = max(runs, key=lambda one: one.history[-1]).model.refit(train, _EXACT).model

    def fitted(data: Segments) -> tuple[GapModel, bool]:
        run = model.refit(data, _EXACT)
        return run.model, run.converged

    return Scored(model, fitted)


def _dense(D0: Float, D1: Float, mean: float) -> CountedMap:
    """Every rate made positive, so that EM may use it."""
    floor, diagonal = 0.02 / mean, np.eye(D0.shape[0], dtype=bool)
    off, arrivals = np.where(diagonal, 0.0, np.maximum(D0, floor)), np.maximum(D1, floor)
    return CountedMap(off - np.diag(off.sum(axis=1) + arrivals.sum(axis=1)), arrivals, family="map")


def mmpp_start(data: CountedIntervals, order: int, window: int) -> CountedMap:
    """Classes of the rate, averaged over a window: the rate of each, and how often the classes follow one another."""
    rate = data.sizes / data.gaps
    width = min(window, max(len(data) // 4, 1))
    smooth = np.convolve(np.pad(rate, width // 2, mode="edge"), np.ones(width) / width, mode="same")
    smooth = smooth[width // 2 : width // 2 + rate.size]
    label = np.searchsorted(np.quantile(smooth, np.arange(1, order) / order), smooth, side="right")
    spent = np.bincount(label, data.gaps, minlength=order) + data.gaps.mean()
    pages = np.bincount(label, data.sizes, minlength=order) + rate.mean() * data.gaps.mean()
    moves = np.ones((order, order))
    np.add.at(moves, (label[:-1], label[1:]), 1.0)
    return CountedMap.mmpp(moves / spent[:, None], pages / spent, SLICES[order])
