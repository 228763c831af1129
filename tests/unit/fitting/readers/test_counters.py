"""Counters: pages per interval, told from logs of deliveries, and `read_log` refusing them in words."""

import json

import numpy as np
import pytest

from crawltwin.model.errors import InputError
from fitting import CountLog, RawLog, fit, read_counts, read_log
from fitting.readers import read_either
from fitting.readers.registry import COUNTERS
from fitting.readers.settings import COUNTER_NAMES, ReadOptions

LEGEND = (
    "20080602165807 CRAWL RESUMED - Running\n"
    "           timestamp  discovered      queued   downloaded       doc/s(avg)  KB/s(avg)   dl-failures   busy-thread"
    "   mem-use-KB  heap-size-KB   congestion   max-depth   avg-depth\n"
)


def _progress(minute, downloaded, busy, discovered=966):
    return (
        f"2008-06-02T16:{minute:02d}:00Z       {discovered}          43      {downloaded}         6.2(6.2)   157(157)"
        f"             0             {busy}        13831         33408            1          24          14\n"
    )


def test_heritrix_progress(written, utc):
    path = written(LEGEND + _progress(0, 124, 3) + _progress(1, 211, 2, 990) + _progress(2, 236, 0, 991))
    counts = read_counts(path)
    assert counts.format == "heritrix-progress"
    assert counts.count.tolist() == [87, 25]
    assert counts.robots.tolist() == [2, 0]
    assert counts.discovered.tolist() == [24, 1]
    assert counts.start.tolist() == [utc("2008-06-02T16:00:00"), utc("2008-06-02T16:01:00")]
    assert (counts.end - counts.start).tolist() == [60 * 10**9] * 2
    with pytest.raises(InputError, match=r"one row per delivered page; got Heritrix progress-statistics.log"):
        read_log(path)
    with pytest.raises(InputError, match=r"at least 30 intervals .*; got 2 intervals with 112 pages"):
        fit(path)


def _crawled(minute, total):
    return (
        f"2017-07-31 19:{minute:02d}:00 [scrapy.extensions.logstats] INFO: Crawled {total} pages (at 60 pages/min), "
        "scraped 0 items (at 0 items/min)\n"
    )


def test_scrapy_counters_and_the_log_without_debug_lines(written):
    path = written("".join(_crawled(i, total) for i, total in enumerate((0, 60, 90, 10, 30))))
    counts = read_counts(path)
    assert counts.count.tolist() == [60, 30, 20]  # the fall from 90 to 10 is a new run: no interval
    assert counts.robots is None
    assert not counts.zoned
    with pytest.raises(InputError, match=r"DEBUG lines .*; got none in 5 lines .*LOG_LEVEL = 'DEBUG'"):
        read_log(path)
    with pytest.raises(InputError, match=r"at least 30 intervals .*; got 3 intervals with 110 pages"):
        fit(path)
    pages = "2017-07-31 19:00:01 [scrapy.core.engine] DEBUG: Crawled (200) <GET http://a.org/> (referer: None)\n"
    assert isinstance(read_either(written(pages + _crawled(1, 60))), RawLog)


def test_scrapy_periodic_log(written, utc):
    def told(minute, total):
        entry = {
            "delta": {"response_received_count": 5},
            "stats": {"response_received_count": total, "start_time": "2023-03-16 13:36:00"},
            "time": {"elapsed": 60.0, "utcnow": f"2023-03-16 13:{minute:02d}:00"},
        }
        return f"2023-03-16 15:{minute:02d}:00 [scrapy.extensions.periodic_log] INFO: {json.dumps(entry, indent=4)}\n"

    counts = read_counts(written(told(37, 147) + _crawled(5, 7) + told(38, 331) + told(39, 340)))
    assert counts.format == "scrapy-periodic"
    assert counts.count.tolist() == [184, 9]
    assert counts.start[0] == utc("2023-03-16T13:37:00")


@pytest.mark.parametrize("dated", [True, False])
def test_crawlee_statistics(written, dated):
    def told(minute, total, running):
        stamp = f"2024-12-26T23:{minute:02d}:41.360Z " if dated else ""
        stats = {"requestsFinishedPerMinute": 49, "requestsTotal": total, "crawlerRuntimeMillis": 60_000 * minute}
        state = {"currentConcurrency": running, "systemStatus": {"isSystemIdle": True}}
        return (
            f"{stamp}INFO  CheerioCrawler:AutoscaledPool: state {json.dumps(state)}\n"
            f"{stamp}INFO  CheerioCrawler: Processing https://a.org/\n"
            f"{stamp}INFO  CheerioCrawler:Statistics: CheerioCrawler request statistics: {json.dumps(stats)}\n"
        )

    path = written(told(1, 49, 14) + told(2, 120, 15) + told(3, 150, 7))
    counts = read_counts(path)
    assert counts.format == "crawlee"
    assert counts.count.tolist() == [71, 30]
    assert counts.robots.tolist() == [15, 7]
    assert np.diff(np.append(counts.start, counts.end[-1])).tolist() == [60 * 10**9] * 2
    assert bool(counts.notes) != dated
    with pytest.raises(InputError, match="Crawlee's request statistics: counts per interval"):
        read_log(path)


def test_what_holds_no_counter_is_refused(written):
    with pytest.raises(InputError, match="counts must come from one of"):
        read_counts(written("1\n2\n3\n"))
    with pytest.raises(InputError, match="files of one log must have one format"):
        read_counts([written(_crawled(1, 2), "a"), written(LEGEND + _progress(0, 1, 1), "b")])


def test_prometheus_as_csv(written, utc):
    long = "name,timestamp,value,instance\n" + "".join(
        f"pages_total,{1_714_550_400 + 60 * k},{total},{instance}\n"
        for instance, totals in (("a", (0, 5, 6)), ("b", (1, 1, 2)))
        for k, total in enumerate(totals)
    )
    wide = (
        '"Time","pages_total{instance=""a""}","pages_total{instance=""b""}"\n'
        "2024-05-01 08:00:00,0,1\n2024-05-01 08:01:00,5,1\n2024-05-01 08:02:00,6,2\n"
    )
    for text in (long, wide):
        counts = read_either(written(text))
        assert isinstance(counts, CountLog)
        assert counts.format == "prometheus-csv"
        assert counts.count.tolist() == [5, 2]
        assert counts.start[0] == utc("2024-05-01T08:00:00")
        only = read_counts(written(text), options=ReadOptions(where=("instance=b",)))
        assert only.count.tolist() == [0, 1]
    with pytest.raises(InputError, match=r"counters as CSV .pages_total.: counts per interval"):
        read_log(written(long))
    times = "time,size\n" + "".join(f"{1_714_550_400 + k},{k}\n" for k in range(5))
    assert isinstance(read_either(written(times)), RawLog)


def _export(*series):
    """A range export of counters, each from its first time, its step and its totals."""
    result = [
        {
            "metric": {"__name__": "pages_total", "instance": str(number)},
            "values": [[first + step * k, str(total)] for k, total in enumerate(totals)],
        }
        for number, (first, step, totals) in enumerate(series)
    ]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})


def test_series_that_are_sampled_at_other_moments_are_added_up_interval_by_interval(written):
    rng = np.random.default_rng(5)
    one, two = (np.cumsum(rng.poisson(mean, 100)) for mean in (30, 10))
    begin = 1_714_550_400
    counts = read_counts(written(_export((begin, 60, one), (begin + 5, 60, two))))
    assert counts.count.tolist() == (np.diff(one) + np.diff(two)).tolist()
    assert set(counts.length) == {60.0}
    assert "sampled up to 5 s apart" in counts.notes[-1]
    # A series with a shorter step: its pages all count, in the interval of the grid that is nearest.
    fine = np.cumsum(rng.poisson(3, 400))
    mixed = read_counts(written(_export((begin, 60, one), (begin + 5, 15, fine))))
    assert len(mixed) >= 99
    assert set(mixed.length) == {60.0}
    assert abs(int(mixed.count.sum()) - int(np.ptp(one) + np.ptp(fine))) <= np.diff(fine).max() * 4
    assert not mixed.left_out
    # Samples that meet are added up as they are.
    assert not any("apart" in note for note in read_counts(written(_export((begin, 60, one), (begin, 60, two)))).notes)


def test_a_counter_can_be_named(written):
    text = "".join(_crawled(k, 60 * k) for k in range(3))
    found = read_either(written(text), ReadOptions(log_format="scrapy-counters"))
    assert isinstance(found, CountLog)
    assert not found.detected
    with pytest.raises(InputError, match="at least two samples of a total"):
        read_either(written(text), ReadOptions(log_format="heritrix-progress"))
    assert {reader.name for reader in COUNTERS} == set(COUNTER_NAMES)


def test_totals_that_hold_failures_say_so(written):
    line = (
        "2024-05-01T10:0{0}:00.000Z INFO  CheerioCrawler:Statistics: CheerioCrawler request statistics: "
        '{{"requestsFailedPerMinute":{1},"requestsTotal":{0}0,"crawlerRuntimeMillis":{0}0005}}\n'
    )
    failing = read_counts(written("".join(line.format(i, int(i == 4)) for i in range(1, 9))))
    assert "count failed requests too" in " ".join(failing.notes)
    assert not read_counts(written("".join(line.format(i, 0) for i in range(1, 9)))).notes
    scrapy = "2024-05-01 10:0{0}:00 [scrapy.extensions.logstats] INFO: Crawled {0}0 pages (at 10 pages/min)\n"
    told = read_counts(written("".join(scrapy.format(i) for i in range(9))))
    assert told.notes == ("Scrapy's totals count every response: errors and cached pages too",)
