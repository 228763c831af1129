"""Each format: what is a delivery, what is dropped and why, times and sizes."""
# ruff: noqa: E501  rows of logs are as long as they are

import bz2
import datetime as dt
import gzip
import json
import lzma
import zipfile

import numpy as np
import pandas as pd
import pytest
import zstandard

from crawltwin.model.errors import InputError
from fitting import ReadOptions, read_log

HERITRIX = """\
2016-03-31T14:35:35.634Z     1         93 dns:www.a.org IP http://www.a.org/ text/dns #473 20160331143534970+139 sha1:A - -
2016-03-31T14:35:37.711Z   200      24360 http://www.a.org/1 IP http://www.a.org/ text/plain #661 20160331143536323+981 sha1:B - ip:1.2.3.4 {"x":1}
2016-03-31T14:35:38.000Z -9998          - http://www.a.org/2 L http://www.a.org/ unknown #001 - - - Q:robots
2016-03-31T14:35:38.100Z    -2          - http://www.a.org/3 L http://www.a.org/ unknown #001 - - - -
2016-03-31T14:35:38.200Z -5003          - http://www.a.org/4 L http://www.a.org/ unknown #001 - - - -
2016-03-31T14:35:38.300Z   404        100 http://www.a.org/5 L http://www.a.org/ text/html #001 20160331143538000+100 sha1:C - -
2016-03-31T14:35:38.400Z   302         10 http://www.a.org/6 L http://www.a.org/ text/html #001 20160331143538000+200 sha1:D - -
2016-03-31T14:35:39.000Z   200        500 http://www.a.org/7 L http://www.a.org/ text/html #001 20160331143537000+304 sha1:E - -
"""
SCRAPY = """\
2017-07-31 19:21:22 [scrapy.utils.log] INFO: Scrapy 1.4.0 started (bot: x)
2017-07-31 19:21:23 [scrapy.core.engine] DEBUG: Crawled (200) <GET http://a.org/1> (referer: None)
2017-07-31 19:21:24 [scrapy.core.engine] DEBUG: Crawled (404) <GET http://a.org/2> (referer: None)
2017-07-31 19:21:24 [scrapy.core.engine] DEBUG: Crawled (200) <GET http://a.org/3> (referer: None) ['cached']
2017-07-31 19:21:25 [scrapy.core.scraper] ERROR: Spider error processing <GET http://a.org/3>
Traceback (most recent call last):
  File "x.py", line 1
2017-07-31 19:21:26 [scrapy.core.engine] DEBUG: Crawled (200) <POST http://a.org/4> (referer: http://a.org/)
"""
NUTCH = """\
2017-11-12 03:55:28,778 INFO  fetcher.FetcherThread - fetching http://a.org/1 (queue crawl delay=5000ms)
2017-11-12 03:55:33,101 INFO  fetcher.FetcherThread - fetching http://a.org/2 (queue crawl delay=5000ms)
2017-11-12 03:55:34,000 INFO  fetcher.FetcherThread - fetch of http://a.org/2 failed with: java.net.UnknownHostException
2017-11-12 03:55:35,000 INFO  fetcher.Fetcher - -activeThreads=1, spinWaiting=0
2022-08-18 12:34:56,789 INFO o.a.n.f.FetcherThread [FetcherThread] FetcherThread 50 fetching https://a.org/3 (queue crawl delay=5000ms)
"""
WGET = """\
--2016-12-14 19:15:39--  http://a.org/
Resolving a.org... 1.2.3.4
2016-12-14 19:15:39 (6.53 MB/s) - 'index.html' saved [14181/14181]
2016-12-14 19:15:40 (1.02 KB/s) - \u2018a b.html\u2019 saved [77]
2016-12-14 19:15:41 URL:http://a.org/c [5/5] -> "c" [1]
2016-12-14 19:15:42 ERROR 404: Not Found.
"""
ACCESS = """\
66.249.73.72 - - [16/Feb/2022:00:18:53 +0100] "GET / HTTP/1.1" 200 1095 "-" "Mozilla/5.0 (compatible; Googlebot/2.1)"
www.a.org:80 10.0.0.1 - bob [16/Feb/2022:00:18:54 +0100] "GET /a\\"b HTTP/1.1" 200 - "http://x/" "curl/8" 0.002
10.0.0.2 - - [16/Feb/2022:00:18:55 +0100] "GET / HTTP/1.1" 200 10 "-" "Mozilla/5.0 (Windows NT 10.0) Firefox"
10.0.0.2 - - [16/Feb/2022:00:18:56 +0100] "GET / HTTP/1.1" 500 10 "-" "bingbot/2.0"
10.0.0.3 - - [16/Feb/2022:00:18:57 +0100] "GET / HTTP/1.0" 200 7
"""
CDXJ = """\
org,a)/1 20140126200625 {"url": "http://a.org/1", "mime": "text/html", "status": "200", "digest": "X", "length": "2258"}
org,a)/2 20140126200624 {"url": "http://a.org/2", "mime": "warc/revisit", "status": "-", "length": "300"}
org,a)/3 20140126200626 {"url": "http://a.org/3", "status": "301", "length": "30"}
dns:a.org 20140126200620 {"url": "dns:a.org", "mime": "text/dns", "length": "30"}
"""
CDX = """\
 CDX N b a m s k r M S V g
org,a)/1 20140126200625 http://a.org/1 text/html 200 AAAA - - 2258 10 a.warc.gz
org,a)/2 20140126200624 http://a.org/2 text/html 404 BBBB - - 225 20 a.warc.gz
org,a)/3 20140126200623 http://a.org/3 warc/revisit - CCCC - - 99 30 a.warc.gz
"""
JSON_LINES = """\
{"url": "http://a.org/1", "size": 100, "crawl_time": "2024-01-26T10:50:59Z", "status": 200}
{"url": "http://a.org/2", "size": null, "crawl_time": "2024-01-26T10:51:00Z", "status": 403}
{"url": "http://a.org/3", "size": 300, "crawl_time": "2024-01-26T10:51:01Z", "status": 200}
"""
CSV = 'url;Fetch Time;Content-Length\n"http://a.org/;x";2024-01-26 10:50:59;17\nhttp://b.org;2024-01-26 10:51:01;18\n'


def utc(text):
    moment = dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)
    return round(moment.timestamp() * 1000) * 10**6


@pytest.fixture
def written(tmp_path):
    def write(content, name="log"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.mark.parametrize(
    ("content", "name", "rows", "times", "sizes", "dropped"),
    [
        (HERITRIX, "heritrix", 8, ["2016-03-31T14:35:37.304", "2016-03-31T14:35:37.304"], [24360, 500],
         {"name look-up": 1, "denied by robots.txt": 1, "fetch failed": 1, "redirect": 1, "HTTP error status": 1,
          "stopped by a quota or the crawl's scope": 1}),
        (SCRAPY, "scrapy", 4, ["2017-07-31T19:21:23", "2017-07-31T19:21:26"], None,
         {"HTTP error status": 1, "from a cache": 1}),
        (NUTCH, "nutch", 3, ["2017-11-12T03:55:28.778", "2022-08-18T12:34:56.789"], None, {"fetch failed": 1}),
        (WGET, "wget", 3, ["2016-12-14T19:15:39", "2016-12-14T19:15:40", "2016-12-14T19:15:41"], [14181, 77, 5], {}),
        (ACCESS, "access-log", 5, ["2022-02-15T23:18:53", "2022-02-15T23:18:54", "2022-02-15T23:18:57"],
         [1095, None, 7], {"not a robot's user agent": 1, "HTTP error status": 1}),
        (CDXJ, "cdxj", 4, ["2014-01-26T20:06:24", "2014-01-26T20:06:25"], [300, 2258],
         {"redirect": 1, "name look-up": 1}),
        (CDX, "cdx", 3, ["2014-01-26T20:06:23", "2014-01-26T20:06:25"], [99, 2258], {"HTTP error status": 1}),
        (JSON_LINES, "json-lines", 3, ["2024-01-26T10:50:59", "2024-01-26T10:51:01"], [100, 300],
         {"HTTP error status": 1}),
        (CSV, "csv", 2, ["2024-01-26T10:50:59", "2024-01-26T10:51:01"], [17, 18], {}),
    ],
)  # fmt: skip
def test_a_small_log_of_each_format(written, content, name, rows, times, sizes, dropped):
    log = read_log(written(content))
    assert log.format == name
    assert log.detected
    assert log.rows == rows
    assert log.broken == 0
    assert log.time.tolist() == [utc(text) for text in times]
    assert dict(log.dropped) == dropped
    if sizes is not None:
        assert [None if np.isnan(size) else size for size in log.size] == sizes


def test_every_row_is_kept_dropped_or_broken(written):
    log = read_log(written(HERITRIX + "garbage\n"), max_broken=0.5)
    assert log.rows == len(log) + sum(log.dropped.values())
    assert log.broken == 1
    assert log.broken_shown == ("garbage",)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, zstandard.ZstdCompressor().compress])
def test_packed_files_read_the_same(written, pack):
    plain = read_log(written(SCRAPY))
    packed = read_log(written(pack(SCRAPY.encode()), "packed"))
    assert packed.time.tolist() == plain.time.tolist()
    assert packed.format == plain.format
    assert "(" in packed.files[0]


def test_zip_archives_and_gzip_members(written, tmp_path):
    with zipfile.ZipFile(tmp_path / "log.zip", "w") as archive:
        archive.writestr("a.txt", "1.5\n0.5\n2.5\n")
    log = read_log(tmp_path / "log.zip")
    assert log.from_gaps
    assert log.time.tolist() == [0, 1_500_000_000, 2_000_000_000, 4_500_000_000]
    half = len(SCRAPY) // 2
    two = gzip.compress(SCRAPY[:half].encode()) + gzip.compress(SCRAPY[half:].encode())
    assert len(read_log(written(two))) == 2


def test_rotated_files_in_any_order_are_one_log(written):
    lines = HERITRIX.splitlines(keepends=True)
    old, new = (
        written("".join(lines[:4]), "crawl.log.1"),
        written(gzip.compress("".join(lines[4:]).encode()), "crawl.log"),
    )
    whole = read_log(written(HERITRIX, "whole"))
    for paths in ([old, new], [new, old]):
        log = read_log(paths)
        assert log.time.tolist() == whole.time.tolist()
        assert log.rows == whole.rows


def test_files_of_different_formats_are_refused(written):
    with pytest.raises(InputError, match="files of one log must have one format; got wget after scrapy"):
        read_log([written(SCRAPY, "a"), written(WGET, "b")])


def test_parquet_with_times_and_with_numbers(tmp_path):
    moments = pd.to_datetime(["2024-01-26T10:50:59.5Z", "2024-01-26T10:51:01Z"], format="ISO8601")
    pd.DataFrame({"timestamp": moments, "bytes": [5, 6]}).to_parquet(tmp_path / "a.parquet")
    log = read_log(tmp_path / "a.parquet")
    assert log.format == "parquet"
    assert log.time.tolist() == [utc("2024-01-26T10:50:59.5"), utc("2024-01-26T10:51:01")]
    assert log.size.tolist() == [5, 6]
    pd.DataFrame({"ts": [1706266259000, 1706266260500]}).to_parquet(tmp_path / "b.parquet")
    assert np.diff(read_log(tmp_path / "b.parquet").time).tolist() == [1_500_000_000]


@pytest.mark.parametrize(
    ("lines", "gaps"),
    [
        (["1460000000.5", "1460000002.0"], [1.5]),
        (["1460000000500", "1460000002000"], [1.5]),
        (["1460000000500000", "1460000002000000"], [1.5]),
        (["2016-04-07T03:33:20.5Z", "2016-04-07T03:33:22Z"], [1.5]),
        (["20160407033320500", "20160407033322000"], [1.5]),
        (["0.5 100", "2.0 200", "2.5 300"], [1.5, 0.5]),
        (["3.0", "1.0", "2.0"], [3.0, 1.0, 2.0]),
    ],
)
def test_plain_columns(written, lines, gaps):
    log = read_log(written("\n".join(lines)))
    assert log.format == "plain"
    assert (np.diff(log.time) / 1e9).tolist() == gaps


def test_small_numbers_may_be_named(written):
    path = written("1\n2\n4\n8\n")
    assert not read_log(path).from_gaps
    assert read_log(path, options=ReadOptions(values="gaps")).from_gaps


def test_pattern_takes_anything_else(written):
    path = written("@@ 2024-01-26 10:50:59 took 5 for 100 bytes\nnoise\n@@ 2024-01-26 10:51:00 took 1 for 7 bytes\n")
    options = ReadOptions(pattern=r"@@ (?P<time>\S+ \S+) .* (?P<size>\d+) bytes")
    log = read_log(path, options=options)
    assert log.format == "pattern"
    assert log.size.tolist() == [100, 7]
    assert log.other_lines == 1
    with pytest.raises(InputError, match="named group 'time'"):
        read_log(path, options=ReadOptions(pattern=r"(\d+)"))
    with pytest.raises(InputError, match="must be a regular expression"):
        read_log(path, options=ReadOptions(pattern="(?P<time>"))


def test_format_can_be_forced_and_is_checked(written):
    with pytest.raises(InputError, match="format must be one of"):
        read_log(written(SCRAPY), log_format="scrappy")
    assert len(read_log(written(SCRAPY), log_format="scrapy")) == 2


def test_agents_can_be_chosen(written):
    path = written(ACCESS)
    assert len(read_log(path, options=ReadOptions(agent="all"))) == 4
    assert len(read_log(path, options=ReadOptions(agent="Firefox"))) == 2  # one row has no agent at all
    with pytest.raises(InputError, match="agent must be robots, all or a regular expression"):
        read_log(path, options=ReadOptions(agent="("))


def test_columns_can_be_named(written):
    path = written(CSV)
    log = read_log(path, options=ReadOptions(time_column="Fetch Time", size_column="3"))
    assert log.size.tolist() == [17, 18]
    with pytest.raises(InputError, match="time column must be one of the columns"):
        read_log(path, options=ReadOptions(time_column="when"))
    with pytest.raises(InputError, match="one column must hold the times"):
        read_log(written("a,b\n1,2\n3,4\n", "odd"))


def test_warc_responses_and_revisits(tmp_path):
    from io import BytesIO

    from warcio.statusandheaders import StatusAndHeaders
    from warcio.warcwriter import WARCWriter

    path = tmp_path / "a.warc.gz"
    with path.open("wb") as stream:
        writer = WARCWriter(stream, gzip=True)
        for second, status, kind in ((1, "200 OK", "response"), (2, "404 No", "response"), (3, "200 OK", "request")):
            http = StatusAndHeaders(status, [("Content-Length", "5")], protocol="HTTP/1.1")
            record = writer.create_warc_record(
                f"http://a.org/{second}", kind, payload=BytesIO(b"hello"), http_headers=http,
                warc_headers_dict={"WARC-Date": f"2008-04-30T20:48:0{second}Z"},
            )  # fmt: skip
            writer.write_record(record)
    log = read_log(path)
    assert log.format == "warc"
    assert log.rows == 2
    assert log.time.tolist() == [utc("2008-04-30T20:48:01")]
    assert log.size.tolist() == [5]
    assert log.other_lines == 1


def test_wide_json_is_read_by_its_names(written):
    rows = [json.dumps({"a": {"b": [1, 2]}, "URL": f"http://x/{i}", "timestamp": 1706266259 + i}) for i in range(5)]
    log = read_log(written("\n".join([*rows, '{"broken": '])), max_broken=0.5)
    assert len(log) == 5
    assert log.broken == 1


def test_standard_input_is_a_log(monkeypatch):
    import io
    import sys

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(SCRAPY.encode()))))
    log = read_log("-")
    assert log.format == "scrapy"
    assert log.files == ("- (gzip)",)


def test_a_row_with_fields_too_many_keeps_its_time_and_size(written):
    log = read_log(written("time,size\n1460000000,1\n1460000001,2,3,4\n1460000002,5\n"))
    assert log.format == "csv"
    assert log.size.tolist() == [1, 2, 5]
