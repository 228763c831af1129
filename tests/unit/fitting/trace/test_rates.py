"""The rate of the log and that of the model are the same number; ends of a coarse clock are no change of rate."""

import numpy as np
import pytest

from fitting import FitOptions, fit
from fitting.choose.refit import Resampler
from fitting.models.batch_laws import with_first_batches
from fitting.season.even_clock import even_trace
from fitting.trace.batches import find_batches
from fitting.trace.cleaning import clean
from fitting.trace.segments import Segments
from fitting.trace.ticks import spread

DAY = 86400.0


def log_of(path, seconds, digits=3):
    path.write_text("\n".join(f"{1_714_521_600 + t:.{digits}f}" for t in seconds))
    return path


def pages_of(seed, first, batches=2000):
    """Batches of one to three pages, exponential gaps of a second; the first has so many."""
    draw = np.random.default_rng(seed)
    sizes = np.concatenate([[first], draw.integers(1, 4, batches)])
    return np.repeat(np.concatenate([[0.0], np.cumsum(np.ceil(draw.exponential(1.0, batches) * 1000) / 1000)]), sizes)


@pytest.mark.parametrize("law", ["independent", "by-phase"])
def test_a_log_that_begins_with_a_large_batch_has_the_rate_of_its_model(tmp_path, law):
    pages = pages_of(1, 802)
    options = FitOptions(methods=("poisson", "erlang"), batch_law=law, batch_gap=0.0, repetitions=30, refits=12)
    found = fit(log_of(tmp_path / "log", pages), options=options)
    rate = found.numbers["page_rate"]
    # All pages over all batches, at the pace of the batches.
    assert rate.value == pytest.approx(pages.size / 2001 * 2000 / pages[-1], rel=1e-5)
    assert found.to_json()["chosen"]["rate_ratio"] == pytest.approx(1.0, abs=0.01)
    assert found.numbers["mean_batch"].value == pytest.approx(pages.size / 2001)
    assert found.process.mean_batch == pytest.approx(pages.size / 2001, rel=0.01)
    for value in (found.model_numbers["page_rate"], rate):
        assert value.low <= value.value <= value.high
    drawn = [Resampler.of(found).draw(np.random.default_rng([3, k]))[0].page_rate for k in range(8)]
    assert np.mean(drawn) == pytest.approx(rate.value, rel=0.02)


def test_batches_that_begin_stretches_are_mixed_in_and_nothing_else():
    data = Segments(np.ones(4), np.array([1, 1, 2, 2]), np.zeros(1, np.int64))
    every = np.array([2, 2, 0, 0, 1]) / 5
    laws = np.array([[0.9, 0.1], [0.1, 0.9]])
    mixed = with_first_batches(laws, data, every)
    np.testing.assert_allclose(mixed, np.array([[0.72, 0.08, 0, 0, 0.2], [0.08, 0.72, 0, 0, 0.2]]))
    np.testing.assert_allclose(with_first_batches(laws, data, np.array([0.5, 0.5])), laws)


@pytest.mark.parametrize("seed", range(8))
def test_a_stretch_that_begins_and_ends_within_a_tick_keeps_its_rate(seed):
    """200 pages per second for 30 s on a clock of one second."""
    draw = np.random.default_rng([seed, 4])
    times = np.floor(np.sort(draw.uniform(0, 30, 6000)) + draw.random())
    times -= times[0]
    cleaning = clean(times)
    batches = find_batches(times, cleaning, 1.0)
    assert batches.rule == "spread"
    assert even_trace(batches, 0.0, DAY).stationarity.stationary
    assert len(batches.segments) / batches.segments.gaps.sum() == pytest.approx(200, rel=4 / np.sqrt(6000))


@pytest.mark.parametrize(("step", "rate"), [(60.0, 1.0), (60.0, 0.2), (3600.0, 0.01), (86400.0, 0.001)])
def test_the_ticks_of_a_coarse_clock_are_no_cycle_of_the_rate(step, rate):
    times = np.floor(np.cumsum(np.random.default_rng([5, int(step)]).exponential(1 / rate, 6000)) / step) * step
    times -= times[0]
    batches = find_batches(times, clean(times), step)
    assert batches.rule == "spread"
    found = even_trace(batches, 0.0, DAY)
    assert found.stationarity.stationary
    assert found.words == ()
    assert not found.season.found


def test_pages_stay_in_their_tick():
    draw = np.random.default_rng(1)
    times = np.repeat(np.arange(10.0), [3, 50, 50, 50, 50, 50, 50, 50, 50, 10])
    found = spread(times, 1.0, draw)
    assert np.array_equal(np.floor(found), times)
    assert found[2] - found[0] < 0.07
    assert found[0] > 0.93
    assert found[-1] < 9.21
    # Where pages are few, a tick of few is a whole one.
    assert np.ptp([spread(np.arange(10.0), 1.0, draw)[0] for _ in range(100)]) > 0.5
    assert spread(np.zeros(0), 1.0, draw).size == 0


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("size", [100, 200, 400])
def test_batches_of_many_pages_in_about_a_second_are_not_cut(size, seed):
    draw = np.random.default_rng([seed, 5])
    gaps = np.where(np.arange(60 * size) % size < size - 1, 1 / size, 60.0)
    times = np.concatenate([[0.0], np.cumsum(draw.exponential(gaps) + (gaps > 1))])
    cleaning = clean(times)
    assert cleaning.pauses == 0
    batches = find_batches(times, cleaning, 1e-6)
    assert batches.rule == "valley"
    assert np.median(batches.sizes) == size


@pytest.mark.parametrize(("share", "told"), [(0.01, True), (0.001, False)])
def test_what_was_cut_is_told_where_it_is_most_of_the_time(tmp_path, share, told):
    """Pauses of 200 to 300 s in gaps of a second: one in a hundred holds 71% of the time, one in a thousand 20%."""
    draw = np.random.default_rng(7)
    gaps = draw.exponential(1.0, 4000)
    at = draw.choice(4000, int(share * 4000), replace=False)
    gaps[at] = draw.uniform(200, 300, at.size)
    options = FitOptions(methods=("poisson",), repetitions=20, refits=0)
    found = fit(log_of(tmp_path / "log", np.concatenate([[0.0], np.cumsum(gaps)])), options=options)
    assert found.cleaning.pauses == at.size
    held = gaps[at].sum() / gaps.sum()
    words = [one for one in found.warnings if "cut as pauses" in one and "while it runs" in one]
    assert len(words) == told
    assert all(f"{at.size} gaps" in one and f"{held:.0%} of the time" in one for one in words)
    # Clear pauses are no fault of the fit.
    assert found.goodness.verdict == "good"
