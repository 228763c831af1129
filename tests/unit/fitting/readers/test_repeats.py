"""Deliveries that were read twice: overlapping files and repeated lines count once, and what may be chance is kept."""

import numpy as np
import pytest

from crawltwin.model.errors import InputError
from fitting import ReadOptions, read_log

SCRAPY = "2017-07-31 {} [scrapy.core.engine] DEBUG: Crawled (200) <GET http://a.org/{}> (referer: None)\n"
HERITRIX = "{0}Z 200 {1} http://a.org/{1} L http://a.org/ text/html #{2} {3}+0 sha1:{1} - -\n"


def _clock(second):
    return f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"


def _scrapy(times, name=""):
    return [SCRAPY.format(_clock(int(time)), f"{name}{number}") for number, time in enumerate(times)]


def _heritrix(times):
    lines = []
    for number, time in enumerate(times):
        moment = str(np.datetime64("2024-05-01T08:00:00.000") + np.timedelta64(round(1000 * time), "ms"))
        digits = moment.translate({45: None, 58: None, 84: None, 46: None})
        lines.append(HERITRIX.format(moment, number, number % 7, digits))
    return lines


def _plain(times):
    return [f"{1_714_550_400 + time:.3f}\n" for time in times]


def _seconds(times):
    return [f"{1_714_550_400 + int(time)}\n" for time in times]


def _poisson(count, rate, seed=1):
    return np.cumsum(np.random.default_rng(seed).exponential(1 / rate, count))


@pytest.mark.parametrize("lines", [_scrapy, _heritrix, _plain, _seconds])
@pytest.mark.parametrize("rate", [0.3, 5.0])
def test_overlapping_rotated_files_count_once(written, lines, rate):
    rows = lines(_poisson(2000, rate))
    truth = read_log(written("".join(rows), "whole"))
    for overlap in (60, 1000):
        old = written("".join(rows[:1000]), "crawl.log.1")
        new = written("".join(rows[1000 - overlap :]), "crawl.log")
        for order in ([old, new], [new, old]):
            log = read_log(order)
            assert log.time.tolist() == truth.time.tolist()
            assert log.dropped == {"read before": overlap}
            assert any(f"{overlap} deliveries were read before" in note for note in log.notes)
        kept = read_log([old, new], options=ReadOptions(repeats="keep"))
        assert len(kept) == 2000 + overlap
        assert any("all are counted (--repeats keep)" in note for note in kept.notes)


@pytest.mark.parametrize("lines", [_scrapy, _heritrix, _plain, _seconds])
def test_a_block_of_lines_that_stands_in_a_file_again(written, lines):
    rows = lines(_poisson(1500, 2.0))
    log = read_log(written("".join(rows[:1000] + rows[900:])))
    assert (len(log), dict(log.dropped)) == (1500, {"read before": 100})
    twice = read_log(written("".join(rows * 2)))
    assert (len(twice), dict(twice.dropped)) == (1500, {"read before": 1500})


@pytest.mark.parametrize("lines", [_scrapy, _heritrix])
@pytest.mark.parametrize("times", [2, 3])
def test_every_line_written_several_times_at_once(written, lines, times):
    rows = lines(_poisson(500, 3.0))
    log = read_log(written("".join(row * times for row in rows)))
    assert (len(log), dict(log.dropped)) == (500, {"read before": 500 * (times - 1)})
    # A second handler that is added in the middle of the crawl.
    later = read_log(written("".join(rows[:200] + [row * times for row in rows[200:]])))
    assert len(later) == 500


@pytest.mark.parametrize("rate", [0.05, 0.5, 5.0, 25.0])
def test_two_robots_with_logs_of_their_own_are_no_repetition(written, rate):
    one, two = _poisson(1500, rate, 1), _poisson(1500, rate, 2)
    for lines in (_seconds, _plain):
        log = read_log([written("".join(lines(one)), "a"), written("".join(lines(two)), "b")])
        assert (len(log), log.dropped, log.notes) == (3000, {}, ())
    names = [written("".join(_scrapy(times % 80_000, name)), name) for times, name in ((one, "a"), (two, "b"))]
    assert len(read_log(names)) == 3000


def test_what_a_steady_pace_may_do_is_kept_and_told(written):
    steady = _seconds(np.arange(0, 5000, 5))
    log = read_log([written("".join(steady), "a"), written("".join(steady[300:]) + _seconds([5001])[0], "b")])
    assert len(log) == 1701
    assert any("700 deliveries look like others, one by one" in doubt for doubt in log.doubts)


def test_batches_and_single_equal_lines_are_kept(written):
    # Pages of a batch carry the same time, in any order of the rows.
    times = np.repeat(_poisson(800, 1.0), 2)
    for order in (np.arange(1600), np.random.default_rng(1).permutation(1600)):
        log = read_log(written("".join(_plain(times[order]))))
        assert (len(log), log.dropped) == (1600, {})
    # The same page twice within a second, now and then; and a page that is asked for again and again.
    rows = _scrapy(_poisson(500, 2.0))
    assert len(read_log(written("".join(row * (1 + (number % 10 == 0)) for number, row in enumerate(rows))))) == 550
    polls = [SCRAPY.format(_clock(second), "status") * 2 for second in range(500)]
    assert len(read_log(written("".join(polls)))) == 1000


def test_rows_that_may_differ_in_what_is_not_read_are_kept_and_told(written):
    items = [
        f'{{"url": "http://a.org/{page}", "scraped_at": "2024-05-01T{_clock(page)}Z", "title": "{page}-{n}"}}'
        for page in range(300)
        for n in range(2)
    ]
    log = read_log(written("\n".join(items) + "\n"))
    assert len(log) == 600
    assert any("300 deliveries look like others" in doubt for doubt in log.doubts)


def test_the_same_bits_whatever_the_number_of_workers(written):
    rows = _heritrix(_poisson(3000, 5.0))
    files = [written("".join(rows[a:b]), f"crawl.log.{a}") for a, b in ((2000, 3000), (0, 1200), (1000, 2200))]
    one, two = (read_log(files, options=ReadOptions(workers=workers)) for workers in (1, 2))
    assert one.time.tobytes() == two.time.tobytes()
    assert (one.dropped, one.notes) == (two.dropped, two.notes) == ({"read before": 400}, one.notes)


def test_the_choice_is_checked():
    with pytest.raises(InputError, match="repeats must be one of drop, keep; got 'some'"):
        ReadOptions(repeats="some")


@pytest.mark.parametrize("cut", range(1, 14))
@pytest.mark.parametrize("unit", [1, 1000])
def test_a_last_line_that_is_cut_in_its_number_is_no_delivery_of_1975(written, cut, unit):
    rows = [f"{round((1_714_550_400 + time) * unit)}" for time in np.arange(50, 450, 2.0)]
    log = read_log(written("\n".join(rows)[:-cut]))
    assert log.begin is None
    assert str(log.time[0].astype("M8[ns]"))[:4] == "2024"
    assert 198 <= len(log) <= 200
    assert float(np.diff(log.time).min()) >= 0
    assert np.diff(log.time).max() <= 60 * 10**9


def test_a_whole_last_line_without_an_end_counts(written):
    assert len(read_log(written("".join(_plain(_poisson(100, 1.0))).rstrip("\n")))) == 100


def test_a_last_line_without_its_zone_does_not_change_the_others(written):
    rows = [f"2024-05-01T08:{number // 60:02d}:{number % 60:02d}.250Z" for number in range(300)]
    log = read_log(written("\n".join(rows)[:-1]), timezone="Europe/Paris")
    assert (len(log), log.broken, log.zoned) == (299, 1, True)
    assert str(log.time[0].astype("M8[ns]"))[:19] == "2024-05-01T08:00:00"
    assert any("has no end and does not fit the others" in note for note in log.notes)


def test_a_few_times_of_another_age_are_left_out(written):
    rows = _seconds(_poisson(500, 1.0))
    log = read_log(written("".join(rows[:250]) + "150000000\n" + "".join(rows[250:])))
    assert (len(log), dict(log.dropped)) == (500, {"time far outside of the rest": 1})
    # An archive of twenty years has long gaps of its own.
    years = [f"{round(9e8 + time)}\n" for time in _poisson(500, 500 / 6e8)]
    assert len(read_log(written("".join(years)))) == 500
