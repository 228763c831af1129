r"""EM for phase types from samples: hyper-Erlang (any censoring) and general ones (exact and right-censored).

Hyper-Erlang, branch i of weight :math:`w_i`, :math:`r_i` stages and rate :math:`\lambda_i`: a duration in (l, h]
belongs to branch i in proportion to :math:`w_i (F_{r_i}(h) - F_{r_i}(l))` and then has mean
:math:`\frac{r_i}{\lambda_i}\,\frac{F_{r_i+1}(h) - F_{r_i+1}(l)}{F_{r_i}(h) - F_{r_i}(l)}`, F the Erlang
distribution function of the same rate. (Thümmler, Buchholz and Telek, A novel approach for phase-type fitting with
the EM algorithm, IEEE Trans. Dependable Secure Comput. 3, 2006, for exact samples.) General: Asmussen, Nerman and
Olsson, Fitting phase-type distributions via the EM algorithm, Scand. J. Statist. 23, 1996, with Olsson's extension
to censoring.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammainc, gammaincc, gammaln

from crawltwin.model import PhaseType, hyper_erlang
from crawltwin.model.errors import InputError
from fitting.models import uniformisation
from fitting.models.em import EmRun, EmSettings, run_em
from fitting.trace.samples import Samples
from fitting.trace.segments import Float

STRUCTURES: tuple[tuple[int, ...], ...] = (
    *((1,), (2,), (3,), (5,), (10,)),
    *((1, 1), (1, 2), (1, 4), (2, 2), (2, 8), (4, 4)),
    *((1, 1, 1), (1, 1, 3), (1, 2, 6), (1, 1, 1, 1)),
)
"""Stages of each branch that are tried when none are given; the best by BIC is kept."""
MOST_STAGES = max(map(max, STRUCTURES))


@dataclass(frozen=True)
class PhFit:
    """A fitted phase type.

    Attributes
    ----------
    distribution : PhaseType
        The fit.
    method : str
        How it was made, in words.
    parameters : int
        Free numbers.
    log_likelihood, bic : float
        Over all samples; NaN for a fit of moments without samples.
    stages : tuple of int
        Stages of each branch of a hyper-Erlang fit, the fewest first.
    history : tuple of float
        Log-likelihood at every step.
    converged : bool
        Whether the last step gained less than the tolerance.
    notes : tuple of str
        What the reader should know.
    """

    distribution: PhaseType
    method: str
    parameters: int
    log_likelihood: float = np.nan
    bic: float = np.nan
    stages: tuple[int, ...] = ()
    history: tuple[float, ...] = ()
    converged: bool = True
    notes: tuple[str, ...] = ()

    @classmethod
    def by_em(
        cls,
        law: PhaseType,
        method: str,
        parameters: int,
        run: EmRun[Any],
        samples: Samples,
        stages: Sequence[int] = (),
    ) -> PhFit:
        """The outcome of a run on `samples` in units of their typical duration."""
        # Densities of exact samples change with the unit of time.
        likelihood = run.history[-1] - float(samples.weight[samples.exact].sum()) * np.log(samples.typical())
        bic = parameters * float(np.log(samples.total)) - 2 * likelihood
        return cls(law, method, parameters, likelihood, bic, tuple(stages), run.history, run.converged)


class _HyperErlang(NamedTuple):
    weights: Float
    shape: Float
    rate: Float


class _General(NamedTuple):
    beta: Float
    S: Float
    exits: Float


def _logs(samples: Samples, shape: Float, rate: Float) -> tuple[Float, Float]:
    """For each sample and branch: log probability (density) and conditional mean given the branch."""
    low, high = samples.low[:, None], samples.high[:, None]
    exact = samples.exact
    log_p = np.empty((samples.low.size, shape.size))
    mean = np.broadcast_to(low, log_p.shape).copy()
    with np.errstate(divide="ignore", invalid="ignore"):
        x = low[exact]
        log_p[exact] = shape * np.log(rate) - gammaln(shape) + (shape - 1) * np.log(x) - rate * x
        if not exact.all():
            a, b = low[~exact] * rate, np.where(np.isinf(high[~exact]), np.inf, high[~exact] * rate)
            inside, above = _mass(shape, a, b), _mass(shape + 1, a, b)
            log_p[~exact] = np.log(inside)
            # Where a branch has no mass left in the interval its mean there does not matter; keep it finite.
            mean[~exact] = np.where(inside > 0, shape / rate * above / inside, a / rate)
    return log_p, mean


def _mass(shape: Float, a: Float, b: Float) -> Float:
    """P(a < X <= b) of a unit-rate Erlang, from whichever tail is smaller."""
    upper = gammaincc(shape, a) - np.where(np.isinf(b), 0.0, gammaincc(shape, b))
    lower = np.where(np.isinf(b), 1.0, gammainc(shape, b)) - gammainc(shape, a)
    return np.maximum(np.where(a > shape, upper, lower), 0.0)


class _HyperSteps:
    """E and M step of a hyper-Erlang law; the statistics are each sample's shares and means in the branches."""

    def __init__(self, data: Samples) -> None:
        self.observations = data.total
        self._data = data

    def expect(self, law: _HyperErlang) -> tuple[float, tuple[Float, Float]]:
        log_p, mean = _logs(self._data, law.shape, law.rate)
        joint = log_p + np.log(law.weights)
        top = joint.max(axis=1, keepdims=True)
        top = np.where(np.isfinite(top), top, -700.0)
        part = np.exp(joint - top)
        total = np.maximum(part.sum(axis=1, keepdims=True), 1e-300)
        likelihood = float(self._data.weight @ (top + np.log(total)).ravel())
        return likelihood, (part / total * self._data.weight[:, None], mean)

    def improve(self, law: _HyperErlang, expected: tuple[Float, Float]) -> _HyperErlang:
        share, mean = expected
        count = np.maximum(share.sum(axis=0), 1e-12)
        rate = law.shape * count / np.maximum((share * mean).sum(axis=0), 1e-12 * count)
        return _HyperErlang(count / count.sum(), law.shape, rate)


def hyper_erlang_em(samples: Samples, stages: Sequence[int], *, steps: int = 1000, tolerance: float = 1e-8) -> PhFit:
    """EM for a hyper-Erlang law with the given stages of each branch.

    Parameters
    ----------
    samples : Samples
        Exact, weighted, censored on the right or known by intervals.
    stages : sequence of int
        Stages of each branch.
    steps, tolerance : int, float
        Stop after so many steps, or when a step gains less than `tolerance` nats per sample.

    Raises
    ------
    ConvergenceError
        When the likelihood fell, which EM cannot do.
    """
    scale = samples.typical()
    data = samples.in_units_of(scale)
    em = _HyperSteps(data)
    # Which branch is the short one is not known: every distinct order gets a few steps, the best one goes on.
    orders = sorted(set(itertools.permutations(int(stage) for stage in stages)))[:24]
    probes = [run_em(em, _hyper_start(data, order), EmSettings(25, tolerance)) for order in orders]
    run = max(probes, key=lambda found: found.history[-1])
    if len(orders) > 1 or not run.converged:
        run = run_em(em, run.model, EmSettings(steps, tolerance))
    weights, shape, rate = run.model
    alive = [i for i in np.argsort(shape / rate) if weights[i] > 1e-9]
    kept = weights[alive] / weights[alive].sum()
    fitted = hyper_erlang(
        [*kept[:-1].tolist(), 1 - float(kept[:-1].sum())],
        [int(shape[i]) for i in alive],
        (rate[alive] / scale).tolist(),
    )
    counted = sorted(int(stage) for stage in shape)
    method = f"hyper-Erlang {'+'.join(map(str, counted))} by EM"
    return PhFit.by_em(fitted, method, 2 * len(counted) - 1, run, samples, counted)


def _hyper_start(data: Samples, stages: Sequence[int]) -> _HyperErlang:
    """Weights, stages and rates with means spread over the sample: one branch for each quantile."""
    shape = np.array(stages, dtype=np.float64)
    branches = shape.size
    reach = np.where(np.isinf(data.high), data.low * 1.5, (data.low + data.high) / 2)
    spread = np.quantile(reach, (np.arange(branches) + 0.5) / branches)
    rate = shape / np.maximum(spread * np.geomspace(0.7, 1.4, branches), 1e-9)
    return _HyperErlang(np.full(branches, 1 / branches), shape, rate)


def best_hyper_erlang(samples: Samples, structures: Sequence[Sequence[int]] = STRUCTURES) -> PhFit:
    """The hyper-Erlang law with the smallest BIC over `structures`. Cost: one EM run each on at most 1,000 points."""
    data = samples.compressed(1000)
    fits = [hyper_erlang_em(data, stages, steps=300, tolerance=1e-6) for stages in structures]
    return min(fits, key=lambda fit: fit.bic)


class _GeneralSteps:
    """E and M step of a general phase type."""

    def __init__(self, data: Samples) -> None:
        self.observations = data.total
        self._data = data

    def expect(self, law: _General) -> tuple[float, tuple[Float, Float, Float, Float]]:
        data = self._data
        weight = np.ascontiguousarray(data.weight)
        return uniformisation.sample_expectations(data.low, weight, data.right_censored, *law)

    def improve(self, law: _General, expected: tuple[Float, Float, Float, Float]) -> _General:
        starts, time, jumps, ends = expected
        spent = np.maximum(time, 1e-300)
        exits = ends / spent
        S = np.where(np.eye(law.beta.size, dtype=bool), 0.0, np.maximum(jumps, 0.0) / spent[:, None])
        return _General(starts / starts.sum(), S - np.diag(S.sum(axis=1) + exits), exits)


def general_ph_em(samples: Samples, order: int, *, seed: int = 0, steps: int = 500, tolerance: float = 1e-7) -> PhFit:
    """EM for a general phase type of small order from exact and right-censored samples.

    Parameters
    ----------
    order : int
        Number of phases.
    seed : int
        Of the random start, whose rates lie around the mean of the samples.

    Raises
    ------
    InputError
        For samples known only by an interval.
    """
    if np.any(~samples.exact & ~samples.right_censored):
        raise InputError.at(
            "samples",
            "a general phase type takes exact and right-censored samples; got intervals",
            "Use hyper_erlang_em for those.",
        )
    scale = samples.typical()
    data = samples.in_units_of(scale).compressed()
    start = _random_start(order, np.random.default_rng(seed))
    run = run_em(_GeneralSteps(data), start, EmSettings(steps, tolerance))
    method = f"general phase type of order {order} by EM"
    return PhFit.by_em(_cleaned(run.model.beta, run.model.S / scale), method, 2 * order - 1, run, samples)


def _random_start(order: int, rng: np.random.Generator) -> _General:
    speed = order * np.geomspace(0.3, 3.0, order)[::-1]
    beta = rng.dirichlet(np.full(order, 5.0))
    split = rng.dirichlet(np.full(order + 1, 3.0), size=order)
    S = np.where(np.eye(order, dtype=bool), 0.0, speed[:, None] * split[:, :order])
    exits = speed * (split[:, order] + split[:, :order].diagonal())
    return _General(beta, S - np.diag(S.sum(axis=1) + exits), exits)


def _cleaned(beta: Float, S: Float) -> PhaseType:
    """Without rates and phases that EM has brought to nothing: they would only be states of the chain."""
    rates = -np.diag(S)
    off = np.where(np.eye(rates.size, dtype=bool), 0.0, S)
    exits = np.maximum(-S.sum(axis=1), 0.0)
    off = np.where(off > 1e-10 * rates[:, None], off, 0.0)
    start = np.where(beta > 1e-10, beta, 0.0)
    exits = np.where(exits > 1e-10 * rates, exits, 0.0)
    reached = start > 0
    for _ in range(rates.size):
        reached |= (reached @ (off > 0)).astype(bool)
    kept = np.flatnonzero(reached)
    small = off[np.ix_(kept, kept)]
    small = small - np.diag(small.sum(axis=1) + exits[kept])
    return PhaseType(start[kept] / start[kept].sum(), small)
