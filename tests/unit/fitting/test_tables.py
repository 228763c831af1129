"""CSV and Parquet as programs write them: fields over several lines, an index, structures, names of other crawlers."""

import csv
import io

import pandas as pd
import pytest

from fitting import read_log

TIMES = [f"2024-05-01T10:00:{i:02d}Z" for i in range(60)]
STATUSES = [404 if i % 6 == 0 else 200 for i in range(60)]


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / "log.csv"
        path.write_text(text, newline="")
        return path

    return write


@pytest.mark.parametrize("size", [2**20, 300, 77], ids=["one block", "several blocks", "many blocks"])
def test_a_field_may_go_over_several_lines(written, monkeypatch, size):
    """Whatever the blocks are in which the file is read, a row counts once."""
    monkeypatch.setattr("fitting.readers.input.line_blocks.blocks.__defaults__", (size, 4 * 2**20))
    text = io.StringIO(newline="")
    rows = csv.writer(text)
    rows.writerow(["time", "url", "title", "status"])
    for i, (time, status) in enumerate(zip(TIMES, STATUSES)):
        rows.writerow([time, f"https://a.org/{i}", 'two\nlines, "quoted"\n' if i % 3 else "one", status])
    log = read_log(written(text.getvalue()))
    assert (log.format, len(log), dict(log.dropped), log.broken) == ("csv", 50, {"HTTP error status": 10}, 0)


def test_a_lone_quote_opens_no_field(written):
    rows = [
        f"{time},https://a.org/{'%22' if i else chr(34)}{i},{s}" for i, (time, s) in enumerate(zip(TIMES, STATUSES))
    ]
    assert len(read_log(written("time,url,status\n" + "\n".join(rows) + "\n"))) == 50


def test_the_index_of_pandas_is_no_hindrance(tmp_path):
    pd.DataFrame({"time": TIMES, "status": STATUSES}).to_csv(tmp_path / "log.csv")
    assert len(read_log(tmp_path / "log.csv")) == 50


def test_structures_in_parquet_are_looked_into(tmp_path):
    responses = [{"status": status, "body": {"size": 100 + i}} for i, status in enumerate(STATUSES)]
    pd.DataFrame({"ts": pd.to_datetime(TIMES), "response": responses}).to_parquet(tmp_path / "log.parquet")
    log = read_log(tmp_path / "log.parquet")
    assert (len(log), dict(log.dropped)) == (50, {"HTTP error status": 10})
    assert log.size[0] == 101


def test_the_columns_of_common_crawl(tmp_path):
    columns = {"url": "https://a.org/", "fetch_time": pd.to_datetime(TIMES), "fetch_status": STATUSES}
    pd.DataFrame(columns | {"content_mime_type": "text/html"}).to_parquet(tmp_path / "index.parquet")
    assert len(read_log(tmp_path / "index.parquet")) == 50
