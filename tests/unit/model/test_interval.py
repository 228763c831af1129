"""Numbers with their confidence intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from crawltwin.model import Interval
from crawltwin.model.interval import ends_of_draws


def test_an_interval_tells_its_width_and_what_it_covers():
    found = Interval(2.0, 1.5, 2.5, 0.9)
    assert (found.half_width, found.relative_half_width) == (0.5, 0.25)
    assert found.covers(1.5) and found.covers(2.5) and not found.covers(2.6)
    assert found.to_json() == {"value": 2.0, "low": 1.5, "high": 2.5, "confidence": 0.9}
    assert Interval(0.0, -1.0, 1.0).relative_half_width == math.inf
    assert Interval(0.0, 0.0, 0.0).relative_half_width == 0.0


def test_what_is_not_finite_is_null():
    assert Interval(math.nan, -math.inf, 3).to_json() == {"value": None, "low": None, "high": 3.0, "confidence": 0.95}


@pytest.mark.parametrize("draws", [39, 60, 200])
def test_ends_of_draws_hold_one_more_draw_as_often_as_is_said(draws):
    # The k-th smallest of n uniform draws is k/(n + 1) on average, and so is the chance of one more draw below it.
    uniform = np.arange(1, draws + 1) / (draws + 1)
    assert ends_of_draws(uniform[::-1]) == pytest.approx((0.025, 0.975))
    low, high = np.quantile(uniform, (0.025, 0.975))
    assert high - low < 0.95  # quantiles of the draws themselves promise too much


@pytest.mark.parametrize("draws", [2, 12, 38])
def test_ends_of_few_draws_are_those_of_student(draws):
    normal = np.random.default_rng(draws).normal(-5.0, 1.0, draws)
    held = stats.t(draws - 1, normal.mean(), normal.std(ddof=1) * math.sqrt(1 + 1 / draws)).interval(0.95)
    expected = min(held[0], normal.min()), max(held[1], normal.max())
    assert ends_of_draws(normal) == pytest.approx(expected)
    # What is above 0 stays above 0.
    assert ends_of_draws(np.exp(normal)) == pytest.approx(np.exp(expected))


def test_draws_that_are_the_same_have_no_width():
    assert ends_of_draws([3.0] * 12) == (3.0, 3.0)
    assert all(map(math.isnan, ends_of_draws([])))
