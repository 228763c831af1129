"""Two one-sided tests, Holm, the intersection-union claim: against statsmodels and theory, with their error rates."""

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import DescrStatsW

from validate.verdict import Comparison, holm, information, judge, overall, reach


def comparison(difference: float, error: float = 1.0, margin: float = 3.0, freedom: int = 99, **more) -> Comparison:
    return Comparison("mean_pages", "", 10.0, 10.0 + difference, error, freedom, margin, **more)


def test_p_values_are_those_of_statsmodels():
    data = np.random.default_rng(1).normal(0.3, 2.0, 40)
    error = data.std(ddof=1) / math.sqrt(data.size)
    own = Comparison("mean_pages", "", 0.0, float(data.mean()), float(error), data.size - 1, margin=1.0)
    described = DescrStatsW(data)
    assert own.p_equivalence == pytest.approx(described.ttost_mean(-1.0, 1.0)[0], rel=1e-12)
    assert own.p_difference == pytest.approx(described.ttest_mean(0.0)[1], rel=1e-12)


def test_a_verdict_is_equivalent_exactly_when_both_bounds_lie_inside_the_margin():
    verdicts = judge([comparison(float(difference)) for difference in np.linspace(-5, 5, 41)], confidence=0.99)
    for verdict in verdicts:
        inside = verdict.low > 10 - 3 and verdict.high < 10 + 3
        assert (verdict.word == "equivalent") == inside
    assert {verdict.word for verdict in verdicts} == {"equivalent", "inconclusive", "different"}


def test_the_three_words():
    words = [verdict.word for verdict in judge([comparison(0.1), comparison(9.0), comparison(2.5)])]
    assert words == ["equivalent", "different", "inconclusive"]


def test_a_significant_difference_inside_the_margin_is_equivalent():
    (verdict,) = judge([comparison(1.0, error=0.1)])
    assert verdict.word == "equivalent"
    assert verdict.p_difference < 1e-6


def test_holm_steps_down():
    # p-values 0.001, 0.004, 0.02 against 0.01/3, 0.01/2, 0.01: two are rejected, and the adjusted values follow Holm.
    scores = [stats.t.isf(p / 2, 99) for p in (0.02, 0.001, 0.004)]
    verdicts = judge([comparison(float(score), margin=1e-9) for score in scores], confidence=0.99)
    assert [verdict.word for verdict in verdicts] == ["inconclusive", "different", "different"]
    assert [verdict.p_difference for verdict in verdicts] == pytest.approx([0.02, 0.003, 0.008])


@pytest.mark.parametrize("size", [1, 2, 7, 200])
def test_adjusted_p_values_are_those_of_statsmodels(size):
    drawn = np.random.default_rng(size).random(size) ** 4
    values = [*drawn, 0.0, 1.0, *drawn[:2]]  # some are equal
    assert holm(values).tolist() == multipletests(values, method="holm")[1].tolist()


def test_false_difference_claims_stay_below_the_nominal_rate_over_a_family():
    rng = np.random.default_rng(2)
    families, alarms = 600, 0
    for _ in range(families):
        scores = stats.t.rvs(99, size=10, random_state=rng)
        alarms += (
            overall(judge([comparison(float(score), margin=0.5) for score in scores], confidence=0.9)) == "different"
        )
    # Holm's bound is 10%; ten independent tests reach 1 - (1 - 0.01)^10 = 9.6%.
    assert stats.binomtest(alarms, families, 0.1, alternative="greater").pvalue > 0.001
    assert alarms / families == pytest.approx(1 - 0.99**10, abs=0.04)


def test_a_first_look_may_use_the_square_of_its_share_of_the_level():
    # Known to the planned precision the margin is `reach` errors wide; ten times fewer pages leave a tenth of that.
    margin = reach(0.99, 0.99) / math.sqrt(10)
    assert information(comparison(0.0, margin=margin), 0.99, 0.99) == pytest.approx(0.1)
    for p, word in ((0.9e-4, "different"), (1.1e-4, "inconclusive")):
        found = comparison(float(stats.t.isf(p / 2, 99)), margin=margin)
        assert judge([found])[0].word == "different"
        (verdict,) = judge([found], spending=True)
        assert verdict.word == word
        assert verdict.p_difference == pytest.approx(100 * p)


def test_a_run_of_the_planned_length_and_what_no_length_settles_have_the_whole_level():
    for found in (
        comparison(4.0, margin=reach(0.99, 0.99)),
        comparison(4.0, margin=0.0),
        comparison(0.4, error=0.0, margin=0.1),
    ):
        assert information(found, 0.99, 0.99) == pytest.approx(1.0)
        plain, spent = judge([found])[0], judge([found], spending=True)[0]
        assert (plain.word, plain.p_difference) == (spent.word, pytest.approx(spent.p_difference))


def test_looks_that_are_doubled_until_all_is_settled_err_at_most_a_third_more_often_than_one():
    rng, confidence, alarms, series = np.random.default_rng(4), 0.8, [0, 0], 200
    lengths = [2.0**-power for power in range(6, -1, -1)]
    for _ in range(series):
        looks = [
            comparison(float(stats.t.rvs(99, random_state=rng)) / math.sqrt(t), 1 / math.sqrt(t), reach(0.8, 0.99))
            for t in lengths
        ]
        for which in (0, 1):
            words = [judge([one], confidence, spending=bool(which))[0].word for one in looks]
            alarms[which] += "different" in words
    # Seven looks at 20% each err in most series; with the square of the share at most in 4/3 of 20%.
    assert alarms[0] / series > 0.5
    assert stats.binomtest(alarms[1], series, 0.2 * 4 / 3, alternative="greater").pvalue > 0.01


def test_false_equivalence_claims_have_the_nominal_rate_at_the_margin():
    rng = np.random.default_rng(3)
    shifts = 6.0 + stats.t.rvs(99, size=4000, random_state=rng)
    wrong = sum(comparison(float(shift), margin=6.0).p_equivalence <= 0.05 for shift in shifts)
    assert stats.binomtest(wrong, shifts.size, 0.05).pvalue > 0.001


def test_the_planned_power_is_reached():
    rng = np.random.default_rng(4)
    margin = reach(confidence=0.99, power=0.8)
    draws = stats.norm.rvs(size=4000, random_state=rng)
    found = sum(comparison(float(x), margin=margin, freedom=10**6).p_equivalence <= 0.01 for x in draws)
    assert stats.binomtest(found, draws.size, 0.8).pvalue > 0.001


def test_equivalent_over_all_needs_every_single_one():
    good, open_one = comparison(0.0, margin=10), comparison(0.0, margin=1)
    assert overall(judge([good, good])) == "equivalent"
    assert overall(judge([good, open_one])) == "inconclusive"


def test_missing_pages_are_enough_on_average():
    rng = np.random.default_rng(5)
    (verdict,) = judge([comparison(0.2, error=1.0, margin=2.0)], 0.99, 0.9, pages=1000)
    assert verdict.word == "inconclusive"
    assert "more pages" in verdict.needs
    longer = 1000 + verdict.more_pages
    error = math.sqrt(1000 / longer)
    draws = 0.2 + error * rng.normal(size=4000)
    decided = np.mean([comparison(float(x), error, 2.0, 10**6).p_equivalence <= 0.01 for x in draws])
    assert decided >= 0.89


def test_no_finite_run_is_promised_where_none_is_known_to_do():
    (verdict,) = judge([comparison(0.0, error=math.inf)], pages=1000)
    assert verdict.more_pages is None
    assert verdict.needs == "inconclusive (needs more pages than can be told)"


def test_constants_that_agree_up_to_rounding_are_equivalent_and_others_are_different():
    same = Comparison("mean_active_robots", "", 3.0, 3.0 + 4e-16, 0.0, 99, 0.015, solved_error=3e-9)
    off = Comparison("mean_active_robots", "", 3.0, 3.1, 0.0, 99, 0.015, solved_error=3e-9)
    assert [verdict.word for verdict in judge([same, off])] == ["equivalent", "different"]
    assert same.score == 0.0


def test_the_solved_sides_own_error_counts_against_both_claims():
    assert comparison(0.0, margin=3.0, solved_error=1.0).p_equivalence > comparison(0.0, margin=3.0).p_equivalence
    assert comparison(4.0, solved_error=1.0).p_difference > comparison(4.0).p_difference


def test_scores_are_standard_normal_for_any_freedom():
    rng = np.random.default_rng(6)
    for freedom in (5, 49):
        scores = [
            comparison(float(x), freedom=freedom).score for x in stats.t.rvs(freedom, size=3000, random_state=rng)
        ]
        assert stats.kstest(scores, "norm").pvalue > 0.001


def test_json_has_the_contracts_keys():
    found = judge([comparison(0.1)])[0].to_json()
    assert {"solved", "simulated", "low", "high", "margin", "verdict"} <= set(found)


def test_bounds_are_where_the_measure_can_be_and_leave_the_verdict_alone():
    rare = Comparison("loss_probability", "", 2e-5, 1e-5, 3e-5, 99, margin=0.005)
    nearly_all = Comparison("success_probability", "", 0.99998, 0.99999, 3e-5, 99, margin=0.005)
    short = Comparison("mean_sojourn_obsolete", "", 1.4, 1.0, 2.0, 99, margin=0.2)
    verdicts = judge([rare, nearly_all, short], pages=1000)
    assert [one.word for one in verdicts] == ["equivalent", "equivalent", "inconclusive"]
    assert (verdicts[0].low, verdicts[1].high, verdicts[2].low) == (0.0, 1.0, 0.0)
    # The other ends are Student's, and a cost may be anything.
    assert verdicts[0].high == pytest.approx(1e-5 + 3e-5 * stats.t.ppf(0.99, 99))
    (cost,) = judge([Comparison("cost", "", 1.0, 1.0, 2.0, 99, margin=0.2)])
    assert cost.low < 0


def test_pages_that_are_missing_are_told_to_two_digits():
    (verdict,) = judge([comparison(0.2, error=1.0, margin=2.0)], 0.99, 0.9, pages=1000)
    told = int("".join(letter for letter in verdict.needs if letter.isdigit()))
    assert verdict.more_pages <= told < 1.1 * verdict.more_pages
    assert len(str(told).rstrip("0")) <= 2
