"""Policies compared on common random numbers, and the best of several selected."""

import numpy as np
import pytest
from scipy import stats

from analytic import solve
from crawltwin.model import BMAP, InputError, ModeMatrices, Scenario, ThresholdPolicy, examples, exponential
from simulate import compare, select_best
from simulate.questions.selection import kim_nelson

THINNED, PAPER = examples.load("thinned"), examples.load("paper")
FEW = {"4,2,1@3,6": ThresholdPolicy([4, 2, 1], [3, 6]), "4,2,1@2,5": ThresholdPolicy([4, 2, 1], [2, 5])}


def test_paired_intervals_hold_the_solved_differences():
    found = compare(THINNED, FEW, pages=20_000, confidence=0.9999)
    solved = [solve(THINNED.replace(policy=policy)).measures for policy in FEW.values()]
    for gap in found.differences:
        if gap.measure in solved[0]:
            assert gap.difference.covers(solved[1][gap.measure] - solved[0][gap.measure]), gap.measure


def test_common_random_numbers_take_most_of_the_noise_away():
    found = compare(THINNED, FEW, pages=5000)
    saved = {gap.measure: gap.saved for gap in found.differences}
    assert saved["arrival_rate"] > 0.8
    assert saved["mean_sojourn_served"] > 0.8


def test_the_same_policy_twice_does_not_differ():
    same = {"a": ThresholdPolicy([3, 1], [2]), "b": ThresholdPolicy([3, 1], [2])}
    found = compare(PAPER, same, pages=2000)
    assert {gap.verdict for gap in found.differences} == {"undecided"}
    assert all(gap.difference.value == 0 for gap in found.differences)


def test_losses_that_no_policy_saw_may_still_differ():
    # M/M/1 with twelve pages at most and a load of 0.1 or 0.2: both lose, though hardly ever (9e-13 and 3.3e-9).
    arrivals = ModeMatrices({1: BMAP.poisson(0.1), 2: BMAP.poisson(0.2)})
    calm = Scenario(12, arrivals, exponential(1.0), policy=ThresholdPolicy([1]))
    choices = {"one": ThresholdPolicy([1]), "two": ThresholdPolicy([2])}
    found = compare(calm, choices, pages=300, replications=5)
    gap = next(one.difference for one in found.differences if one.measure == "loss_probability")
    assert gap.value == 0.0
    assert gap.low < 0.8 * 0.2**12 - 0.9 * 0.1**12 < gap.high
    assert found.measures["one"]["loss_probability"].high > 0


def test_policies_whose_runs_never_parted_may_still_differ():
    # M/M/1 with twelve pages at most, load 0.3, and one robot more or less at a level that no run reaches.
    arrivals = ModeMatrices({1: BMAP.poisson(0.15), 2: BMAP.poisson(0.3)})
    calm = Scenario(12, arrivals, exponential(1.0), policy=ThresholdPolicy([2]))
    choices = {"always": ThresholdPolicy([2]), "less when full": ThresholdPolicy([2, 1], [11])}
    found = compare(calm, choices, pages=300, replications=5)
    solved = [solve(calm.replace(policy=policy)).measures for policy in choices.values()]
    for name in ("arrival_rate", "mean_pages", "mean_sojourn"):
        gap = next(one.difference for one in found.differences if one.measure == name)
        assert gap.value == 0.0
        assert gap.low < solved[1][name] - solved[0][name] < gap.high, name


def test_frame_and_json_hold_every_policy():
    found = compare(THINNED, FEW, pages=1000)
    assert set(found.to_frame()["policy"]) == set(FEW)
    assert found.to_json()["policies"] == list(FEW)


def race(rng: np.random.Generator, means: np.ndarray, shared: float):
    def observe(left, r):
        common = rng.normal()
        return np.array([means[i] + shared * common + rng.normal() for i in left])

    return observe


@pytest.mark.parametrize("shared", [0.0, 2.0])
def test_kim_and_nelson_select_the_best_as_often_as_they_say(shared: float):
    """The least favourable case: all others worse by exactly the indifference."""
    rng = np.random.default_rng(6)
    means = np.array([0.5, 0.0, 0.5, 0.5])
    right = 0
    for _ in range(300):
        found = kim_nelson(race(rng, means, shared), 4, indifference=0.5, confidence=0.9, first=10)
        right += found.best == 1
        assert found.sure
    assert right >= stats.binom.ppf(0.001, 300, 0.9)


def test_a_planted_race_without_enough_replications_is_noticed():
    """Taking the best of the first ten at once is right far less often: the check above can fail."""
    rng = np.random.default_rng(7)
    means = np.array([0.5, 0.0, 0.5, 0.5])
    right = 0
    for _ in range(300):
        observe = race(rng, means, 0.0)
        right += np.argmin(np.sum([observe(range(4), r) for r in range(10)], axis=0)) == 1
    assert right < stats.binom.ppf(0.001, 300, 0.9)


def test_a_race_that_is_cut_short_is_not_sure():
    found = kim_nelson(
        race(np.random.default_rng(8), np.zeros(3), 0.0), 3, indifference=0.001, confidence=0.95, most=30
    )
    assert not found.sure


def test_the_cheapest_policy_of_the_paper_is_found():
    choices = {"4": ThresholdPolicy([4]), "3,1@2": ThresholdPolicy([3, 1], [2]), "4,1@2": ThresholdPolicy([4, 1], [2])}
    costs = {name: solve(PAPER.replace(policy=policy)).measures["cost"] for name, policy in choices.items()}
    found = select_best(PAPER, choices, indifference=2.0, pages=3000)
    assert found.best == min(costs, key=lambda name: costs[name])
    assert found.sure
    assert found.to_json()["replications"].keys() == choices.keys()
    worst = select_best(PAPER, choices, indifference=2.0, pages=3000, largest=True)
    assert worst.best == max(costs, key=lambda name: costs[name])
    assert f"{worst.best} has the largest cost" in worst.headline()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"indifference": 0}, "indifference must be greater than 0"),
        ({"indifference": 1.0, "measure": "price"}, "measure must be one of arrival_rate"),
        ({"indifference": 1.0, "first": 2}, "first must be at least 5; got 2"),
        ({"indifference": 1.0, "first": 20, "most": 6}, "most must be at least 20; got 6"),
    ],
)
def test_select_refuses_what_makes_no_sense(options: dict, text: str):
    with pytest.raises(InputError, match=text):
        select_best(PAPER, FEW, **options)


@pytest.mark.parametrize("measure", ["mean_fetches", "mean_sojourn_obsolete"])
def test_select_refuses_a_measure_that_the_crawler_does_not_have(measure: str):
    with pytest.raises(InputError, match="measure must be one that every replication of every policy shows"):
        select_best(THINNED.replace(obsolescence=None), FEW, indifference=1.0, pages=1000, measure=measure)


def test_one_policy_is_no_comparison():
    with pytest.raises(InputError, match="policies must be two at least; got 1"):
        compare(PAPER, {"a": ThresholdPolicy([1])})
    with pytest.raises(InputError, match="cost must have weights"):
        select_best(PAPER.replace(cost=None), {"a": ThresholdPolicy([1]), "b": ThresholdPolicy([3])}, indifference=1.0)
