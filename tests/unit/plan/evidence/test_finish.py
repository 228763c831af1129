"""When a list is done: chance, doubt, pauses, and how crawls slow down."""

from types import SimpleNamespace

import numpy as np
import pytest

from crawltwin.plan.evidence.finish import FinishTimes, finish_of
from crawltwin.plan.evidence.slowdown import run_dry, slowdown_factor
from fitting.trace.cleaning import Stretch


def slowdown(times, *rest):
    """Of a log with one page at each time."""
    return slowdown_factor(np.arange(1, times.size + 1), times, *rest)


@pytest.fixture
def steady(monkeypatch):
    """The pace does not drift: the other parts of the answer are looked at alone."""
    monkeypatch.setattr("crawltwin.plan.evidence.finish.slowdown_factor", lambda *_: 1.0)


def _fit(*stretches):
    """A log with two pages in each stretch."""
    found = tuple(Stretch(2 * k, 2 * k + 2, a, b, True) for k, (a, b) in enumerate(stretches))
    log = SimpleNamespace(seconds=np.array(stretches).ravel(), host=None)
    return SimpleNamespace(log=log, cleaning=SimpleNamespace(stretches=found))


def _done(mean, variance=0.0):
    return SimpleNamespace(urls=100, mean=mean, variance=variance)


def test_without_pauses_and_doubt_the_model_answers(steady):
    found = finish_of(_done(100.0, 25.0), np.zeros(0), 1.0, _fit((0.0, 50.0)), seed=1)
    # A normal law of standard deviation 5: the ends of nine tenths are 1.645 of it away.
    assert found.median == pytest.approx(100.0, abs=0.3)
    assert (found.low, found.high) == (pytest.approx(100 - 8.22, abs=0.6), pytest.approx(100 + 8.22, abs=0.6))


def test_the_doubt_of_the_rate_widens_the_answer(steady):
    rates = np.array([0.5, 1.0, 2.0])
    found = finish_of(_done(100.0), rates, 1.0, _fit((0.0, 50.0)), seed=1)
    assert (found.low, found.median, found.high) == (50.0, 100.0, 200.0)


def test_pauses_are_counted_in(steady):
    # 400 pauses of 10 s in 4,000 s of running: a pause of 10 s every 10 s, so that all takes twice as long.
    stretches = [(20.0 * k, 20.0 * k + 10.0) for k in range(401)]
    found = finish_of(_done(1000.0), np.zeros(0), 1.0, _fit(*stretches), seed=1)
    assert found.median == pytest.approx(2000.0, rel=0.02)
    # Poisson counts of mean 100, and the doubt of 400 pauses: a standard deviation of about 10 * sqrt(100 + 25).
    assert found.high - found.low == pytest.approx(2 * 1.645 * 10 * np.sqrt(125), rel=0.1)
    words = FinishTimes(500, found, found, 400, rate_doubted=False).in_words()
    assert "500 URLs are fetched in 33" in words
    assert "pauses like the 400 of the log are counted in" in words
    assert "doubt of the fitted rate is not known" in words


def test_many_pauses_cost_no_memory(steady):
    """A hundred times the log of the test above: 40,000 pauses in each of 4,000 draws."""
    stretches = [(20.0 * k, 20.0 * k + 10.0) for k in range(401)]
    found = finish_of(_done(400_000.0), np.zeros(0), 1.0, _fit(*stretches), seed=1)
    assert found.median == pytest.approx(800_000.0, rel=0.01)


def test_a_steady_crawl_goes_on_at_its_pace():
    times = np.cumsum(np.random.default_rng(1).exponential(1.0, 20_000))
    factor = slowdown(times, 20_000, 0.0, np.random.default_rng(2), 4000)
    low, median, high = np.quantile(factor, [0.05, 0.5, 0.95])
    assert median == pytest.approx(1.0, abs=0.03)
    assert low < 1 < high < 1.5


def test_a_crawl_that_slows_down_as_a_power_goes_on_like_that():
    """T(n) = n^1.5 exactly: twice as many pages take 2^1.5 times as long."""
    times = np.arange(1, 5001) ** 1.5
    factor = slowdown(times, 5000, 0.0, np.random.default_rng(2), 4000)
    assert np.median(factor) == pytest.approx(2**1.5 - 1, rel=0.05)
    again = slowdown(3600 * times, 5000, 0.0, np.random.default_rng(2), 4000)
    assert again == pytest.approx(factor), "the unit of time is immaterial"
    # Counts of every fifty pages tell nearly the same.
    counted = slowdown_factor(np.arange(50, 5001, 50), times[49::50], 5000, 0.0, np.random.default_rng(2), 4000)
    assert np.median(counted) == pytest.approx(2**1.5 - 1, rel=0.05)


def test_intervals_hold_where_the_pace_is_a_brownian_motion_on_logarithmic_scales():
    """Paths of the law itself, drift and variance from their priors, seen for a quarter of their pages."""
    rng = np.random.default_rng(3)
    held = []
    logs = np.log(np.arange(1, 2001))
    for _ in range(200):
        slope, variance = rng.normal(1.0, 0.35), 0.005 / rng.gamma(2.0)
        steps = np.diff(logs, prepend=0.0)
        path = np.exp(np.cumsum(slope * steps + np.sqrt(variance * steps) * rng.standard_normal(2000)))
        times = np.maximum.accumulate(path)
        factor = slowdown(times[:500], 1500, 0.0, rng, 1000)
        low, high = np.quantile(factor, [0.05, 0.95])
        held.append(low <= (times[-1] - times[499]) / times[499] / 3 <= high)
    # 200 intervals of 90%: fewer than 166 would be three standard deviations too few.
    assert sum(held) >= 166


def test_hosts_that_ran_dry_make_a_long_tail():
    hosts = np.repeat(np.arange(1, 5, dtype=np.uint64), 25)
    assert run_dry(hosts) == 0.5  # a quarter and one page: the last two of four hosts
    assert run_dry(np.tile(np.arange(1, 5, dtype=np.uint64), 25)) == 0.0
    assert run_dry(None) == run_dry(np.zeros(10, dtype=np.uint64)) == 0.0
    times = np.cumsum(np.random.default_rng(1).exponential(1.0, 1000))
    factors = [np.median(slowdown(times, 1000, dry, np.random.default_rng(2), 4000)) for dry in (0.0, 0.5, 1.0)]
    assert factors == sorted(factors)
    assert factors[2] > 1.3 * factors[0]
