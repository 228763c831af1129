"""A loss too rare to be counted: when splitting judges it, with which error, and that wrong models are found."""

import math
from dataclasses import replace

import pytest
from scipy import stats

from analytic import solve
from crawltwin.model import BMAP, InputError, Interval, ModeMatrices, Scenario, exponential
from simulate import RareLoss, rare_loss
from simulate.questions.split_levels import Splits
from validate import ValidationPlan, crosscheck, splitting
from validate.verdict import Comparison, judge

PLAN = ValidationPlan(margin=0.3, absolute_margin=0.01)


def queue(load: float, capacity: int) -> Scenario:
    return Scenario(capacity, ModeMatrices({1: BMAP.poisson(load)}), exponential(1.0))


@pytest.mark.parametrize(
    ("plan", "solved", "rare"),
    [
        (ValidationPlan(), 4e-4, True),  # below its absolute margin: 0 would be called equivalent
        (ValidationPlan(), 6e-4, False),
        (ValidationPlan(), 1e-15, False),  # a buffer that never fills
        (ValidationPlan(), 0.0, False),  # a loss that is impossible is a constant, which counting proves
        (ValidationPlan(rare_margin=0), 1e-9, False),
        (ValidationPlan(pages=10_000), 1e-9, False),
        (ValidationPlan(engine="simpy"), 1e-9, False),
        (ValidationPlan(measures=("mean_pages",)), 1e-9, False),
        # Without an absolute margin: 24 / (0.005^2 p) pages against two billion.
        (ValidationPlan(absolute_margin=0), 1e-5, True),
        (ValidationPlan(absolute_margin=0), 1e-2, False),
    ],
)
def test_when_a_loss_is_too_rare_to_be_counted(plan: ValidationPlan, solved: float, rare: bool):
    assert splitting.too_rare_to_count(plan, solved) is rare


def test_the_margin_of_a_rare_loss_is_relative():
    assert splitting.relative_margin(ValidationPlan()) == 0.05
    assert splitting.relative_margin(ValidationPlan(margin=0.2)) == 0.2
    assert splitting.relative_margin(ValidationPlan(absolute_margin=0)) == 0.005
    with pytest.raises(InputError, match="rare_margin must be at least 0"):
        ValidationPlan(rare_margin=-0.1)


@pytest.mark.parametrize("value", [0.5e-9, 1e-9, 3e-9])
def test_a_difference_has_the_score_of_its_logarithm(value: float):
    found = RareLoss(Interval(value, 0.0, 1.0, 0.99), 0.2, (value,) * 30, 9, 9, Splits(), 1)
    error = splitting.standard_error(found, 1e-9)
    comparison = Comparison("loss_probability", "", 1e-9, value, error, 29, 5e-11)
    size = stats.norm.isf(stats.t.sf(abs(math.log(value / 1e-9)) / 0.2, 29))
    assert comparison.score == pytest.approx(math.copysign(size, value - 1e-9) if value != 1e-9 else 0.0)


def test_no_loss_where_many_are_predicted_speaks_against_the_model():
    """A million pages without a loss, of which a thousand should be lost; of one in a billion they say nothing."""
    most = 1 - (1 - 0.99) ** 1e-6
    none = RareLoss(Interval(0.0, 0.0, most, 0.99), math.inf, (0.0,) * 30, 0, 10**9, Splits(), 1)
    for solved, word in ((1e-3, "different"), (1e-9, "inconclusive")):
        error = splitting.standard_error(none, solved)
        found = Comparison("loss_probability", "", solved, 0.0, error, 29, 0.05 * solved, 0.0, 10**9)
        assert judge([found])[0].word == word


@pytest.mark.parametrize(
    ("fault", "word"),
    [
        (lambda scenario: scenario, "equivalent"),
        (lambda scenario: replace(scenario, capacity=9), "different"),
        (lambda scenario: replace(scenario, service=exponential(1.1)), "different"),
    ],
    ids=["sound", "capacity one too small", "indexer a tenth too slow"],
)
def test_a_wrong_model_is_found_by_its_rare_losses(monkeypatch: pytest.MonkeyPatch, fault, word: str):
    """The loss of M/M/1/10 is 4e-6: by counting, both faults would be called equivalent to it."""
    monkeypatch.setattr(
        splitting, "rare_loss", lambda scenario, *rest, **more: rare_loss(fault(scenario), *rest, **more)
    )
    found, note = splitting.compare_by_splitting(solve(queue(0.3, 10)), PLAN, seed=1)
    assert found.solved == pytest.approx(0.3**10 * 0.7 / (1 - 0.3**11))
    assert judge([found])[0].word == word
    assert "too rare to be counted" in note


def test_the_cross_check_says_how_and_is_the_same_for_any_number_of_workers():
    plan = replace(PLAN, budget=400_000, measures=("loss_probability", "mean_pages"))
    one, two = (crosscheck(queue(0.3, 8), plan, approach=False, workers=count) for count in (1, 2))
    assert one.to_json()["measures"] == two.to_json()["measures"]
    found = one.to_json()["measures"]
    assert found["loss_probability"]["by"] == "splitting"
    assert found["mean_pages"]["by"] == "counting"
    assert found["loss_probability"]["margin"] == pytest.approx(0.3 * found["loss_probability"]["solved"])
    assert found["loss_probability"]["verdict"] == "equivalent"
    assert any("splitting on the level" in note for note in one.notes)
    assert one.length.limiting != "loss_probability"


def test_a_budget_that_is_too_short_says_how_many_pages_are_missing():
    """Never `different`: 5% of a loss of 4e-6 in a few hundred thousand pages is out of reach."""
    plan = ValidationPlan(margin=0.01, absolute_margin=0.01, rare_margin=0.01, budget=300_000)
    found, _ = splitting.compare_by_splitting(solve(queue(0.3, 10)), plan, seed=1)
    verdict = judge([found])[0]
    assert verdict.word == "inconclusive"
    assert verdict.more_pages is not None and verdict.more_pages > 300_000
