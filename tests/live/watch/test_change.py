"""The test for a change of pace keeps its promises: few false alarms, a change by 30% found in time."""

import math

import numpy as np
import pytest

from crawltwin.live.watch.change import BLOCK, Cusum, Reference, alarm_threshold, long_run_deviation, run_length
from crawltwin.model.errors import InputError


def deliveries_until_alarm(gaps, reference):
    test = Cusum()
    for number, gap in enumerate(gaps, start=1):
        if word := test.add(float(gap), reference):
            return number, word
    return None, None


def bursts(chance, count, pace=1.0):
    """Correlated gaps: a switch between a fast and a slow state, about twenty deliveries each."""
    state, found = 0, np.empty(count)
    draws, moves = chance.exponential(size=count), chance.random(count)
    for k in range(count):
        found[k] = draws[k] * (0.6, 1.4)[state] / pace
        state ^= moves[k] < 0.05
    return found


def test_the_threshold_meets_siegmunds_run_length():
    h = alarm_threshold(0.5, 1000.0, 0.0)
    assert run_length(0.5, h) == pytest.approx(2000.0, rel=1e-6)
    assert alarm_threshold(0.5, 1000.0, 0.1) > h


def test_siegmunds_run_length_is_that_of_a_normal_walk():
    """An independent run of the plain CUSUM: 400 times until it passes 4 with k = 0.5 (published value: 168)."""
    chance, lengths = np.random.default_rng(1), []
    for _ in range(400):
        total, steps = 0.0, 0
        while total <= 4.0:
            total, steps = max(0.0, total + chance.standard_normal() - 0.5), steps + 1
        lengths.append(steps)
    # One side; Montgomery's table gives 335 for one side at h = 4, k = 0.5, 168 for both.
    assert np.mean(lengths) == pytest.approx(run_length(0.5, 4.0), rel=0.15)
    assert run_length(0.5, 4.0) == pytest.approx(335, rel=0.03)


def test_correlation_widens_the_deviation():
    chance = np.random.default_rng(2)
    white = chance.standard_normal(4000)
    smooth = np.convolve(white, np.ones(4), "valid")
    assert long_run_deviation(white) == pytest.approx(1.0, abs=0.08)
    assert long_run_deviation(smooth) > 1.5 * smooth.std()


@pytest.mark.parametrize(("factor", "word"), [(1.3, "faster"), (0.7, "slower")])
def test_a_change_by_thirty_percent_is_found(factor, word):
    chance = np.random.default_rng(3)
    reference = Reference.of(chance.exponential(size=4000))
    number, found = deliveries_until_alarm(chance.exponential(size=3000) / factor, reference)
    assert found == word and number < 1000


def test_too_few_gaps_are_refused():
    with pytest.raises(InputError, match="at least 800 gaps"):
        Reference.of([1.0] * 700)


def test_deliveries_at_one_moment_are_refused():
    with pytest.raises(InputError, match="must take time"):
        Reference.of([0.0] * 1000)


def _blocks(draw, count):
    return draw(count * BLOCK).reshape(count, BLOCK).sum(axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["poisson", "regular", "bursts"])
def test_at_most_one_false_alarm_in_thirty_days(kind):
    """Forty stretches of thirty days, each with a reference of its own learnt from 5,000 deliveries at 0.05 per second.

    With one false alarm per thirty days at most, more than 58 in 40 stretches would have a chance below 0.003.
    """
    chance = np.random.default_rng(4)
    mean = 20.0
    draw = {
        "poisson": lambda n: mean * chance.exponential(size=n),
        "regular": lambda n: mean * chance.gamma(4.0, 0.25, size=n),
        "bursts": lambda n: mean * bursts(chance, n),
    }[kind]
    alarms = 0
    for _ in range(40):
        reference = Reference.of(draw(5000))
        test = Cusum()
        for gap in draw(int(30 * 86_400 / mean)):
            if test.add(float(gap), reference):
                alarms += 1
                test = Cusum()
    assert alarms <= 58


@pytest.mark.slow
@pytest.mark.parametrize("factor", [1.3, 0.7])
def test_a_change_by_thirty_percent_is_found_within_500_deliveries(factor):
    """Poisson deliveries, one per second: the mean delay, and that of nine in ten."""
    chance = np.random.default_rng(5)
    delays = []
    for _ in range(100):
        reference = Reference.of(chance.exponential(size=5000))
        number, _ = deliveries_until_alarm(chance.exponential(size=20_000) / factor, reference)
        delays.append(math.inf if number is None else number)
    assert np.mean(delays) < 500
    print(f"pace times {factor}: mean {np.mean(delays):.0f}, nine in ten within {np.quantile(delays, 0.9):.0f}")
