r"""D^(r) for each number of robots that was seen, and for those between them: arrivals of `kind = "modes"`.

One *base* process, begun at the chosen model of the gaps, stands behind all numbers of robots. With r robots it is
*scaled*, :math:`s_r D_k`, as if its clock ran slower, or *thinned*, each batch kept with probability :math:`s_r`, as if
the spells of the web went on at their own pace: the form with the larger likelihood. Base and shares are fitted to the
gaps of all numbers together. A share by likelihood is known far better than a mean rate, which long regimes make
uncertain by several percent: it compares robots within the same regime.

- *Scaled*: in turn each :math:`s_r` by a search on one line, and the base by EM on all gaps times :math:`s_r`.
- *Thinned*: EM with the dropped batches as what is missing. A hidden jump of the thinned process is a dropped batch
  with probability :math:`(1-s_r) D_1(i,j) / (D_0(i,j) + (1-s_r) D_1(i,j))`, and :math:`s_r` is batches over batches
  with the dropped ones. For bases by their matrices; others keep theirs, with shares by a search.

The gaps of one number may have another form than the base: then a fit of its own, begun at the base so that each phase
keeps its meaning (the modes of a scenario share their phases), is better on blocks that it has not seen, and is taken.
Numbers that were not seen take the process of the nearest one, changed by the law of `rate_laws`.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.optimize import minimize_scalar

from crawltwin.model import BMAP
from crawltwin.model.arrivals.kinds import ControlledArrivals, ModeMatrices
from crawltwin.model.errors import CrawltwinError
from fitting.models import uniformisation
from fitting.models.em import EmSettings
from fitting.models.gap_model import GapModel
from fitting.models.general_map import GeneralMap
from fitting.robots.rate_laws import RobotEvidence, page_rate
from fitting.trace import bootstrap
from fitting.trace.segments import Segments

Form = Literal["scaled", "thinned"]
FEWEST = 200
"""Gaps that a number of robots must have for a process of its own."""
COMPARED = 20_000
"""Gaps of a number of robots that are used to choose its process."""
ROUNDS = 2
"""Turns of shares and base."""
BETTER = 0.002
"""Nats per gap that a fit of its own must gain over the base on blocks left out."""
EM = EmSettings(steps=40, tolerance=1e-6, same_stages=True)
AGAIN = replace(EM, steps=12, tolerance=1e-5)


@dataclass(frozen=True, eq=False)
class Mode:
    """The process of one number of robots that was seen.

    Attributes
    ----------
    robots : int
    source : {"base", "refitted"}
        The base with its share, or a fit of its own.
    process : BMAP
        In seconds, on the phases of the base.
    held_out : mapping
        Log-likelihood per gap of each rival on the blocks left out; empty where the gaps are too few.
    """

    robots: int
    source: str
    process: BMAP
    held_out: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class LearnedModes:
    """What each number of robots brings, learned from crawls with several numbers of them.

    Attributes
    ----------
    base : GapModel
        The chosen model with its batches, in seconds.
    traces : tuple of (int, Segments)
        Gaps for each number of robots, the fewest first.
    evidence : RobotEvidence
        Rates that were seen.
    law : str
        Their law, which stays when rates are drawn again.
    form : {"scaled", "thinned"}
        How the base becomes the process of another number.
    modes : mapping
        By number of robots.
    each : int
        So many of these robots are one robot of the arrivals.
    """

    kind: ClassVar[str] = "modes"
    base: GapModel
    traces: tuple[tuple[int, Segments], ...]
    evidence: RobotEvidence
    law: str
    form: Form
    modes: Mapping[int, Mode]
    each: int = 1

    @property
    def words(self) -> tuple[str, ...]:
        """Where the process of each number comes from."""
        told = {"base": f"{self.form} from one base", "refitted": "a fit of its own"}
        listed = ", ".join(f"{mode.robots}: {told[mode.source]}" for mode in self.modes.values())
        return (f"processes by number of robots: {listed}; others by the {self.law} law",)

    def arrivals(self, robots: int) -> ControlledArrivals:
        """One process for each number up to `robots`, on common phases."""
        return ModeMatrices({number: self._of(number * self.each) for number in range(1, robots + 1)})

    def _of(self, number: int) -> BMAP:
        if number in self.modes:
            return self.modes[number].process
        near = min(self.modes, key=lambda seen: (abs(math.log(seen / number)), -seen))
        share = self.evidence.relative(number, self.law) / self.evidence.relative(near, self.law)
        return _changed(self.modes[near].process, share, self.form)

    def redrawn(self, robots: int, rng: np.random.Generator) -> ControlledArrivals:
        """Each trace resampled in blocks, base and shares fitted again; form and sources stay as they were chosen."""
        drawn = [(number, bootstrap.resampled(data, bootstrap.block_length(data), rng)) for number, data in self.traces]
        found = _together(self.base, drawn, self.form, AGAIN, rounds=1)
        return self._with(found, drawn).arrivals(robots)

    def _with(self, found: _Together, traces: Sequence[tuple[int, Segments]]) -> LearnedModes:
        """These base and shares in place of its own."""
        process = found.base.bmap()
        modes = {}
        for (number, data), share in zip(traces, found.shares, strict=True):
            mode = self.modes[number]
            own = mode.source == "refitted"
            changed = _refitted(found.base, data, AGAIN).bmap() if own else _changed(process, share, self.form)
            modes[number] = replace(mode, process=changed)
        rates = self.evidence.with_rates([mode.process.page_rate for mode in modes.values()])
        return replace(self, base=found.base, evidence=rates, modes=modes)

    def to_json(self) -> dict[str, Any]:
        """As a plain dictionary."""
        return {
            "form": self.form,
            "modes": {
                str(mode.robots): {
                    "source": mode.source,
                    "page_rate": mode.process.page_rate,
                    "held_out": dict(mode.held_out),
                }
                for mode in self.modes.values()
            },
            "words": list(self.words),
        }


def learn_modes(base: GapModel, traces: Sequence[tuple[int, Segments]], evidence: RobotEvidence) -> LearnedModes | None:
    """The process of each number of robots; None where fewer than two numbers were seen.

    Parameters
    ----------
    base : GapModel
        The chosen model with its batches, in seconds.
    traces : sequence of (int, Segments)
        Gaps for each number of robots.
    evidence : RobotEvidence
        Of the same traces.

    Notes
    -----
    Cost: some tens of EM steps over all gaps, and one EM run for each number of robots.
    """
    if not evidence.known:
        return None
    ordered = tuple(sorted(traces, key=lambda item: item[0]))
    few = [(number, data.sample(COMPARED)) for number, data in ordered]
    forms: tuple[Form, ...] = ("scaled", "thinned")
    rivals = {form: _together(base, few, form, EM, rounds=ROUNDS) for form in forms}
    form = max(forms, key=lambda name: rivals[name].likelihood)
    found = rivals[form]
    process = found.base.bmap()
    modes = {}
    for (number, data), share in zip(ordered, found.shares, strict=True):
        mode = _changed(process, share, form)
        scores = _held_out(found.base, mode, data)
        own = scores.get("refitted", -math.inf) > scores.get("base", math.inf) + BETTER
        chosen = _refitted(found.base, data, EM).bmap() if own else mode
        modes[number] = Mode(number, "refitted" if own else "base", chosen, scores)
    seen = evidence.with_rates([mode.process.page_rate for mode in modes.values()])
    # Whether rates are proportional is judged without a model; which curve they follow, by the better rates.
    law = seen.law if evidence.law != "proportional" and seen.law != "proportional" else evidence.law
    return LearnedModes(found.base, ordered, seen, law, form, modes)


def _held_out(base: GapModel, mode: BMAP, data: Segments) -> dict[str, float]:
    """Log-likelihood per gap on blocks left out, of the base with its share and of a fit of its own; none of few gaps.

    The base has seen all gaps and the fit has not, so that it is taken only where the base cannot be right.
    """
    if len(data) < FEWEST:
        return {}
    train, held = data.sample(COMPARED).split()
    found = {"base": _likelihood(mode, held) / len(held)}
    with contextlib.suppress(CrawltwinError):
        found["refitted"] = _refitted(base, train, EM).without_batches().log_likelihood(held) / len(held)
    return found


@dataclass(frozen=True, eq=False)
class _Together:
    """A base for all numbers of robots, the share of each, and the log-likelihood of all gaps."""

    base: GapModel
    shares: tuple[float, ...]
    likelihood: float


def _together(
    base: GapModel, traces: Sequence[tuple[int, Segments]], form: str, settings: EmSettings, rounds: int
) -> _Together:
    rate = base.bmap().page_rate
    most = max(page_rate(data) for _, data in traces) / rate
    # The number that brings most is the base itself; thinned ones bring less.
    shares = [page_rate(data) / rate / most for _, data in traces]
    base = base.slowed(1 / most)
    for _ in range(rounds):
        shares = [_best_share(base.bmap(), data, form, share) for (_, data), share in zip(traces, shares, strict=True)]
        if form == "scaled":
            base = _refitted(base, _joined(traces, shares), settings)
        elif isinstance(base, GeneralMap):
            base, shares = _thinned_together(base, traces, shares, settings)
    process = base.bmap()
    shares = [_best_share(process, data, form, share) for (_, data), share in zip(traces, shares, strict=True)]
    total = sum(
        _likelihood(_changed(process, share, form), data) for (_, data), share in zip(traces, shares, strict=True)
    )
    return _Together(base, tuple(shares), total)


def _best_share(process: BMAP, data: Segments, form: str, near: float) -> float:
    """The most likely share of the process in these gaps, within a factor of 2 of the present one."""
    most = 0.0 if form == "thinned" else math.inf

    def lacking(log_share: float) -> float:
        return -_likelihood(_changed(process, math.exp(log_share), form), data)

    at = min(math.log(near), most)
    found = minimize_scalar(lacking, bounds=(at - 0.7, min(at + 0.7, most)), method="bounded", options={"xatol": 1e-3})
    return math.exp(float(found.x))


def _joined(traces: Sequence[tuple[int, Segments]], shares: Sequence[float]) -> Segments:
    """All gaps in the time of the base, each trace as stretches of its own."""
    gaps = np.concatenate([data.gaps * share for (_, data), share in zip(traces, shares, strict=True)])
    sizes = np.concatenate([data.sizes for _, data in traces])
    starts = np.cumsum([0, *(len(data) for _, data in traces[:-1])])
    first = np.concatenate([data.first + start for (_, data), start in zip(traces, starts.tolist(), strict=True)])
    return Segments(gaps, sizes, first)


def _thinned_together(
    base: GeneralMap, traces: Sequence[tuple[int, Segments]], shares: list[float], settings: EmSettings
) -> tuple[GeneralMap, list[float]]:
    """EM for one base that is thinned with another share for each trace."""
    model, shares = base.without_batches(), list(shares)
    n = model.order
    for _ in range(settings.steps):
        time, jumps, batches = np.zeros(n), np.zeros((n, n)), np.zeros((n, n))
        for k, (_, data) in enumerate(traces):
            D0, D1, share = model.D0, model.D1, shares[k]
            law = GeneralMap(D0 + (1 - share) * D1, share * D1)
            _, (spent, hidden, kept, *_) = uniformisation.expectations(law.marked(data), law.phases(law.start))
            silent = np.where(np.eye(n, dtype=bool), 0.0, D0)
            with np.errstate(invalid="ignore", divide="ignore"):
                dropped = np.where(D1 > 0, (1 - share) * D1 / (silent + (1 - share) * D1), 0.0) * hidden
            # A dropped batch that leaves the phase as it is, is no jump: its number follows from the time.
            dropped[np.diag_indices(n)] = (1 - share) * np.diag(D1) * spent
            time += spent
            jumps += np.where(np.eye(n, dtype=bool), 0.0, hidden - dropped)
            batches += kept + dropped
            shares[k] = float(kept.sum() / (kept + dropped).sum())
        D0, D1 = np.maximum(jumps, 0.0) / time[:, None], np.maximum(batches, 0.0) / time[:, None]
        D0 -= np.diag(D0.sum(axis=1) + D1.sum(axis=1))
        model = replace(model, D0=D0, D1=D1)
    # Only the product of share and rate is seen: the largest share is one.
    most = max(shares)
    thin = replace(model, D0=model.D0 + (1 - most) * model.D1, D1=most * model.D1)
    return replace(thin, q=base.q), [share / most for share in shares]


def _changed(process: BMAP, share: float, form: str) -> BMAP:
    """The process with that share of its pages; one that must bring more cannot be thinned and is scaled."""
    return process.thinned(share) if form == "thinned" and share <= 1 else process.scaled(share)


def _refitted(base: GapModel, data: Segments, settings: EmSettings) -> GapModel:
    """The base with its structure fitted to other gaps, begun at their mean; batches as in these data."""
    unit = float(data.gaps.mean())
    start = base.without_batches().slowed(1 / base.mean_gap)
    found = start.refit(data.scaled(1 / unit), settings).model
    return found.with_batch_sizes(data.batch_shares).slowed(unit)


def _likelihood(process: BMAP, data: Segments) -> float:
    """Log-likelihood of the epochs of the batches."""
    unit = 1 / process.batch_rate
    D0, every = (np.asarray(block * unit) for block in (process.D[0], sum(process.D[1:])))
    return GeneralMap(D0, every).log_likelihood(data.scaled(1 / unit)) - len(data) * math.log(unit)
