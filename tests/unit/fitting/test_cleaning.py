"""Pauses, batches and changes of rate on traces whose truth is known."""

import numpy as np
import pytest

from crawltwin.model.errors import InputError
from fitting.batches import find_batches, sensitivity, tick_dispersion
from fitting.cleaning import clean
from fitting.readers.raw_log import resolution
from fitting.segments import Segments
from fitting.stationarity import change_points, daily_cycle
from fitting.statistics import correlations, count_dispersion, interval_dispersion


def rng(seed=1):
    return np.random.default_rng(seed)


def test_a_lawful_trace_is_not_cut():
    for gaps in (rng().exponential(2.0, 20_000), rng().pareto(2.5, 20_000), rng().lognormal(0, 1.5, 20_000)):
        assert clean(np.cumsum(gaps)).pauses == 0


@pytest.mark.parametrize("every", [50, 500, 2500])
def test_stops_are_cut_and_nothing_else(every):
    gaps = rng().exponential(2.0, 5000)
    gaps[every - 1 :: every] = 3600.0
    cleaning = clean(np.cumsum(gaps))
    assert cleaning.pauses == len(gaps[every - 1 :: every])
    assert cleaning.paused_seconds == pytest.approx(3600.0 * cleaning.pauses)
    assert cleaning.scv_before > 10
    assert cleaning.scv_after == pytest.approx(1.0, abs=0.1)


def test_limits_can_be_given():
    times = np.cumsum(rng().exponential(2.0, 1000))
    gaps = np.diff(times)
    assert clean(times, pause=5.0).pauses == np.count_nonzero(gaps > 5)
    assert clean(times, pause_quantile=0.9).pauses == pytest.approx(100, abs=1)
    with pytest.raises(InputError, match="pause must be a positive number of seconds; got -1"):
        clean(times, pause=-1)
    with pytest.raises(InputError, match="must not both be given"):
        clean(times, pause=1, pause_quantile=0.5)
    with pytest.raises(InputError, match=r"pause quantile must be in \(0, 1\]; got 2"):
        clean(times, pause_quantile=2)


def test_stretches_can_be_chosen():
    gaps = rng().exponential(1.0, 1000)
    gaps[[99, 399]] = 10_000.0
    times = np.concatenate([[0.0], np.cumsum(gaps)])
    assert [s.pages for s in clean(times).stretches] == [100, 300, 601]
    assert [s.used for s in clean(times, stretch="longest").stretches] == [False, False, True]
    assert [s.used for s in clean(times, stretch="2").stretches] == [False, True, False]
    with pytest.raises(InputError, match="stretch must be all, longest or a number from 1 to 3; got '9'"):
        clean(times, stretch="9")


@pytest.mark.parametrize("step", [60.0, 1.0, 0.001])
def test_the_clock_is_found(step):
    times = np.floor(np.cumsum(rng().exponential(3 * step, 5000)) / step) * step + 1_460_000_040
    assert resolution(np.rint(times * 1e9).astype(np.int64)) == pytest.approx(step)


def poisson_seconds(rate, n=20_000):
    return np.floor(np.cumsum(rng().exponential(1 / rate, n)))


@pytest.mark.parametrize("rate", [0.5, 3.0, 20.0])
def test_single_pages_under_a_coarse_clock_are_no_batches(rate):
    """Poisson pages and a clock of one second: no batches, and the spread gaps are exponential again."""
    times = poisson_seconds(rate)
    assert tick_dispersion(times, 1.0) == pytest.approx(1.0, abs=0.1)
    found = find_batches(times, clean(times), 1.0)
    assert found.rule == "spread"
    assert found.sizes.max() == 1
    gaps = found.segments.gaps
    assert gaps.mean() == pytest.approx(1 / rate, rel=0.05)
    assert gaps.var() / gaps.mean() ** 2 == pytest.approx(1.0, abs=0.05)


def test_batches_under_a_coarse_clock_are_batches():
    """Batches of 1 to 4 pages: the local dispersion is E B^2 / E B = 3, far from that of single pages."""
    arrivals = np.cumsum(rng().exponential(20.0, 6000))
    times = np.floor(np.repeat(arrivals, rng(2).integers(1, 5, 6000)))
    assert tick_dispersion(times, 1.0) == pytest.approx(3.0, abs=0.15)
    found = find_batches(times, clean(times), 1.0)
    assert found.rule == "ties"
    assert found.sizes.mean() == pytest.approx(2.5 / (1 - 0.05 / 2), rel=0.03)


def test_batches_are_found_in_the_valley():
    sizes = rng(3).choice([1, 2, 3, 4], p=[0.04, 0.19, 0.26, 0.51], size=8000)
    arrivals = np.repeat(np.cumsum(rng(4).exponential(200.0, 8000)), sizes)
    times = np.sort(arrivals + rng(5).exponential(0.05, arrivals.size))
    found = find_batches(times, clean(times), 1e-6)
    assert found.rule == "valley"
    assert 0.05 < found.limit < 20
    shares = np.bincount(sizes)[1:] / sizes.size
    assert found.probabilities[:4] == pytest.approx(shares, abs=0.01)


def test_slow_and_busy_regimes_are_no_batches():
    busy = np.repeat(rng(6).random(60) < 0.5, 200)
    times = np.cumsum(np.where(busy, rng(7).exponential(0.01, 12_000), rng(8).exponential(10.0, 12_000)))
    assert find_batches(times, clean(times), 1e-9).rule == "ties"


def test_a_limit_can_be_given_and_its_weight_is_shown():
    times = np.cumsum(rng().exponential(1.0, 5000))
    found = find_batches(times, clean(times), 1e-9, limit=0.5)
    # Pages that follow within 0.5 join: a geometric batch of mean exp(0.5).
    assert found.sizes.mean() == pytest.approx(np.exp(0.5), rel=0.03)
    rows = sensitivity(times, clean(times), found, 1e-9)
    for row in rows:
        assert row["mean_batch"] == pytest.approx(np.exp(row["limit"]), rel=0.06)
    with pytest.raises(InputError, match="batch gap must be a number of seconds, not negative; got -1"):
        find_batches(times, clean(times), 1e-9, limit=-1)


def test_changes_of_rate_are_found_and_correlation_is_not_taken_for_one():
    gaps = rng().exponential(1.0, 20_000)
    assert change_points(Segments.of(gaps)) == ()
    gaps[12_000:] *= 2
    (found,) = change_points(Segments.of(gaps))
    assert found == pytest.approx(12_000, abs=400)
    regime = np.repeat(rng(2).random(400) < 0.5, 50)
    assert change_points(Segments.of(rng(3).exponential(1.0, 20_000) * np.where(regime, 5.0, 1.0))) == ()


def test_a_daily_cycle_is_measured():
    times = np.sort(rng().uniform(0, 10 * 86400, 20_000))
    amplitude, p = daily_cycle(times, 0.0)
    assert p > 0.01
    assert amplitude < 0.05
    kept = times[rng(2).random(times.size) < 0.5 * (1 + 0.6 * np.sin(2 * np.pi * times / 86400))]
    amplitude, p = daily_cycle(kept, 0.0)
    assert amplitude == pytest.approx(0.6, abs=0.06)
    assert p < 1e-10
    assert np.isnan(daily_cycle(times[times < 86400], 0.0)[0])


def test_statistics_never_look_across_a_cut():
    """Two stretches of opposite slope: pairs across the cut would spoil the correlation of each."""
    first, second = rng(1).exponential(1.0, 5000), rng(2).exponential(1.0, 5000)
    both = Segments(np.concatenate([first, second]), np.ones(10_000), np.array([0, 5000]))
    mean, variance = both.gaps.mean(), both.gaps.var()
    wanted = sum(float((part[:-1] - mean) @ (part[1:] - mean)) for part in (first, second)) / (9998 * variance)
    assert correlations(both, 1)[0] == pytest.approx(wanted, rel=1e-9)
    # A Poisson process has both indices of dispersion equal to 1 at every scale.
    assert interval_dispersion(both, np.array([1, 10, 50])) == pytest.approx(1.0, abs=0.2)
    assert count_dispersion(both, np.array([1.0, 10.0, 50.0])) == pytest.approx(1.0, abs=0.25)
