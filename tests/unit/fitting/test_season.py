"""Periods of the rate on traces whose truth is known: found, measured, taken out, and not imagined."""

from itertools import combinations

import numpy as np
import pytest

from benchmarks.fitting_checks import DAY, HOUR, daytime, drawn, swing
from benchmarks.season import batched, cycled, switching, told
from fitting.choose.settings import FitOptions
from fitting.season.even_clock import even_trace
from fitting.season.forms import best_borders, parts_of
from fitting.season.pace import Pace, clock_time
from fitting.season.running import CELLS, Running
from fitting.trace.batches import find_batches
from fitting.trace.cleaning import clean
from fitting.trace.segments import Segments


def rng(seed=1):
    return np.random.default_rng(seed)


def evened(times, period=DAY, phase=0.0):
    cleaning = clean(times)
    return even_trace(find_batches(times, cleaning, 1e-6), phase, period)


def office(t):
    """A rate with known parts: 5 from 9 to 17 o'clock, else 1."""
    return 0.03 * np.where((t % DAY >= 9 * HOUR) & (t % DAY < 17 * HOUR), 1.0, 0.2)


@pytest.mark.parametrize("seed", range(3))
def test_parts_of_the_day_are_found_with_their_paces(seed):
    found = evened(drawn(office, 5 * DAY, 0.03, rng(seed)))
    pace = found.season.pace
    assert pace.form == "2 parts"
    slow, fast = sorted(pace.parts, key=lambda part: part.pace)
    assert (fast.begin, fast.end) == (9 * HOUR, 17 * HOUR)
    mean = (8 * 1 + 16 * 0.2) / 24
    assert abs(np.log(fast.pace * mean)) < 4 * fast.error + 0.01
    assert abs(np.log(slow.pace * mean / 0.2)) < 4 * slow.error + 0.01
    assert fast.share == pytest.approx(1 / 3, abs=0.01)
    assert found.stationarity.stationary is False
    assert found.words == ()


def test_a_sine_is_taken_out():
    """On the even clock a Poisson stream is a Poisson stream again: exponential gaps, of the same sum."""
    times = drawn(swing(0.05, 0.9), 4 * DAY, 0.1, rng())
    found = evened(times)
    assert "harmonic" in found.season.pace.form
    assert found.season.amplitude == pytest.approx(0.9, abs=0.1)
    before, after = np.diff(times), found.segments.gaps
    assert after.sum() == pytest.approx(before.sum(), rel=1e-9)
    assert before.var() / before.mean() ** 2 > 2
    assert after.var() / after.mean() ** 2 == pytest.approx(1, abs=0.06)
    # Batches keep their sizes, and their correlations nothing of the cycle.
    pairs = evened(batched(times, rng(2)))
    assert pairs.season.found
    assert len(pairs.segments) == len(found.segments)


def test_the_time_of_day_is_that_of_the_calendar():
    """A log that begins at 15 o'clock, and one in which the crawler was stopped at night."""
    times = drawn(lambda t: office(t + 15 * HOUR) * daytime(t + 15 * HOUR), 6 * DAY, 0.03, rng(3))
    pace = evened(times, phase=15 * HOUR).season.pace
    fast = max(pace.parts, key=lambda part: part.pace)
    assert (fast.begin, fast.end % DAY) == (9 * HOUR, 17 * HOUR)
    hours = (np.arange(CELLS) + 0.5) / 4
    assert not pace.seen[(hours < 7) | (hours > 21)].any()
    assert pace.seen[(hours > 9) & (hours < 19)].all()


def test_less_than_two_periods_are_never_a_season():
    strong = drawn(swing(0.1, 0.9), 1.6 * DAY, 0.2, rng())
    found = evened(strong)
    assert not found.season.found
    assert found.season.too_short
    assert np.isnan(found.season.p)
    assert "cannot be confirmed, since the log covers 1.6 of the two days that are needed" in found.words[-1]
    # The same times with a period of half of the length: two of them and more.
    assert evened(drawn(lambda t: swing(0.1, 0.9)(4 * t), DAY, 0.2, rng()), period=DAY / 4).season.found
    assert evened(strong, period=None).season is None


@pytest.mark.parametrize(
    "times",
    [
        lambda r: drawn(swing(0.03, 0), 3 * DAY, 0.03, r),
        lambda r: switching(r, 3, HOUR),
        lambda r: drawn(lambda t: 0.03 * daytime(t), 4 * DAY, 0.03, r),
    ],
)
def test_no_cycle_is_imagined(times):
    assert sum(evened(times(rng(seed))).season.found for seed in range(12)) <= 2


def test_a_step_is_taken_out_and_the_latest_rate_is_known():
    found = evened(drawn(lambda t: np.where(t < 3 * HOUR, 2.0, 0.5), 6 * HOUR, 2.0, rng()))
    assert found.stationarity.changed
    assert found.stationarity.latest == pytest.approx(0.5 / 1.25, rel=0.05)
    gaps = found.segments.gaps
    assert gaps.var() / gaps.mean() ** 2 == pytest.approx(1, abs=0.1)


def test_running_time_is_what_the_stretches_cover():
    running = Running((np.array([0.0, 10, 400, 1000]), np.array([5000.0, 5500])), 0.0, 3600.0)
    number, batches, seconds = running.by_cell(6)
    assert number.tolist() == [0, 1, 8, 9]
    assert batches.tolist() == [2, 1, 0, 1]
    assert seconds.tolist() == [600, 400, 400, 100]
    assert running.folded(6)[0].tolist() == [2, 1, 0, 1, 0, 0]


def test_the_clock_is_the_integral_of_the_pace():
    """Every gap on the even clock against a sum of the pace over a fine grid."""
    cells = rng().uniform(0.2, 3, CELLS)
    pace = Pace(DAY, 1234.0, "made", cells, np.ones(CELLS, dtype=bool), ())
    gaps = rng(2).exponential(2000.0, 40)
    begins = np.concatenate([[0.0], np.cumsum(gaps)[:-1]])
    found = pace.evened(Segments.of(gaps), begins).gaps
    for begin, gap, own in zip(begins, gaps, found, strict=True):
        grid = begin + gap * (np.arange(20_000) + 0.5) / 20_000
        assert own == pytest.approx(gap * cells[((grid + 1234.0) % DAY // (DAY / CELLS)).astype(int)].mean(), rel=1e-3)


def test_borders_are_the_best_of_all():
    """Dynamic programming over the circle against every choice of three borders."""
    value = rng(4).normal(size=9)

    def gain(own):
        return abs(sum(value[i] for i in own)) ** 1.5

    table = np.array([[gain([(b + i) % 9 for i in range(n)]) for n in range(10)] for b in range(9)])
    every = [
        (sum(gain(own) for own in parts_of(borders, 9)), borders)
        for borders in combinations(range(9), 3)
        if min(len(own) for own in parts_of(borders, 9)) >= 2
    ]
    assert best_borders(table, 3) == max(every)[1]


def test_words_of_times():
    assert clock_time(86400.0, 86400.0) == "24:00"
    assert clock_time(90.0, 600.0) == "90 s"


@pytest.mark.parametrize("period", [0.0, -5.0, float("nan"), 59.0])
def test_a_period_must_be_a_time(period):
    with pytest.raises(ValueError, match="period must be a time of at least 60 s, or none; got"):
        FitOptions(period=period)


@pytest.mark.slow
def test_false_seasons_and_power():
    """The table of docs/fitting.md with fewer traces: false alarms at most 5% up to chance, and the stated power."""
    count = 100
    for name, share in told(count).items():
        if name.startswith("no cycle"):
            assert share <= 0.05 + 2.6 * np.sqrt(0.05 * 0.95 / count), name
        elif "Poisson" in name or "7 days" in name:
            assert share >= 0.9, name


def test_cycled_traces_have_the_swing():
    times = cycled(switching(rng(5), 30, 600.0), 0.9, rng(6))
    day = np.bincount((times % DAY // (6 * HOUR)).astype(int))
    assert day[:2].sum() > 3 * day[2:].sum()
