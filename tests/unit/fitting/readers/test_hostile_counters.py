"""Counters and tables that are broken, odd or huge: read as far as they tell something, else refused in words."""

from __future__ import annotations

import json

import pytest

from crawltwin.model.errors import InputError
from fitting.readers.counting import read_counts, read_either

START = 1_714_550_400


def _written(folder, text, name="counts"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def _crawlee(totals, step=60_000):
    line = 'INFO  Crawler:Statistics: Crawler request statistics: {{"requestsTotal":{},"crawlerRuntimeMillis":{}}}\n'
    return "".join(line.format(total, step * (k + 1)) for k, total in enumerate(totals))


def _periodic(k, total):
    moment = f"2024-05-01 08:{k:02d}:00"
    body = json.dumps({"stats": {"response_received_count": total}, "time": {"utcnow": moment}}, indent=4)
    return f"{moment} [scrapy.extensions.periodic_log] INFO: {body}\n"


@pytest.mark.parametrize(
    "text", [b"time," + b"x" * 200_000 + b"\n1,2\n", b"\x93\r\xf6,\r\x00\n\x01\r2\n" * 50], ids=["long", "binary"]
)
def test_a_first_line_that_is_no_csv_is_refused_in_words(tmp_path, text):
    with pytest.raises(InputError):
        read_either(_written(tmp_path, text))


def test_a_column_of_totals_beside_its_times_is_no_log_of_deliveries(tmp_path):
    rows = "".join(f"{START + 60 * k},{7 * k}\n" for k in range(400))
    found = read_either(_written(tmp_path, "time,pages_total\n" + rows))
    assert (found.format, found.count.tolist()) == ("prometheus-csv", [7] * 399)


def test_one_row_without_a_time_leaves_the_others_readable(tmp_path):
    rows = "".join(f"pages_total,{START + 60 * k},{7 * k}\n" for k in range(5))
    found = read_counts(_written(tmp_path, "name,timestamp,value\n" + rows + "pages_total,,99\n"))
    assert found.count.tolist() == [7] * 4
    assert found.left_out == {"the time could not be read": 1}


@pytest.mark.filterwarnings("error")
def test_times_beyond_every_calendar_are_told(tmp_path):
    rows = "".join(f"pages_total,{10**30 + k},{k}\n" for k in range(5))
    with pytest.raises(InputError, match="got 5, 5 of them with a time that could not be read"):
        read_counts(_written(tmp_path, "name,timestamp,value\n" + rows))


def test_a_named_format_that_the_file_has_not_is_refused(tmp_path):
    from fitting import ReadOptions

    with pytest.raises(InputError, match="must have a column of times"):
        read_counts(_written(tmp_path, "1\n2\n"), options=ReadOptions(log_format="prometheus-csv"))


@pytest.mark.parametrize("odd", [10**30, -5, True])
def test_what_is_no_total_is_no_restart(tmp_path, odd):
    text = "".join(_periodic(k, 10 * k) for k in range(5)) + _periodic(5, odd)
    found = read_counts(_written(tmp_path, text))
    assert (found.count.tolist(), dict(found.left_out)) == ([10] * 4, {})


def test_runs_without_times_are_not_laid_over_one_another(tmp_path):
    first, second = _crawlee(range(0, 500, 50)), _crawlee(range(0, 1500, 150))
    assert read_counts(_written(tmp_path, first)).count.tolist() == [50] * 9
    with pytest.raises(InputError, match="several runs, the next begins at sample 11"):
        read_counts(_written(tmp_path, first + second))
    with pytest.raises(InputError, match="several runs"):
        read_counts([_written(tmp_path, first, "a"), _written(tmp_path, second, "b")])


def test_a_table_of_very_many_columns_is_refused_at_once(tmp_path):
    text = ",".join(f"c{k}" for k in range(100_000)) + "\n" + ",".join("1" for _ in range(100_000)) + "\n"
    with pytest.raises(InputError, match="at most 5,000 columns"):
        read_either(_written(tmp_path, text))


def test_the_way_out_of_a_scrapy_log_without_pages_can_be_followed(tmp_path):
    from fitting import ReadOptions

    line = "2024-05-01 08:{:02d}:00 [scrapy.extensions.logstats] INFO: Crawled {} pages (at 9 pages/min)\n"
    path = _written(tmp_path, "".join(line.format(k, 9 * k) for k in range(5)))
    with pytest.raises(InputError, match="--format scrapy-counters"):
        read_either(path, ReadOptions(log_format="scrapy"))
    assert read_either(path, ReadOptions(log_format="scrapy-counters")).count.tolist() == [9] * 4
