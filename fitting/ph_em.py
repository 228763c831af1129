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

import numpy as np
from scipy.special import gammainc, gammaincc, gammaln

from crawltwin.model import PhaseType, hyper_erlang
from crawltwin.model.errors import ConvergenceError, Fault, InputError
from fitting import ph_kernels
from fitting.samples import Float, Samples

_FALL = 1e-9
STRUCTURES: tuple[tuple[int, ...], ...] = (
    (1,),
    (2,),
    (3,),
    (5,),
    (10,),
    (1, 1),
    (1, 2),
    (1, 4),
    (2, 2),
    (2, 8),
    (4, 4),
    (1, 1, 1),
    (1, 1, 3),
    (1, 2, 6),
    (1, 1, 1, 1),
)
"""Stages a branch that are tried when none are given; the best by BIC is kept."""


@dataclass(frozen=True)
class PhFit:
    """A fitted phase type.

    Attributes
    ----------
    distribution : PhaseType
        The fit.
    method : str
        How it was made.
    log_likelihood, parameters, bic : float
        Over all samples; NaN and 0 for a fit of moments without samples.
    history : tuple of float
        Log-likelihood after every step.
    converged : bool
        Whether the last step gained less than the tolerance.
    notes : tuple of str
        What the reader should know.
    """

    distribution: PhaseType
    method: str
    log_likelihood: float
    parameters: int
    bic: float
    history: tuple[float, ...] = ()
    converged: bool = True
    notes: tuple[str, ...] = ()


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


def hyper_erlang_em(samples: Samples, stages: Sequence[int], *, steps: int = 1000, tolerance: float = 1e-8) -> PhFit:
    """EM for a hyper-Erlang law with the given stages a branch.

    Parameters
    ----------
    samples : Samples
        Exact, weighted, censored on the right or known by intervals.
    stages : sequence of int
        Stages of each branch.
    steps, tolerance : int, float
        Stop after so many steps, or when a step gains less than `tolerance` nats a sample.

    Raises
    ------
    ConvergenceError
        When the likelihood fell, which EM cannot do.
    """
    scale = samples.typical()
    data = Samples(samples.low / scale, samples.high / scale, samples.weight)
    # Which branch is the short one is not known: every distinct order gets a few steps, the best one goes on.
    orders = sorted(set(itertools.permutations(int(stage) for stage in stages)))[:24]
    probes = [_hyper_steps(data, _hyper_start(data, order), steps=25, tolerance=tolerance) for order in orders]
    probe = max(probes, key=lambda found: found[1][-1])
    (weights, shape, rate), history, converged = (
        probe if len(orders) == 1 and probe[2] else _hyper_steps(data, probe[0], steps=steps, tolerance=tolerance)
    )
    branches = shape.size
    order = np.argsort(shape / rate)
    alive = [i for i in order if weights[i] > 1e-9]
    kept = weights[alive] / weights[alive].sum()
    fitted = hyper_erlang(
        [*kept[:-1].tolist(), 1 - float(kept[:-1].sum())],
        [int(shape[i]) for i in alive],
        (rate[alive] / scale).tolist(),
    )
    # Densities of exact samples change with the unit of time.
    likelihood = history[-1] - float(samples.weight[samples.exact].sum()) * np.log(scale)
    parameters = 2 * branches - 1
    names = "+".join(str(int(stage)) for stage in sorted(shape))
    return PhFit(
        fitted,
        f"hyper-Erlang {names} by EM",
        likelihood,
        parameters,
        parameters * float(np.log(samples.total)) - 2 * likelihood,
        tuple(history),
        converged,
    )


_Hyper = tuple[Float, Float, Float]


def _hyper_start(data: Samples, stages: Sequence[int]) -> _Hyper:
    """Weights, stages and rates with means spread over the sample: one branch a quantile."""
    shape = np.array(stages, dtype=np.float64)
    branches = shape.size
    reach = np.where(np.isinf(data.high), data.low * 1.5, (data.low + data.high) / 2)
    spread = np.quantile(reach, (np.arange(branches) + 0.5) / branches)
    return np.full(branches, 1 / branches), shape, shape / np.maximum(spread * np.geomspace(0.7, 1.4, branches), 1e-9)


def _hyper_steps(data: Samples, start: _Hyper, *, steps: int, tolerance: float) -> tuple[_Hyper, list[float], bool]:
    """EM steps until one gains less than `tolerance` nats a sample; the parameters, the history, and whether it did."""
    weights, shape, rate = start
    history: list[float] = []
    for _ in range(steps):
        log_p, mean = _logs(data, shape, rate)
        joint = log_p + np.log(weights)
        top = joint.max(axis=1, keepdims=True)
        top = np.where(np.isfinite(top), top, -700.0)
        part = np.exp(joint - top)
        total = np.maximum(part.sum(axis=1, keepdims=True), 1e-300)
        likelihood = float(data.weight @ (top + np.log(total)).ravel())
        if history and likelihood - history[-1] < -_FALL * max(abs(likelihood), data.total):
            raise ConvergenceError(
                f"the log-likelihood must not fall in an EM step; got {history[-1]!r} then {likelihood!r}"
            )
        history.append(likelihood)
        if len(history) > 1 and likelihood - history[-2] < tolerance * data.total:
            return (weights, shape, rate), history, True
        share = part / total * data.weight[:, None]
        count = np.maximum(share.sum(axis=0), 1e-12)
        weights = count / count.sum()
        rate = shape * count / np.maximum((share * mean).sum(axis=0), 1e-12 * count)
    return (weights, shape, rate), history, False


def best_hyper_erlang(samples: Samples, structures: Sequence[Sequence[int]] = STRUCTURES) -> PhFit:
    """The hyper-Erlang law with the smallest BIC over `structures`. Cost: an EM each on at most 1,000 points."""
    data = samples.compressed(1000)
    fits = [hyper_erlang_em(data, stages, steps=300, tolerance=1e-6) for stages in structures]
    return min(fits, key=lambda fit: fit.bic)


def general_ph_em(
    samples: Samples, order: int, *, seed: int = 0, steps: int = 500, tolerance: float = 1e-7, acyclic: bool = False
) -> PhFit:
    """EM for a general phase type of small order from exact and right-censored samples.

    Parameters
    ----------
    order : int
        Number of phases.
    seed : int
        Of the random start, whose rates lie around the mean of the samples.
    acyclic : bool
        Coxian structure: phases in a row with an exit from each; zeros of the start stay.

    Raises
    ------
    InputError
        For samples known only by an interval.
    """
    if np.any(~samples.exact & ~samples.right_censored):
        raise InputError(
            [
                Fault(
                    "samples",
                    "a general phase type takes exact and right-censored samples; got intervals",
                    "Use hyper_erlang_em for those.",
                )
            ]
        )
    scale = samples.typical()
    data = Samples(samples.low / scale, samples.high / scale, samples.weight).compressed()
    rng = np.random.default_rng(seed)
    beta, S, exits = _random_start(order, rng, acyclic)
    censored = data.right_censored
    history: list[float] = []
    converged = False
    for _ in range(steps):
        likelihood, starts, time, jumps, ends = ph_kernels.expectations(data.low, data.weight, censored, beta, S, exits)
        if history:
            gain = likelihood - history[-1]
            if gain < -_FALL * max(abs(likelihood), data.total):
                raise ConvergenceError(
                    f"the log-likelihood must not fall in an EM step; got {history[-1]!r} then {likelihood!r}"
                )
            if gain < tolerance * data.total:
                history.append(likelihood)
                converged = True
                break
        history.append(likelihood)
        beta = starts / starts.sum()
        spent = np.maximum(time, 1e-300)
        exits = ends / spent
        S = np.where(np.eye(order, dtype=bool), 0.0, np.maximum(jumps, 0.0) / spent[:, None])
        S -= np.diag(S.sum(axis=1) + exits)
    likelihood = history[-1] - float(samples.weight[samples.exact].sum()) * np.log(scale)
    parameters = 2 * order - 1
    return PhFit(
        _cleaned(beta, S / scale),
        f"{'acyclic' if acyclic else 'general'} phase type of order {order} by EM",
        likelihood,
        parameters,
        parameters * float(np.log(samples.total)) - 2 * likelihood,
        tuple(history),
        converged,
    )


def _random_start(order: int, rng: np.random.Generator, acyclic: bool) -> tuple[Float, Float, Float]:
    speed = order * np.geomspace(0.3, 3.0, order)[::-1]
    if acyclic:
        S = np.diag(speed[:-1] * 0.6, 1) if order > 1 else np.zeros((1, 1))
        beta = np.full(order, 1 / order)
        exits = speed - S.sum(axis=1)
        return beta, S - np.diag(speed), exits
    beta = rng.dirichlet(np.full(order, 5.0))
    split = rng.dirichlet(np.full(order + 1, 3.0), size=order)
    S = np.where(np.eye(order, dtype=bool), 0.0, speed[:, None] * split[:, :order])
    exits = speed * (split[:, order] + split[:, :order].diagonal())
    return beta, S - np.diag(S.sum(axis=1) + exits), exits


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
