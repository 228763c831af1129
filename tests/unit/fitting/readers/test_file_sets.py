"""Several files as one log: files without deliveries, files given twice, and what the filters leave."""

import pytest

from crawltwin.model.errors import InputError
from fitting import ReadOptions, read_log

CRAWLED = "2017-07-31 19:21:{:02d} [scrapy.core.engine] DEBUG: Crawled (200) <GET http://a.org/{}> (referer: None)\n"
FETCHING = "2017-11-12 03:55:{:02d},778 INFO  fetcher.FetcherThread - fetching http://a.org/{} (queue crawl delay=5)\n"
WAITING = "2017-11-12 03:56:35,000 INFO  fetcher.Fetcher - -activeThreads=1, spinWaiting=0\n"
HERITRIX = (
    "2016-03-31T14:35:{0:02d}.711Z 200 24360 http://a.org/{0} L http://a.org/ {1} #661 20160331143536323+981 sha1:B -\n"
)


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0)])
def test_a_rotated_file_without_deliveries_does_not_refuse_the_set(written, order):
    files = [
        written("".join(FETCHING.format(i, i) for i in range(20)), "hadoop.log.1"),
        written(WAITING * 30, "hadoop.log.2"),
        written("", "hadoop.log.3"),
    ]
    log = read_log([files[i] for i in order])
    assert log.format == "nutch"
    assert len(log) == 20
    notes = " ".join(log.notes)
    assert "hadoop.log.2 holds no deliveries" in notes
    assert "hadoop.log.3 holds no deliveries" in notes


def test_a_scrapy_file_without_debug_lines_among_others(written):
    quiet = "2017-07-31 19:20:00 [scrapy.extensions.logstats] INFO: Crawled 5 pages (at 5 pages/min), scraped 0 items\n"
    files = [written(quiet * 3, "a.log"), written("".join(CRAWLED.format(i, i) for i in range(9)), "b.log")]
    assert len(read_log(files)) == 9


def test_a_foreign_file_is_still_refused(written):
    good = written("".join(HERITRIX.format(i, "text/html") for i in range(9)), "crawl.log")
    with pytest.raises(InputError, match="the log's format must be one that is known"):
        read_log([good, written("some words\n" * 9, "notes.txt")])
    with pytest.raises(InputError, match="files of one log must have one format"):
        read_log([good, written(CRAWLED.format(1, 1) * 9, "scrapy.log")])
    with pytest.raises(InputError) as refused:
        read_log([written("", "a"), written("some words\n" * 9, "b")])
    assert len(refused.value.faults) == 2


def test_the_same_content_twice_is_noticed_and_counted_once(written):
    import gzip

    text = "".join(CRAWLED.format(i, i) for i in range(9))
    one, packed = written(text, "a.log"), written(gzip.compress(text.encode()), "copy.log.gz")
    log = read_log([one, packed])
    assert len(log) == 9
    assert any("copy.log.gz has the same content as" in note for note in log.notes)
    assert len(read_log([one, one])) == 9


def test_types_addresses_and_statuses_can_be_chosen(written):
    rows = [HERITRIX.format(i, "text/html" if i % 3 else "image/png") for i in range(9)]
    path = written("".join(rows))
    log = read_log(path)
    assert len(log) == 9
    assert "3 of 9 deliveries are no HTML" in log.notes[-1]
    assert "--only text/html" in log.notes[-1]
    only = read_log(path, options=ReadOptions(only_type="text/html"))
    assert (len(only), dict(only.dropped)) == (6, {"type not asked for (--only)": 3})
    assert not only.notes
    assert len(read_log(path, options=ReadOptions(only_type="text/html, image/"))) == 9
    assert len(read_log(path, options=ReadOptions(only_url="/[0-4]$"))) == 5
    assert dict(read_log(path, options=ReadOptions(only_status="204,301-302")).dropped) == {
        "status not asked for (--only-status)": 9
    }
    with pytest.raises(InputError, match="only_status must be statuses such as 2xx, 200 or 200-206; got 'ok'"):
        ReadOptions(only_status="ok")
    with pytest.raises(InputError, match="only_url must be a regular expression"):
        ReadOptions(only_url="(")


def test_redirects_can_be_asked_for(written):
    row = CRAWLED.replace("(200)", "({})")
    path = written("".join(row.format(i, 200 + 101 * (i % 2), i) for i in range(10)))
    assert len(read_log(path)) == 5
    assert len(read_log(path, options=ReadOptions(only_status="2xx,301"))) == 10


def test_what_a_format_does_not_tell_cannot_be_asked_of_it(written):
    path = written("".join(CRAWLED.format(i, i) for i in range(9)))
    with pytest.raises(InputError, match="--only must be left out for the format scrapy"):
        read_log(path, options=ReadOptions(only_type="text/html"))
    with pytest.raises(InputError, match="--where must be left out for the format scrapy"):
        read_log(path, log_format="scrapy", options=ReadOptions(where=("a=1",)))


def test_a_rotated_file_of_failed_fetches_alone_is_noted(written):
    line = (
        "2024-05-01T10:00:{0:02d}.000Z {1} 99 http://a.org/{0} L http://a.org/ text/html #1 20240501100000000+1 "
        "sha1:A - -\n"
    )
    good = written("".join(line.format(i, 200) for i in range(20)), "crawl.log.1")
    failed = written("".join(line.format(i, 404) for i in range(20)), "crawl.log.2")
    log = read_log([good, failed])
    assert (len(log), log.dropped) == (20, {"HTTP error status": 20})
    assert "crawl.log.2 holds no deliveries" in " ".join(log.notes)
