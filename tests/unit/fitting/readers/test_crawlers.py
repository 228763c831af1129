"""Logs of further crawlers, made in the shape that each writes, and what each format tells of its robots."""
# ruff: noqa: E501  rows of logs are as long as they are

import json

import numpy as np
import pytest

from crawltwin.model.errors import InputError
from fitting import ReadOptions, read_log

STORM = """\
2026-01-11 14:17:06.000 o.a.s.m.l.s.Slot main [INFO] something else #9
2026-01-11 14:17:06.828 o.a.s.b.FetcherBolt FetcherThread #44 [INFO] [Fetcher #4] Fetched https://a.org with status 308 in msec 69
2026-01-11 14:17:07.143 o.a.s.b.FetcherBolt FetcherThread #44 [INFO] [Fetcher #4] Fetched https://www.a.org/ with status 200 in msec 315
2026-01-11 14:17:08.262 c.d.s.b.FetcherBolt [INFO] [Fetcher #7] Fetched https://www.a.org/2 with status 200 in msec 282
"""
WPULL = """\
2024-03-01 10:00:00,100 - wpull.processor.web - INFO - Fetching \u2018http://a.org/\u2019.
2024-03-01 10:00:00,200 - wpull.processor.web - INFO - Fetching \u2018http://a.org/x.png\u2019.
2024-03-01 10:00:01,350 - wpull.processor.web - INFO - Fetched \u2018http://a.org/\u2019: 200 OK. Length: 7532 [text/html; charset=utf-8].
2024-03-01 10:00:02,000 - wpull.processor.web - INFO - Fetched \u2018http://a.org/x.png\u2019: 200 OK. Length: unspecified [image/png].
2024-03-01 10:00:02,500 - wpull.processor.web - INFO - Fetched \u2018http://a.org/no\u2019: 404 Not Found. Length: 12 [text/html].
2024-03-01 10:00:03,500 - wpull.application.main - INFO - FINISHED.
"""
HTTRACK = (
    "date\tsize'/'remotesize\tflags(request:Update,Range state:File response:Modified,Chunked,gZipped)\tstatuscode\tstatus ('servermsg')\tMIME\tEtag|Date\tURL\tlocalfile\t(from URL)\n"
    "23:59:58\t169/169\t---M--\t404\terror ('Not%20Found')\ttext/html\tdate:x\thttp://a.org/robots.txt\t\t(from )\n"
    "23:59:59\t219/219\t---M--\t200\tadded ('OK')\ttext/html\tetag:x\thttp://a.org/index.html\ta.org/index.html\t(from )\n"
    "00:00:02\t5120/5120\t---MC-\t200\tadded ('OK')\timage/png\t\thttp://a.org/a.png\ta.org/a.png\t(from http://a.org/)\n"
)


def test_nutch_in_the_log_of_a_hadoop_task(written, utc):
    line = (
        "2023-11-14 22:13:{:02d},623 INFO [FetcherThread] org.apache.nutch.fetcher.FetcherThread: FetcherThread {} {}\n"
    )
    log = read_log(
        written(
            "2023-11-14 22:13:19,001 INFO [main] org.apache.nutch.fetcher.Fetcher: Fetcher: starting\n"
            + line.format(20, 45, "fetching http://a.org/1 (queue crawl delay=3000ms)")
            + line.format(21, 46, "fetching http://a.org/2 (queue crawl delay=3000ms)")
            + line.format(22, 46, "fetch of http://a.org/2 failed with: Http code=404, url=http://a.org/2")
        )
    )
    assert (log.format, dict(log.dropped)) == ("nutch", {"fetch failed": 1})
    assert log.time.tolist() == [utc("2023-11-14T22:13:20.623")]
    assert log.worker.tolist() == [45]
    assert log.run_starts.tolist() == [utc("2023-11-14T22:13:19.001")]


@pytest.mark.parametrize("log", [STORM.partition("\n")[2], WPULL.partition(".\n")[2].partition(".\n")[2], HTTRACK])
def test_a_mark_of_byte_order_costs_no_row(written, log):
    """As Notepad and PowerShell begin a text: the first line is a row of the log."""
    written("HTTrack3.49-2 launched on Wed, 25 Oct 2017 23:59:50 at http://a.org/\n", "hts-log.txt")
    plain, marked = read_log(written(log, "plain")), read_log(written(b"\xef\xbb\xbf" + log.encode(), "marked"))
    assert (marked.rows, len(marked), marked.broken) == (plain.rows, len(plain), 0)
    assert marked.time.tolist() == plain.time.tolist()


def test_stormcrawler(written, utc):
    log = read_log(written(STORM))
    assert log.format == "stormcrawler"
    assert log.time.tolist() == [utc("2026-01-11T14:17:07.143"), utc("2026-01-11T14:17:08.262")]
    assert dict(log.dropped) == {"redirect": 1}
    assert log.worker.tolist() == [44, 7]
    assert log.took.tolist() == [0.315, 0.282]
    assert log.other_lines == 1


def test_wpull(written, utc):
    log = read_log(written(WPULL))
    assert log.format == "wpull"
    assert log.time.tolist() == [utc("2024-03-01T10:00:01.350"), utc("2024-03-01T10:00:02.000")]
    assert log.took.tolist() == [1.25, 1.8]
    assert log.size[0] == 7532 and np.isnan(log.size[1])
    assert len(read_log(written(WPULL), options=ReadOptions(only_type="text/html"))) == 1


def test_httrack_takes_the_date_from_the_log_beside_it(written, utc):
    path = written(HTTRACK, "mirror/hts-cache/new.txt")
    with pytest.raises(InputError, match=r"must have hts-log.txt"):
        read_log(path)
    written("HTTrack3.49-2+htsswf launched on Wed, 25 Oct 2017 23:59:50 at http://a.org/\n", "mirror/hts-log.txt")
    log = read_log(path)
    assert log.format == "httrack"
    assert log.time.tolist() == [utc("2017-10-25T23:59:59"), utc("2017-10-26T00:00:02")]
    assert log.size.tolist() == [219, 5120]
    assert dict(log.dropped) == {"HTTP error status": 1}


@pytest.mark.parametrize("indent", [None, 2])
def test_har(written, utc, indent):
    entries = [
        {"startedDateTime": f"2024-03-01T10:00:0{i}.000+01:00", "time": 250.5, "request": {"url": f"https://a.org/{i}"},
         "response": {"status": 200 if i else 0, "content": {"size": 100 * i, "mimeType": "text/html; charset=utf-8"}}}
        for i in range(3)
    ]  # fmt: skip
    document = {"log": {"version": "1.2", "creator": {"name": "x"}, "entries": entries}}
    log = read_log(written(json.dumps(document, indent=indent)))
    assert log.format == "har"
    assert log.time.tolist() == [
        utc("2024-03-01T09:00:01.000") + 250_500_000,
        utc("2024-03-01T09:00:02.000") + 250_500_000,
    ]
    assert log.begin.tolist() == [utc("2024-03-01T09:00:01.000"), utc("2024-03-01T09:00:02.000")]
    assert log.size.tolist() == [100, 200]
    with pytest.raises(InputError, match=r"one JSON document with log\.entries"):
        read_log(written('{"log": {"version": "1.2"'))


def test_heritrix_tells_thread_start_host_and_depth(written, utc):
    row = "2016-03-31T14:35:37.711Z   200      24360 {} {} http://www.a.org/ text/html #{} {}+{} sha1:B - -\n"
    log = read_log(
        written(
            row.format("http://www.A.org/1", "LLE", "012", "20160331143536323", 981)
            + row.format("http://user@www.a.org:8080/2?x", "-", "661", "20160331143540000", 20)
            + row.format("https://b.org", "50+LL", "003", "20160331143541000", 5)
        )
    )
    assert log.worker.tolist() == [12, 661, 3]
    assert log.took.tolist() == [0.981, 0.02, 0.005]
    assert log.begin[0] == utc("2016-03-31T14:35:36.323")
    assert log.depth.tolist() == [3, 0, 52]
    assert log.host[0] == log.host[1] != log.host[2] != 0
    found_on = log.parent[0]
    seed = read_log(written(row.format("http://www.a.org/", "-", "1", "20160331143541000", 5)))
    assert log.parent.tolist() == [found_on] * 3
    assert found_on == seed.page[0], "the key of the page on which it was found"


def test_scrapy_tells_the_page_on_which_another_was_found(written):
    line = "2017-07-31 19:21:{:02d} [scrapy.core.engine] DEBUG: Crawled (200) <GET http://a.org/{}> (referer: {})\n"
    log = read_log(written(line.format(23, 1, None) + line.format(24, 2, "http://a.org/1")))
    assert log.parent.tolist() == [0, log.page[0]]
    items = '{"url": "http://a.org/1", "timestamp": "2020-01-01T00:00:00Z", "referer": null}\n'
    items += '{"url": "http://a.org/2", "timestamp": "2020-01-01T00:00:09Z", "referer": "http://a.org/1"}\n'
    log = read_log(written(items))
    assert log.parent.tolist() == [0, log.page[0]]


def test_runs_of_scrapy_and_nutch_are_told(written, utc):
    crawled = "2017-07-31 19:21:{:02d} [scrapy.core.engine] DEBUG: Crawled (200) <GET http://a.org/1> (referer: None)\n"
    opened = "2017-07-31 19:21:20 [scrapy.core.engine] INFO: Spider opened\n"
    log = read_log(written(crawled.format(10) + opened + crawled.format(30)))
    assert log.run_starts.tolist() == [utc("2017-07-31T19:21:20")]
    zoned = read_log(written(crawled.format(10) + opened + crawled.format(30)), timezone="Europe/Paris")
    assert zoned.run_starts.tolist() == [utc("2017-07-31T17:21:20")]
    fetching = (
        "2017-11-12 03:{:02d}:28,778 INFO  fetcher.FetcherThread - fetching http://a.org/1 (queue crawl delay=5000ms)\n"
    )
    starting = "2017-11-12 03:30:00,000 INFO  fetcher.Fetcher - Fetcher: starting at 2017-11-12 03:30:00\n"
    log = read_log(written(fetching.format(1) + starting + fetching.format(31)))
    assert log.run_starts.tolist() == [utc("2017-11-12T03:30:00")]
    assert read_log(written(fetching.format(1))).run_starts is None


def test_a_run_marker_ends_a_stretch(written):
    """Ten minutes between two runs are no gap of the crawler, though a gap of ten minutes alone would be kept."""
    from fitting.trace.cleaning import clean

    gaps = np.random.default_rng(1).exponential(60, 400)
    gaps[200] = 300
    times = np.cumsum(gaps)
    alone = clean(times, pause=1e6)
    told = clean(times, pause=1e6, run_starts=np.array([times[200] - 1]))
    assert len(alone.stretches) == 1
    assert len(told.stretches) == 2


def test_hosts_have_one_key_in_every_format():
    from fitting.readers.columns import host_keys

    same = [b"http://a.org", b"https://A.org:8080/x?u=http://b.org", b"http://me:word@a.org/@c", b"http://a.org#x"]
    other = [b"http://b.org/", b"http://[::1]:80/", b"http://[::2]/"]
    found = host_keys([*same, *other, b"", b"dns:a.org", b"/path"]).tolist()
    assert len(set(found[:4])) == 1
    assert len(set(found[:7])) == 4
    assert found[7:] == [0, 0, 0]
    assert host_keys([]).size == 0


SAVED = {
    "English": "‘{}’ saved [{}/{}]", "plain English": "`{}' saved [{}]", "to the screen": "written to stdout [{}/{}]",
    "German": "»{}« gespeichert [{}/{}]", "French": "«{}» enregistré [{}/{}]", "Spanish": "“{}” guardado [{}/{}]",
    "Russian": "«{}» сохранён [{}/{}]", "Japanese": "`{}' へ保存完了 [{}/{}]", "Chinese": "已保存 “{}” [{}/{}])",
}  # fmt: skip


@pytest.mark.parametrize("language", SAVED)
def test_wget_speaks_the_language_of_its_user(written, language):
    words = SAVED[language]
    lines = []
    for i in range(9):
        told = words.format(*([f"i{i}.html"] if words.count("{}") != 2 or "saved" in words else []), 100 + i, 100 + i)
        lines += [
            f"--2024-05-01 10:00:0{i}--  http://a.org/{i}",
            f"2024-05-01 10:00:0{i} (1 KB/s) - Connection closed at byte 50. Retrying.",
            f"2024-05-01 10:00:0{i} (6,53 MB/s) - {told}",
        ]
    log = read_log(written("\n".join(lines) + "\n"))
    assert log.format == "wget"
    assert log.size.tolist() == [100 + i for i in range(9)]


@pytest.mark.parametrize(
    ("moment", "end", "took"),
    [("2016-05-01 10:00:0{}.143", " in 315 after waiting 20", 0.315), ("2014-05-01T10:00:0{}.143+0000", "", None)],
)
def test_older_stormcrawlers(written, utc, moment, end, took):
    line = "{} c.d.s.b.SimpleFetcherBolt Thread-15 [INFO] [Fetcher #4] Fetched https://a.org/{} with status 200{}\n"
    log = read_log(written("".join(line.format(moment.format(i), i, end) for i in range(9))))
    assert (log.format, len(log)) == ("stormcrawler", 9)
    assert log.time[0] == utc(f"{moment[:11]}10:00:00.143")
    assert log.zoned == moment.endswith("+0000")
    assert np.isnan(log.took).all() if took is None else (log.took == took).all()


def test_the_answer_of_a_cdx_server(written):
    line = "org,a)/{0} 2024050110000{0} http://a.org/{0} text/html {1} ABC{0} 123{0}\n"
    log = read_log(written("".join(line.format(i, 404 if i == 4 else 200) for i in range(9))))
    assert (log.format, len(log), dict(log.dropped)) == ("cdx", 8, {"HTTP error status": 1})
    assert log.size[0] == 1230
