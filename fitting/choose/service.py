"""Service times from content sizes, and obsolescence times from repeated visits."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from crawltwin.model import PhaseType, from_mean_and_scv, from_three_moments
from crawltwin.model.errors import InputError
from crawltwin.work.memory import row_blocks
from fitting.choose.settings import SERVICE_METHODS
from fitting.models.phase_type_em import PhFit, best_hyper_erlang, general_ph_em, hyper_erlang_em
from fitting.trace.samples import Samples
from fitting.trace.segments import Float, Int

MAX_PHASES = 20
MIN_VISITS = 30
MIN_CHANGES = 5


def from_moments(m1: float, m2: float, m3: float | None = None) -> PhFit:
    """A phase type with these raw moments; where three are out of reach of `MAX_PHASES` phases, with the first two.

    For a squared coefficient of variation above 1 and a third moment above its bound this is the paper's
    hyperexponential of two phases.

    Examples
    --------
    >>> fitted = from_moments(49207.0356, 2.0527e11, 2.5773e18).distribution
    >>> round(float(min(fitted.initial)), 5)
    0.00575
    """
    notes: tuple[str, ...] = ()
    if m3 is not None:
        try:
            found = from_three_moments(m1, m2, m3)
            if found.order <= MAX_PHASES:
                return PhFit(found, "three moments", 3)
            notes = (f"three moments would need {found.order} phases; two moments are used",)
        except InputError as error:
            notes = (f"three moments cannot be met ({error}); two moments are used",)
    scv = max(m2 / m1**2 - 1, 1 / MAX_PHASES)
    return PhFit(from_mean_and_scv(m1, scv), "two moments", 2, notes=notes)


def fit_samples(samples: Samples, method: str = "moments", *, order: int = 3, seed: int = 0) -> PhFit:
    """A phase type from samples.

    Parameters
    ----------
    method : {"moments", "two-moments", "em", "general"}
        Three moments; two; hyper-Erlang by EM with the best BIC; a general phase type of `order` phases by EM.
    """
    if method == "em":
        return best_hyper_erlang(samples)
    if method == "general":
        return general_ph_em(samples, order, seed=seed)
    if method not in SERVICE_METHODS:
        raise InputError.at("service method", f"method must be one of {', '.join(SERVICE_METHODS)}; got {method!r}")
    if not samples.exact.all():
        raise InputError.at("service method", f"{method} needs exact samples; got censored ones", "Use the method em.")
    m1, m2, m3 = (samples.moment(k) for k in (1, 2, 3))
    return from_moments(m1, m2, m3 if method == "moments" else None)


def fit_sizes(sizes: Float, method: str = "moments") -> PhFit | None:
    """Law of the content size in bytes; None where the log has fewer than 30 sizes. Empty pages count as one byte."""
    told = np.isfinite(sizes)
    known = sizes if told.all() else sizes[told]
    if known.size < 30:
        return None
    if np.ptp(known) == 0:
        return PhFit(from_mean_and_scv(max(float(known[0]), 1.0), 1 / MAX_PHASES), "fixed size", 1)
    # EM and moments in units of the mean: third moments of bytes lose digits for nothing.
    scale = max(float(known.mean()), 1.0)
    units = np.maximum(known, 1.0)
    units /= scale
    units.setflags(write=False)
    fit = fit_samples(Samples.of(units), method)
    return replace(fit, distribution=fit.distribution.scaled(1 / scale))


def revisits(
    time: npt.NDArray[np.int64], page: npt.NDArray[np.uint64], content: npt.NDArray[np.uint64]
) -> tuple[Float, npt.NDArray[np.bool_]]:
    """Seconds between successive visits to the same page, and whether its content had changed; `time` never falls."""
    told = (page != 0) & (content != 0)
    known = None if told.all() else np.flatnonzero(told)
    # Times never fall, so that a stable sort by pages leaves the visits of each in order.
    same = page if known is None else page[known]
    order = np.argsort(same, kind="stable")
    again = np.concatenate([_repeated(same, order, part) for part in row_blocks(order.size)] or [order])
    first, second = order[again], order[again + 1]
    if known is not None:
        first, second = known[first], known[second]
    gap = (time[second] - time[first]) / 1e9
    changed = content[second] != content[first]
    positive = gap > 0
    return gap[positive], changed[positive]


def _repeated(page: npt.NDArray[np.uint64], order: Int, part: slice) -> Int:
    """Places of the part of the order after which the same page comes again."""
    own = page[order[part.start : part.stop + 1]]
    return np.asarray(np.flatnonzero(own[1:] == own[:-1]) + part.start)


def fit_obsolescence(gap: Float, changed: npt.NDArray[np.bool_]) -> PhFit | None:
    """Time until a page has changed, from revisits; None where they are too few.

    A page found changed after t seconds changed somewhere in (0, t]; one found the same lived longer than t. That
    is all a revisit tells, and the likelihood uses no more (Cho and Garcia-Molina, ACM TOIT 3, 2003).
    """
    if gap.size < MIN_VISITS or np.count_nonzero(changed) < MIN_CHANGES or changed.all():
        return None
    samples = Samples(np.where(changed, 0.0, gap), np.where(changed, gap, np.inf), np.ones(gap.size))
    fits = [hyper_erlang_em(samples, stages, steps=400, tolerance=1e-7) for stages in ((1,), (1, 1))]
    return min(fits, key=lambda fit: fit.bic)


def as_service(sizes: PhaseType, processing_rate: float) -> PhaseType:
    """Service times when content is processed at so many bytes per second."""
    if not (math.isfinite(processing_rate) and processing_rate > 0):
        raise InputError.at(
            "processing_rate",
            f"processing rate must be a positive number of bytes per second; got {processing_rate!r}",
        )
    return sizes.scaled(processing_rate)
