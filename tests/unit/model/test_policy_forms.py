"""Written forms of policies, hysteresis and polling, and the controller's rule."""

from __future__ import annotations

import pickle

import pytest

from crawltwin.model import InputError, LevelPolicy, ThresholdPolicy
from crawltwin.model.sections.policy import read_policy

POLICIES = {
    "3": ThresholdPolicy([3]),
    "3,1@2": ThresholdPolicy([3, 1], [2]),
    "4,3,1@2,2": ThresholdPolicy([4, 3, 1], [2, 2]),
    "3,1@4/2": ThresholdPolicy([3, 1], [4], [2]),
    "3,1@4:5.0": ThresholdPolicy([3, 1], [4], check_every=5),
    "4,2,1@4,7/2,5:0.1": ThresholdPolicy([4, 2, 1], [4, 7], [2, 5], 0.1),
}


@pytest.mark.parametrize("text", POLICIES)
def test_every_form_reads_back(text):
    policy = POLICIES[text]
    assert policy.short == text
    assert ThresholdPolicy.from_text(text) == policy == read_policy(policy.to_mapping())
    assert pickle.loads(pickle.dumps(policy)) == policy


def test_tables_have_the_short_form_of_their_thresholds():
    assert LevelPolicy([4, 4, 2, 2]).short == "4,2@1"
    assert LevelPolicy([3, 1, 1, 2]).short == "3,1,2@0,2"
    assert LevelPolicy([3, 3]).short == "3"
    table = LevelPolicy([3, 1, 1, 2], check_every=2)
    assert table.short == "3,1,2@0,2:2.0"
    assert read_policy(table.to_mapping()) == table
    assert table.as_thresholds().robots_by_level(3) == table.robots_by_level(3) == (3, 1, 1, 2)


def test_phrases_and_sentences():
    assert POLICIES["3"].phrase == "3 robots always"
    assert POLICIES["3,1@2"].phrase == "robots 3,1 at threshold 2"
    assert POLICIES["4,2,1@4,7/2,5:0.1"].phrase == (
        "robots 4,2,1 at thresholds (4,7) and resume points (2,5), looking every 0.1"
    )
    assert POLICIES["3,1@4/2"].in_words(9) == (
        "3 robots at first, then 1 robot above 4 pages until the system is back at 2 pages."
    )
    assert POLICIES["3,1@4:5.0"].in_words(9) == (
        "3 robots with 0 to 4 pages in the system and 1 robot from 5 on. The controller looks every 5 units of time on "
        "average."
    )


def test_policies_without_memory_keep_their_identity():
    plain = ThresholdPolicy([3, 1], [2])
    assert plain == ThresholdPolicy([3, 1], [2], resume=[2], check_every=0)
    assert plain.to_mapping() == {"robots": [3, 1], "thresholds": [2]}
    # The digest that scenarios carried before there was hysteresis.
    assert plain._content() == ((3, 1), (2,))
    assert LevelPolicy([3, 1])._content() == ((3, 1),)
    assert plain != ThresholdPolicy([3, 1], [2], resume=[1])
    assert plain != ThresholdPolicy([3, 1], [2], check_every=1)


def test_the_mode_follows_the_level_where_nothing_is_remembered():
    policy = ThresholdPolicy([4, 3, 2, 1], [0, 3, 3])
    for mode in range(4):
        for level in range(7):
            assert policy.robots[policy.mode_after(mode, level)] == policy.robots_at(level)
    assert policy.modes_by_level(5, 2) == ((0,), (1,), (1,), (1,), (3,), (3,))


def test_hysteresis_doubles_the_levels_between_resume_and_threshold():
    policy = ThresholdPolicy([3, 2, 1], [3, 6], [1, 4])
    assert policy.modes_by_level(8, 1) == ((0,), (0,), (0, 1), (0, 1), (1,), (1, 2), (1, 2), (2,), (2,))
    # With coinciding thresholds the middle number is met on the way back only.
    back = ThresholdPolicy([3, 2, 1], [2, 2], [0, 1])
    assert back.modes_by_level(3, 1) == ((0,), (0, 1), (0, 1, 2), (2,))
    # Mode 1 would be stable at level 2 and is never entered there.
    assert ThresholdPolicy([3, 2, 1], [2, 2], [1, 1]).modes_by_level(3, 1) == ((0,), (0,), (0, 2), (2,))


def test_polling_keeps_every_mode_that_is_ever_chosen():
    assert ThresholdPolicy([3, 2, 1], [2, 2], check_every=1).modes_by_level(3, 1) == ((0, 2),) * 4
    assert ThresholdPolicy([3, 1], [-1], check_every=1).modes_by_level(2, 1) == ((1,),) * 3


def test_robots_by_level_are_refused_where_the_past_counts():
    with pytest.raises(InputError, match=r"pages in the system alone; got the policy 3,1@4/2, which resumes below"):
        POLICIES["3,1@4/2"].robots_at(3)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ThresholdPolicy([3, 1], [2], [1, 1]), r"one number for each threshold \(1\); got 2 at resume"),
        (lambda: ThresholdPolicy([3, 1], [2], [3]), r"resume must be at most its threshold 2; got 3 at resume\[0\]"),
        (lambda: ThresholdPolicy([3, 1], [2], [-1]), "resume must be at least 0; got -1 .* never come back"),
        (lambda: ThresholdPolicy([3, 2, 1], [5, 6], [4, 3]), r"resume must be in rising order; got \[4, 3\]"),
        (lambda: ThresholdPolicy([3, 1], [2], "1"), "resume must be a list of whole numbers"),
        (lambda: ThresholdPolicy([3, 1], [2], check_every=-1), "check_every must be at least 0; got -1"),
        (lambda: ThresholdPolicy([3, 1], [2], check_every=float("inf")), "check_every must be a finite number"),
        (lambda: LevelPolicy([3, 1], check_every="often"), "check_every must be a number; got 'often'"),
        (lambda: ThresholdPolicy.from_text("3,x@2"), "policy must be numbers separated by commas; got '3,x'"),
        (lambda: ThresholdPolicy.from_text("3,1@2:x", "--policy"), "--policy must have a number after the colon"),
        (lambda: read_policy({"robots": [3, 1], "resumes": [1]}), "Did you mean 'resume'"),
        (lambda: read_policy({"table": [1], "resume": [1]}), "one of table, check_every; got 'resume'"),
        (lambda: read_policy({}), "robots must be given"),
    ],
)
def test_wrong_forms_are_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()
