"""Policies, cost weights and the registry of measures."""

from __future__ import annotations

import pytest

from crawltwin.model import MEASURES, CostWeights, InputError, LevelPolicy, ThresholdPolicy
from crawltwin.model.policies.thresholds import single_mode


def test_thresholds_count_pages_in_the_system():
    policy = ThresholdPolicy([4, 2, 1], [0, 3])
    assert [policy.robots_at(level) for level in range(6)] == [4, 2, 2, 2, 1, 1]


def test_coinciding_thresholds_skip_a_number():
    policy = ThresholdPolicy([4, 3, 1], [2, 2])
    assert [policy.robots_at(level) for level in range(5)] == [4, 4, 4, 1, 1]
    assert ThresholdPolicy([3, 1], [-1]).robots_at(0) == 1


def test_words_tell_what_the_policy_does():
    assert ThresholdPolicy([3, 1], [2]).in_words(5) == (
        "3 robots with 0 to 2 pages in the system and 1 robot from 3 on."
    )
    assert ThresholdPolicy([2]).in_words(5) == "2 robots always."
    assert LevelPolicy([3, 2, 2, 1]).in_words(3) == (
        "3 robots with no page in the system, 2 robots with 1 to 2 pages in the system and 1 robot from 3 on."
    )


def test_table_holds_above_its_end():
    assert LevelPolicy([3, 1]).robots_at(9) == 1
    assert LevelPolicy([3, 1, 3]).robots_used == (1, 3)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ThresholdPolicy([]), "at least one number"),
        (lambda: ThresholdPolicy([3, 1]), r"one fewer than robots \(1\); got 0"),
        (lambda: ThresholdPolicy([3, 2, 1], [4, 2]), "rising order"),
        (lambda: ThresholdPolicy([3, 1], [1.5]), "whole number"),
        (lambda: ThresholdPolicy([True, 1], [1]), "whole number"),
        (lambda: ThresholdPolicy(3), "list of whole numbers"),
        (lambda: ThresholdPolicy([0, 1], [1]), "at least 1"),
        (lambda: LevelPolicy([]), "one number of robots for each level"),
        (lambda: single_mode((1, 2)), "several numbers of robots"),
        (lambda: CostWeights(loss=-1), "at least 0"),
        (lambda: CostWeights(robots=float("nan")), "finite"),
        (lambda: CostWeights(starvation="3"), "must be a number"),
    ],
)
def test_wrong_policies_and_weights_are_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()


def test_registry_has_the_keys_of_the_contract():
    assert list(MEASURES) == [
        "arrival_rate",
        "loss_probability",
        "obsolescence_probability",
        "success_probability",
        "starvation_probability",
        "mean_active_robots",
        "mean_pages",
        "mean_sojourn",
        "mean_sojourn_served",
        "mean_sojourn_obsolete",
        "switch_rate",
        "mean_fetches",
        "cost",
        "level_distribution",
    ]
    assert all(measure.words and measure.unit for measure in MEASURES.values())
