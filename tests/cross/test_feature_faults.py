"""Programs that go wrong beyond the paper are found: each fault is the scenario that such a program would simulate."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from analytic import solve
from crawltwin.model import FetchingRobots, ModeMatrices, Scenario, ThresholdPolicy, examples, exponential
from simulate import Sample, SampleSettings, draw_sample
from tests.cross.planted_defects import pages_to_find
from validate.comparison import compare
from validate.evidence import runs_after_warm_up
from validate.plan import ValidationPlan
from validate.verdict import Comparison, judge, overall

PLAN = ValidationPlan(margin=0.01)
PAGES = 300_000


def fetching() -> Scenario:
    """The example with exponential fetch times and no start-up time: there a fetch cut short has a chain of its own."""
    scenario = examples.load("fetching")
    own = scenario.arrivals
    return scenario.replace(arrivals=FetchingRobots(4, exponential(0.8), own.pages, None, own.spells))


def stopped_at_once(scenario: Scenario) -> Scenario:
    """With exponential fetches, robots that stop at once always are as many as are wanted."""
    arrivals = scenario.arrivals
    return scenario.replace(arrivals=ModeMatrices({robots: arrivals.mode(robots) for robots in arrivals.robot_numbers}))


def polled() -> Scenario:
    return with_policy(examples.load("hysteresis"), check_every=1.0)


def with_policy(scenario: Scenario, lower: int = 0, check_every: float = 0.0) -> Scenario:
    policy = scenario.policy_in_force.as_thresholds()
    resume = [limit - lower for limit in policy.resume]
    return scenario.replace(policy=ThresholdPolicy(policy.robots, policy.thresholds, resume, check_every))


@dataclass(frozen=True)
class Fault:
    """A sound scenario, and what a faulty program makes of it."""

    sound: Callable[[], Scenario]
    simulated: Callable[[Scenario], Scenario]


FAULTS = {
    "a robot stops at once": Fault(fetching, stopped_at_once),
    "an indexer too few": Fault(lambda: examples.load("indexers"), lambda sound: sound.replace(indexers=2)),
    "resume one too low": Fault(lambda: examples.load("hysteresis"), lambda sound: with_policy(sound, lower=1)),
    "polling is ignored": Fault(polled, with_policy),
}


def run(sound: Scenario, simulated: Scenario, seed: int) -> tuple[tuple[Comparison, ...], Sample]:
    """The solved side of one scenario against the simulated side of another."""
    solution = solve(sound)
    settings = runs_after_warm_up(SampleSettings(seed=seed), PAGES / 50 / solution.measures["arrival_rate"], 50)
    sample = draw_sample(simulated, settings)
    return compare(solution, sample, PLAN), sample


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(name):
    sound = FAULTS[name].sound()
    comparisons, sample = run(sound, FAULTS[name].simulated(sound), seed=1)
    assert overall(judge(comparisons, PLAN.confidence, spending=True)) == "different"
    assert pages_to_find(comparisons, sample.pages, PLAN) < PAGES


@pytest.mark.parametrize("name", FAULTS)
def test_the_same_run_without_the_fault_is_not_accused(name):
    sound = FAULTS[name].sound()
    comparisons, _ = run(sound, sound, seed=2)
    assert overall(judge(comparisons, PLAN.confidence, spending=True)) != "different"
