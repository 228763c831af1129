"""Pauses and batches on traces whose truth is known."""

import numpy as np
import pytest

from crawltwin.model.errors import InputError
from fitting.readers.raw_log import resolution
from fitting.trace.batches import find_batches, sensitivity
from fitting.trace.cleaning import clean
from fitting.trace.segments import Segments
from fitting.trace.statistics import correlations, count_dispersion, interval_dispersion


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


@pytest.mark.parametrize("share", [0.01, 0.02, 0.028])
@pytest.mark.parametrize("seed", range(4))
def test_a_tail_made_of_pauses_is_cut(share, seed):
    """Pauses of 10 minutes to 26 hours are the whole upper tail; the gaps of the running crawler reach 100 s."""
    gaps = rng(seed).exponential(np.where(rng(seed + 50).random(4000) < 0.1, 10.0, 1.0))
    at = rng(seed + 100).choice(4000, int(4000 * share), replace=False)
    gaps[at] = np.exp(rng(seed + 200).uniform(np.log(600), np.log(93_600), at.size))
    cleaning = clean(np.concatenate([[0.0], np.cumsum(gaps)]))
    assert cleaning.pauses == at.size
    assert cleaning.paused_seconds == pytest.approx(gaps[at].sum())
    assert cleaning.words == ()


def test_time_in_a_few_uncut_gaps_is_told():
    """Pauses that go over into the gaps of the running crawler without a jump cannot be told from them."""
    gaps = rng(3).lognormal(0.0, 3.0, 4000)
    cleaning = clean(np.cumsum(gaps))
    assert cleaning.pauses == 0
    held = np.cumsum(np.sort(np.diff(np.cumsum(gaps)))[::-1])
    count = int(np.count_nonzero(held < held[-1] / 2)) + 1
    assert f"half of the time lies in {count} of 3999 gaps" in cleaning.words[0]
    assert clean(np.cumsum(rng().exponential(2.0, 4000))).words == ()


def test_marked_runs_end_a_stretch():
    """A run that begins within 3 s of the last page of the one before: no gap shows it, the log says it."""
    times = np.concatenate([[0.0], np.cumsum(rng().uniform(1.0, 3.0, 300))])
    starts = np.array([-5.0, times[100] + 0.5, times[200], times[-1] + 9.0])
    cleaning = clean(times, run_starts=starts)
    assert [s.pages for s in cleaning.stretches] == [101, 99, 101]
    assert cleaning.pauses == cleaning.runs == 2
    long = times.copy()
    long[50:] += 50_000.0
    assert clean(long, run_starts=long[150:151] - 0.1).pauses == 2


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


def nanoseconds(times):
    return np.rint(np.asarray(times) * 1e9).astype(np.int64)


@pytest.mark.parametrize("step", [86400.0, 3600.0, 300.0, 60.0, 30.0, 10.0, 2.0, 1.0, 0.001])
@pytest.mark.parametrize("zone", [0.0, 7200.0])
def test_the_clock_is_found(step, zone):
    times = np.floor(np.cumsum(rng().exponential(3 * step, 5000)) / step) * step + 1_459_987_200 + zone
    assert resolution(nanoseconds(times)) == pytest.approx(step)


def test_a_fixed_delay_or_a_handful_of_times_are_no_coarse_clock():
    steady = np.cumsum(rng().choice([10.0, 20.0], 500))
    assert resolution(nanoseconds(steady)) == 1.0
    assert resolution(nanoseconds(np.repeat(steady[:15], 4))) == 1.0
    # Seven seconds are no part of a minute, and batches a week apart are no clock.
    assert resolution(nanoseconds(np.repeat(np.arange(100) * 7.0 + 3, 2))) == 1.0


def poisson_seconds(rate, n=20_000):
    return np.floor(np.cumsum(rng().exponential(1 / rate, n)))


@pytest.mark.parametrize("rate", [0.5, 3.0, 20.0])
def test_single_pages_under_a_coarse_clock_are_no_batches(rate):
    """Poisson pages and a clock of one second: no batches, and the spread gaps are exponential again."""
    times = poisson_seconds(rate)
    found = find_batches(times, clean(times), 1.0)
    assert found.ticks.dispersion == pytest.approx(1.0, abs=0.1)
    assert found.ticks.companions == pytest.approx(rate, rel=0.05)
    assert found.rule == "spread"
    assert found.sizes.max() == 1
    gaps = found.segments.gaps
    assert gaps.mean() == pytest.approx(1 / rate, rel=0.05)
    assert gaps.var() / gaps.mean() ** 2 == pytest.approx(1.0, abs=0.05)


def test_batches_under_a_coarse_clock_are_batches():
    """Batches of 1 to 4 pages: the local dispersion is E B^2 / E B = 3, far from that of single pages."""
    arrivals = np.cumsum(rng().exponential(20.0, 6000))
    times = np.floor(np.repeat(arrivals, rng(2).integers(1, 5, 6000)))
    found = find_batches(times, clean(times), 1.0)
    assert found.ticks.dispersion == pytest.approx(3.0, abs=0.15)
    # 2 companions in the same batch, 0.125 by chance: 2.5 pages per batch, a batch every 20 ticks.
    assert found.ticks.together == pytest.approx(2 / 2.125, abs=0.02)
    assert found.rule == "ties"
    assert found.sizes.mean() == pytest.approx(2.5 / (1 - 0.05 / 2), rel=0.03)


def test_a_longer_log_of_the_same_stream_is_read_the_same():
    """Fifteen hours of 25 pages per second on a clock of 1 ms are more ticks than could be listed one by one."""
    times = np.floor(np.cumsum(rng(9).exponential(0.04, 1_350_000)) * 1000) / 1000
    assert times[-1] > 50_000
    for last in (1_000_000, 1_350_000):
        assert find_batches(times[:last], clean(times[:last], pause=60.0), 0.001).rule == "spread"


def test_a_fast_stream_with_a_restless_rate_is_no_stream_of_batches():
    """25 pages per second, 15% faster or slower from one second to the next: the dispersion alone says batches."""
    counts = rng(10).poisson(25 * rng(11).normal(1.0, 0.15, 4000).clip(0.2))
    times = np.repeat(np.arange(4000.0), counts)
    found = find_batches(times, clean(times), 1.0)
    assert found.ticks.dispersion > 1.4
    assert found.ticks.together < 0.05
    assert found.rule == "spread"
    assert find_batches(times, clean(times), 1.0, reading="batch").sizes.mean() == pytest.approx(25, rel=0.02)


def test_batches_are_found_in_the_valley():
    sizes = rng(3).choice([1, 2, 3, 4], p=[0.04, 0.19, 0.26, 0.51], size=8000)
    arrivals = np.repeat(np.cumsum(rng(4).exponential(200.0, 8000)), sizes)
    times = np.sort(arrivals + rng(5).exponential(0.05, arrivals.size))
    found = find_batches(times, clean(times), 1e-6)
    assert found.rule == "valley"
    assert 0.05 < found.limit < 20
    shares = np.bincount(sizes)[1:] / sizes.size
    assert found.probabilities[:4] == pytest.approx(shares, abs=0.01)


def test_large_batches_are_kept_whole_or_refused():
    """802 pages of one tick stay 802 pages; more than can be modelled are refused, never cut."""
    sizes = rng(3).integers(1, 5, 2000)
    sizes[::100] = 802
    times = np.floor(np.repeat(np.cumsum(rng(4).exponential(40.0, 2000)), sizes))
    found = find_batches(times, clean(times), 1.0)
    assert found.sizes.sum() == sizes.sum()
    assert found.sizes.max() >= 802
    found.check(times.size)
    assert found.probabilities @ np.arange(1, found.probabilities.size + 1) == pytest.approx(found.sizes.mean())
    sizes[50] = 1200
    times = np.floor(np.repeat(np.cumsum(rng(4).exponential(40.0, 2000)), sizes))
    with pytest.raises(InputError, match=r"at most 1000 pages to be modelled; got one of 12\d\d"):
        find_batches(times, clean(times), 1.0).check(times.size)


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


def test_pages_of_one_moment_do_not_make_the_time_lie_in_few_gaps():
    """Exponential gaps hold half of their time in a fifth of them, however many pages each batch has."""
    times = np.repeat(np.cumsum(rng().exponential(20.0, 400)), 802)
    assert clean(times).words == ()
    times = np.floor(np.cumsum(rng(2).exponential(1 / 200, 30_000)))
    assert clean(times).words == ()


def test_a_batch_of_one_moment_that_is_too_large_is_told_what_helps():
    times = np.sort(np.concatenate([np.floor(np.cumsum(rng().exponential(2.0, 500))), np.full(2000, 300.0)]))
    found = find_batches(times, clean(times), 1.0, reading="batch")
    with pytest.raises(InputError, match="--ticks spread"):
        found.check(times.size)
