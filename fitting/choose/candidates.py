"""Rival models of the gaps between batches, each fitted to a training part, scored on the rest, then fitted to all.

What is held out are whole blocks, spread over the trace. No fit that is scored has seen them: the fit to the whole
trace comes afterwards and starts from the scored one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from crawltwin.model.errors import CrawltwinError
from fitting.choose import rivals
from fitting.choose.rivals import Scored
from fitting.choose.settings import FitOptions
from fitting.models.gap_model import GapModel
from fitting.trace.segments import Segments

MEAN_OFF = 0.1
"""Relative error of the mean gap above which a rival is not used."""


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
        more = ("mean_ratio", "converged", "seconds")
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
    found: list[Candidate] = []
    failed: list[str] = []

    def attempt(label: str, make: Callable[[], Scored]) -> Candidate | None:
        if progress is not None:
            progress(label)
        result = attempt_rival(label, make, data, held)
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
    return found, failed


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


def attempt_rival(label: str, make: Callable[[], Scored], data: Segments, held: Segments) -> Candidate | str:
    """The rival, fitted and scored; or words that tell why it could not be."""
    began = time.perf_counter()
    try:
        scored = make()
        held_out = scored.model.log_likelihood(held) / max(len(held), 1)
        model, converged = scored.finish(data)
        likelihood = model.log_likelihood(data)
    except (CrawltwinError, np.linalg.LinAlgError, ValueError) as error:
        return f"{label} could not be fitted: {error}"
    if not math.isfinite(likelihood):
        return f"{label} gives some gaps no likelihood at all"
    ratio = model.mean_gap / data.mean_gap
    seconds = time.perf_counter() - began
    candidate = Candidate(model, likelihood, len(data), held_out, ratio, converged, seconds, scored.notes)
    if not candidate.right_mean:
        words = f"its mean gap is {ratio:.2f} times that of the trace: not used"
        candidate = replace(candidate, notes=(*scored.notes, words))
    try:
        model.bmap()
    except CrawltwinError as error:
        return f"{candidate.name} is no process that settles: {error}"
    return candidate


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


def choose(candidates: list[Candidate], criterion: str, max_order: int) -> Candidate:
    """The best by ``bic``, ``aic`` or ``held-out`` of the rivals of at most `max_order` phases with the right mean."""
    right = [candidate for candidate in candidates if candidate.right_mean] or candidates
    small = [candidate for candidate in right if candidate.order <= max_order] or [
        min(right, key=lambda candidate: candidate.order)
    ]
    if criterion == "held-out":
        return max(small, key=lambda candidate: candidate.held_out)
    return min(small, key=lambda candidate: candidate.aic if criterion == "aic" else candidate.bic)
