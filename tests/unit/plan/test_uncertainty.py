"""What the uncertainty says in words, and short forms of tables."""

import pytest

from analytic import optimize
from crawltwin.model import LevelPolicy, examples
from crawltwin.plan.evidence.resampling import Rival, Spread, Uncertainty, candidate_tables


def _doubt(apart: bool, share: float, high: float) -> Uncertainty:
    rival = Rival("4,1@3", 1 - share, Spread(0.1, 0.05 if apart else -0.2, 0.4), apart)
    return Uncertainty(60, 0, 159, share, 0.1, high, Spread(100.0, 90.0, 110.0), {}, {}, (rival,))


def test_when_the_data_cannot_tell():
    words = " ".join(_doubt(False, 0.4, 0.5).in_words("4,1@2"))
    assert "On 40% of 60 resampled traces `4,1@2` is the best" in words
    assert "**The data cannot tell** `4,1@2` from `4,1@3`" in words
    assert "hardly matters" in words  # 0.5 of a cost of 100
    assert "hardly matters" not in " ".join(_doubt(False, 0.4, 30.0).in_words("4,1@2"))


def test_when_they_can():
    words = " ".join(_doubt(True, 1.0, 0.0).in_words("4,1@2"))
    assert "On all of 60" in words
    assert "cannot tell" not in words


@pytest.mark.parametrize(
    ("table", "short"), [([3, 3, 1, 1], "3,1@1"), ([2, 2], "2"), ([4, 3, 3, 1], "4,3,1@0,2"), ([4, 1, 1], "4,1@0")]
)
def test_short_tables(table, short):
    assert LevelPolicy(table).short == short


def test_candidates_hold_the_best_of_every_set():
    optimum = optimize(examples.load("paper").replace(capacity=9, policy=None))
    names = {LevelPolicy(row).short for row in candidate_tables(optimum, 5).tolist()}
    assert {"1", "2", "3", "4"} <= names
    assert len(candidate_tables(optimum, 5)) < len(optimum.tables)
