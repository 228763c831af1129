"""The paper's examples, solved against simulated at a margin of 0.5% with 99% confidence: every number equivalent."""

import pytest

from crawltwin.model import Scenario, ThresholdPolicy, examples
from validate import ValidationPlan, crosscheck

# Table 1: robots and the best thresholds of each set.
POLICIES = [
    ((1,), ()),
    ((2,), ()),
    ((3,), ()),
    ((4,), ()),
    ((2, 1), (2,)),
    ((3, 1), (2,)),
    ((4, 1), (1,)),
    ((3, 2), (2,)),
    ((4, 2), (1,)),
    ((4, 3), (0,)),
    ((3, 2, 1), (2, 2)),
    ((4, 2, 1), (1, 2)),
    ((4, 3, 1), (0, 2)),
    ((4, 3, 2), (0, 2)),
    ((4, 3, 2, 1), (0, 2, 2)),
]
# The chance that a sound number stays inconclusive is one in a thousand.
PLAN = ValidationPlan(margin=0.005, confidence=0.99, power=0.999)


def check(scenario: Scenario) -> None:
    found = crosscheck(scenario, PLAN, approach=False, workers=2)
    wrong = [(one.comparison.name, one.needs) for one in found.verdicts if one.word != "equivalent"]
    assert not wrong
    assert found.verdict == "equivalent"


@pytest.mark.slow
@pytest.mark.parametrize(("robots", "thresholds"), POLICIES)
def test_every_policy_of_table_1(robots, thresholds):
    check(examples.load("paper").replace(policy=ThresholdPolicy(robots, thresholds)))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hyperexponential", "measured"])
def test_figure_4_and_the_measured_crawler(name):
    check(examples.load(name))


@pytest.mark.slow
@pytest.mark.parametrize("admission", ["all-or-nothing", "overflow"])
@pytest.mark.parametrize("name", ["paper", "hyperexponential"])
def test_the_other_admission_rules(name, admission):
    check(examples.load(name).replace(admission=admission))
