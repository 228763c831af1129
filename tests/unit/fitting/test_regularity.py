"""Traces that are more regular than any small model: told as such, and no other."""

from dataclasses import replace

import numpy as np
import pytest

from crawltwin.plan.evidence.unsuitable import limits_of
from fitting import FitOptions, RawLog, fit
from fitting.trace.regularity import half_width, regular_words
from fitting.trace.segments import Segments


def _told(gaps, resolution=1e-6, stages=10):
    data = Segments(gaps, np.ones(gaps.size, np.int64), np.array([0]))
    return bool(regular_words(data, resolution, stages))


def test_half_of_the_gaps():
    assert half_width(np.array([1.0, 5.0, 5.2, 5.1, 90.0])) == pytest.approx(0.2)


@pytest.mark.parametrize("gaps", [100, 1000])
def test_the_border_is_that_of_twice_the_stages(gaps):
    rng = np.random.default_rng(1)
    told = {k: np.mean([_told(rng.gamma(k, 1 / k, gaps)) for _ in range(100)]) for k in (1, 3, 10, 40)}
    assert told[1] == told[3] == 0
    assert told[10] <= 0.03  # Erlang-10 is a model that is fitted
    assert told[40] >= 0.97
    assert not _told(rng.gamma(40, 1 / 40, 1000), stages=40)


@pytest.mark.parametrize("jitter", [0.0001, 0.01, 0.1, 0.2])
def test_a_fixed_delay_with_jitter(jitter):
    rng = np.random.default_rng(2)
    gaps = 5 * (1 + jitter * rng.standard_normal(1000)).clip(0.01)
    assert _told(gaps)
    # Some long gaps among the equal ones: the coefficient of variation is above 1, half of the gaps are still equal.
    gaps[::50] += rng.exponential(100, 20)
    assert gaps.std() > gaps.mean()
    assert _told(gaps)


def test_a_coarse_clock_hides_no_fixed_delay_and_makes_none():
    rng = np.random.default_rng(3)
    for delay in (0.3, 1.0, 2.1):
        times = np.floor(np.cumsum(delay + 0.02 * rng.standard_normal(2000)))
        assert _told(np.diff(np.sort(times + rng.random(2000))), resolution=1.0), delay
    # A Poisson stream of which the clock shows whole seconds only.
    gaps = np.diff(np.floor(np.cumsum(rng.exponential(60.0, 2000))))
    assert not _told(gaps[gaps > 0], resolution=1.0)


def test_the_verdict_says_so():
    rng = np.random.default_rng(4)
    few = FitOptions(repetitions=20, refits=0)
    steady = RawLog.of_times((np.cumsum(1 + 0.03 * rng.standard_normal(600)) * 1e9).astype(np.int64))
    told = fit(steady, options=few)
    assert any("no small Markovian process is that regular" in word for word in told.goodness.words)
    assert told.regular[0] in limits_of(told)  # a plan is provisional for it
    # A doubt of the log itself, such as rows that may be there twice, is in the verdict and limits a plan too.
    doubtful = fit(replace(steady, doubts=("rows may be there twice",)), options=few)
    assert "rows may be there twice" in doubtful.goodness.words
    assert "rows may be there twice" in limits_of(doubtful)
    # Gaps with ten stages are regular, and fitted: nothing is said of them.
    erlang = RawLog.of_times((np.cumsum(rng.gamma(11, 1 / 11, 600)) * 1e9).astype(np.int64))
    found = fit(erlang, options=few)
    assert not found.regular
    assert not any("regular" in word for word in found.goodness.words)
    assert found.goodness.verdict == "good"
