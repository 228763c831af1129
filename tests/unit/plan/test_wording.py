"""Times, shares and rates in words, and numbers rounded to what their intervals allow."""

import pytest

from crawltwin.model import InputError, LevelPolicy, ThresholdPolicy
from crawltwin.model.settings import read_time
from crawltwin.plan.wording import in_time, instruction, read_share, rounded, with_interval


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("90s", 90),
        ("5min", 300),
        ("1h", 3600),
        ("1.5 h", 5400),
        ("2d", 172800),
        (7, 7),
        ("500 ms", 0.5),
        ("1H", 3600),
        ("2 hours", 7200),
        ("90sec", 90),
        ("1 minute", 60),
        ("2days", 172800),
        ("1w", 604800),
    ],
)
def test_times_that_are_read(text, seconds):
    assert read_time(text) == seconds


@pytest.mark.parametrize("text", ["", "h", "1 fortnight", "-", "one", "nan", "inf", "1e400", "1e308d"])
def test_times_that_are_refused(text):
    with pytest.raises(InputError, match="a time must be a number of seconds"):
        read_time(text)


@pytest.mark.parametrize("text", ["101%", "-1%", "many", "nan", "1", "1.0"])
def test_shares_that_are_refused(text):
    with pytest.raises(InputError, match=r"a share (must be|of 1 may mean)"):
        read_share(text)


def test_units_that_people_use():
    assert [in_time(s) for s in (0.05, 59, 150, 9000, 172_800, 1_451_520)] == [
        "0.05 s", "59 s", "2.5 minutes", "2.5 hours", "2 days", "16.8 days",
    ]  # fmt: skip
    assert [with_interval(r, kind="rate") for r in (12.0, 0.5, 0.0001)] == [
        "12 pages per second", "1,800 pages per hour", "8.64 pages per day",
    ]  # fmt: skip


def test_a_share_near_0_still_tells_how_large_it_may_be():
    assert with_interval(2e-7, 0.0, 0.0115, kind="share") == "less than 0.001% (up to 1.15%)"
    assert with_interval(2e-7, 0.0, 1e-6, kind="share") == with_interval(2e-7, kind="share") == "less than 0.001%"


def test_numbers_are_rounded_to_their_interval():
    assert rounded(123.456, 120, 127) == "123.5"
    assert rounded(123.456, 50, 200) == "120"
    assert with_interval(4.0, 4.0, 4.0) == "4"
    assert with_interval(0.0571, 0.0547, 0.05996, kind="share") == "5.71% (5.47 to 6.00)"
    assert with_interval(0.34, 8e-21, 0.53, kind="share") == "34% (0 to 53)"
    assert with_interval(2e-6, 1e-6, 3e-6) == "2e-06 (1e-06 to 3e-06)"
    assert with_interval(-0.001, -0.4, 0.4) == "0.0 (-0.4 to 0.4)"
    assert with_interval(16.8 * 86_400, 16 * 86_400, 18 * 86_400, kind="time") == "16.8 (16.0 to 18.0) days"


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (ThresholdPolicy([4, 1], [4]), "Run 4 robots while at most 4 pages await indexing, otherwise 1."),
        (
            ThresholdPolicy([4, 2, 1], [2, 6]),
            "Run 4 robots while at most 2 pages await indexing, 2 robots up to 6, otherwise 1.",
        ),
        (ThresholdPolicy([3]), "Run 3 robots always."),
        (ThresholdPolicy([2, 1], [0]), "Run 2 robots while no page awaits indexing, otherwise 1."),
        (ThresholdPolicy([2, 1], [1]), "Run 2 robots while at most 1 page awaits indexing, otherwise 1."),
        (LevelPolicy([1] * 9), "Run 1 robot always."),
    ],
)  # fmt: skip
def test_policies_as_instructions(policy, words):
    assert instruction(policy, 8) == words
