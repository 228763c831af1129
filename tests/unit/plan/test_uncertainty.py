"""What the uncertainty says in words, and short forms of tables."""

from dataclasses import replace

import numpy as np
import pytest

from analytic import optimize
from crawltwin.model import LevelPolicy, examples
from crawltwin.model.interval import ends_of_draws
from crawltwin.model.rates import Rates
from crawltwin.pages.plan_pictures import doubt_picture
from crawltwin.plan.evidence.resampling import Rival, Spread, Uncertainty, _spread, _spreads, candidate_tables, rivals
from crawltwin.plan.limits import Limits


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


def test_ends_of_few_draws_stay_within_what_is_possible():
    optimum = optimize(examples.load("paper").replace(capacity=4, policy=None))
    order = np.argsort(Rates.from_table(optimum.rates).value("starvation_probability"))
    draws = optimum.rates[order[[0, 1, -2, -1]]]
    idle = Rates.from_table(draws).value("starvation_probability")
    assert ends_of_draws(idle)[1] > 1  # Student's end of four draws as far apart as these
    found = _spreads(draws, draws[0], 4)
    assert found["starvation_probability"].high == 1
    assert found["mean_active_robots"].high <= 4


def test_the_picture_says_what_the_share_is_of():
    by_cost = _doubt(True, 0.9, 0.0)
    assert "each policy is the best one" in doubt_picture("4,1@2", by_cost).caption
    kept = replace(by_cost, rivals=(), limits=Limits(lose_at_most=0.1))
    found = doubt_picture("4,1@2", kept)
    assert "the policy keeps the limits on numbers of pages" in found.caption
    assert found.data["best"] == {"4,1@2": 0.9}


def test_no_policy_is_its_own_rival():
    tables, costs = np.array([[1, 1, 1], [2, 2, 2]]), np.array([[5.0, 6.0], [5.5, 6.5]])
    assert rivals(tables[:1], costs[:, :1], np.array([0, 0]), 0, np.array([5.2])) == ()
    both = rivals(tables, costs, np.array([0, 0]), 0, np.array([5.2, 6.2]))
    assert [(one.policy, one.share) for one in both] == [("2", 0.0)]  # the runner-up, though it is never the best


def test_an_interval_contains_the_value_of_the_fit():
    """A refit may be biased, so that nearly all traces lie on one side of the fit."""
    found = _spread(np.linspace(2.0, 3.0, 41), 1.5)
    assert found.low == found.value == 1.5 < 2.9 < found.high
