r"""D^(r) for each number of robots that was seen, and for those between them: arrivals of `kind = "modes"`.

The chosen model of the gaps, the *base*, is of the log with the most robots (or of all of one log whose number of
robots changes). For another number r that was seen there are rival processes on the phases of the base, which the modes
of a scenario share:

- the base *scaled*, as if its clock ran slower, or *thinned*, each batch kept by chance as if the spells of the web
  went on at their own pace; with the rate of the law of `rate_laws`, or with the rate that was seen;
- the base *refitted* to the gaps with r robots, EM begun at the base, so that each phase keeps its meaning.

They are compared on blocks of the gaps with r robots that no fit has seen. Whether streams are scaled or thinned is
decided once for all numbers. Numbers that were not seen take the process of the nearest number that was (on a
logarithmic scale), scaled or thinned by the law.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from crawltwin.model import BMAP
from crawltwin.model.arrivals.kinds import ControlledArrivals, ModeMatrices
from crawltwin.model.errors import CrawltwinError
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
EM = EmSettings(steps=60, tolerance=1e-6, same_stages=True)
AGAIN = replace(EM, steps=12, tolerance=1e-5)


@dataclass(frozen=True, eq=False)
class Mode:
    """The process of one number of robots that was seen.

    Attributes
    ----------
    robots : int
    source : {"base", "law", "seen", "refitted"}
        The base itself; the base with the rate of the law or with the rate that was seen; a fit of its own.
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
        told = {
            "base": "the fitted model itself",
            "law": f"the model {self.form} by the {self.law} law",
            "seen": f"the model {self.form} to the rate that was seen",
            "refitted": "a fit of its own",
        }
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
        """Each trace resampled in blocks, its rate and its process taken again; the rivals stay as they were chosen."""
        drawn = [(number, bootstrap.resampled(data, bootstrap.block_length(data), rng)) for number, data in self.traces]
        evidence = self.evidence.with_rates([page_rate(data) for _, data in drawn])
        base = self.base
        if self.modes[drawn[-1][0]].source == "base":
            base = _refitted(self.base, drawn[-1][1], AGAIN)
        modes = {}
        for number, data in drawn:
            mode = self.modes[number]
            rate = evidence.fitted_rate(number, self.law)
            modes[number] = replace(mode, process=_own(mode.source, base, data, rate, self.form, AGAIN))
        return replace(self, base=base, evidence=evidence, modes=modes).arrivals(robots)

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


def learn_modes(
    base: GapModel, traces: Sequence[tuple[int, Segments]], evidence: RobotEvidence, *, own: bool
) -> LearnedModes | None:
    """The process of each number of robots; None where fewer than two numbers were seen.

    Parameters
    ----------
    base : GapModel
        With batches, in seconds.
    traces : sequence of (int, Segments)
        Gaps for each number of robots.
    evidence : RobotEvidence
        Of the same traces.
    own : bool
        Whether the base is the model of the trace with the most robots.

    Notes
    -----
    Cost: two short EM runs for each number of robots.
    """
    if not evidence.known:
        return None
    ordered = tuple(sorted(traces, key=lambda item: item[0]))
    process = base.bmap()
    most = ordered[-1][0]
    rates = {number: evidence.fitted_rate(number) for number, _ in ordered}
    scores = {number: _scores(base, data, rates[number]) for number, data in ordered if not (own and number == most)}
    forms: tuple[Form, ...] = ("scaled", "thinned")
    totals = {form: sum(max(found[form].values(), default=0.0) for found in scores.values()) for form in forms}
    form = max(forms, key=lambda name: totals[name])
    modes = {}
    for number, data in ordered:
        if number not in scores:
            modes[number] = Mode(number, "base", process, {})
            continue
        rivals = scores[number]
        known = {**rivals[form], **rivals["own"]}
        source = max(known, key=lambda name: known[name]) if known else "law"
        found = _own(source, base, data, rates[number], form, EM)
        per_gap = {name: value / max(rivals["gaps"]["held"], 1.0) for name, value in known.items()}
        modes[number] = Mode(number, source, found, per_gap)
    return LearnedModes(base, ordered, evidence, evidence.law, form, modes)


def _scores(base: GapModel, data: Segments, law_rate: float) -> dict[str, dict[str, float]]:
    """Log-likelihoods of the rivals on the blocks left out, streams by their form; nothing where gaps are few."""
    found: dict[str, dict[str, float]] = {"scaled": {}, "thinned": {}, "own": {}, "gaps": {}}
    if len(data) < FEWEST:
        return found
    process = base.bmap()
    train, held = data.sample(COMPARED).split()
    found["gaps"]["held"] = float(len(held))
    shares = {"law": law_rate / process.page_rate, "seen": page_rate(train) / process.page_rate}
    for form in ("scaled", "thinned"):
        for source, share in shares.items():
            found[form][source] = _likelihood(_changed(process, share, form), held)
    try:
        refitted = _refitted(base, train, EM)
        found["own"]["refitted"] = refitted.without_batches().log_likelihood(held)
    except CrawltwinError:
        pass
    return found


def _own(source: str, base: GapModel, data: Segments, law_rate: float, form: str, settings: EmSettings) -> BMAP:
    """The process of one number of robots from its source."""
    if source == "refitted":
        return _refitted(base, data, settings).bmap()
    process = base.bmap()
    if source == "base":
        return process
    return _changed(process, (page_rate(data) if source == "seen" else law_rate) / process.page_rate, form)


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
