"""Ready scenarios: the founding paper's examples with their misprints corrected, and one for each kind of arrivals.

The corrections (a lost minus sign in D_0 of three robots, two minus signs too many for two robots) are the only ones
that make the printed matrices generators; `docs/misprints.md` has the proofs.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from crawltwin.model.arrivals.fetching import FetchingRobots
from crawltwin.model.arrivals.kinds import IndependentRobots, MarkedStream, ModeMatrices, ScaledStream, ThinnedStream
from crawltwin.model.arrivals.spells import Spells
from crawltwin.model.bmap import BMAP
from crawltwin.model.errors import InputError
from crawltwin.model.laws import families
from crawltwin.model.laws.phase_type import PhaseType
from crawltwin.model.policies.cost import CostWeights
from crawltwin.model.policies.thresholds import ThresholdPolicy
from crawltwin.model.scenario import Scenario

_PAPER_COST = CostWeights(loss=5, obsolescence=10, response=2, robots=20, starvation=300)
_PAPER_SERVICE = PhaseType([0.4, 0.6], [[-3, 1], [2, -3]])
_PAPER_OBSOLESCENCE = PhaseType([0.3, 0.7], [[-0.6, 0.4], [0.1, -0.3]])
_BATCH_SIZES = (
    0.040445227,
    0.18404232,
    0.26405114,
    0.5057307,
    8.8163983e-4,
    7.7143486e-4,
    0.0018734847,
    0.00220405,
)


@dataclass(frozen=True)
class Example:
    """A named scenario with a sentence about it."""

    name: str
    words: str
    build: Callable[[], Scenario]


def paper_arrivals() -> ModeMatrices:
    """Section 7: one to four robots, interpretation 4."""
    zero = [[0, 0], [0, 0]]
    return ModeMatrices(
        {
            1: BMAP([[[-10, 2], [0, -0.5]], [[0.05, 3], [0.29, 0.005]], [[0.05, 4.9], [0.2, 0.005]]]),
            2: BMAP(
                [
                    [[-5.65, 1.1], [0, -0.85]],
                    [[0.01, 2.5], [0.25, 0]],
                    [[0.02, 0.5], [0.25, 0]],
                    [[0.02, 1.5], [0.1, 0.25]],
                ]
            ),
            3: BMAP([[[-2.48, 0.48], [0.48, -3.48]], [[1.5, 0], [0, 2.25]], [[0.5, 0], [0, 0.75]]]),
            4: BMAP([[[-1.45, 0.45], [0.6, -2.6]], [[0.25, 0], [0, 0.5]], zero, zero, [[0.75, 0], [0, 1.5]]]),
        }
    )


def _paper() -> Scenario:
    return Scenario(
        title="the paper's first example: three robots, then one",
        capacity=5,
        arrivals=paper_arrivals(),
        service=_PAPER_SERVICE,
        obsolescence=_PAPER_OBSOLESCENCE,
        policy=ThresholdPolicy([3, 1], [2]),
        cost=_PAPER_COST,
    )


def _hyperexponential() -> Scenario:
    # Figure 4 at alpha_1 = 1: weights (0.9, 0.1), mean 5, so that alpha_2 = 0.1 / (5 - 0.9).
    return _paper().replace(
        title="the paper's figure 4: obsolescence times of high variance",
        obsolescence=families.hyperexponential([0.9, 0.1], [1.0, 0.1 / 4.1]),
    )


def _measured() -> Scenario:
    A = np.array([[0.0037, 6.58e-5], [1.3e-4, 0.0064]])
    # The printed D_0 is rounded to two digits and misses the row sums: here it follows from A.
    stream = [np.diag(-A.sum(axis=1) * sum(_BATCH_SIZES)), *[d * A for d in _BATCH_SIZES]]
    return Scenario(
        title="the paper's measured crawler",
        capacity=20,
        arrivals=ScaledStream(BMAP(stream), 4),
        service=families.hyperexponential([0.0057, 0.9943], [0.0014, 0.2409]),
        obsolescence=families.exponential(2000.0),
        policy=ThresholdPolicy([4, 1], [2]),
        cost=CostWeights(loss=200, obsolescence=250, response=3, robots=20, starvation=600),
    )


def _mm1k() -> Scenario:
    return Scenario(
        title="M/M/1/K with impatient pages",
        capacity=5,
        arrivals=ModeMatrices({1: BMAP.poisson(0.8)}),
        service=families.exponential(1.0),
        obsolescence=families.exponential(4.0),
        policy=ThresholdPolicy([1]),
        cost=_PAPER_COST,
    )


def _independent() -> Scenario:
    robots = (
        BMAP([[[-2.0, 0.5], [0.2, -0.7]], [[1.0, 0.0], [0.0, 0.3]], [[0.5, 0.0], [0.0, 0.2]]]),
        BMAP([[[-3.0, 1.0], [0.5, -1.0]], [[1.5, 0.5], [0.0, 0.5]]]),
        BMAP.poisson(0.6, [0.5, 0.5]),
    )
    return Scenario(
        title="three independent robots, switched on one by one",
        capacity=8,
        arrivals=IndependentRobots(robots),
        service=families.erlang(2, 0.4),
        obsolescence=families.exponential(5.0),
        policy=ThresholdPolicy([3, 2, 1], [2, 5]),
        cost=_PAPER_COST,
    )


def _thinned() -> Scenario:
    stream = BMAP([[[-6.0, 1.0], [0.5, -2.0]], [[2.0, 1.0], [0.5, 0.5]], [[1.5, 0.5], [0.25, 0.25]]])
    return Scenario(
        title="one stream, thinned when fewer robots run",
        capacity=10,
        arrivals=ThinnedStream(stream, (0.25, 0.5, 0.75, 1.0)),
        service=families.from_mean_and_scv(0.4, 2.0),
        obsolescence=families.exponential(4.0),
        policy=ThresholdPolicy([4, 2, 1], [3, 6]),
        cost=_PAPER_COST,
    )


def _marked() -> Scenario:
    return Scenario(
        title="dependent robots: one marked stream",
        capacity=8,
        arrivals=MarkedStream(
            [[-4.0, 0.5], [0.3, -2.0]],
            [
                [[[1.0, 0.2], [0.1, 0.4]], [[0.3, 0.0], [0.0, 0.2]]],
                [[[0.8, 0.2], [0.2, 0.3]]],
                [[[0.5, 0.0], [0.0, 0.2]], [[0.2, 0.3], [0.2, 0.1]]],
            ],
        ),
        service=families.exponential(0.5),
        obsolescence=families.exponential(6.0),
        policy=ThresholdPolicy([3, 1], [3]),
        cost=_PAPER_COST,
    )


def _scaled() -> Scenario:
    stream = BMAP.from_map([[-0.5, 0.1], [0.2, -2.0]], [[0.35, 0.05], [0.1, 1.7]], [0.6, 0.3, 0.1])
    return Scenario(
        title="equal robots: r robots bring r times the rates of one",
        capacity=8,
        arrivals=ScaledStream(stream, 4),
        service=families.hyperexponential([0.8, 0.2], [4.0, 0.8]),
        obsolescence=families.erlang(2, 6.0),
        policy=ThresholdPolicy([4, 1], [2]),
        cost=_PAPER_COST,
    )


def _fetching() -> Scenario:
    # Four fetches of Erlang-2 times, now and then two pages at once; slow spells of the web at a third of the pace.
    robots = FetchingRobots(
        4,
        families.erlang(2, 0.8),
        pages=(0.9, 0.1),
        start_up=families.exponential(0.3),
        spells=Spells([[-0.02, 0.02], [0.1, -0.1]], [1.0, 0.35]),
    )
    return Scenario(
        title="robots that finish their fetch, in fast and slow spells of the web",
        capacity=10,
        arrivals=robots,
        service=families.exponential(0.2),
        obsolescence=families.exponential(4.0),
        policy=ThresholdPolicy([4, 1], [3]),
        cost=CostWeights(loss=40, obsolescence=20, response=2, robots=0.5, starvation=30),
    )


def _indexers() -> Scenario:
    stream = BMAP.from_map([[-0.5, 0.1], [0.2, -2.0]], [[0.35, 0.05], [0.1, 1.7]], [0.7, 0.3])
    return Scenario(
        title="three indexers and one queue",
        capacity=12,
        arrivals=ScaledStream(stream, 4),
        service=families.hyperexponential([0.8, 0.2], [1.6, 0.3]),
        obsolescence=families.exponential(5.0),
        policy=ThresholdPolicy([4, 2], [6]),
        cost=_PAPER_COST,
        indexers=3,
    )


def _hysteresis() -> Scenario:
    return _thinned().replace(
        title="four robots until the backlog has grown, then one until it is gone",
        policy=ThresholdPolicy([4, 1], [6], resume=[2]),
        cost=CostWeights(loss=5, obsolescence=10, response=2, robots=20, starvation=300, switching=4),
    )


def _tutorial() -> Scenario:
    # One robot brings 0.4 single pages and 0.3 pairs per second.
    return Scenario(
        title="my crawler, times in seconds",
        capacity=8,
        arrivals=ScaledStream(BMAP([[[-0.7]], [[0.4]], [[0.3]]]), 3),
        service=families.erlang(3, 0.4),
        obsolescence=families.exponential(10.0),
        policy=ThresholdPolicy([3, 1], [3]),
        cost=CostWeights(loss=5, obsolescence=10, response=2, robots=1, starvation=20),
    )


EXAMPLES: Mapping[str, Example] = MappingProxyType(
    {
        example.name: example
        for example in (
            Example("paper", "the paper's first example (section 7), misprints corrected; interpretation 4", _paper),
            Example(
                "hyperexponential", "the same with obsolescence times of high variance (figure 4)", _hyperexponential
            ),
            Example("measured", "the paper's measured crawler: r robots bring r times the rates", _measured),
            Example("mm1k", "M/M/1/K with impatient pages: every measure has a closed form", _mm1k),
            Example("independent", "interpretation 1: independent robots, switched on one by one", _independent),
            Example("thinned", "interpretation 2: one stream, thinned when fewer robots run", _thinned),
            Example("marked", "interpretation 3: dependent robots, one marked stream", _marked),
            Example("scaled", "r robots bring r times the rates of one; Erlang obsolescence", _scaled),
            Example("fetching", "robots that finish their fetch, start-up times, slow spells of the web", _fetching),
            Example("indexers", "three indexers, one queue", _indexers),
            Example("hysteresis", "robots come back only when the backlog is small; each switch costs", _hysteresis),
            Example("tutorial", "the crawler of the tutorial: up to three robots, times in seconds", _tutorial),
        )
    }
)


def load(name: str) -> Scenario:
    """The example scenario of that name."""
    if name not in EXAMPLES:
        close = difflib.get_close_matches(name, EXAMPLES, n=1)
        hint = f"Did you mean {close[0]!r}?" if close else ""
        raise InputError.at("", f"the example must be one of {', '.join(EXAMPLES)}; got {name!r}", hint)
    return EXAMPLES[name].build()
