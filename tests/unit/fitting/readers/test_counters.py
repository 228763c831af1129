"""Counters: pages per interval, and `fit` and `read_log` refusing them in words."""

import json

import numpy as np
import pytest

from crawltwin.model.errors import InputError
from fitting import fit, read_counts, read_log

LEGEND = (
    "20080602165807 CRAWL RESUMED - Running\n"
    "           timestamp  discovered      queued   downloaded       doc/s(avg)  KB/s(avg)   dl-failures   busy-thread"
    "   mem-use-KB  heap-size-KB   congestion   max-depth   avg-depth\n"
)


def _progress(minute, downloaded, busy):
    return (
        f"2008-06-02T16:{minute:02d}:00Z         966          43        {downloaded}         6.2(6.2)   157(157)"
        f"             0             {busy}        13831         33408            1          24          14\n"
    )


def test_heritrix_progress(written, utc):
    path = written(LEGEND + _progress(0, 124, 3) + _progress(1, 211, 2) + _progress(2, 236, 0))
    counts = read_counts(path)
    assert counts.format == "heritrix-progress"
    assert counts.count.tolist() == [87, 25]
    assert counts.robots.tolist() == [2, 0]
    assert counts.start.tolist() == [utc("2008-06-02T16:00:00"), utc("2008-06-02T16:01:00")]
    assert (counts.end - counts.start).tolist() == [60 * 10**9] * 2
    for reading in (read_log, fit):
        with pytest.raises(InputError, match=r"one row per delivered page; got Heritrix progress-statistics.log"):
            reading(path)


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
    for reading in (read_log, fit):
        with pytest.raises(InputError, match=r"DEBUG lines .*; got none in 5 lines .*LOG_LEVEL = 'DEBUG'"):
            reading(path)


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
