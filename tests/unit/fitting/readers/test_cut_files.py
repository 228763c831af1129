"""Logs that end in the middle of their last row, or hold none: a row counts with its own values or not at all."""

import gzip

import numpy as np
import pandas as pd
import pytest

from crawltwin.model.errors import InputError
from fitting import read_log
from tests.warc_files import record

BODY = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Long: abcdef\r\n\r\n" + b"x" * 20
RECORDS = [record("response", f"http://a.org/{i}", BODY, second=i) for i in range(5)]
STATUS_LINE = RECORDS[-1].index(b"Content-Type")
"""Where the line with the HTTP status of the last record ends."""
HEADERS = RECORDS[-1].index(b"xxxx")
BODY_END = RECORDS[-1].rindex(b"x") + 1


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "packed"])
def test_a_warc_cut_anywhere_in_its_last_record_is_noted(written, pack):
    """The date and the address stand before the status: where that is known the page was delivered."""
    for cut in range(1, BODY_END):
        log = read_log(written(pack(b"".join(RECORDS[:-1]) + RECORDS[-1][:cut])))
        assert len(log) == 4 + (cut >= STATUS_LINE), cut
        assert not log.dropped, cut
        assert "breaks off" in " ".join(log.notes), cut
        assert log.size[:4].tolist() == [20] * 4
        if cut >= STATUS_LINE:
            assert log.size[4] == 20 if cut >= HEADERS else np.isnan(log.size[4])
        assert log.broken == (cut < STATUS_LINE)


def test_a_warc_without_its_last_empty_lines_is_whole(written):
    log = read_log(written(b"".join(RECORDS)[:-4]))
    assert (len(log), log.notes) == (5, ())


def test_a_table_that_ends_within_a_row_does_not_count_it_before_its_status_is_known(written):
    rows = [f"2024-05-01T10:00:{i:02d}Z,http://a.org/{i},{404 if i == 9 else 200},51{i}\n" for i in range(10)]
    for cut in range(1, len(rows[-1]), 3):
        log = read_log(written("time,url,status,size\n" + "".join(rows[:-1]) + rows[-1][:cut]))
        assert len(log) == 9, cut
    whole = read_log(written("time,url,status,size\n" + "".join(rows[:-1]).rstrip()))
    assert len(whole) == 9
    assert whole.size[-1] == 518


OBJECTS = "".join(f'{{"url": "http://a/{i}", "timestamp": "2024-05-01T10:00:{i:02d}Z"}}\n' for i in range(20))
PAGES = '{"format": "json-pages-1.0", "id": "pages"}\n'
CDX = " CDX N b a m s k r M S V g\n"
INDEX = "".join(f"a)/{i} 202405011000{i:02d} http://a/{i} text/html 200 A - - 100 0 f.warc.gz\n" for i in range(20))
ROWS = "".join(f"2024-05-01T10:00:{i:02d}Z,http://a/{i}\n" for i in range(20))
HERITRIX = "".join(
    f"2024-05-01T10:00:{i:02d}.000Z 200 99 http://a.org/{i} L - text/html #1 202405011000{i:02d}000+1 sha1:A -\n"
    for i in range(20)
)


@pytest.mark.parametrize(
    ("whole", "piece"),
    [
        (OBJECTS, '{"url": "http://a/99", "ti'),
        (PAGES + OBJECTS.replace("timestamp", "ts"), PAGES),
        (PAGES + OBJECTS.replace("timestamp", "ts"), PAGES[:20]),
        (PAGES + OBJECTS.replace("timestamp", "ts"), PAGES + '{"url": "http'),
        (CDX + INDEX, CDX + "a)/x 2024"),
        ("time,url\n" + ROWS, "time,url\n2024-05-0"),
        (HERITRIX, HERITRIX[:60]),
        (HERITRIX, "\n\n"),
    ],
    ids=["object", "page list", "its header", "its first page", "index", "table", "row", "blank lines"],
)
def test_a_file_without_a_whole_row_does_not_refuse_the_others(written, whole, piece):
    paths = [written(whole, "a"), written(piece, "b")]
    for given in (paths, paths[::-1]):
        log = read_log(given)
        assert len(log) == 20
        assert f"{paths[1]} " in " ".join(log.notes)
    with pytest.raises(InputError):
        read_log(paths[1])


def test_a_parquet_file_of_no_rows_is_no_hindrance(tmp_path):
    table = pd.DataFrame({"time": pd.date_range("2024-05-01", periods=20, freq="s"), "status": 200})
    table.to_parquet(tmp_path / "a.parquet")
    table[:0].to_parquet(tmp_path / "b.parquet")
    log = read_log([tmp_path / "b.parquet", tmp_path / "a.parquet"])
    assert len(log) == 20
    assert "b.parquet holds no deliveries" in " ".join(log.notes)


@pytest.mark.parametrize("count", [1, 700, 300_000])
def test_nul_bytes_before_a_log_are_passed_over(written, count):
    """A log that was cut off by copytruncate while its writer kept its place."""
    rows = "".join(f"{1_706_266_259 + i}.25\n" for i in range(9)).encode()
    log = read_log(written(b"\0" * count + rows))
    assert len(log) == 9 and not log.broken
    assert any(f"begins with {count} NUL bytes" in note for note in log.notes)


@pytest.mark.parametrize("log_format", [None, "plain"])
def test_lines_that_end_with_carriage_returns_alone_are_refused(written, log_format):
    rows = "".join(f"{1_706_266_259 + i}.25\r" for i in range(9)).encode()
    with pytest.raises(InputError, match=r"lines must end with a newline; got carriage returns alone.*tr '\\r' '\\n'"):
        read_log(written(rows), log_format=log_format)
    assert len(read_log(written(rows.replace(b"\r", b"\r\n")))) == 9
