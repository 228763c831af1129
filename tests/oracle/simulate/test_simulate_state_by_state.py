"""What goes beyond the paper, simulated: against closed forms and against chains written down state by state."""

from dataclasses import replace

import numpy as np
import pytest

from crawltwin.model import (
    BMAP,
    FetchingRobots,
    ModeMatrices,
    PhaseType,
    ScaledStream,
    Scenario,
    Spells,
    ThresholdPolicy,
    erlang,
    exponential,
)
from simulate import simulate
from simulate.engine.crawler.controllers import ModeController
from simulate.engine.crawler.fetching_robots import FetchingRobots as ReferenceRobots
from simulate.engine.reference import Indexers
from tests.oracle.closed_forms import exponential_queue
from tests.oracle.whole_crawler import Explored

# A dozen measures and the levels, fixed seeds: a correct simulation passes at this confidence, a wrong one fails.
SURE = 0.9999
TWO_PHASES = PhaseType([0.4, 0.6], [[-3, 1], [2, -3]])
STALE = PhaseType([0.3, 0.7], [[-0.6, 0.4], [0.1, -0.3]])
FETCHES = FetchingRobots(3, erlang(2, 0.9), (0.7, 0.3))
CHANGING = replace(FETCHES, spells=Spells([[-0.5, 0.5], [1.0, -1.0]], [1.0, 0.25]))
STOPPING = replace(FETCHES, spells=Spells([[-0.5, 0.5], [1.0, -1.0]], [1.0, 0.0]))
BATCHES = ScaledStream(BMAP([[[-1.0, 0.2], [0.1, -0.4]], [[0.5, 0.1], [0.1, 0.1]], [[0.1, 0.1], [0.0, 0.1]]]), 3)
CONTROL = ThresholdPolicy([3, 1], [2])
WAITING = ThresholdPolicy([3, 2, 1], [1, 3], resume=[0, 1])
POLLED = ThresholdPolicy([3, 1], [2], resume=[1], check_every=0.8)

CASES = {
    "two indexers": Scenario(4, BATCHES, TWO_PHASES, STALE, CONTROL, indexers=2),
    "three indexers, whole batches": Scenario(
        4, BATCHES, TWO_PHASES, exponential(2.0), WAITING, indexers=3, admission="all-or-nothing"
    ),
    "resume": Scenario(5, BATCHES, TWO_PHASES, exponential(4.0), WAITING),
    "polled": Scenario(4, BATCHES, TWO_PHASES, STALE, POLLED),
    "fetching": Scenario(4, FETCHES, exponential(0.4), exponential(2.0), CONTROL),
    "fetching, more robots with more pages": Scenario(4, FETCHES, exponential(0.4), None, ThresholdPolicy([1, 3], [1])),
    "start-up": Scenario(4, replace(FETCHES, start_up=exponential(0.5)), exponential(0.4), None, CONTROL),
    "spells": Scenario(4, CHANGING, exponential(0.4), exponential(2.0), CONTROL),
    "pace zero": Scenario(3, STOPPING, exponential(0.4), None, CONTROL),
    "everything": Scenario(
        4,
        replace(CHANGING, start_up=exponential(0.5), fetch=exponential(0.6)),
        TWO_PHASES,
        exponential(3.0),
        POLLED,
        indexers=2,
        admission="overflow",
    ),
}


def misses(scenario: Scenario, truth: dict, **options) -> list[str]:
    """Measures whose interval does not hold the truth."""
    result = simulate(scenario, confidence=SURE, workers=1, **({"pages": 40_000} | options))
    assert not result.warnings
    assert result.diagnostics.conservation == 0
    found = [name for name, value in truth.items() if name != "level_distribution" and not result[name].covers(value)]
    levels = zip(result["level_distribution"], truth["level_distribution"], strict=True)
    return found + [f"level {level}" for level, (one, value) in enumerate(levels) if not one.covers(value)]


@pytest.mark.parametrize("case", CASES)
def test_every_measure_is_that_of_the_whole_chain(case: str):
    assert misses(CASES[case], Explored.of(CASES[case]).measures()) == []


def erlang_a(rates: list[float], indexers: int, service: float, staleness: float) -> dict:
    """Birth and death: min(i, c) indexers work, the others' pages go stale."""
    weights = [1.0]
    for level, rate in enumerate(rates[:-1], start=1):
        weights.append(weights[-1] * rate / (min(level, indexers) * service + max(level - indexers, 0) * staleness))
    p = np.array(weights) / sum(weights)
    levels = np.arange(p.size)
    arrivals = float(p @ rates)
    stale = staleness * float(p @ np.maximum(levels - indexers, 0))
    return {
        "arrival_rate": arrivals,
        "loss_probability": p[-1] * rates[-1] / arrivals,
        "obsolescence_probability": stale / arrivals,
        "starvation_probability": float(p @ np.maximum(1 - levels / indexers, 0)),
        "mean_pages": float(p @ levels),
        "level_distribution": p.tolist(),
    }


def test_erlang_a_and_many_indexers():
    poisson = ModeMatrices({1: BMAP.poisson(3.0), 2: BMAP.poisson(6.0)})
    policy = ThresholdPolicy([2, 1], [5])
    for indexers, theta in ((4, 0.5), (4, 0.0), (8, 0.0)):
        stale = exponential(1 / theta) if theta else None
        scenario = Scenario(8, poisson, exponential(1.0), stale, policy, indexers=indexers)
        truth = erlang_a([6.0] * 6 + [3.0] * 3, indexers, 1.0, theta)
        assert misses(scenario, truth) == []
    # One indexer: the closed form of the paper's queue.
    assert erlang_a([2.0] * 6, 1, 1.5, 0.3)["level_distribution"] == pytest.approx(
        exponential_queue([2.0] * 6, 1.5, 0.3)["level_distribution"]
    )


def test_start_up_that_tends_to_nothing():
    at_once = CASES["fetching"]
    quick = at_once.replace(arrivals=replace(FETCHES, start_up=exponential(1e-7)))
    assert misses(quick, Explored.of(at_once).measures()) == []


# -- planted faults ---------------------------------------------------------------------------------------------------


def _found(monkeypatch: pytest.MonkeyPatch, case: str, part: type, name: str, fault: object) -> list[str]:
    with monkeypatch.context() as patch:
        patch.setattr(part, name, fault)
        return misses(CASES[case], Explored.of(CASES[case]).measures(), pages=15_000, replications=6, engine="simpy")


def test_planted_robot_that_stops_at_once(monkeypatch: pytest.MonkeyPatch):
    """Told to stop, robots drop their fetch."""
    honest = ReferenceRobots.follow

    def drop(self, jumping):
        for robot, phase in enumerate(self.phases):
            if phase >= 0 and robot != jumping and self.account.in_flight > self.account.robots:
                self.calendar.cancel(self.alarms[robot])
                self.phases[robot], self.alarms[robot] = -1, None
                self.account.in_flight -= 1
        honest(self, jumping)

    assert _found(monkeypatch, "fetching", ReferenceRobots, "follow", drop)


def test_planted_indexer_too_few(monkeypatch: pytest.MonkeyPatch):
    honest = Indexers.__init__

    def fewer(self, crawler, streams):
        honest(self, crawler, streams)
        self.pages.pop()
        self.free -= 1

    assert _found(monkeypatch, "two indexers", Indexers, "__init__", fewer)


def test_planted_resume_one_too_low(monkeypatch: pytest.MonkeyPatch):
    honest = ModeController.__init__

    def lower(self, crawler, streams):
        honest(self, crawler, streams)
        self._resume = [max(0, again - 1) for again in self._resume]

    assert _found(monkeypatch, "resume", ModeController, "__init__", lower)


def test_planted_polling_ignored(monkeypatch: pytest.MonkeyPatch):
    assert _found(monkeypatch, "polled", ModeController, "look", lambda self, jumping=-1: self._follow(jumping))


def test_planted_start_up_ignored(monkeypatch: pytest.MonkeyPatch):
    honest = ReferenceRobots.__init__

    def at_once(self, crawler, streams, rows):
        honest(self, crawler, streams, rows)
        self._start_up = 0.0

    assert _found(monkeypatch, "start-up", ReferenceRobots, "__init__", at_once)
