"""Each family of rivals: how it is fitted to the training part, and how that fit goes on to the whole trace."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from crawltwin.model.errors import CrawltwinError
from fitting.models import map2
from fitting.models.em import EmRun, EmSettings
from fitting.models.erlang_map import ErlangMap
from fitting.models.gap_model import GapModel
from fitting.models.general_map import GeneralMap
from fitting.models.phase_type_em import STRUCTURES, best_hyper_erlang
from fitting.models.starting_points import erlang_starts, map_starts, mmpp_start
from fitting.trace.samples import Samples
from fitting.trace.segments import Segments
from fitting.trace.statistics import correlations

START_GAPS = 30_000
"""Gaps on which starting points are compared."""
SMALL_GAPS = 20_000
"""Gaps on which the general MAPs do most of their steps."""
LARGE_GAPS = 100_000
"""Gaps on which they do their last steps: each costs many times that of an Erlang branch."""
TRAINED_GAPS = 200_000
"""Gaps of a longer trace on which every rival does its steps; the best then take a few over all gaps."""
_EM = EmSettings(steps=80, tolerance=1e-6)


@dataclass(frozen=True)
class Scored:
    """A fit to the training part, and how to go on from it on the whole trace: the model, and whether it converged.

    `closed` marks families that need no EM on single gaps: they are finished on the whole trace however long it is.
    `largest` is the number of gaps on which `finish` works at most.
    """

    model: GapModel
    finish: Callable[[Segments], tuple[GapModel, bool]]
    notes: tuple[str, ...] = ()
    closed: bool = False
    largest: int = sys.maxsize


def over_all(model: GapModel, data: Segments, max_stages: int) -> tuple[GapModel, bool]:
    """The model after a few EM steps over all gaps: what a part of the trace could not tell more exactly."""
    run = model.refit(data, EmSettings(steps=model.steps_over_all, tolerance=1e-6, max_stages=max_stages))
    return run.model, run.converged


def poisson(train: Segments) -> Scored:
    """The Poisson process."""

    def fitted(data: Segments) -> tuple[GapModel, bool]:
        return ErlangMap.poisson(data.gaps.mean()), True

    return Scored(fitted(train)[0], fitted, closed=True)


def renewal(train: Segments) -> Scored:
    """Independent gaps of a hyper-Erlang law."""
    # One exponential branch is the Poisson process, which has its own place among the rivals.
    first = best_hyper_erlang(Samples.of(train.gaps), [stages for stages in STRUCTURES if stages != (1,)])

    def fitted(data: Segments) -> tuple[GapModel, bool]:
        found = best_hyper_erlang(Samples.of(data.gaps), [first.stages])
        return ErlangMap.renewal(found.distribution), found.converged

    return Scored(ErlangMap.renewal(first.distribution), fitted, closed=True)


def order_two(train: Segments, third_moment: str) -> Scored:
    """The MAP of order two with the moments of the gaps and the decay of their correlations."""

    def fitted(data: Segments) -> map2.Map2:
        mean, scv = float(data.gaps.mean()), float(data.gaps.var() / data.gaps.mean() ** 2)
        rho = np.nan_to_num(correlations(data, 10))
        decay = map2.decay_of(rho.tolist())
        own = float(np.mean(data.gaps**3))
        low, high = map2.third_moment_bounds(mean, max(scv, 0.5))
        within = low * (1 + 1e-6) < own < high and third_moment == "trace"
        chosen = own if within else _third_by_likelihood(data, mean, max(scv, 0.5), decay)
        return map2.from_moments(mean, scv, decay, chosen, lag1=float(rho[0]))

    first = fitted(train)
    notes = () if first.verdict.feasible else (str(first.verdict),)
    return Scored(_as_model(first), lambda data: (_as_model(fitted(data)), True), notes, closed=True)


def _as_model(found: map2.Map2) -> GeneralMap:
    return GeneralMap(found.D0, found.D1, family="map2")


def _third_by_likelihood(data: Segments, mean: float, scv: float, decay: float) -> float:
    """Third moment that makes the order-two process most likely, on a part of the trace."""
    from scipy.optimize import minimize_scalar

    part = data.sample(SMALL_GAPS)
    low, high = map2.third_moment_bounds(mean, scv)

    def third(position: float) -> float:
        if scv > 1:
            return low * (1 + math.exp(position))
        return low + (high - low) / (1 + math.exp(-position))

    def loss(position: float) -> float:
        try:
            found = map2.from_moments(mean, scv, decay, third(position))
        except CrawltwinError:
            return math.inf
        return -_as_model(found).log_likelihood(part) / len(part)

    best = minimize_scalar(loss, bounds=(-8.0, 5.0), method="bounded", options={"xatol": 0.05})
    return third(float(best.x))


def mmpp(train: Segments) -> Scored:
    """A Poisson process whose rate follows two regimes."""
    return _by_map_em(train, [mmpp_start(train, window=window) for window in (5, 25, 125)])


def general(train: Segments, order: int) -> Scored:
    """A MAP of this order without any structure."""
    return _by_map_em(train, map_starts(train, order))


def _by_map_em(train: Segments, starts: Sequence[GeneralMap]) -> Scored:
    part = train.sample(SMALL_GAPS)
    start = starts[0]
    if len(starts) > 1:
        probe = train.sample(SMALL_GAPS // 5)
        start = _best([model.refit(probe, replace(_EM, steps=12)) for model in starts]).model
    model = start.refit(part, _EM).model
    # On a long trace a few more steps on a larger part are enough; on a short one they are cheap.
    few = replace(_EM, steps=15)
    more = few if len(train) > len(part) else _EM
    larger = train.sample(LARGE_GAPS)
    if len(larger) > len(part):
        model = model.refit(larger, few).model

    def fitted(data: Segments) -> tuple[GapModel, bool]:
        last = model.refit(data.sample(LARGE_GAPS), more)
        return last.model, last.converged

    return Scored(model, fitted, largest=LARGE_GAPS)


def _best(runs: Sequence[EmRun[GeneralMap]]) -> EmRun[GeneralMap]:
    return max(runs, key=lambda run: run.history[-1])


def erlang(train: Segments, branches: int, max_stages: int) -> Scored:
    """Erlang branches chosen by a hidden chain."""
    part = train.sample(START_GAPS)
    whole = EmSettings(steps=150, tolerance=1e-6, max_stages=max_stages)
    real = replace(whole, whole=False)
    probe = replace(real, steps=25, tolerance=1e-5)
    runs = sorted(
        (start.refit(part, probe) for start in erlang_starts(part, branches, max_stages)),
        key=lambda run: -run.history[-1],
    )
    rounded = [run.model.refit(part, real).model.rounded(max_stages).refit(part, whole) for run in runs[:2]]
    last = replace(whole, steps=200)
    scored = max(rounded, key=lambda run: run.history[-1]).model.refit(train, last).model

    def fitted(data: Segments) -> tuple[GapModel, bool]:
        run = scored.refit(data, last)
        return run.model, run.converged

    return Scored(scored, fitted)
