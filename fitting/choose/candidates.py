"""Rival models of the gaps between batches, each fitted to a training part, scored on the rest, then fitted to all.

What is held out are whole blocks, spread over the trace. No fit that is scored has seen them: the fit to the whole
trace comes afterwards and starts from the scored one.

A trace whose training part has more than `TRAINED_GAPS` gaps is too long for hundreds of passes over it. Then EM works
on so many gaps of the training part, in blocks spread over it; every rival is still scored on all gaps that are held
out, and its likelihood is that of all gaps, one pass each. The best rival by the criterion, and those within `CLOSE` of
its likelihood, then take a few EM steps over all gaps. A fit of p parameters to m gaps lacks some p/(2 m) nats per gap
to the best one, far less than `CLOSE`: no rival that could win is left out.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from crawltwin.model.errors import CrawltwinError, InputError
from fitting.choose import rivals
from fitting.choose.rivals import Scored
from fitting.choose.settings import FitOptions
from fitting.models.gap_model import GapModel
from fitting.trace.segments import Segments

MEAN_OFF = 0.1
"""Relative error of the mean gap above which a rival is not used."""
TRAINED_BLOCKS = 40
"""Blocks of the training part of a long trace on which EM works."""
CLOSE = 0.001
"""Nats per gap behind the best rival within which others take the last steps over all gaps too."""


@dataclass(frozen=True)
class Candidate:
    """One rival.

    Attributes
    ----------
    model : GapModel
        Fitted to the whole trace; it knows its structure, from which name, family and number of parameters follow.
    log_likelihood : float
        Over all gaps; batch sizes not counted.
    gaps : int
        Number of them.
    held_out : float
        Log-likelihood per gap on blocks that the scored fit has not seen.
    trained, judged : int
        Gaps on which the model was fitted, and those of the blocks held out.
    mean_ratio : float
        Its mean gap over the trace's. EM keeps it at 1 unless the trace is no stationary one.
    converged : bool
        Whether the last fit came to rest within its steps.
    seconds : float
        Time to fit.
    notes : tuple of str
        Feasibility verdicts and other remarks.
    """

    model: GapModel
    log_likelihood: float
    gaps: int
    held_out: float
    mean_ratio: float
    converged: bool
    seconds: float = field(compare=False)
    trained: int
    judged: int
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What it is, for people."""
        return self.model.structure.label

    @property
    def method(self) -> str:
        """The family it belongs to."""
        return self.model.structure.family

    @property
    def order(self) -> int:
        """Number of phases."""
        return self.model.order

    @property
    def parameters(self) -> int:
        """Number of free parameters."""
        return self.model.structure.parameters

    @property
    def aic(self) -> float:
        """Akaike's criterion."""
        return 2 * self.parameters - 2 * self.log_likelihood

    @property
    def bic(self) -> float:
        """Schwarz's criterion."""
        return self.parameters * math.log(self.gaps) - 2 * self.log_likelihood

    @property
    def right_mean(self) -> bool:
        """Whether its mean gap is that of the trace.

        A process whose mean gap is more than `MEAN_OFF` off has followed a change of the rate that will not come
        back; it would be wrong for ever after.
        """
        return abs(self.mean_ratio - 1) <= MEAN_OFF

    def slowed(self, factor: float) -> Candidate:
        """The same rival with every gap `factor` times as long; log-likelihoods change with the unit of time."""
        shift = 0.0 if self.model.unit_free else math.log(factor)
        likelihood = self.log_likelihood - self.gaps * shift
        return replace(self, model=self.model.slowed(factor), log_likelihood=likelihood, held_out=self.held_out - shift)

    def to_json(self) -> dict[str, Any]:
        """As a plain dictionary, without the matrices."""
        names = ("name", "method", "order", "parameters", "log_likelihood", "aic", "bic", "held_out")
        more = ("mean_ratio", "converged", "trained", "judged", "seconds")
        return {name: getattr(self, name) for name in (*names, *more)} | {"notes": list(self.notes)}


def fit_candidates(
    data: Segments, options: FitOptions | None = None, progress: Callable[[str], None] | None = None
) -> tuple[list[Candidate], list[str]]:
    """Fit all rivals of the chosen families.

    Parameters
    ----------
    data : Segments
        Gaps between batches.
    options : FitOptions, optional
        Families and their sizes; Erlang branches are added while the BIC falls.
    progress : callable, optional
        Told what is being fitted.

    Returns
    -------
    tuple
        Candidates in the order of the families, and words about rivals that could not be fitted.
    """
    chosen = options or FitOptions()
    train, held = data.split()
    long = len(train) > rivals.TRAINED_GAPS
    train = train.sample(rivals.TRAINED_GAPS, TRAINED_BLOCKS)
    found: list[Candidate] = []
    failed: list[str] = []

    def attempt(label: str, make: Callable[[], Scored]) -> Candidate | None:
        if progress is not None:
            progress(label)
        result = attempt_rival(label, make, data, held, train if long else None)
        if isinstance(result, str):
            failed.append(result)
            return None
        found.append(result)
        return result

    for label, make in _single_rivals(train, chosen):
        attempt(label, make)
    best = math.inf
    for branches in range(2, chosen.max_branches + 1 if "erlang" in chosen.methods else 0):
        if len(data) < 30 * branches**2:
            break
        result = attempt(f"{branches} Erlang branches", partial(rivals.erlang, train, branches, chosen.max_stages))
        if result is None or result.bic > best + 10:
            break
        best = min(best, result.bic)
    if long and found:
        found = _over_all(found, data, chosen, progress)
    return found, failed


def _over_all(
    found: list[Candidate], data: Segments, options: FitOptions, progress: Callable[[str], None] | None
) -> list[Candidate]:
    """The rivals of a long trace, those that could win fitted to all gaps."""
    wanted = _wanted(found, options)
    best = choose(wanted, options.criterion, options.max_phases)
    level = best.log_likelihood - CLOSE * len(data)
    result = []
    for rival in found:
        near = rival in wanted and rival.log_likelihood >= level and rival.order <= options.max_phases
        if near and rival.trained < len(data):
            if progress is not None:
                progress(f"{rival.name}, {len(data):,} gaps")
            began = time.perf_counter()
            model, converged = rivals.over_all(rival.model, data, options.max_stages)
            seconds = rival.seconds + time.perf_counter() - began
            fitted = replace(rival, model=model, converged=converged, trained=len(data), seconds=seconds)
            rival = _judged(fitted, data)
        result.append(rival)
    return result


def _single_rivals(train: Segments, options: FitOptions) -> Iterator[tuple[str, Callable[[], Scored]]]:
    """Every rival that is fitted once, with words for the progress."""
    order = options.map_order
    every: dict[str, tuple[str, Callable[[], Scored]]] = {
        "poisson": ("Poisson", partial(rivals.poisson, train)),
        "renewal": ("renewal (hyper-Erlang)", partial(rivals.renewal, train)),
        "map2": ("MAP(2) from moments and decay", partial(rivals.order_two, train, options.third_moment)),
        "mmpp2": ("MMPP(2) by EM", partial(rivals.mmpp, train)),
        "map": (f"MAP({order}) by EM", partial(rivals.general, train, order)),
    }
    return (rival for family, rival in every.items() if family in options.methods)


def attempt_rival(
    label: str, make: Callable[[], Scored], data: Segments, held: Segments, part: Segments | None = None
) -> Candidate | str:
    """The rival, fitted and scored; or words that tell why it could not be. EM is finished on `part`, or on `data`."""
    began = time.perf_counter()
    try:
        scored = make()
        held_out = scored.model.log_likelihood(held) / max(len(held), 1)
        used = data if part is None or scored.closed else part
        model, converged = scored.finish(used)
        trained = min(len(used), scored.largest)
        fitted = Candidate(model, 0.0, len(data), held_out, 1.0, converged, 0.0, trained, len(held), scored.notes)
        candidate = replace(_judged(fitted, data), seconds=time.perf_counter() - began)
    except (CrawltwinError, np.linalg.LinAlgError, ValueError) as error:
        return f"{label} could not be fitted: {error}"
    except ZeroDivisionError:
        # The compiled passes divide by the likelihood of each gap.
        return f"{label} gives some gaps no likelihood at all"
    if not math.isfinite(candidate.log_likelihood):
        return f"{label} gives some gaps no likelihood at all"
    if not candidate.right_mean:
        words = f"its mean gap is {candidate.mean_ratio:.2f} times that of the trace: not used"
        candidate = replace(candidate, notes=(*scored.notes, words))
    try:
        candidate.model.bmap()
    except CrawltwinError as error:
        return f"{candidate.name} is no process that settles: {error}"
    return candidate


def _judged(rival: Candidate, data: Segments) -> Candidate:
    """The rival with the likelihood and the mean of its model on the whole trace. Cost: one pass."""
    likelihood, ratio = rival.model.log_likelihood(data), rival.model.mean_gap / data.mean_gap
    return replace(rival, log_likelihood=likelihood, mean_ratio=ratio)


def never_settles(candidates: list[Candidate], chosen: Candidate) -> str:
    """A sentence if a clearly better rival was passed over because its mean gap is not the trace's; else empty."""
    better = [c for c in candidates if not c.right_mean and c.bic < chosen.bic - 10]
    if not better:
        return ""
    best = min(better, key=lambda candidate: candidate.bic)
    return (
        f"the trace changes its rate for good: {best.name} follows it much better but would settle at a mean gap "
        f"{best.mean_ratio:.2f} times that of the trace; fit a stretch on its own"
    )


def _wanted(found: list[Candidate], options: FitOptions) -> list[Candidate]:
    """Those of the family that was asked for, or all where it has none."""
    return [rival for rival in found if options.model in (None, rival.method)] or found


def best_of(found: list[Candidate], failed: list[str], options: FitOptions, what: str = "gaps") -> Candidate:
    """The chosen rival; an error that tells what failed where there is none."""
    if not found:
        raise InputError.at("log", f"at least one model must fit the {what}; got none: " + "; ".join(failed))
    return choose(_wanted(found, options), options.criterion, options.max_phases)


def choose(candidates: list[Candidate], criterion: str, max_order: int) -> Candidate:
    """The best by ``bic``, ``aic`` or ``held-out`` of the rivals of at most `max_order` phases with the right mean."""
    right = [candidate for candidate in candidates if candidate.right_mean] or candidates
    small = [candidate for candidate in right if candidate.order <= max_order] or [
        min(right, key=lambda candidate: candidate.order)
    ]
    if criterion == "held-out":
        return max(small, key=lambda candidate: candidate.held_out)
    return min(small, key=lambda candidate: candidate.aic if criterion == "aic" else candidate.bic)
