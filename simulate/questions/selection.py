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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from crawltwin.model import SCALAR_MEASURES, InputError, Policy, Scenario, checks
from crawltwin.model.checks import FloatArray
from crawltwin.model.errors import Faults
from crawltwin.model.measures import unit_of
from crawltwin.model.results.display import Shown
from crawltwin.model.scenario import takes_scenario
from crawltwin.work import workers as work
from simulate.engine.length import Length, bins_for
from simulate.engine.statistics import RunStatistics
from simulate.questions.comparison import check_policies
from simulate.sample.collection import WARM_BINS
from simulate.sample.replications import Job, Piece, run_piece
from simulate.sample.settings import SimulationSettings
from simulate.sample.units import Reading, Units
from simulate.sample.warm_up import find_warm_up

if TYPE_CHECKING:
    import pandas as pd

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


@dataclass(frozen=True, repr=False)
class Selection(Shown):
    """The best policy, and what the race cost."""

    best: str
    measure: str
    means: Mapping[str, float]
    replications: Mapping[str, int]
    indifference: float
    confidence: float
    sure: bool
    seed: int
    largest: bool = False

    def headline(self) -> str:
        """The winner, and whether that is sure."""
        sure = f"at {self.confidence:.0%} confidence" if self.sure else "without certainty: the budget ended first"
        kind = "largest" if self.largest else "smallest"
        return f"{self.best} has the {kind} {self.measure} of {len(self.means)} policies, {sure}"

    def to_frame(self) -> pd.DataFrame:
        """One row for each policy: its mean, and the replications that it got."""
        import pandas as pd

        rows = [(name, mean, self.replications[name], name == self.best) for name, mean in self.means.items()]
        frame = pd.DataFrame(rows, columns=["policy", "mean", "replications", "best"])
        frame.attrs["units"] = {"mean": unit_of(self.measure)}
        return frame

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {name: dict(value) if isinstance(value, Mapping) else value for name, value in vars(self).items()}


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


@dataclass(frozen=True, kw_only=True)
class SelectionSettings:
    """What is selected, how surely, and with which replications.

    Parameters
    ----------
    indifference : float
        A difference that does not matter, in the measure's unit; halving it costs up to four times the replications.
    measure : str
        What decides.
    largest : bool
        Whether the largest value wins, not the smallest.
    first, most : int
        Replications that every policy runs, and that none may exceed.
    confidence, pages, seed, workers, cluster
        See `SimulationSettings`.
    """

    indifference: float
    measure: str = "cost"
    largest: bool = False
    confidence: float = 0.95
    pages: int = 20_000
    first: int = 20
    most: int = 2000
    seed: int = 1
    workers: int | None = 1
    cluster: str | None = None

    def __post_init__(self) -> None:
        faults = Faults()
        checks.number(
            self.indifference, "indifference", faults, above=0, way_out="It is a difference that does not matter."
        )
        first = checks.integer(self.first, "first", faults, at_least=5)
        checks.integer(self.most, "most", faults, at_least=first or 5)
        if self.measure not in SCALAR_MEASURES:
            faults.add("measure", f"measure must be one of {', '.join(SCALAR_MEASURES)}; got {self.measure!r}")
        with faults.under(""):
            SimulationSettings(pages=self.pages, seed=self.seed, confidence=self.confidence, workers=self.workers)
        faults.raise_if_any()


@takes_scenario
def select_best(
    scenario: Scenario, policies: Mapping[str, Policy], settings: SelectionSettings | None = None, **options: Any
) -> Selection:
    """The policy with the smallest (or largest) value of a measure; `options` are fields of `SelectionSettings`.

    Examples
    --------
    >>> from crawltwin.model import ThresholdPolicy, examples
    >>> choices = {"always 4": ThresholdPolicy([4]), "4 or 1": ThresholdPolicy([4, 1], [2])}
    >>> select_best(examples.load("paper"), choices, indifference=5.0, pages=4000).best
    '4 or 1'
    """
    faults = Faults()
    check_policies(policies, faults)
    if settings is None and "indifference" not in options:
        words = "indifference must be given: a difference of the measure that does not matter; got none"
        faults.add("indifference", words)
    else:
        with faults.under(""):
            settings = replace(settings, **options) if settings else SelectionSettings(**options)
    if settings is not None and settings.measure == "cost" and scenario.cost is None:
        faults.add("measure", "cost must have weights; got a scenario without [cost]", "Add them, or choose a measure.")
    faults.raise_if_any()
    assert settings is not None
    length = Length(pages=settings.pages, bins=bins_for(scenario.top_level + 1))
    jobs = [Job(scenario.replace(policy=policy), length, settings.seed) for policy in policies.values()]
    readings = [Reading.of(job.scenario) for job in jobs]

    def run(replications: range, left: Sequence[int]) -> list[RunStatistics]:
        pieces = [Piece(jobs[i], r) for r in replications for i in left]
        return [run for run, _ in work.run(run_piece, pieces, workers=settings.workers, cluster=settings.cluster)]

    first, count, sign = settings.first, len(jobs), -1.0 if settings.largest else 1.0
    begun = run(range(first), range(count))
    cut = max(find_warm_up(begun[i::count], reading, WARM_BINS).bins for i, reading in enumerate(readings))

    def observe(left: tuple[int, ...], r: int) -> FloatArray:
        runs = [begun[r * count + i] for i in left] if r < first else run(range(r, r + 1), left)
        sums = [Units.replications([run], cut).sums[0] for run in runs]
        found = [readings[i].measures(own).get(settings.measure, np.nan) for i, own in zip(left, sums, strict=True)]
        values = np.array(found, np.float64)
        if not np.isfinite(values).all():
            raise InputError(
                f"measure must be one that every replication of every policy shows; got {settings.measure!r}, which "
                f"replication {r + 1} does not. Choose another one, or longer replications"
            )
        return sign * values

    race = kim_nelson(
        observe,
        count,
        indifference=settings.indifference,
        confidence=settings.confidence,
        first=first,
        most=settings.most,
    )
    names = tuple(policies)
    return Selection(
        best=names[race.best],
        measure=settings.measure,
        means={name: sign * mean for name, mean in zip(names, race.means)},
        replications=dict(zip(names, race.replications)),
        indifference=settings.indifference,
        confidence=settings.confidence,
        sure=race.sure,
        seed=settings.seed,
        largest=settings.largest,
    )
