"""Cycles of a period that nobody named, and traces that have none."""

import numpy as np
import pytest

from benchmarks.fitting_checks import drawn, regimes
from fitting import FitOptions, fit
from fitting.choose.settings import read_period
from fitting.season.even_clock import even_trace
from fitting.trace.batches import find_batches
from fitting.trace.cleaning import clean

HOUR, DAY = 3600.0, 86400.0


def swinging(hours, days, part=0.9, seed=1):
    """A Poisson process of 0.1 per second whose rate swings."""
    rate = lambda t: 0.1 * (1 + part * np.sin(2 * np.pi * t / (hours * HOUR)))  # noqa: E731
    return drawn(rate, days * DAY, 0.1 * (1 + part), np.random.default_rng([seed, 5]))


def by_day(times):
    """What comes from 8 to 20 o'clock."""
    return times[np.abs(times % DAY / HOUR - 14) < 6]


def judged(times, phase=0.0):
    cleaning = clean(times)
    return even_trace(find_batches(times, cleaning, 1e-9), phase, DAY)


@pytest.mark.parametrize(("hours", "days"), [(0.5, 1), (1, 3), (3, 1), (6, 1.9), (6, 7), (18, 3), (30, 7)])
def test_a_large_swing_of_any_period_is_told(hours, days):
    """19-fold; as a mean over 24ths of a period a little less, and sines flatten the trough."""
    found = judged(swinging(hours, days))
    assert not found.stationarity.stationary
    assert found.other.period == pytest.approx(hours * HOUR, rel=0.02)
    assert 9 < found.other.swing < 22
    assert len(found.words) == 1
    # What is advised can be asked for.
    assert read_period(found.words[0].split("--period ")[1].split()[0]) == found.other.period


def test_half_a_day_is_told_with_and_without_a_calendar():
    times = swinging(12, 3)
    assert judged(times).season.found
    alone = judged(times, phase=None)
    assert alone.other.period == 12 * HOUR
    assert "--period" not in alone.words[0]


def test_stopped_nights_do_not_hide_it():
    found = judged(by_day(swinging(5, 4)))
    assert found.other.period == pytest.approx(5 * HOUR, rel=0.02)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["poisson", "short", "long", "very long", "stopped", "small"])
def test_what_has_no_cycle_has_none(kind, seed):
    draw = np.random.default_rng([seed, 6])
    times = {
        "poisson": lambda: np.cumsum(draw.exponential(1.0, 10_000)),
        "short": lambda: regimes(draw, 20_000, 50, 5),
        "long": lambda: regimes(draw, 20_000, 300, 5),
        "very long": lambda: regimes(draw, 20_000, 1000, 5),
        "stopped": lambda: by_day(np.cumsum(draw.exponential(20.0, 13_000))),
        "small": lambda: swinging(3, 3, 0.1, seed),
    }[kind]()
    assert judged(times).other is None


def test_a_fit_of_it_is_not_called_good_until_the_period_is_asked_for(tmp_path):
    path = tmp_path / "log"
    path.write_text("\n".join(f"{1_714_521_600 + t:.3f}" for t in swinging(3, 1.5)))
    quick = {"methods": ("poisson", "renewal"), "repetitions": 20, "refits": 0}
    found = fit(path, options=FitOptions(**quick))
    assert found.goodness.verdict != "good"
    assert any("period of about 3h" in word for word in found.goodness.faults)
    asked = fit(path, options=FitOptions(**quick, period=3 * HOUR))
    assert asked.season.found
    assert not any("with a period of" in word for word in asked.goodness.words)
