"""Changes of rate and daily cycles on traces whose truth is known."""

import numpy as np
import pytest

from fitting.season.even_clock import even_trace
from fitting.trace.batches import find_batches
from fitting.trace.cleaning import clean
from fitting.trace.segments import Segments
from fitting.trace.stationarity import change_points

HOUR, DAY = 3600.0, 86400.0


def rng(seed=1):
    return np.random.default_rng(seed)


def drawn(rate, span, most, seed):
    """A Poisson process of this rate, a function of time that never exceeds `most`."""
    times = np.sort(rng(seed).uniform(0, span, rng(seed + 100).poisson(most * span)))
    return times[rng(seed + 200).random(times.size) < rate(times) / most]


def judged(times):
    cleaning = clean(times)
    return even_trace(find_batches(times, cleaning, 1e-6), 0.0, DAY)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("after", [1, 3])
def test_a_tenfold_step_is_told(after, seed):
    """Two pages per second for three hours, then one in five seconds: once as long, once for an hour alone."""
    found = judged(drawn(lambda t: np.where(t < 3 * HOUR, 2.0, 0.2), (3 + after) * HOUR, 2.0, seed)).stationarity
    assert not found.stationary
    assert found.ratio == pytest.approx(10, rel=0.15)
    assert len(found.change_points) == 1
    assert found.change_points[0] == pytest.approx(2 * 3 * HOUR, rel=0.02)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("days", [1.0, 1.6])
def test_a_large_swing_of_less_than_two_days_is_told_as_a_possible_cycle(days, seed):
    """19-fold, as an hourly mean 16-fold; sines for the logarithm of the rate flatten the trough a little."""
    swing = judged(drawn(lambda t: 0.1 * (1 + 0.9 * np.sin(2 * np.pi * t / DAY)), days * DAY, 0.19, seed))
    assert not swing.stationarity.stationary
    assert not swing.season.found
    pace = swing.season.possible.cells
    assert 11 < pace.max() / pace.min() < 22
    assert "-fold" in swing.words[0]
    assert f"the log covers {days:.1f} of the two days that are needed" in swing.words[0]
    # On the clock of the swing nothing changes any more, and the mean rate is kept.
    assert not swing.stationarity.changed
    assert swing.stationarity.latest == 1.0
    assert swing.segments.gaps.sum() == pytest.approx(swing.segments.gaps.size / 0.1, rel=0.2)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("days", [1.0, 1.6])
def test_what_does_not_come_back_is_no_possible_cycle(days, seed):
    """Neither a constant rate, nor stopped nights, nor a step, nor a ramp."""
    span = days * DAY
    for rate, most in (
        (lambda t: 0.05 + 0 * t, 0.05),
        (lambda t: 0.05 * (abs(t % DAY / HOUR - 8) < 6), 0.05),
        (lambda t: np.where(t < span / 2, 0.03, 0.1), 0.1),
        (lambda t: 0.02 * (1 + 3 * t / span), 0.08),
    ):
        found = judged(drawn(rate, span, most, seed))
        assert found.season.possible is None
        assert all("two days are needed to tell a cycle from a trend" in words for words in found.words)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("days", [3, 6])
def test_stopped_nights_are_no_daily_cycle(days, seed):
    """A constant rate from 8 to 20 o'clock, nothing at night: the crawler was stopped, its rate did not swing."""
    day = judged(drawn(lambda t: 0.05 * (abs(t % DAY / HOUR - 14) < 6), days * DAY, 0.05, seed))
    assert day.stationarity.stationary, day.words
    afternoon = judged(
        drawn(
            lambda t: 0.05 * (abs(t % DAY / HOUR - 14) < 6) * np.where(t % DAY > 14 * HOUR, 1.0, 0.4),
            6 * DAY,
            0.05,
            seed,
        )
    )
    assert afternoon.season.found
    assert afternoon.words == ()


def test_regimes_that_come_and_go_are_stationary():
    """Twenty spells of each of two regimes, five times as fast as one another: a stationary model has them too."""
    flagged = 0
    for seed in range(20):
        lengths = 1 + rng(seed).geometric(1 / 500, 80)
        means = np.repeat(np.where(np.arange(80) % 2, 5.0, 1.0), lengths)[:20_000]
        flagged += bool(change_points(Segments.of(rng(seed + 50).exponential(means))))
    assert flagged <= 2


def test_changes_of_rate_are_found_and_correlation_is_not_taken_for_one():
    gaps = rng().exponential(1.0, 20_000)
    assert change_points(Segments.of(gaps)) == ()
    gaps[12_000:] *= 2
    (found,) = change_points(Segments.of(gaps))
    assert found == pytest.approx(12_000, abs=400)
    regime = np.repeat(rng(2).random(400) < 0.5, 50)
    assert change_points(Segments.of(rng(3).exponential(1.0, 20_000) * np.where(regime, 5.0, 1.0))) == ()


def test_heavy_tails_that_split_at_one_gap_twice_are_judged():
    """Of these Pareto traces some have a gap that two splits name; parts must hold gaps."""
    for seed in range(60):
        gaps = rng(seed).pareto(1.1, 15_000) + 1
        points = change_points(Segments.of(gaps))
        assert np.all(np.diff([0, *points, gaps.size]) >= 20)
