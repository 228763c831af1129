"""A clock that goes back while the log is written: time that comes twice is no time of double rate."""

import numpy as np
import pytest

from fitting import FitOptions, fit, read_log
from fitting.readers.times.set_back import find_set_back
from fitting.trace.cleaning import clean

QUICK = FitOptions(methods=("poisson", "renewal"), repetitions=20, refits=0)
N = 6000


def poisson(seed=1, n=N):
    """Seconds of pages at one per second."""
    return np.cumsum(np.random.default_rng(seed).exponential(1.0, n))


def fallen(steps, seed=1):
    """The same on a clock that goes back by some seconds before some rows."""
    times = poisson(seed)
    for row, back in steps.items():
        times[row:] -= back
    return times


def written(path, seconds, digits=3):
    path.write_text("\n".join(f"{1.46e9 + t:.{digits}f}" for t in seconds) + "\n")
    return path


def nanoseconds(seconds):
    return np.rint((1.46e9 + np.asarray(seconds)) * 1e9).astype(np.int64)


@pytest.mark.parametrize("digits", [3, 0])
@pytest.mark.parametrize("steps", [{3000: 600}, {1000: 300, 4000: 40}, {500: 100, 5900: 60}])
def test_time_that_comes_twice_is_told_and_ends_a_stretch(tmp_path, steps, digits):
    seconds = fallen(steps)
    seconds = seconds if digits else np.floor(seconds)
    log = read_log(written(tmp_path / "log", seconds, digits))
    assert len(log.doubts) == 1
    assert "the clock was set back" in log.doubts[0]
    assert all(f"{row + 1}" in log.doubts[0] for row in steps)
    # As long as the log of a clock that was never set back, up to the gaps at which it was.
    length = float(poisson()[-1] - poisson()[0])
    assert log.seconds[-1] == pytest.approx(length, abs=10 * len(steps))
    cleaning = clean(log.seconds, run_starts=(log.run_starts - log.time[0]) / 1e9)
    assert [stretch.pages for stretch in cleaning.stretches] == np.diff([0, *steps, N]).tolist()
    # The clock is as coarse as it was.
    assert log.resolution == 10.0**-digits


def test_the_rate_is_that_of_the_crawl_and_the_fit_is_not_called_good(tmp_path):
    found = fit(written(tmp_path / "log", fallen({3000: 1800})), options=QUICK)
    assert found.process.page_rate == pytest.approx(1.0, rel=4 / np.sqrt(N))
    assert found.goodness.verdict != "good"
    assert any("the clock was set back" in word for word in found.goodness.faults)


def test_rows_that_are_a_little_late_do_not_hide_it():
    late = np.random.default_rng(2).exponential(10.0, N)
    found = find_set_back(nanoseconds(fallen({3000: 600}) - late))
    assert found.rows.tolist() == [3000]
    assert found.undone


def blocks(begins, width, rows):
    draw = np.random.default_rng(3)
    return np.concatenate([np.sort(draw.uniform(begin, begin + width, rows)) for begin in begins])


@pytest.mark.parametrize(
    "seconds",
    [
        poisson(),
        poisson() - np.random.default_rng(4).exponential(30.0, N),
        poisson() - 5 * np.random.default_rng(4).pareto(1.2, N),
        np.random.default_rng(4).permutation(poisson()),
        np.sort(np.floor(poisson())),
        # An index by address: each site at its own time.
        blocks(300.0 * np.random.default_rng(5).permutation(15), 2000.0, 400),
        blocks(300.0 * np.arange(15), 2000.0, 400),
        # Four workers, each with a buffer of a hundred lines.
        blocks(400.0 * (np.arange(16) // 4), 400.0, 100),
        blocks(400.0 * (np.arange(60) // 4), 400.0, 100),
        # Fifty lines that were written a thousand lines late, and the second half of a file first.
        np.concatenate([poisson()[:2000], poisson()[2050:3000], poisson()[2000:2050], poisson()[3000:]]),
        np.concatenate([poisson() + 7000, poisson(2)]),
        poisson()[:12],
        np.zeros(100),
    ],
    ids=range(13),
)
def test_rows_out_of_order_are_no_clock_set_back(seconds):
    assert find_set_back(nanoseconds(seconds)) is None


def test_two_logs_one_behind_the_other_are_noted_and_not_doubted(tmp_path):
    both = np.concatenate([poisson(1), poisson(2) + 0.5])
    log = read_log(written(tmp_path / "log", both))
    assert log.doubts == ()
    assert "begin anew before delivery 6001" in log.notes[0]
    np.testing.assert_allclose(log.seconds, np.sort(np.round(both, 3)) - np.round(both.min(), 3), atol=1e-6)


def test_what_could_be_either_stays_as_it_is_and_is_told(tmp_path):
    """Back by most of the log: a clock, or a second crawler that began a little later."""
    log = read_log(written(tmp_path / "log", fallen({5000: 4000})))
    assert len(log) == N
    assert "if the clock was set back" in log.doubts[0]


def test_of_several_files_nothing_is_moved_and_it_is_told(tmp_path):
    """What follows stands in another file, whose times would have to move too."""
    seconds = fallen({3000: 600})
    paths = [written(tmp_path / "a", seconds[:4500]), written(tmp_path / "b", seconds[4500:])]
    log = read_log(paths)
    assert "if the clock was set back" in log.doubts[0]
    assert log.seconds[-1] == pytest.approx(seconds.max() - seconds.min(), abs=0.01)


def test_runs_that_the_log_marks_are_moved_with_it(tmp_path):
    """A Scrapy log: started anew 500 pages behind the fall, long after the time that came twice."""
    whole = np.floor(fallen({2000: 300}))
    stamps = np.datetime64("2024-05-01T08:00:00") + whole.astype("timedelta64[s]")
    text = [str(stamp).replace("T", " ") for stamp in stamps]
    lines = [
        f"{t} [scrapy.core.engine] DEBUG: Crawled (200) <GET http://a/{k}> (referer: None)" for k, t in enumerate(text)
    ]
    lines.insert(5000, f"{text[5000]} [scrapy.core.engine] INFO: Spider opened")
    path = tmp_path / "scrapy.log"
    path.write_text("\n".join(lines) + "\n")
    log = read_log(path, timezone="UTC")
    starts = np.searchsorted(log.time, log.run_starts)
    # Pages of the second in which the run began stand on both sides of the mark.
    assert starts.tolist() == [2000, pytest.approx(5000, abs=5)]
