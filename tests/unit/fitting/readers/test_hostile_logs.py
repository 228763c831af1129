"""Logs made to break a reader: each ends in words or is read, in bounded time and memory."""
# ruff: noqa: E501  rows of logs are as long as they are

import gzip
import tracemalloc

import numpy as np
import pytest

from crawltwin.model.errors import InputError
from fitting import read_log


def test_a_cdx_whose_header_names_more_fields_than_its_lines_have(written):
    header = " CDX N b a m s k r M S V g a a b b b\n"
    row = "org,a)/{0} 201401262006{0:02d} http://a.org/{0} text/html 200 AAAA - - 2258 10 a.warc.gz\n"
    with pytest.raises(InputError, match="of the lines may be unreadable; got 20 of 20"):
        read_log(written(header + "".join(row.format(i) for i in range(20))))
    # A header that names a field twice, and lines that have both.
    twice = " CDX a b a m s k k\n" + "".join(
        f"http://a.org/{i} 201401262006{i:02d} http://b.org/{i} text/html 200 K K\n" for i in range(20)
    )
    assert len(read_log(written(twice))) == 20


def _record(kind, moment, body, address="http://a.org/"):
    return (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Date: {moment}\r\nWARC-Target-URI: {address}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body + b"\r\n\r\n"  # fmt: skip


def test_a_warc_with_a_hundred_million_bytes_on_one_line(tmp_path):
    """The body is passed over: memory stays below a tenth of it."""
    path = tmp_path / "large.warc"
    http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    length = 100_000_000
    with path.open("wb") as stream:
        stream.write(_record("response", "2008-04-30T20:48:01Z", http + b"first"))
        head = _record("response", "2008-04-30T20:48:02Z", b"")
        stream.write(head.replace(b"Content-Length: 0", b"Content-Length: %d" % (length + len(http)))[:-4])
        stream.write(http)
        stream.writelines(b"x" * 1_000_000 for _ in range(length // 1_000_000))
        stream.write(b"\r\n\r\n" + _record("response", "2008-04-30T20:48:03Z", http + b"last"))
    small = tmp_path / "small.warc"
    small.write_bytes(_record("response", "2008-04-30T20:48:01Z", http))
    read_log(small)  # what is imported and compiled once does not count
    tracemalloc.start()
    log = read_log(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert log.size.tolist() == [5, length, 4]
    assert peak < length // 10


def test_a_warc_whose_headers_never_end(tmp_path):
    path = tmp_path / "endless.warc"
    good = _record("response", "2008-04-30T20:48:01Z", b"HTTP/1.1 200 OK\r\n\r\nhello")
    path.write_bytes(good * 9 + b"WARC/1.0 " + b"x" * 20_000_000)
    log = read_log(path)
    assert len(log) == 9
    assert log.broken == 1
    assert "headers have no end" in log.broken_shown[0]


def test_a_warc_record_by_record_whatever_the_pieces(tmp_path):
    """Headers cut by the border of a chunk are put together: bodies of many lengths shift every border."""
    rng = np.random.default_rng(3)
    bodies = [b"HTTP/1.1 200 OK\r\nX: y\r\n\r\n" + b"\r\n" * int(n) for n in rng.integers(0, 3000, 400)]
    path = tmp_path / "many.warc"
    path.write_bytes(
        b"".join(_record("response", f"2008-04-30T20:{i // 60:02d}:{i % 60:02d}Z", b) for i, b in enumerate(bodies))
    )
    log = read_log(path)
    assert log.rows == 400
    assert log.size.tolist() == [len(body) - 25 for body in bodies]


@pytest.mark.parametrize("digits", [400, 5000, 100_000])
def test_huge_integers_are_no_times_and_cost_no_memory(written, digits):
    lines = [str(1_460_000_000 + i) for i in range(20_000)] + ["9" * digits] * 3
    tracemalloc.start()
    log = read_log(written("\n".join(lines)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(log) == 20_000
    assert peak < 100_000_000
    huge = "9" * digits
    rows = [f'{{"time": {1_460_000_000 + i}, "size": {huge if i % 9 == 0 else i}}}' for i in range(99)]
    assert len(read_log(written("\n".join(rows)), max_broken=0.2)) >= 88
    assert dict(read_log(written("\n".join([huge] * 40))).dropped) == {"time missing or out of range": 40}


LINE = b"2017-07-31 19:21:%02d [scrapy.core.engine] DEBUG: Crawled (200) <GET http://a.org/%d> (referer: None)\n"


@pytest.mark.parametrize("members", [1, 7, 400])
def test_gzip_of_many_members_is_read_whole(written, members):
    parts = [b"".join(LINE % (i % 60, i) for i in range(m, 1200, members)) for m in range(members)]
    packed = b"".join(gzip.compress(part) for part in parts)
    for content in (packed, packed + b"\0" * 70_000):
        log = read_log(written(content))
        assert len(log) == 1200
        assert not any("breaks off" in note for note in log.notes)


def test_what_comes_before_damage_in_a_gzip_stream_is_kept(written):
    good = gzip.compress(b"".join(LINE % (i % 60, i) for i in range(600)))
    for content in (good + b"garbage behind it", good + good[:-4], good + good[: len(good) // 2]):
        log = read_log(written(content))
        assert len(log) >= 600
        assert any("breaks off: gzip data end early or are damaged" in note for note in log.notes)
    wrong_sum = bytearray(good)
    wrong_sum[-8] ^= 1
    log = read_log(written(bytes(wrong_sum)))
    assert len(log) == 600
    assert any("damaged" in note for note in log.notes)


def test_a_log_among_millions_of_empty_lines(written):
    """Empty lines cost neither memory nor time, and a log behind more of them than the format is looked for in is read."""
    row = "2016-03-31T14:35:{0:02d}.711Z 200 24360 http://a.org/{0} L http://a.org/ text/html #012 20160331143536323+981 sha1:B - -\n"
    rows = [row.format(i).encode() for i in range(40)]
    path = written(b"\n" * 400_000 + b"".join(rows[:20]) + b" \r\n" * 1_000_000 + b"".join(rows[20:]))
    read_log(written(b"".join(rows), "small"))  # what is imported and compiled once does not count
    tracemalloc.start()
    log = read_log(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (log.format, len(log), log.broken) == ("heritrix", 40, 0)
    assert peak < 60_000_000
