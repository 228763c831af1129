"""Rival models of the gaps between batches, each fitted to a training part, scored on the rest, then fitted to all.

What is held out are whole blocks, spread over the trace. No fit that is scored has seen them: the fit to the whole
trace comes afterwards and starts from the scored one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from scipy.optimize import minimize_scalar

from crawltwin.model import BMAP, PhaseType
from crawltwin.model.errors import CrawltwinError
from fitting import erlang_map, map2, map_em
from fitting.erlang_map import ErlangMap
from fitting.erlang_starts import starts
from fitting.map_em import GeneralMap
from fitting.ph_em import STRUCTURES, best_hyper_erlang
from fitting.samples import Samples
from fitting.segments import Segments
from fitting.statistics import correlations

START_GAPS = 30_000
"""Gaps on which starting points are compared."""
SMALL_GAPS = 20_000
"""Gaps on which the general MAPs do most of their steps."""
LARGE_GAPS = 100_000
"""Gaps on which they do their last steps: each costs many times that of an Erlang branch."""
METHODS = ("poisson", "renewal", "map2", "mmpp2", "map", "erlang")
"""Families of rivals, from the simplest on."""

MEAN_OFF = 0.1
"""Relative error of the mean gap above which a rival is not used."""

Model = ErlangMap | GeneralMap


@dataclass(frozen=True)
class Candidate:
    """One rival.

    Attributes
    ----------
    name, method : str
        What it is, and the family it belongs to.
    model : ErlangMap or GeneralMap
        Fitted to the whole trace.
    order, parameters : int
        Phases, and free numbers.
    log_likelihood, aic, bic : float
        Over all gaps; batch sizes not counted.
    held_out : float
        Log-likelihood a gap on blocks that the scored fit has not seen.
    mean_ratio : float
        Its mean gap over the trace's. EM keeps it at 1 unless the trace is no stationary one.
    converged : bool
        Whether the last fit came to rest within its steps.
    seconds : float
        Time to fit.
    notes : tuple of str
        Feasibility verdicts and other remarks.
    """

    name: str
    method: str
    model: Model
    order: int
    parameters: int
    log_likelihood: float
    aic: float
    bic: float
    held_out: float
    mean_ratio: float
    converged: bool
    seconds: float = field(compare=False)
    notes: tuple[str, ...] = ()

    def slowed(self, factor: float, gaps: int) -> Candidate:
        """The same rival with every gap `factor` times as long; log-likelihoods change with the unit of time."""
        shift = math.log(factor)
        likelihood = self.log_likelihood - gaps * shift
        return replace(
            self,
            model=self.model.slowed(factor),
            log_likelihood=likelihood,
            aic=self.aic + 2 * gaps * shift,
            bic=self.bic + 2 * gaps * shift,
            held_out=self.held_out - shift,
        )

    def bmap(self) -> BMAP:
        """The process of the batches' epochs, as single pages."""
        model = self.model
        return model.without_batches().bmap() if isinstance(model, ErlangMap) else model.bmap()


@dataclass(frozen=True)
class _Scored:
    """A fit to the training part, and how to go on from it on the whole trace."""

    name: str
    model: Model
    parameters: int
    finish: Callable[[Segments], tuple[Model, bool]]
    notes: tuple[str, ...] = ()


_ONE = np.ones((1, 1))


def _poisson(train: Segments) -> _Scored:
    def fitted(data: Segments) -> tuple[Model, bool]:
        return ErlangMap(np.ones(1), np.array([1 / data.gaps.mean()]), np.ones((1, 1)), _ONE), True

    return _Scored("Poisson", fitted(train)[0], 1, fitted)


def _renewal(train: Segments) -> _Scored:
    # One exponential branch is the Poisson process, which has its own place among the rivals.
    fit = best_hyper_erlang(Samples.of(train.gaps), [stages for stages in STRUCTURES if stages != (1,)])
    stages = tuple(int(word) for word in fit.method.split()[1].split("+"))

    def fitted(data: Segments) -> tuple[Model, bool]:
        found = best_hyper_erlang(Samples.of(data.gaps), [stages])
        return _mixture(found.distribution), found.converged

    model = _mixture(fit.distribution)
    return _Scored(f"renewal, hyper-Erlang {'+'.join(map(str, stages))}", model, 2 * len(stages) - 1, fitted)


def _mixture(law: PhaseType) -> ErlangMap:
    """A hyper-Erlang law as branches chosen anew for every gap."""
    initial, S = np.asarray(law.initial, dtype=np.float64), np.asarray(law.subgenerator, dtype=np.float64)
    begins = np.flatnonzero(initial > 0)
    ends = np.concatenate([begins[1:], [initial.size]])
    weights = initial[begins] / initial[begins].sum()
    branches = begins.size
    return ErlangMap(
        (ends - begins).astype(np.float64),
        -np.diag(S)[begins],
        np.tile(weights, (branches, 1)),
        np.ones((branches, 1)),
    )


def _third_by_likelihood(data: Segments, mean: float, scv: float, decay: float) -> float:
    """Third moment that makes the order-two process most likely, on a part of the trace."""
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
        return -GeneralMap(found.D0, found.D1).log_likelihood(part) / len(part)

    best = minimize_scalar(loss, bounds=(-8.0, 5.0), method="bounded", options={"xatol": 0.05})
    return third(float(best.x))


def _map2(train: Segments, third: str) -> _Scored:
    def make(data: Segments) -> map2.Map2:
        mean, scv = float(data.gaps.mean()), float(data.gaps.var() / data.gaps.mean() ** 2)
        rho = np.nan_to_num(correlations(data, 10))
        decay = map2.decay_of(rho.tolist())
        own = float(np.mean(data.gaps**3))
        low, high = map2.third_moment_bounds(mean, max(scv, 0.5))
        within = low * (1 + 1e-6) < own < high and third == "trace"
        chosen = own if within else _third_by_likelihood(data, mean, max(scv, 0.5), decay)
        return map2.from_moments(mean, scv, decay, chosen, lag1=float(rho[0]))

    def fitted(data: Segments) -> tuple[Model, bool]:
        found = make(data)
        return GeneralMap(found.D0, found.D1), True

    first = make(train)
    return _Scored(
        "MAP(2), Diamond-Alfa",
        GeneralMap(first.D0, first.D1),
        4,
        fitted,
        () if first.verdict.feasible else (str(first.verdict),),
    )


def _by_map_em(train: Segments, name: str, begin: list[GeneralMap], parameters: int, steps: int) -> _Scored:
    part = train.sample(SMALL_GAPS)
    start = begin[0]
    if len(begin) > 1:
        probe = train.sample(SMALL_GAPS // 5)
        start = max((map_em.run_em(model, probe, steps=12) for model in begin), key=lambda run: run.history[-1]).model
    small = map_em.run_em(start, part, steps=steps, tolerance=1e-6).model
    # On a long trace a few more steps on a larger part are enough; on a short one they are cheap.
    more = 15 if len(train) > len(part) else steps
    larger = train.sample(LARGE_GAPS)
    model = map_em.run_em(small, larger, steps=15, tolerance=1e-6).model if len(larger) > len(part) else small

    def fitted(data: Segments) -> tuple[Model, bool]:
        last = map_em.run_em(model, data.sample(LARGE_GAPS), steps=more, tolerance=1e-6)
        return last.model, last.converged

    note = f"fitted to {LARGE_GAPS:,} of the gaps" if len(train) > LARGE_GAPS else ""
    return _Scored(name, model, parameters, fitted, (note,) if note else ())


def _map_starts(train: Segments, order: int) -> list[GeneralMap]:
    """Classes of gap size, slow regimes, and for order two the closed form from moments and the lag-1 correlation."""
    found = [map_em.map_start(train, order), _dense(map_em.mmpp_start(train, order), float(train.gaps.mean()))]
    if order == 2:
        mean, scv = float(train.gaps.mean()), float(train.gaps.var() / train.gaps.mean() ** 2)
        lag1 = float(np.nan_to_num(correlations(train, 1))[0])
        try:
            closed = map2.from_lag1(mean, max(scv, 0.5), float(np.mean(train.gaps**3)), lag1)
        except CrawltwinError:
            return found
        found.append(_dense(GeneralMap(closed.D0, closed.D1), mean))
    return found


def _dense(model: GeneralMap, mean: float) -> GeneralMap:
    """The model with every rate made positive, so that EM may use it."""
    floor = 0.02 / mean
    D1 = np.maximum(model.D1, floor)
    D0 = np.where(np.eye(model.order, dtype=bool), 0.0, np.maximum(model.D0, floor))
    return GeneralMap(D0 - np.diag(D0.sum(axis=1) + D1.sum(axis=1)), D1)


def _erlang(train: Segments, branches: int, max_stages: int) -> _Scored:
    part = train.sample(START_GAPS)
    runs = [
        erlang_map.run_em(start, part, whole=False, steps=25, tolerance=1e-5, max_stages=max_stages)
        for start in starts(part, branches, _ONE, max_stages)
    ]
    runs.sort(key=lambda run: -run.history[-1])
    best: erlang_map.Run | None = None
    for run in runs[:2]:
        real = erlang_map.run_em(run.model, part, whole=False, steps=150, tolerance=1e-6, max_stages=max_stages)
        whole = erlang_map.run_em(
            erlang_map.rounded(real.model, max_stages),
            part,
            whole=True,
            steps=150,
            tolerance=1e-6,
            max_stages=max_stages,
        )
        if best is None or whole.history[-1] > best.history[-1]:
            best = whole
    assert best is not None
    scored = erlang_map.run_em(best.model, train, whole=True, steps=200, tolerance=1e-6, max_stages=max_stages).model

    def fitted(data: Segments) -> tuple[Model, bool]:
        run = erlang_map.run_em(scored, data, whole=True, steps=200, tolerance=1e-6, max_stages=max_stages)
        return run.model, run.converged

    return _Scored(
        f"Erlang branches {'+'.join(str(int(r)) for r in scored.shape)}",
        scored,
        scored.parameters,
        fitted,
    )


def fit_candidates(
    data: Segments,
    *,
    methods: tuple[str, ...] = METHODS,
    max_branches: int = 5,
    max_stages: int = erlang_map.MAX_STAGES,
    map_order: int = 2,
    third_moment: str = "trace",
    progress: Callable[[str], None] | None = None,
) -> tuple[list[Candidate], list[str]]:
    """Fit all rivals of the chosen families.

    Parameters
    ----------
    data : Segments
        Gaps between batches.
    methods : tuple of str
        Families out of `METHODS`.
    max_branches, max_stages : int
        Of the Erlang-branch processes; branches are added while the BIC falls.
    map_order : int
        Order of the general MAP.
    third_moment : {"trace", "likelihood"}
        Where the order-two fit takes its third moment from (`trace` falls back where it is not feasible).
    progress : callable, optional
        Told what is being fitted.

    Returns
    -------
    tuple
        Candidates in the order of `METHODS`, and words about rivals that could not be fitted.
    """
    train, held = data.split()
    found: list[Candidate] = []
    failed: list[str] = []

    def attempt(method: str, label: str, make: Callable[[], _Scored]) -> Candidate | None:
        if progress is not None:
            progress(label)
        began = time.perf_counter()
        try:
            scored = make()
            held_out = scored.model.log_likelihood(held) / max(len(held), 1)
            model, converged = scored.finish(data)
            likelihood = model.log_likelihood(data)
        except (CrawltwinError, np.linalg.LinAlgError, ValueError) as error:
            failed.append(f"{label} could not be fitted: {error}")
            return None
        if not math.isfinite(likelihood):
            failed.append(f"{label} gives some gaps no likelihood at all")
            return None
        ratio = _mean_gap(model) / float(data.gaps.mean())
        notes = scored.notes
        if abs(ratio - 1) > MEAN_OFF:
            notes = (*notes, f"its mean gap is {ratio:.2f} times that of the trace: not used")
        name = scored.name
        if isinstance(model, ErlangMap) and method == "erlang":
            name = f"Erlang branches {'+'.join(str(int(r)) for r in model.shape)}"
        candidate = Candidate(
            name,
            method,
            model,
            model.order,
            scored.parameters,
            likelihood,
            2 * scored.parameters - 2 * likelihood,
            scored.parameters * math.log(len(data)) - 2 * likelihood,
            held_out,
            ratio,
            converged,
            time.perf_counter() - began,
            notes,
        )
        try:
            candidate.bmap()
        except CrawltwinError as error:
            failed.append(f"{name} is no process that settles: {error}")
            return None
        found.append(candidate)
        return candidate

    if "poisson" in methods:
        attempt("poisson", "Poisson", lambda: _poisson(train))
    if "renewal" in methods:
        attempt("renewal", "renewal (hyper-Erlang)", lambda: _renewal(train))
    if "map2" in methods:
        attempt("map2", "MAP(2) from moments and decay", lambda: _map2(train, third_moment))
    if "mmpp2" in methods:
        attempt(
            "mmpp2",
            "MMPP(2) by EM",
            lambda: _by_map_em(
                train,
                "MMPP(2) by EM",
                [map_em.mmpp_start(train, window=w) for w in (5, 25, 125)],
                4,
                80,
            ),
        )
    if "map" in methods:
        order = map_order
        attempt(
            "map",
            f"MAP({order}) by EM",
            lambda: _by_map_em(
                train,
                f"MAP({order}) by EM",
                _map_starts(train, order),
                order**2,
                80,
            ),
        )
    if "erlang" in methods:
        best = math.inf
        for branches in range(2, max_branches + 1):
            if len(data) < 30 * branches**2:
                break
            result = attempt("erlang", f"{branches} Erlang branches", partial(_erlang, train, branches, max_stages))
            if result is None or result.bic > best + 10:
                break
            best = min(best, result.bic)
    return found, failed


def _mean_gap(model: Model) -> float:
    if isinstance(model, ErlangMap):
        return float(model.start @ (model.shape / model.rate))
    return float(model.start @ np.linalg.solve(-model.D0, np.ones(model.order)))


def never_settles(candidates: list[Candidate], chosen: Candidate) -> str:
    """A sentence if a clearly better rival was passed over because its mean gap is not the trace's; else empty."""
    better = [c for c in candidates if abs(c.mean_ratio - 1) > MEAN_OFF and c.bic < chosen.bic - 10]
    if not better:
        return ""
    best = min(better, key=lambda candidate: candidate.bic)
    return (
        f"the trace changes its rate for good: {best.name} follows it much better but would settle at a mean gap "
        f"{best.mean_ratio:.2f} times that of the trace; fit a stretch on its own"
    )


def choose(candidates: list[Candidate], criterion: str, max_order: int) -> Candidate:
    """The best rival by ``bic``, ``aic`` or ``held-out`` of those with at most `max_order` phases and the right mean.

    A process whose mean gap is more than `MEAN_OFF` off the trace's has followed a change of the rate that will not
    come back; it would be wrong for ever after.
    """
    right = [candidate for candidate in candidates if abs(candidate.mean_ratio - 1) <= MEAN_OFF] or candidates
    small = [candidate for candidate in right if candidate.order <= max_order] or [
        min(right, key=lambda candidate: candidate.order)
    ]
    if criterion == "held-out":
        return max(small, key=lambda candidate: candidate.held_out)
    return min(small, key=lambda candidate: candidate.aic if criterion == "aic" else candidate.bic)
