r"""The best of several policies at a stated confidence: the fully sequential procedure of Kim and Nelson.

All policies that are still in the race run one more replication, on common random numbers; one that is clearly worse
drops out. With k policies, :math:`n_0` first replications, indifference :math:`\delta` and confidence
:math:`1-\alpha`,

.. math:: \eta = \tfrac12\left[\left(\tfrac{2\alpha}{k-1}\right)^{-2/(n_0-1)} - 1\right], \qquad h^2 = 2\eta(n_0-1),

policy i stays after r replications while its mean is within
:math:`W_{il}(r) = \max\{0, \tfrac{\delta}{2r}(h^2 S_{il}^2/\delta^2 - r)\}` of every other one that is left, with
:math:`S_{il}^2` the variance of the first :math:`n_0` differences. The procedure ends by itself. The policy it names is
the best with probability :math:`1-\alpha` at least whenever it is better than the second by :math:`\delta` or more.
(S.-H. Kim and B. L. Nelson, A fully sequential procedure for indifference-zone selection in simulation, ACM TOMACS 11,
2001; valid for normal outputs, correlated between policies or not.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from crawltwin import workers as work
from crawltwin.model import SCALAR_MEASURES, Policy, Scenario, checks
from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import Faults
from simulate.plan import Length, bins_for
from simulate.replications import Job, Piece, run_piece
from simulate.streams import check_seed
from simulate.units import Reading, Units
from simulate.warmup import find_warm_up

_WARM_BINS = 5

Observe = Callable[[tuple[int, ...], int], FloatArray]
"""Given the candidates left and a replication's number: one observation for each of them, smaller is better."""


@dataclass(frozen=True)
class Race:
    """How a selection went.

    `means` holds the last mean of every candidate, `replications` how many each one ran, `sure` whether the procedure
    ended by its own rule (and not by `most` replications).
    """

    best: int
    means: tuple[float, ...]
    replications: tuple[int, ...]
    sure: bool


@dataclass(frozen=True)
class Selection:
    """The best policy, and what the race cost."""

    best: str
    measure: str
    means: Mapping[str, float]
    replications: Mapping[str, int]
    indifference: float
    confidence: float
    sure: bool
    seed: int

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        found = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {name: dict(value) if isinstance(value, Mapping) else value for name, value in found.items()}


def kim_nelson(
    observe: Observe, candidates: int, *, indifference: float, confidence: float, first: int = 20, most: int = 5000
) -> Race:
    """The procedure itself, on any source of observations; the candidate with the smallest mean wins."""
    alpha = 1 - confidence
    eta = 0.5 * ((2 * alpha / (candidates - 1)) ** (-2 / (first - 1)) - 1)
    h2 = 2 * eta * (first - 1)
    left = tuple(range(candidates))
    outputs = np.array([observe(left, r) for r in range(first)])
    gaps = outputs[:, :, None] - outputs[:, None, :]
    spread = gaps.var(axis=0, ddof=1)
    totals, counts, r = outputs.sum(axis=0), np.full(candidates, first), first
    sure = True
    while len(left) > 1:
        means = totals[list(left)] / r
        keep = []
        for position, i in enumerate(left):
            limits = [
                means[other] + max(0.0, indifference / (2 * r) * (h2 * spread[i, j] / indifference**2 - r))
                for other, j in enumerate(left)
                if j != i
            ]
            if means[position] <= min(limits):
                keep.append(i)
        left = tuple(keep)
        if len(left) == 1:
            break
        if r > h2 * max(spread[i, j] for i in left for j in left) / indifference**2 or r >= most:
            sure = r < most
            break
        totals[list(left)] += observe(left, r)
        r += 1
        counts[list(left)] = r
    means = totals / counts
    best = min(left, key=lambda i: means[i])
    return Race(best, tuple(map(float, means)), tuple(map(int, counts)), sure)


def select_best(
    scenario: Scenario,
    policies: Mapping[str, Policy],
    *,
    indifference: float,
    measure: str = "cost",
    largest: bool = False,
    confidence: float = 0.95,
    pages: int = 20_000,
    first: int = 20,
    most: int = 2000,
    seed: int = 1,
    workers: int | None = 1,
    cluster: str | None = None,
) -> Selection:
    """The policy with the smallest (or largest) value of a measure.

    Parameters
    ----------
    indifference : float
        A difference that does not matter, in the measure's unit; halving it costs up to four times the replications.
    first, most : int
        Replications that every policy runs, and that none may exceed.

    Examples
    --------
    >>> from crawltwin.model import ThresholdPolicy, examples
    >>> choices = {"always 4": ThresholdPolicy([4]), "4 or 1": ThresholdPolicy([4, 1], [2])}
    >>> select_best(examples.load("paper"), choices, indifference=5.0, pages=4000).best
    '4 or 1'
    """
    faults = Faults()
    if len(policies) < 2:
        faults.add("policies", f"policies must be two at least; got {len(policies)}")
    checks.number(indifference, "indifference", faults, above=0, way_out="It is a difference that does not matter.")
    checks.number(confidence, "confidence", faults, above=0, at_most=1 - 1e-9)
    checks.integer(first, "first", faults, at_least=5)
    checks.integer(most, "most", faults, at_least=5)
    if measure not in SCALAR_MEASURES:
        faults.add("measure", f"measure must be one of {', '.join(SCALAR_MEASURES)}; got {measure!r}")
    elif measure == "cost" and scenario.cost is None:
        faults.add("measure", "cost must have weights; got a scenario without [cost]", "Add them, or choose a measure.")
    with faults.under(""):
        check_seed(seed)
    length = Length(pages=20_000)
    with faults.under(""):
        length = Length(pages=pages, bins=bins_for(scenario.top_level + 1))
    faults.raise_if_any()
    jobs = [Job(scenario.replace(policy=policy), length, seed) for policy in policies.values()]
    readings = [Reading.of(job.scenario, job.plan().robots.size) for job in jobs]
    opening = [Piece(job, r) for r in range(first) for job in jobs]
    begun = [run for run, _ in work.run(run_piece, opening, workers=workers, cluster=cluster)]
    cut = max(find_warm_up(begun[i :: len(jobs)], reading, _WARM_BINS).bins for i, reading in enumerate(readings))
    sign = -1.0 if largest else 1.0

    def observe(left: tuple[int, ...], r: int) -> FloatArray:
        if r < first:
            runs = [begun[r * len(jobs) + i] for i in left]
        else:
            runs = list(_runs(tuple(Piece(jobs[i], r) for i in left), workers, cluster))
        sums = [Units.replications([run], cut).sums[0] for run in runs]
        return np.array([sign * float(readings[i].measures(own)[measure]) for i, own in zip(left, sums)])

    race = kim_nelson(observe, len(jobs), indifference=indifference, confidence=confidence, first=first, most=most)
    names = tuple(policies)
    return Selection(
        best=names[race.best],
        measure=measure,
        means={name: sign * mean for name, mean in zip(names, race.means)},
        replications=dict(zip(names, race.replications)),
        indifference=indifference,
        confidence=confidence,
        sure=race.sure,
        seed=seed,
    )


def _runs(pieces: tuple[Piece, ...], workers: int | None, cluster: str | None) -> Iterator[Any]:
    for run, _ in work.run(run_piece, pieces, workers=workers, cluster=cluster):
        yield run
